"""Clients of the stack's own servers, which are behind plain HTTP on the loopback interface."""

from __future__ import annotations

import ssl
from typing import Any

import httpx

#: Trusts nobody. To load the certificates that httpx trusts by default takes 25 ms of CPU time a client.
_NO_CERTIFICATES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def local_client(**options: Any) -> httpx.Client:
    """A client that ignores the proxies of the environment; the options are those of `httpx.Client`."""
    return httpx.Client(trust_env=False, verify=_NO_CERTIFICATES, **options)
