"""Relational databases as connectors reach them: a dialect, an address, and names of tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from lineage_bridge_dagster.confluent.connectors import naming
from lineage_bridge_dagster.confluent.connectors.addresses import (
    JdbcUrl,
    host_and_port,
    parse_jdbc_url,
    redshift_cluster,
    snowflake_account,
)
from lineage_bridge_dagster.confluent.connectors.config import UNRESOLVED, Config
from lineage_bridge_dagster.confluent.connectors.naming import Rule

#: A part of a qualified name, in the quotes of any database or in none; empty between two dots.
_NAME_PART = re.compile(r'"((?:[^"]|"")*)"|`((?:[^`]|``)*)`|\[((?:[^\]]|\]\])*)\]|([^.]+)|(?<=\.)(?=\.)')
_USER = re.compile(r'"?([\w$#]+)"?')
_SEARCH_PATH = re.compile(r"search_path\s*=\s*\"?([\w$]+)")


def _keep(name: str) -> str:
    return name


def _host(host: str) -> dict[str, str]:
    return {"host": host}


def _redshift(host: str) -> dict[str, str]:
    port = host_and_port(host)[1]
    return {"host": redshift_cluster(host), "port": port}


def _nowhere(_host: str) -> dict[str, str]:
    return {}


def _snowflake(host: str) -> dict[str, str]:
    return {"account": snowflake_account(host)}


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a kind of database names its tables.

    Attributes:
        rule: How its datasets are named.
        path: The parts of the rule that are a table's qualified name.
        schema: Where unqualified tables are, if the connection doesn't say; `{user}` for the user's own.
        fold: Names that are not quoted.
        database: That of a connection that names none; `{user}` for one with the name of the user.
        address: The parts of the rule that a host gives.
        across: Whether a qualified name may lead to another database.
        port: In place of the rule's, for a database that shares another one's protocol.
    """

    rule: Rule
    path: tuple[str, ...] = ("database", "schema", "table")
    schema: str = ""
    database: str = ""
    fold: Callable[[str], str] = _keep
    address: Callable[[str], Mapping[str, str]] = _host
    across: bool = True
    port: str = ""


_MYSQL = Dialect(naming.MYSQL, ("database", "table"))
_POSTGRES = Dialect(naming.POSTGRES, schema="public", database="{user}", fold=str.lower, across=False)
_MSSQL = Dialect(naming.MSSQL, schema="dbo")
_DB2 = Dialect(naming.DB2, schema="{user}", fold=str.upper, across=False)
_TRINO = Dialect(naming.TRINO, ("catalog", "schema", "table"), fold=str.lower)
_HIVE = Dialect(naming.HIVE, ("database", "table"), fold=str.lower, port="10000")
_ATHENA = Dialect(naming.ATHENA, ("catalog", "schema", "table"), schema="default", fold=str.lower)

#: By the kind of a JDBC URL.
DIALECTS: Mapping[str, Dialect] = {
    **dict.fromkeys(("postgresql", "pgsql", "edb", "alloydb"), _POSTGRES),
    "yugabytedb": replace(_POSTGRES, port="5433"),
    "cockroachdb": replace(_POSTGRES, port="26257"),
    **dict.fromkeys(("mysql", "mysql+srv", "mariadb"), _MYSQL),
    "tidb": replace(_MYSQL, port="4000"),
    "oceanbase": Dialect(naming.OCEANBASE, ("database", "table")),
    "sqlserver": _MSSQL,
    "synapse": Dialect(naming.SYNAPSE, schema="dbo"),
    "oracle": Dialect(
        naming.ORACLE, ("service", "schema", "table"), schema="{user}", fold=str.upper, across=False
    ),
    "db2": _DB2,
    "as400": Dialect(naming.DB2_I, ("schema", "table"), schema="{user}", fold=str.upper),
    "informix-sqli": Dialect(naming.INFORMIX, schema="{user}", fold=str.lower),
    "sybase": Dialect(naming.SYBASE, schema="dbo"),
    "sap": Dialect(naming.HANA, schema="{user}", fold=str.upper, across=False),
    "derby": Dialect(naming.DERBY, schema="{user}", fold=str.upper, across=False),
    "h2": Dialect(naming.H2, schema="PUBLIC", fold=str.upper, across=False),
    "hsqldb": Dialect(naming.HSQLDB, schema="PUBLIC", fold=str.upper, across=False),
    "crate": Dialect(naming.CRATE, schema="doc", fold=str.lower),
    "redshift": Dialect(naming.REDSHIFT, schema="public", fold=str.lower, address=_redshift),
    "snowflake": Dialect(naming.SNOWFLAKE, schema="PUBLIC", fold=str.upper, address=_snowflake),
    **dict.fromkeys(("trino", "presto"), _TRINO),
    **dict.fromkeys(("hive", "hive2"), _HIVE),
    "teradata": Dialect(naming.TERADATA, ("database", "table")),
    "vertica": Dialect(naming.VERTICA, schema="public"),
    **dict.fromkeys(("clickhouse", "ch"), Dialect(naming.CLICKHOUSE, ("database", "table"))),
    **dict.fromkeys(("singlestore", "memsql"), Dialect(naming.SINGLESTORE, ("database", "table"))),
    "impala": Dialect(naming.KUDU, ("database", "table"), fold=str.lower),
    "netezza": Dialect(naming.NETEZZA, schema="{user}", fold=str.upper),
    **dict.fromkeys(("awsathena", "athena"), _ATHENA),
    "bigquery": Dialect(naming.BIGQUERY, ("project", "dataset", "table"), address=_nowhere),
    "databricks": Dialect(
        naming.UNITY_CATALOG, ("catalog", "schema", "table"), schema="default", fold=str.lower
    ),
}


@dataclass(frozen=True, slots=True)
class Database:
    """A database that a connector is connected to.

    Attributes:
        dialect: Its kind.
        host: With its port, if it is given; empty if it is not known.
        name: The name of the database, catalog or service; empty if it is not known.
        schema: Where unqualified tables are; empty if it is not known.
    """

    dialect: Dialect
    host: str
    name: str = ""
    schema: str = ""

    def table(self, *parts: str) -> str:
        """Name a table's dataset; empty if it is not known.

        Args:
            *parts: The table's name, qualified or not, as the catalog spells it.
        """
        path = self.dialect.path
        if len(parts) == 3 and not parts[1]:
            # database..table
            parts = (parts[0], self.schema, parts[2])
        if not parts or not all(parts) or len(parts) > len(path):
            return ""
        given = dict(zip(reversed(path), reversed(parts), strict=False))
        # The first part of a path is what one connects to.
        if not self.dialect.across and self.name and given.get(path[0], self.name) != self.name:
            return ""
        address = self.dialect.address(self.host)
        if len(path) == 2:
            rest = {path[0]: self.name or self.schema} | given
        else:
            # The second part is a schema, whatever the database calls it.
            rest = {path[0]: self.name, path[1]: self.schema} | given
        return self.dialect.rule(**{"default_port": self.dialect.port} | dict(address) | rest)

    def folded(self, parts: list[tuple[str, bool]]) -> list[str]:
        """The parts of a name in SQL as the catalog spells them."""
        return [name if quoted else self.dialect.fold(name) for name, quoted in parts]


def database_of(config: Config, kind: str = "") -> Database | None:
    """The database of a JDBC connector: by its URL, or by the keys of a managed connector of a kind."""
    url = parse_jdbc_url(config.get("connection.url", "connection.urls"))
    if url is None:
        if not kind:
            return None
        url = JdbcUrl(kind, _managed_host(config), config.get("db.name", "database.dbname"))
    kind = url.kind
    if kind == "sqlserver" and host_and_port(url.host)[0].endswith(".sql.azuresynapse.net"):
        kind = "synapse"
    dialect = DIALECTS.get(kind)
    if dialect is None:
        return None
    name, schema = url.database, url.setting("currentschema", "schema", "searchpath", "connschema")
    if not schema and (match := _SEARCH_PATH.search(url.setting("options"))):
        schema = match[1]
    if dialect is _ATHENA:
        region = url.setting("region", "awsregion")
        url = replace(url, host=url.host or (f"athena.{region}.amazonaws.com" if region else ""))
        name, schema = url.setting("catalog") or "AwsDataCatalog", schema or url.setting("database")
    elif kind == "bigquery":
        name, schema = url.setting("projectid"), url.setting("defaultdataset")
    elif dialect.path[0] == "catalog":
        # /catalog/schema, and Databricks' settings
        catalog, _, inner = name.partition("/")
        name, schema = (
            (url.setting("conncatalog"), schema or catalog) if kind == "databricks" else (catalog, inner)
        )
    if dialect.path[0] == "schema":
        name, schema = "", schema or name
    given = config.get("connection.user", "connection.username") or url.user
    # A user that only the Connect worker knows is as good as none.
    user = None if UNRESOLVED in given else _USER.match(given)
    users = {"{user}": user[1] if user else ""}
    name = name or users.get(dialect.database, dialect.database)
    if not schema:
        schema = dialect.fold(users["{user}"]) if dialect.schema in users else dialect.schema
    return Database(dialect, url.host, name, schema)


def _managed_host(config: Config) -> str:
    host, port = host_and_port(config.get("connection.host", "database.hostname", "connection.url"))
    port = config.get("connection.port", "database.port") or port
    return f"{host}:{port}" if host and port else host


def name_parts(name: str) -> list[tuple[str, bool]]:
    """Split a qualified name into its parts, and whether each is quoted."""
    found: list[tuple[str, bool]] = []
    for double, back, bracket, bare in _NAME_PART.findall(name.strip()):
        quoted = double.replace('""', '"') or back.replace("``", "`") or bracket.replace("]]", "]")
        found.append((quoted, True) if quoted else (bare.strip(), False))
    return found


def plain_parts(name: str) -> list[str]:
    """Split a qualified name into its parts, without quotes."""
    return [part for part, _ in name_parts(name)]
