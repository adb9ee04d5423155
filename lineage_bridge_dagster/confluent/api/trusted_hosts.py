"""Which addresses may receive an API key. Pure.

Responses of the control plane name the endpoints of data planes, and list responses name the next page. An
attacker could forge both, so a key goes only to the vendor's domain or to the configured host.
"""

from __future__ import annotations

import re

import httpx

from lineage_bridge_dagster.config.addresses import is_loopback
from lineage_bridge_dagster.confluent.api.errors import UntrustedAddress

_NAME = re.compile(r"[a-z0-9.-]+")

VENDOR_DOMAINS = ("confluent.cloud", "confluentgov.com")


def on_vendor_domain(host: str) -> bool:
    """Whether a host is one of the vendor's domains or below one."""
    name = host.lower().rstrip(".")
    # Who resolves or connects may end a name with other signs elsewhere.
    if not _NAME.fullmatch(name):
        return False
    return any(name == domain or name.endswith("." + domain) for domain in VENDOR_DOMAINS)


def is_trusted_host(host: str, configured: httpx.URL) -> bool:
    """Whether a host is the vendor's or the configured one. All loopback addresses count as one host."""
    if not host:
        return False
    if on_vendor_domain(host) or host.lower() == configured.host.lower():
        return True
    return is_loopback(host) and is_loopback(configured.host)


def trusted_url(text: str, configured: httpx.URL, *, field: str) -> httpx.URL:
    """Parse an address that may receive an API key.

    Args:
        field: the response field that holds the address, for the error message.

    Raises:
        UntrustedAddress: not http(s), on an untrusted host, with user information in it, or unencrypted
            while the configured API is encrypted.
    """
    hint = (
        f"No key was sent. If the address is right, set LINEAGE_BRIDGE_CONFLUENT_API_URL to that host "
        f"(now {configured.host})."
    )
    try:
        url = httpx.URL(text.strip())
    except (httpx.InvalidURL, TypeError, ValueError) as error:
        raise UntrustedAddress(f"{field} is not a URL: {text[:200]!r}.", hint=hint) from error
    if url.scheme not in ("http", "https") or not url.host:
        raise UntrustedAddress(f"{field} is not an http(s) URL: {text[:200]!r}.", hint=hint)
    if url.userinfo:
        raise UntrustedAddress(f"{field} contains user information, which is not allowed.", hint=hint)
    if not is_trusted_host(url.host, configured):
        raise UntrustedAddress(f"{field} is on an untrusted host: {url.host}.", hint=hint)
    if url.scheme == "http" and (configured.scheme != "http" or on_vendor_domain(url.host)):
        raise UntrustedAddress(f"{field} is not encrypted: {url.host} over http.", hint=hint)
    return url
