"""Which addresses a key may be sent to. Pure.

Data planes give their own addresses in the control plane's answers, and pages name the next page. Both are
outside data: a key goes to the vendor's domain or to the configured host, and nowhere else.
"""

from __future__ import annotations

import ipaddress

import httpx

from lineage_bridge_dagster.confluent.api.errors import UntrustedAddress

VENDOR_DOMAINS = ("confluent.cloud", "confluentgov.com")


def on_vendor_domain(host: str) -> bool:
    """Whether a host is the vendor's: one of its domains or below one."""
    name = host.lower().rstrip(".")
    return any(name == domain or name.endswith("." + domain) for domain in VENDOR_DOMAINS)


def is_loopback(host: str) -> bool:
    """Whether a host is this machine. A name counts only if it is `localhost`."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def is_trusted_host(host: str, configured: httpx.URL) -> bool:
    """Whether a host is the vendor's or the configured one. Two spellings of loopback are one host."""
    if not host:
        return False
    if on_vendor_domain(host) or host.lower() == configured.host.lower():
        return True
    return is_loopback(host) and is_loopback(configured.host)


def trusted_url(text: str, configured: httpx.URL, *, field: str) -> httpx.URL:
    """The address as a URL that a key may be sent to.

    Args:
        text: the address, as an answer gives it.
        configured: the configured base URL of the API.
        field: which field of which answer it is, for the message.

    Raises:
        UntrustedAddress: not http(s), on a foreign host, with a user in it, or in clear text where the
            configured API is not.
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
        raise UntrustedAddress(f"{field} holds a user and a password: refused.", hint=hint)
    if not is_trusted_host(url.host, configured):
        raise UntrustedAddress(f"{field} is on a foreign host: {url.host}.", hint=hint)
    if url.scheme == "http" and configured.scheme != "http":
        raise UntrustedAddress(f"{field} is not encrypted: {url.host} by http.", hint=hint)
    if url.scheme == "http" and on_vendor_domain(url.host):
        raise UntrustedAddress(f"{field} is not encrypted: {url.host} by http.", hint=hint)
    return url
