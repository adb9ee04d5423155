"""Addresses that keys, tokens and passwords are sent to."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit


def is_loopback(host: str) -> bool:
    """Whether a host is a loopback address. The only name that counts is `localhost`."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def is_in_clear(url: str) -> bool:
    """Whether others on the network can read what is sent to a URL.

    >>> is_in_clear("http://catalog.example.com"), is_in_clear("http://localhost:8181")
    (True, False)
    """
    parts = urlsplit(url)
    return parts.scheme == "http" and not is_loopback(parts.hostname or "")
