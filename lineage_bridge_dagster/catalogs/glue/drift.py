"""What became of lineage that was pushed, and which writer it was likely lost to. Pure.

Glue says when a table was updated, and not by whom: only CloudTrail does. What else changed with the lineage
tells which kind of writer it was.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime

from lineage_bridge_dagster.catalogs.glue.glue_table import GlueTable
from lineage_bridge_dagster.catalogs.glue.update_plan import TableUpdate
from lineage_bridge_dagster.lineage.description import split_description
from lineage_bridge_dagster.lineage.documents import KEY_DIGEST, PREFIX, digest

#: Facts of a table that tell writers apart, by the name under which they are kept between two looks.
METADATA_LOCATION = "metadata_location"
CREATED = "created"
DDL_TIME = "transient_lastDdlTime"
#: Set by Glue's crawlers: the crawler's name.
CRAWLER = "UPDATED_BY_CRAWLER"

#: Hexadecimal digits that are kept of a fact: enough to see that it changed.
_FACT_DIGITS = 8


def loss_of(update: TableUpdate) -> str:
    """What the lineage of a table has lost that this update would write, in a few words.

    `stale` is lineage as an earlier push wrote it, such as that of an older version of the table.
    """
    table = update.table
    ours = _ours(table.parameters)
    block = split_description(table.description)[1]
    if update.removal:
        return "stale"
    no_parameters = bool(_ours(update.parameters)) and not ours
    no_block = split_description(update.description)[1] is not None and block is None
    if no_parameters:
        return "wiped" if block is None else "parameters wiped"
    if no_block:
        return "description wiped" if ours else "wiped"
    if ours.get(KEY_DIGEST) in (digest(ours, block), digest(ours, None), digest({}, block)):
        return "stale"
    return "changed"


def facts_of(table: GlueTable) -> dict[str, str]:
    """The facts that the table has, as short hashes to compare the next look with."""
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
        before: the facts of the table when it was last looked at with its lineage.
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
            "so it was no Iceberg commit"
        )
    return f"{who}. CloudTrail's UpdateTable events of {table.place.dotted}, the last one{at}, name it"


def _ours(parameters: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in parameters.items() if key.startswith(PREFIX)}


def _time(value: object) -> str:
    return value.isoformat(timespec="seconds") if isinstance(value, datetime) else ""
