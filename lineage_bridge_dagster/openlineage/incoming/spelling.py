"""How datasets of events are spelled in a graph, and which spellings mean one dataset.

Producers differ in schemes, default ports, quotes and letter case, and in whether they name the schema that a
database falls back to. Sources: the naming page of the specification, and the JDBC extractors of its Java
client; letter case, each database's own documentation of unquoted names.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Mapping

from lineage_bridge_dagster.openlineage.names import OpenLineageName

_SCHEMES: Mapping[str, str] = {
    "postgresql": "postgres",
    "s3a": "s3",
    "s3n": "s3",
    "gcs": "gs",
    "mariadb": "mysql",
    "sqlserver": "mssql",
    "databricks": "unitycatalog",
}
#: Schemes of folders and files, whose names are paths.
STORAGE = frozenset({"s3", "gs", "abfss", "abfs", "wasbs", "wasb", "hdfs", "file", "adl", "dbfs", "maprfs"})
#: Databases that compare names without regard to case, or fold all unquoted ones the same way.
_CASELESS = frozenset(
    {"awsathena", "db2", "hana", "hive", "mssql", "oracle", "redshift", "snowflake", "teradata", "trino"}
    | {"unitycatalog", "vertica"}
)
#: The schema that is meant where `database.table` names none.
_DEFAULT_SCHEMAS: Mapping[str, str] = {"postgres": "public", "redshift": "public", "mssql": "dbo"}
#: Databases whose namespace may have the database as its path.
_DATABASES = frozenset({*_CASELESS, "postgres", "mysql", "clickhouse", "cassandra", "crate", "mongodb"})
_REDSHIFT = re.compile(
    r"(?P<cluster>[^.]+)\.[^.]+\.(?P<region>[a-z0-9-]+)\.redshift(?:-serverless)?\.amazonaws\.com"
)
_QUOTES = re.compile(r"[\"`\[\]]")
_ARN = re.compile(r"arn:aws[\w-]*:glue:(?P<region>[\w-]+):(?P<account>\d*)(?::table)?", re.IGNORECASE)
_AWS_GLUE = re.compile(r"awsglue://.*?(?P<region>[a-z]{2}(?:-[a-z]+)+-\d)?[:./]*(?P<account>\d{12})?/?")
_PORT = re.compile(r".*:(?P<port>\d+)")


def spellings(name: OpenLineageName, ports: Mapping[str, str]) -> Iterator[str]:
    """The names that a graph may have a dataset under, one for each host of a list, the first one first.

    Args:
        name: As an event has it.
        ports: The default port by scheme.
    """
    namespace, local = name
    namespace = namespace.removeprefix("jdbc:")
    if (glue := _glue(namespace, local)) is not None:
        yield glue
        return
    scheme, separator, rest = namespace.partition("://")
    if not separator:
        # A local file's namespace is `file`, and its name a path; `file:/warehouse` is one of Hive's folders.
        joined = f"{namespace}/{local}" if namespace.startswith("file:") else f"{namespace}:{local}"
        yield joined.rstrip("/")
        return
    scheme = _SCHEMES.get(scheme.lower(), scheme.lower())
    authority, _, path = rest.partition("/")
    path = path.strip("/")
    if scheme in STORAGE:
        whole = "/".join(filter(None, (path, local.strip("/"))))
        yield f"{scheme}://{authority}/{whole}".rstrip("/")
        return
    local = _QUOTES.sub("", local).lstrip("/") if scheme != "kafka" else local
    if path and scheme in _DATABASES:
        local = local if local.startswith(f"{path}.") else f"{path}.{local}"
    elif path:
        local = f"{path}/{local}"
    for host in authority.split(",") if authority else ("",):
        yield f"{scheme}://{_with_port(host.strip().lower(), ports.get(scheme, ''))}/{local}"


def folded(dataset: str) -> str:
    """What all spellings of one dataset have in common.

    >>> folded("snowflake://ACME-EU.snowflakecomputing.com/SALES.PUBLIC.ORDERS")
    'snowflake://acme-eu/sales.public.orders'
    >>> folded("postgres://pg:5432/shop.orders")
    'postgres://pg:5432/shop.public.orders'
    """
    scheme, separator, rest = dataset.partition("://")
    if not separator:
        return dataset.lower() if dataset.startswith("arn:") else dataset
    scheme = _SCHEMES.get(scheme.lower(), scheme.lower())
    if scheme in STORAGE:
        return f"{scheme}://{rest.rstrip('/')}"
    authority, slash, local = rest.partition("/")
    authority = authority.lower()
    if scheme == "snowflake":
        authority = authority.removesuffix(".snowflakecomputing.com").replace("_", "-")
    elif scheme == "redshift":
        host, _, port = authority.partition(":")
        found = _REDSHIFT.fullmatch(host)
        authority = f"{found['cluster']}.{found['region']}:{port}" if found else authority
    local = local.lower() if scheme in _CASELESS else local
    parts = local.split(".")
    if scheme in _DEFAULT_SCHEMAS and len(parts) == 2:
        local = f"{parts[0]}.{_DEFAULT_SCHEMAS[scheme]}.{parts[1]}"
    return f"{scheme}://{authority}{slash}{local}"


def is_storage(dataset: str) -> bool:
    """Whether a dataset is a folder or a file."""
    return dataset.partition(":")[0] in STORAGE


def names_this_machine(dataset: str) -> bool:
    """Whether a dataset's host is a loopback address: it means another machine to each producer."""
    authority = dataset.partition("://")[2].partition("/")[0].rsplit("@", 1)[-1]
    host = authority.rpartition(":")[0] or authority
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _with_port(host: str, port: str) -> str:
    return f"{host}:{port}" if host and port and not _PORT.fullmatch(host) else host


def _glue(namespace: str, local: str) -> str | None:
    """`arn:aws:glue:{region}:{account}/table/{database}/{table}` of a table of Glue; None for any other.

    Both spellings of the ARN mean it: `...:{account}` with `table/db/t`, and `...:{account}:table` with
    `db/t`; and so does that of any partition, since the region tells which.
    """
    table = local.removeprefix("table/")
    found = _ARN.fullmatch(namespace) or _AWS_GLUE.fullmatch(namespace)
    if found is None or not found["region"]:
        return None
    database, separator, name = table.partition("/")
    if not separator:
        database, _, name = table.rpartition(".")
    return f"arn:aws:glue:{found['region']}:{found['account'] or ''}/table/{database}/{name}".lower()
