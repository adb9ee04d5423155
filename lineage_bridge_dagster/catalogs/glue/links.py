"""Links into the AWS consoles of every partition, and SQL statements for Athena."""

from __future__ import annotations

from urllib.parse import quote

from lineage_bridge_dagster.config.aws_partitions import partition_of

#: The database of the lineage tables, unless the component's YAML names another one.
LINEAGE_DATABASE = "lineage_bridge"

#: Partition -> host of its consoles, after the region. The consoles of isolated partitions are documented
#: only inside them: their hosts are on the domains of the sign-in endpoints in AWS's SDKs.
_CONSOLES = {
    "aws": "console.aws.amazon.com",
    "aws-cn": "console.amazonaws.cn",
    "aws-us-gov": "console.amazonaws-us-gov.com",
    "aws-iso": "console.c2shome.ic.gov",
    "aws-iso-b": "console.sc2shome.sgov.gov",
    "aws-iso-e": "console.csphome.adc-e.uk",
    "aws-iso-f": "console.csphome.hci.ic.gov",
    "aws-eusc": "console.amazonaws-eusc.eu",
}


def glue_table_url(region: str, database: str, table: str, *, catalog_id: str | None = None) -> str:
    """The table's page in the Glue console."""
    query = f"database={_quoted(database)}"
    if catalog_id:
        query += f"&catalogId={_quoted(catalog_id)}"
    place = f"#/v2/data-catalog/tables/view/{_quoted(table)}?{query}"
    return f"https://{_host(region)}/glue/home?region={region}{place}"


def athena_url(region: str) -> str:
    """Athena's query editor. A link cannot carry a statement, so show `athena_select` next to it."""
    return f"https://{_host(region)}/athena/home?region={region}#/query-editor"


def athena_select(database: str, table: str, *, limit: int = 10) -> str:
    """A SELECT for Athena, with the names in double quotes; only Athena's DDL uses backticks.

    Names with dots, hyphens or a leading digit must be quoted.
    """
    return f"SELECT * FROM {double_quoted(database)}.{double_quoted(table)} LIMIT {limit}"  # noqa: S608 - both names are quoted


def athena_lineage(database: str, table: str) -> str:
    """A SELECT of a table's hops from the lineage tables.

    What Athena shows of a table's parameters is not documented, so no statement shows them there.
    """
    return (
        f'SELECT hop, kind, qualified_name FROM {double_quoted(LINEAGE_DATABASE)}."upstream_chains" '  # noqa: S608
        f'WHERE "database" = {_literal(database)} AND table_name = {_literal(table)} ORDER BY hop'
    )


def double_quoted(name: str) -> str:
    """A name as Athena and DuckDB quote it."""
    return '"' + name.replace('"', '""') + '"'


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _host(region: str) -> str:
    return f"{region}.{_CONSOLES[partition_of(region)]}"


def _quoted(name: str) -> str:
    # An answer of Glue may have half of a character in it.
    return quote(name, safe="", errors="replace")
