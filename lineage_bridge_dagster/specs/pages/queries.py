"""Statements that query a table in DuckDB, Spark, PyIceberg and Athena, filled in and without secrets.

Names are quoted as each of them wants it: topics have dots and hyphens in their names. Keys come from the
environment, which DuckDB's command line reads with `getenv`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from lineage_bridge_dagster.catalogs.glue.links import (
    LINEAGE_DATABASE,
    athena_lineage,
    athena_select,
    double_quoted,
)
from lineage_bridge_dagster.catalogs.iceberg.spark_names import quoted
from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings, secret_variables
from lineage_bridge_dagster.catalogs.settings.catalog_properties import pyiceberg_properties, spark_conf
from lineage_bridge_dagster.catalogs.settings.tableflow_catalog import TABLEFLOW
from lineage_bridge_dagster.config.credentials import variable_of
from lineage_bridge_dagster.config.glue_iceberg import endpoint_of
from lineage_bridge_dagster.specs.markdown import fenced

#: Rows that a statement asks for.
_LIMIT = 10

_KEY, _SECRET = (variable_of("tableflow", half) for half in ("key", "secret"))
#: Stands for the halves of a key where the settings of a catalog become properties.
_ID = "key-of-the-catalog"

#: Before the bucket in the warehouse of its catalog.
_S3_TABLES = ":s3tablescatalog/"


class QueryPlace(NamedTuple):
    """How a catalog is reached: fields of `CatalogSettings`, empty if they are not set."""

    type: str
    name: str
    uri: str = ""
    warehouse: str = ""
    region: str = ""
    catalog_id: str = ""
    signing_name: str = ""
    signing_region: str = ""
    oauth2_server_uri: str = ""
    scope: str = ""
    s3_endpoint: str = ""

    @property
    def is_oauth2(self) -> bool:
        return self.type in ("rest", TABLEFLOW) and not self.signing_name

    @property
    def settings(self) -> CatalogSettings:
        fields = {name: value for name, value in self._asdict().items() if value}
        return CatalogSettings.model_validate({**secret_variables(self.name), **fields})


class QueriedTable(NamedTuple):
    """A table, and the catalog that it is queried through.

    Attributes:
        vended: Whether the catalog hands out credentials for the files.
    """

    catalog: QueryPlace
    database: str
    table: str
    vended: bool = False


def statements(table: QueriedTable) -> str:
    """The statements of all engines, as Markdown."""
    parts = [
        "Query it in Athena"
        + (
            "; the second statement reads its lineage from the lineage tables, if they are in this catalog's "
            f"database `{LINEAGE_DATABASE}`, as by default"
            if table.catalog.type == "glue"
            else ""
        )
        + ":\n\n"
        + fenced(in_athena, "sql")
        if (in_athena := athena(table))
        else f"Athena cannot query it: {_no_athena(table)}.",
        f"In DuckDB's command line:\n\n{fenced(duckdb(table), 'sql')}",
        f"In PyIceberg:\n\n{fenced(pyiceberg(table), 'python')}",
        "In Spark, with the packages `iceberg-spark-runtime` and `iceberg-aws-bundle`:\n\n"
        + fenced(spark(table), "python"),
    ]
    return "\n\n".join(parts)


def athena(table: QueriedTable) -> str:
    """Empty if Athena has no way to the table."""
    if table.catalog.type == "glue":
        select = athena_select(table.database, table.table, limit=_LIMIT)
        return f"{select};\n{athena_lineage(table.database, table.table)};"
    _, mark, bucket = table.catalog.warehouse.partition(_S3_TABLES)
    if table.catalog.signing_name == "glue" and mark:
        place = ".".join(map(double_quoted, (f"s3tablescatalog/{bucket}", table.database, table.table)))
        return f"SELECT * FROM {place} LIMIT {_LIMIT};"  # noqa: S608 - the names are quoted
    return ""


def duckdb(table: QueriedTable) -> str:
    name = ".".join(map(double_quoted, (table.catalog.name, table.database, table.table)))
    select = f"SELECT * FROM {name} LIMIT {_LIMIT};"  # noqa: S608 - the names are quoted
    return f"{_duckdb_attach(table.catalog, table.vended)}\n{select}"


def pyiceberg(table: QueriedTable) -> str:
    scan = f"catalog.load_table(({table.database!r}, {table.table!r})).scan(limit={_LIMIT})"
    return f"{_pyiceberg_open(table.catalog)}\nprint({scan}.to_arrow())"


def spark(table: QueriedTable) -> str:
    name = quoted(table.catalog.name, table.database, table.table)
    select = f"SELECT * FROM {name} LIMIT {_LIMIT}"  # noqa: S608 - the names are quoted
    return f"{_spark_session(table.catalog)}\nspark.sql({select!r}).show()"


def _no_athena(table: QueriedTable) -> str:
    if table.catalog.type == TABLEFLOW:
        return "Glue does not have it"
    return f"Glue does not know the catalog {table.catalog.name}"


@lru_cache(256)
def _duckdb_attach(catalog: QueryPlace, vended: bool) -> str:
    extensions = ["httpfs", "iceberg", *([] if vended else ["aws"])]
    lines = [f"INSTALL {name}; LOAD {name};" for name in extensions]
    if not vended:
        options = ["TYPE s3", "PROVIDER credential_chain", f"REGION {_literal(catalog.region)}"]
        if catalog.s3_endpoint:
            scheme, _, host = catalog.s3_endpoint.rpartition("://")
            options += [
                f"ENDPOINT {_literal(host)}",
                "URL_STYLE 'path'",
                f"USE_SSL {scheme != 'http'}".lower(),
            ]
        lines.append(_secret("aws_credentials", options))
    how = ["TYPE iceberg"]
    if catalog.is_oauth2:
        key, secret = _duckdb_key(catalog)
        server = catalog.oauth2_server_uri or f"{catalog.uri.rstrip('/')}/v1/oauth/tokens"
        options = [
            "TYPE iceberg",
            f"CLIENT_ID {key}",
            f"CLIENT_SECRET {secret}",
            f"OAUTH2_SCOPE {_literal(catalog.scope or 'catalog')}",
            f"OAUTH2_SERVER_URI {_literal(server)}",
        ]
        lines.append(_secret("catalog_key", options))
        how.append("SECRET catalog_key")
    else:
        how.append("SECRET aws_credentials")
    if catalog.type == "glue":
        how.append(f"ENDPOINT {_literal(endpoint_of(catalog.region or '<region>'))}")
    else:
        how.append(f"ENDPOINT {_literal(catalog.uri)}")
    how += [] if catalog.is_oauth2 else ["AUTHORIZATION_TYPE 'sigv4'"]
    warehouse = catalog.catalog_id or "<account id>" if catalog.type == "glue" else catalog.warehouse
    options_of_attach = ",\n    ".join(how)
    lines.append(
        f"ATTACH {_literal(warehouse)} AS {double_quoted(catalog.name)} (\n    {options_of_attach}\n);"
    )
    return "\n".join(lines)


def _duckdb_key(catalog: QueryPlace) -> tuple[str, str]:
    """The expressions for id and secret."""
    if catalog.type == TABLEFLOW:
        return f"getenv({_literal(_KEY)})", f"getenv({_literal(_SECRET)})"
    pair = f"getenv({_literal(_credential_variable(catalog))})"
    return f"split_part({pair}, ':', 1)", f"split_part({pair}, ':', 2)"


@lru_cache(256)
def _pyiceberg_open(catalog: QueryPlace) -> str:
    lines = _entries(catalog, pyiceberg_properties(catalog.settings, _stand_ins(catalog)))
    return (
        f"{_imports(catalog)}from pyiceberg.catalog import load_catalog\n\n"
        f"catalog = load_catalog(\n    {catalog.name!r},\n    **{{\n"
        + "".join(f"        {line},\n" for line in lines)
        + "    },\n)"
    )


@lru_cache(256)
def _spark_session(catalog: QueryPlace) -> str:
    lines = _entries(catalog, spark_conf(catalog.settings, _stand_ins(catalog)))
    return (
        f"{_imports(catalog)}from pyspark.sql import SparkSession\n\nconf = {{\n"
        + "".join(f"    {line},\n" for line in lines)
        + "}\nspark = SparkSession.builder.config(map=conf).getOrCreate()"
    )


def _imports(catalog: QueryPlace) -> str:
    return "import os\n\n" if catalog.is_oauth2 else ""


def _stand_ins(catalog: QueryPlace) -> dict[str, str]:
    """Variables with values that stand for the key where settings become properties."""
    if not catalog.is_oauth2:
        return {}
    return {_KEY: _ID, _SECRET: _ID, _credential_variable(catalog): f"{_ID}:{_ID}"}


def _entries(catalog: QueryPlace, properties: Mapping[str, str]) -> list[str]:
    """The entries of a dict, with the key from the environment in place of its stand-in."""
    key = f"os.environ[{_credential_variable(catalog)!r}]"
    if catalog.type == TABLEFLOW:
        key = f"os.environ[{_KEY!r}] + ':' + os.environ[{_SECRET!r}]"
    return [
        f"{name!r}: {key if value == f'{_ID}:{_ID}' else repr(value)}" for name, value in properties.items()
    ]


def _credential_variable(catalog: QueryPlace) -> str:
    return secret_variables(catalog.name)["credential_variable"]


def _secret(name: str, options: list[str]) -> str:
    return f"CREATE SECRET {name} (\n    " + ",\n    ".join(options) + "\n);"


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
