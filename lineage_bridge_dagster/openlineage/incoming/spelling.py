"""How datasets of events are spelled in a graph, and which spellings mean one dataset.

Producers differ in schemes, default ports, quotes and letter case, and in whether they name the schema that a
database falls back to. Sources: the naming page of the specification, and the JDBC extractors of its Java
client; letter case, each database's own documentation of unquoted names.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Mapping

from lineage_bridge_dagster.config.glue_iceberg import region_of
from lineage_bridge_dagster.openlineage.names import OpenLineageName

_SCHEMES: Mapping[str, str] = {
    "postgresql": "postgres",
    "s3a": "s3",
    "s3n": "s3",
    "gcs": "gs",
    "mariadb": "mysql",
    "mongodb+srv": "mongodb",
    "sqlserver": "mssql",
    "databricks": "unitycatalog",
}
#: Schemes of folders and files, whose names are paths.
STORAGE = frozenset({"s3", "gs", "abfss", "abfs", "wasbs", "wasb", "hdfs", "file", "adl", "dbfs", "maprfs"})
#: The schemes of one store, which Hadoop reads at either of its two endpoints.
_AZURE = frozenset({"abfss", "abfs", "wasbs", "wasb"})
#: Databases that compare names without regard to case, or fold all unquoted ones the same way.
_CASELESS = frozenset(
    {"awsathena", "db2", "hana", "hive", "mssql", "oracle", "redshift", "snowflake", "teradata", "trino"}
    | {"unitycatalog", "vertica"}
)
#: The schema that is meant where `database.table` names none.
_DEFAULT_SCHEMAS: Mapping[str, str] = {"postgres": "public", "redshift": "public", "mssql": "dbo"}
#: Databases whose namespace may have the database as its path.
_DATABASES = frozenset({*_CASELESS, "postgres", "mysql", "clickhouse", "cassandra", "crate", "mongodb"})
#: Those whose tables may be files that others read, too.
_OVER_FILES = frozenset({"awsathena", "hive", "redshift", "snowflake", "trino", "unitycatalog"})
_REDSHIFT = re.compile(
    r"(?P<cluster>[^.]+)\.[^.]+\.(?P<region>[a-z0-9-]+)\.redshift(?:-serverless)?\.amazonaws\.com"
)
#: An account of Snowflake as an address, and what OpenLineage's clients add to the locator of one: its cloud,
#: and the region that they take for the default one.
_SNOWFLAKE = re.compile(r"(?:\.privatelink)?\.snowflakecomputing\.(?:com|cn)$")
_LOCATED = re.compile(r"(?<!^)(?:\.us-west-[12])?(?:\.aws)?$")
#: What Spark's events on Databricks write before a table, without the address of the workspace.
_UNITY = "unity-catalog:"
_LOCAL = re.compile(r"^file:/+")
_QUOTES = re.compile(r"[\"`\[\]]")
_ARN = re.compile(r"arn:aws[\w-]*:glue:(?P<region>[\w-]+):(?P<account>\d*)(?::table)?", re.IGNORECASE)
_AWS_GLUE = re.compile(r"awsglue://.*?(?P<region>[a-z]{2}(?:-[a-z]+)+-\d)?[:./]*(?P<account>\d{12})?/?")
_ATTRIBUTES = re.compile(r"host=([^(),]+)\)?[(,]port=(\d+)")
_PORT = re.compile(r".*:(?P<port>\d+)")
#: How clients write a port that they do not know.
_NO_PORT = re.compile(r":(?:none|null|-1)?$")


def spellings(name: OpenLineageName, ports: Mapping[str, str]) -> Iterator[str]:
    """The names that a graph may have a dataset under, one for each host of a list, the first one first.

    Args:
        name: As an event has it.
        ports: The default port by scheme.
    """
    namespace, local = name
    namespace = namespace.removeprefix("jdbc:")
    if (arn := _glue(namespace)) is not None:
        yield from _tables_of_glue(arn, local)
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
        yield f"{scheme}://{_with_port(authority, ports.get(scheme, ''))}/{whole}".rstrip("/")
        return
    local = _QUOTES.sub("", local).lstrip("/") if scheme != "kafka" else local
    if scheme == "mssql" and local.count(".") >= 2:
        # A named instance of SQL Server, which the port implies.
        path = ""
    if path and scheme in _DATABASES:
        local = local if local.startswith(f"{path}.") else f"{path}.{local}"
    elif path:
        local = f"{path}/{local}"
    for host in _hosts(authority):
        yield f"{scheme}://{_with_port(host.strip().lower(), ports.get(scheme, ''))}/{local}"
    if (region := region_of(namespace)) is not None:
        # Glue's own REST catalog, of an account that the address does not tell.
        yield from _tables_of_glue(f"arn:aws:glue:{region}:", local.rpartition("/")[2])
    elif scheme in ("http", "https"):
        yield f"iceberg://{authority.lower()}/{local.rpartition('/')[2]}"


def folded(dataset: str) -> str:
    """What all spellings of one dataset have in common.

    >>> folded("snowflake://ACME-EU.snowflakecomputing.com/SALES.PUBLIC.ORDERS")
    'snowflake://acme-eu/sales.public.orders'
    >>> folded("snowflake://XY12345.us-west-1.aws/a.b.c"), folded("snowflake://xy12345.eu-central-1/a.b.c")
    ('snowflake://xy12345/a.b.c', 'snowflake://xy12345.eu-central-1/a.b.c')
    >>> folded("postgres://pg:5432/shop.orders")
    'postgres://pg:5432/shop.public.orders'
    >>> folded("wasbs://raw@acme.blob.core.windows.net/orders/")
    'abfss://raw@acme.dfs.core.windows.net/orders'
    >>> folded("file:/data/orders")
    'file:///data/orders'
    """
    scheme, separator, rest = _LOCAL.sub("file:///", dataset).partition("://")
    if not separator:
        return dataset.lower() if dataset.startswith(("arn:", _UNITY)) else dataset
    scheme = _SCHEMES.get(scheme.lower(), scheme.lower())
    if scheme in _AZURE:
        scheme, rest = "abfss", rest.replace(".blob.core.", ".dfs.core.", 1)
    if scheme in STORAGE:
        return f"{scheme}://{rest.rstrip('/')}"
    authority, slash, local = rest.partition("/")
    authority = authority.lower()
    if scheme == "snowflake":
        authority = _LOCATED.sub("", _SNOWFLAKE.sub("", authority)).replace("_", "-")
    elif scheme == "redshift":
        host, _, port = authority.partition(":")
        found = _REDSHIFT.fullmatch(host)
        authority = f"{found['cluster']}.{found['region']}:{port}" if found else authority
    elif scheme == "iceberg":
        # Who reads through a REST catalog tells its address, and not which warehouse of it.
        local = local.rpartition("/")[2]
    local = local.lower() if scheme in _CASELESS else local
    parts = local.split(".")
    if scheme in _DEFAULT_SCHEMAS and len(parts) == 2:
        local = f"{parts[0]}.{_DEFAULT_SCHEMAS[scheme]}.{parts[1]}"
    return f"{scheme}://{authority}{slash}{local}"


def without_workspace(dataset: str) -> str:
    """The folded name of a table of Unity Catalog where its workspace is not told; empty for any other."""
    scheme, _, rest = dataset.partition("://")
    return f"{_UNITY}{rest.partition('/')[2]}".lower() if scheme == "unitycatalog" else ""


def is_storage(dataset: str) -> bool:
    """Whether a dataset is a folder or a file."""
    return dataset.partition(":")[0] in STORAGE


def is_catalogs_own(dataset: str, other: str) -> bool:
    """Whether another name of files only tells in which database their catalog keeps them.

    Spark's events name that of a JDBC catalog of Iceberg, which has no such table.
    """
    return is_storage(folded(dataset)) and other.partition("://")[0] in _DATABASES - _OVER_FILES


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


def _hosts(authority: str) -> list[str]:
    """The hosts of an address, with their ports; MySQL's drivers may write `address=(host=h)(port=1)`."""
    return [f"{host}:{port}" for host, port in _ATTRIBUTES.findall(authority)] or authority.split(",")


def _with_port(host: str, port: str) -> str:
    host = _NO_PORT.sub("", host)
    return f"{host}:{port}" if host and port and not _PORT.fullmatch(host) else host


def _glue(namespace: str) -> str | None:
    """The ARN of the catalog of Glue that a namespace means, in the form of the specification.

    Both spellings mean it: `...:{account}` before `table/db/t`, and `...:{account}:table` before `db/t`; so
    does that of any partition, since the region tells which.
    """
    found = _ARN.fullmatch(namespace) or _AWS_GLUE.fullmatch(namespace)
    if found is None or not found["region"]:
        return None
    return f"arn:aws:glue:{found['region'].lower()}:{found['account'] or ''}"


def _tables_of_glue(arn: str, local: str) -> Iterator[str]:
    """The tables that a name may mean: it may have slashes for all dots, or dots alone."""
    name = _QUOTES.sub("", local).removeprefix("table/").lower()
    sign = "/" if "/" in name else "."
    parts = name.split(sign)
    if sign == "/":
        yield f"{arn}/table/{name}"
    splits = [(".".join(parts[:at]), ".".join(parts[at:])) for at in range(1, len(parts))]
    # What has dots alone is most likely `catalog.database.table`.
    for database, table in reversed(splits):
        yield f"{arn}/table/{database}/{table}"
    if sign == "." and len(parts) == 3:
        yield f"{arn}/table/{parts[1]}/{parts[2]}"
