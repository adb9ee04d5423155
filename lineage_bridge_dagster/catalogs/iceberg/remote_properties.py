"""Which properties a catalog and its tables may set in this process. Pure.

Three parties write properties, and each is trusted with less than the one before:

- **Our own configuration** may say anything.
- **A catalog's server**, in `/v1/config` and beside each table it loads, may route requests within itself and
  vend what reads and writes its tables' files: credentials, the region, and the endpoint that these
  credentials are for. It may name no code, no proxy, and no profile or role of ours; nor an endpoint without
  credentials for it, to which we would send requests signed with our own.
- **A table's own properties** may set nothing here. Whoever may write a table writes them, and Iceberg's Java
  library does not configure its access to files by them either.

What the REST specification lets servers send is in its schemas `CatalogConfig`, `LoadTableResult` and
`StorageCredential`; what PyIceberg makes of it, in its documentation ("Configuration").
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

#: What a server may configure about requests to itself. A host in one of these is checked separately.
_ROUTING = frozenset(
    {
        "namespace-separator",
        "oauth2-server-uri",
        "prefix",
        "rest-metrics-reporting-enabled",
        "rest-page-size",
        "scan-planning-mode",
        "snapshot-loading-mode",
        "token",
        "uri",
        "view-endpoints-supported",
        "warehouse",
    }
)

_S3_KEYS = ("s3.access-key-id", "s3.secret-access-key")
#: Our own credentials for a store, which are never mixed with those that a server vends.
_OWN_CREDENTIALS: Mapping[str, tuple[str, ...]] = {
    "s3.access-key-id": (
        *_S3_KEYS,
        "s3.session-token",
        "client.access-key-id",
        "client.secret-access-key",
        "client.session-token",
    ),
    "gcs.oauth2.token": ("gcs.oauth2.token",),
    "adls.sas-token": ("adls.account-key", "adls.sas-token", "adls.token", "adls.connection-string"),
}
#: Properties that name a host, with the credentials that have to come with them.
HOSTS: Mapping[str, tuple[str, ...]] = {
    "s3.endpoint": _S3_KEYS,
    "gcs.service.host": ("gcs.oauth2.token",),
    "adls.account-host": ("adls.sas-token",),
    "adls.blob-storage-authority": ("adls.sas-token",),
    "adls.dfs-storage-authority": ("adls.sas-token",),
}
#: Metadata services of clouds whose addresses are not link-local.
_METADATA_HOSTS = frozenset(
    {
        "100.100.100.200",
        "168.63.129.16",
        "fd00:ec2::254",
        "instance-data",
        "instance-data.ec2.internal",
        "metadata",
        "metadata.google.internal",
    }
)
#: Properties that become part of a host name: they must not smuggle in another host.
_NAME = re.compile(r"[A-Za-z0-9-]{1,63}")
_HOST_PARTS = frozenset({"s3.region", "client.region", "adls.account-name"})

#: What else a server may vend for access to files.
_STORAGE = frozenset(
    {
        *_S3_KEYS,
        "s3.session-token",
        "s3.anonymous",
        "s3.connect-timeout",
        "s3.force-virtual-addressing",
        "s3.path-style-access",
        "s3.request-timeout",
        "s3.server-side-encryption",
        "s3.sse-kms-key-id",
        "client.access-key-id",
        "client.secret-access-key",
        "client.session-token",
        "gcs.oauth2.token",
        "gcs.oauth2.token-expires-at",
        "gcs.project-id",
        "gcs.requester-pays",
        "adls.token",
    }
)
_SAS_TOKEN = re.compile(r"adls\.sas-token(?:\..+)?")

#: Our own properties that open the catalog, and are never passed on to what reads and writes files.
_CATALOGS_OWN = frozenset(
    {
        "audience",
        "auth",
        "auth.manager",
        "botocore-session",
        "credential",
        "oauth2-server-uri",
        "resource",
        "scope",
        "ssl",
        "token",
        "uri",
    }
)
#: What a signer of requests to S3 needs of it, where our own configuration names one.
_FOR_SIGNER = frozenset({"auth.manager", "token", "uri"})
#: The signer's address, and a path below it.
_SIGNER = frozenset({"s3.signer.uri", "s3.signer.endpoint"})

#: A table's properties that name a class, such as `py-io-impl` and `write.location-provider.impl`.
_TABLE_CODE = re.compile(r".+[.-]impl", re.IGNORECASE)
#: A server's properties that name code to load, in PyIceberg or Iceberg's Java library, or how to sign in.
_CODE = re.compile(
    r".+[.-](?:impl|class|factory|provider|reporter|signer)|auth(?:\..+)?|rest\.(?:auth\..+|sigv4-enabled)",
    re.IGNORECASE,
)
#: A server's properties that choose a host, a proxy or an identity.
_PLACE = re.compile(
    r"(?:.+[.-])?(?:uri|endpoint|host|authority|profile-name|role-arn|credential)", re.IGNORECASE
)
#: Those of them that servers send to every client, and that nothing here reads.
_UNREAD = re.compile(r".+refresh-credentials-endpoint")


def is_code(key: str) -> bool:
    """Whether a server's property names code to load, or how to sign in."""
    return bool(_CODE.fullmatch(key))


def code_in(properties: Mapping[str, Any], own: Mapping[str, Any]) -> tuple[str, ...]:
    """A table's properties that name code, sorted, except for those that our own configuration sets alike.

    >>> code_in({"py-io-impl": "acme.Files", "owner": "team"}, {})
    ('py-io-impl',)
    >>> code_in({"py-io-impl": "acme.Files"}, {"py-io-impl": "acme.Files"})
    ()
    """
    return tuple(
        sorted(
            key for key, value in properties.items() if _TABLE_CODE.fullmatch(key) and own.get(key) != value
        )
    )


def without_code(properties: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """The properties without `code_in`."""
    left_out = code_in(properties, own)
    return {key: value for key, value in properties.items() if key not in left_out}


def divided(said: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A server's properties, divided into those about requests to it and all others."""
    routing = {key: value for key, value in said.items() if key in _ROUTING}
    return routing, {key: value for key, value in said.items() if key not in _ROUTING}


def allowed(said: Mapping[str, Any], own: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The server's properties that are accepted, and the names of rejected ones that matter, sorted.

    Args:
        said: The server's properties for one table, or for the catalog.
        own: Those of our own configuration. A property that both set alike is accepted.
    """
    vended = _has({key for key, value in said.items() if value})

    def is_allowed(key: str, value: Any) -> bool:
        if own.get(key) == value:
            return True
        if not isinstance(value, str | int | float):
            return False
        if key in HOSTS:
            return all(map(vended, HOSTS[key])) and not _is_metadata_service(str(value))
        if key in _HOST_PARTS:
            return bool(_NAME.fullmatch(str(value)))
        if key in _SIGNER:
            is_path = key == "s3.signer.endpoint" and not urlsplit(str(value)).netloc
            return is_path or _is_on_host_of(str(value), str(own.get("uri") or ""))
        return key in _ROUTING | _STORAGE or bool(_SAS_TOKEN.fullmatch(key))

    heeded = {key: value for key, value in said.items() if is_allowed(key, value)}
    left_out = (
        key
        for key, value in said.items()
        if key not in heeded
        and (is_code(key) or _PLACE.fullmatch(key))
        and not _UNREAD.fullmatch(key)
        and not (key == "io-impl" and str(value).startswith("org.apache.iceberg."))
    )
    return heeded, tuple(sorted(left_out))


def for_files(own: Mapping[str, Any], vended: Mapping[str, Any]) -> dict[str, Any]:
    """The properties that files of a table are read and written with.

    Args:
        own: Our own configuration, and what the library adds to it.
        vended: What the server says that is `allowed`.
    """
    withheld = _CATALOGS_OWN - (_FOR_SIGNER if own.get("s3.signer") else frozenset())
    has = _has({key for key, value in vended.items() if value})
    replaced = {key for sign, keys in _OWN_CREDENTIALS.items() if has(sign) for key in keys}
    files = {
        key: value
        for key, value in own.items()
        if key not in withheld | replaced and not (key.startswith("header.") and "token" in withheld)
    }
    return files | {key: value for key, value in vended.items() if key not in _ROUTING}


def _has(keys: Iterable[str]) -> Callable[[str], bool]:
    """Whether a key is among these; the key of a SAS token may end with the name of its account."""
    found = set(keys)
    return lambda key: key in found or any(each.startswith(f"{key}.") for each in found)


def _is_on_host_of(address: str, uri: str) -> bool:
    """Whether an address is on the host of a uri."""
    at, home = urlsplit(address), urlsplit(uri)
    return bool(at.netloc) and (at.scheme, at.netloc.lower()) == (home.scheme, home.netloc.lower())


def _is_metadata_service(url: str) -> bool:
    """Whether an endpoint is where a cloud's virtual machines get credentials from."""
    try:
        host = (urlsplit(url if "//" in url else f"//{url}").hostname or "").rstrip(".")
    except ValueError:
        return False
    address = _address(host)
    if address is None:
        return host in _METADATA_HOSTS
    return address.is_link_local or str(address) in _METADATA_HOSTS


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address that a host is, in any spelling, such as `0xA9FEA9FE`; None for a name."""
    try:
        return ipaddress.IPv4Address(socket.inet_aton(host))
    except OSError:
        pass
    try:
        address = ipaddress.IPv6Address(host)
    except ValueError:
        return None
    return address.ipv4_mapped or address
