"""Which writer of a Glue table its lineage was likely lost to. Pure.

Glue says when a table was updated, and not by whom: only CloudTrail does. What else changed with the lineage
tells which kind of writer it was.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime

from lineage_bridge_dagster.catalogs.glue.glue_table import GlueTable

#: Facts of a table that tell writers apart, by the name under which they are kept between two comparisons.
METADATA_LOCATION = "metadata_location"
CREATED = "created"
DDL_TIME = "transient_lastDdlTime"
#: Set by Glue's crawlers: the crawler's name.
CRAWLER = "UPDATED_BY_CRAWLER"

#: Hexadecimal digits that are kept of a fact: enough to see that it changed.
_FACT_DIGITS = 8


def facts_of(table: GlueTable) -> dict[str, str]:
    """The facts that the table has, as short hashes to compare with the next time."""
    facts = {name: table.parameters.get(name, "") for name in (METADATA_LOCATION, DDL_TIME, CRAWLER)}
    facts[CREATED] = _time(table.raw.get("CreateTime"))
    return {
        name: hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_FACT_DIGITS]
        for name, text in facts.items()
        if text
    }


def likely_writer(table: GlueTable, before: Mapping[str, str], *, survived: bool = False) -> str:
    """Who likely took the lineage away, with the evidence, as a clause.

    Args:
        table: the table without its lineage.
        before: the facts of the table when it was last seen with its lineage.
        survived: whether the lineage outlived Iceberg commits before, so that such a commit proves nothing.
    """
    now = facts_of(table)
    creator = str(table.raw.get("CreatedBy") or "an unknown role")
    when = _time(table.raw.get("UpdateTime"))
    at = f" at {when}" if when else ""

    def moved(name: str) -> bool:
        return bool(before.get(name)) and now.get(name, "") != before[name]

    if not before:
        who = "unknown so far"
    elif moved(CREATED):
        who = f"{creator}, which created the table again at {_time(table.raw.get('CreateTime'))}"
    elif moved(CRAWLER) or (CRAWLER in now and CRAWLER not in before):
        who = f"Glue's crawler {table.parameters.get(CRAWLER, '')}: it set the parameter {CRAWLER}"
    elif moved(DDL_TIME):
        who = f"a DDL statement of Athena, Hive or Spark: {DDL_TIME} moved"
    elif moved(METADATA_LOCATION) and survived:
        who = "unknown: metadata_location moved, but the lineage outlived Iceberg commits before"
    elif moved(METADATA_LOCATION):
        who = (
            "an Iceberg commit or catalog sync, such as Tableflow's: metadata_location moved. "
            f"The table was created by {creator}"
        )
    else:
        who = (
            "a person or a tool that calls UpdateTable, such as Terraform: metadata_location did not move, "
            "so it was not an Iceberg commit"
        )
    return f"{who}. CloudTrail's UpdateTable events of {table.place.dotted}, the last one{at}, name it"


def _time(value: object) -> str:
    return value.isoformat(timespec="seconds") if isinstance(value, datetime) else ""
