"""Links into the consoles of every AWS partition, and the SELECT that Athena takes for a table."""

from __future__ import annotations

from urllib.parse import quote

#: Partition -> host suffix of its consoles; the region goes before it. The isolated ones' are on the domains
#: of their sign-in endpoints, as AWS's SDKs have them: their consoles are documented inside them alone.
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
_PREFIXES = (
    ("cn-", "aws-cn"),
    ("us-gov-", "aws-us-gov"),
    ("us-isob-", "aws-iso-b"),
    ("us-iso-", "aws-iso"),
    ("eu-isoe-", "aws-iso-e"),
    ("us-isof-", "aws-iso-f"),
    ("eusc-", "aws-eusc"),
)


def partition_of(region: str) -> str:
    """The partition of a region, as ARNs spell it: `us-gov-west-1` -> `aws-us-gov`."""
    return next((partition for prefix, partition in _PREFIXES if region.startswith(prefix)), "aws")


def glue_table_url(region: str, database: str, table: str, *, catalog_id: str | None = None) -> str:
    """The table's page in the Glue console."""
    query = f"database={quote(database, safe='')}"
    if catalog_id:
        query += f"&catalogId={quote(catalog_id, safe='')}"
    place = f"#/v2/data-catalog/tables/view/{quote(table, safe='')}?{query}"
    return f"https://{_host(region)}/glue/home?region={region}{place}"


def athena_url(region: str) -> str:
    """Athena's query editor; it takes no statement by link, so show `athena_select` beside it."""
    return f"https://{_host(region)}/athena/home?region={region}#/query-editor"


def athena_select(database: str, table: str, *, limit: int = 10) -> str:
    """A SELECT for Athena, whose queries quote names with double quotes (its DDL alone takes backticks).

    Names with dots, hyphens or a leading digit work only so.
    """
    return f"SELECT * FROM {_double(database)}.{_double(table)} LIMIT {limit}"  # noqa: S608 - to show; both names are quoted


def athena_describe(database: str, table: str) -> str:
    """The DDL that shows a table's parameters in Athena, whose DDL quotes names with backticks."""
    return f"SHOW TBLPROPERTIES {_backtick(database)}.{_backtick(table)}"


def _double(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _backtick(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _host(region: str) -> str:
    return f"{region}.{_CONSOLES[partition_of(region)]}"
