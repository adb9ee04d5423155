"""AWS's Iceberg REST endpoints: how they are recognized, which warehouse they take, how requests are signed.

Glue's endpoint is `https://glue.{region}.amazonaws.com/iceberg`, with requests signed for `glue`; its
warehouse is a catalog of Glue, `{account}` or `{account}:s3tablescatalog/{bucket}` (AWS Glue's guide,
"Connecting to the Data Catalog using the Iceberg REST endpoint"). The tables of a bucket also have an
endpoint of their own, `https://s3tables.{region}.amazonaws.com/iceberg`, whose warehouse is the bucket's ARN.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from urllib.parse import urlsplit

from lineage_bridge_dagster.config.aws_partitions import domain_of, domains
from lineage_bridge_dagster.errors import ConfigurationError

#: The catalog that the variables `ICEBERG_*` define.
S3_TABLES = "s3tables"

#: The variable of a field of that catalog.
_VARIABLES = {"uri": "ICEBERG_REST_URI", "warehouse": "ICEBERG_WAREHOUSE", "namespaces": "ICEBERG_NAMESPACE"}
_ENABLED = "ICEBERG_ENABLED"
_OFF = frozenset({"false", "off", "no", "0"})
_ON = frozenset({"true", "on", "yes", "1"})

_REGION = r"[a-z]{2,4}(?:-[a-z]+)+-\d+"
#: Glue's own catalog, or one within it.
_GLUE_CATALOG = re.compile(r"\d{12}(?::[^/\s]+(?:/[^/\s]+)*)?")
_TABLE_BUCKET = re.compile(r"(\d{12}):s3tablescatalog/([^/\s]+)")
_BUCKET_ARN = re.compile(
    rf"arn:aws[a-z-]*:s3tables:{_REGION}:(?P<account>\d{{12}}):bucket/(?P<bucket>[^/\s]+)"
)


@cache
def _hosts() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Patterns of AWS's endpoints: of those whose name has a region, and of all."""
    domain = f"(?:{'|'.join(map(re.escape, domains()))})"
    return (
        re.compile(
            rf"(?:[a-z0-9-]+\.)?(?P<service>glue|s3tables)(?:-fips)?\.(?P<region>{_REGION})\.(?:vpce\.)?{domain}"
        ),
        re.compile(rf"(?:[a-z0-9-]+\.)*(?:glue|s3tables)(?:-fips)?\.(?:[a-z0-9-]+\.)*{domain}"),
    )


def _host(name: str) -> re.Match[str] | None:
    """The service and the region of one of AWS's hosts."""
    return _hosts()[0].fullmatch(name)


@dataclass(frozen=True, slots=True)
class Signing:
    """What requests are signed for; the region is empty if the settings of the catalog name none."""

    name: str
    region: str = ""


def variables(found: Mapping[str, str]) -> dict[str, dict[str, object]]:
    """The fields of the catalog `s3tables` that variables set, by its name; nothing if none does."""
    fields: dict[str, object] = {
        field: found[name].strip() for field, name in _VARIABLES.items() if found.get(name, "").strip()
    }
    return {S3_TABLES: fields} if fields else {}


def switched_off(found: Mapping[str, str]) -> list[str]:
    """The names of catalogs that a variable turns off.

    Raises:
        ConfigurationError: the variable is neither true nor false.
    """
    text = found.get(_ENABLED, "").strip().lower()
    if text and text not in _OFF | _ON:
        raise ConfigurationError(
            f"The variable {_ENABLED} is neither true nor false.",
            hint=f"Set {_ENABLED}=false to leave the catalog {S3_TABLES} out, or unset it.",
        )
    return [S3_TABLES] if text in _OFF else []


def endpoint_of(region: str) -> str:
    """Glue's Iceberg endpoint in a region."""
    return f"https://glue.{region}.{domain_of(region)}/iceberg"


def region_of(uri: str) -> str | None:
    """The region of Glue's Iceberg endpoint; None for any other address.

    >>> region_of("https://glue.us-gov-west-1.amazonaws.com/iceberg")
    'us-gov-west-1'
    """
    url = urlsplit(uri)
    host = _host(url.hostname or "")
    is_glue = host is not None and host["service"] == "glue" and url.path.split("/")[1:2] == ["iceberg"]
    return host["region"] if is_glue and host else None


def is_glue_catalog(warehouse: str | None) -> bool:
    """Whether a warehouse is a catalog of Glue, such as `111122223333:s3tablescatalog/bucket`."""
    return bool(_GLUE_CATALOG.fullmatch(warehouse or ""))


def table_bucket_of(warehouse: str | None) -> tuple[str, str] | None:
    """The account and the name of the S3 Tables bucket that a warehouse of Glue's endpoint stands for.

    >>> table_bucket_of("111122223333:s3tablescatalog/metrics")
    ('111122223333', 'metrics')
    """
    match = _TABLE_BUCKET.fullmatch(warehouse or "")
    return (match[1], match[2]) if match else None


def catalog_of_bucket(arn: str) -> tuple[str, str]:
    """Glue's endpoint, and the warehouse by which it has the tables of a table bucket; empty for other texts.

    >>> catalog_of_bucket("arn:aws:s3tables:eu-west-1:111122223333:bucket/lake")
    ('https://glue.eu-west-1.amazonaws.com/iceberg', '111122223333:s3tablescatalog/lake')
    """
    match = _BUCKET_ARN.fullmatch(arn)
    return (endpoint_of(arn.split(":")[3]), f"{match[1]}:s3tablescatalog/{match[2]}") if match else ("", "")


def check(name: str, uri: str | None, warehouse: str | None, signing_name: str | None) -> None:
    """Check the settings of a REST catalog against what AWS's endpoints take. A missing URL passes.

    Raises:
        ConfigurationError: the URL, the warehouse or the service is not one that the endpoint accepts.
    """
    url = urlsplit(uri if uri is not None else endpoint_of("us-east-1"))
    if url.scheme not in ("http", "https") or not url.hostname:
        raise ConfigurationError(
            f"The uri of the REST catalog {name!r} is not a URL with its scheme.",
            hint=f"Write {_field(name, 'uri')} as in {endpoint_of('us-east-1')}.",
        )
    host = _host(url.hostname)
    if host is None and _hosts()[1].fullmatch(url.hostname):
        raise ConfigurationError(
            f"The uri of catalog {name!r} names no AWS region: {uri}",
            hint=f"Write {_field(name, 'uri')} with the region, as in {endpoint_of('us-east-1')}.",
        )
    service = _service(name, url.hostname, warehouse)
    if host is not None and url.path.rstrip("/") != "/iceberg":
        raise ConfigurationError(
            f"The Iceberg endpoint of {url.hostname} is below /iceberg, and the uri of catalog {name!r} is "
            f"{uri}.",
            hint=f"Write {_field(name, 'uri')} as https://{url.hostname}/iceberg.",
        )
    if service and signing_name and signing_name != service:
        raise ConfigurationError(
            f"Catalog {name!r} is an endpoint of {service}, which refuses requests that are signed for "
            f"{signing_name}.",
            hint=f"Write signing_name: {service} for it, or leave signing_name out.",
        )
    service = service or signing_name or ""
    if service == "glue":
        _check_glue_warehouse(name, warehouse)
    elif service == "s3tables" and not _BUCKET_ARN.fullmatch(warehouse or ""):
        raise ConfigurationError(
            f"The warehouse of catalog {name!r} is not the ARN of a table bucket, but "
            f"{warehouse or 'empty'}.",
            hint=f"Write {_field(name, 'warehouse')} as arn:aws:s3tables:us-east-1:111122223333:bucket/name, "
            f"or use Glue's endpoint, {endpoint_of('us-east-1')}.",
        )


def signing(
    name: str,
    uri: str | None,
    warehouse: str | None,
    signing_name: str | None,
    signing_region: str | None,
    region: str | None,
) -> Signing | None:
    """How requests to a REST catalog are signed; None if they are not.

    Raises:
        ConfigurationError: a region differs from that of the endpoint.
    """
    hostname = urlsplit(uri or "").hostname or ""
    service = signing_name or _service(name, hostname, warehouse)
    if not service:
        return None
    host = _host(hostname)
    if host is not None:
        for field, value in (("signing_region", signing_region), ("region", region)):
            if value and value != host["region"]:
                raise ConfigurationError(
                    f"The uri of catalog {name!r} is in {host['region']}, and its {field} is {value}.",
                    hint=f"Write {field}: {host['region']}, or leave it out.",
                )
    return Signing(service, host["region"] if host else signing_region or region or "")


def _service(name: str, hostname: str, warehouse: str | None) -> str:
    """The service that a REST catalog is an endpoint of; empty if it is not one of AWS's.

    A proxy or a private endpoint has a host of its own, but a warehouse that is a catalog of Glue; and the
    variables `ICEBERG_*` are for Glue's endpoint.
    """
    if host := _host(hostname):
        return host["service"]
    return "glue" if name == S3_TABLES or is_glue_catalog(warehouse) else ""


def _check_glue_warehouse(name: str, warehouse: str | None) -> None:
    if warehouse and _GLUE_CATALOG.fullmatch(warehouse):
        return
    write = _field(name, "warehouse")
    if arn := _BUCKET_ARN.fullmatch(warehouse or ""):
        problem = f"is the ARN of a table bucket: {warehouse}"
        hint = f"Write {write} as {arn['account']}:s3tablescatalog/{arn['bucket']}."
    else:
        if not warehouse:
            problem = "is empty"
        elif "://" in warehouse:
            problem = f"is a catalog, not a location such as {warehouse}"
        else:
            problem = f"does not start with the id of an account: {warehouse}"
        hint = (
            f"Write {write} as 111122223333 for the tables of Glue, or 111122223333:s3tablescatalog/bucket "
            "for those of an S3 Tables bucket, with your account's id."
        )
    raise ConfigurationError(
        f"The warehouse of Glue's Iceberg endpoint, catalog {name!r}, {problem}.", hint=hint
    )


def _field(name: str, field: str) -> str:
    """A field of a catalog, with its variable if it has one."""
    return f"{field} ({_VARIABLES[field]})" if name == S3_TABLES else f"{field}"
