"""Which writer of an Iceberg table its lineage was likely lost to. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from lineage_bridge_dagster.catalogs.iceberg.table_reading import IcebergTable

UUID = "uuid"
SNAPSHOT = "snapshot"


def facts_of(table: IcebergTable) -> dict[str, str]:
    """The facts to compare with the next time."""
    return {UUID: table.uuid, SNAPSHOT: str(table.snapshot_id or "")}


def likely_writer(table: IcebergTable, before: Mapping[str, str], *, survived: bool = False) -> str:
    """Who likely took the lineage away, with the evidence, as a clause.

    Args:
        table: the table without its lineage.
        before: the facts of the table when it was last seen with its lineage.
        survived: whether the lineage outlived commits of data before, so that such a commit proves nothing.
    """
    now = facts_of(table)
    if not before:
        who = "unknown so far"
    elif now[UUID] != before.get(UUID):
        who = "whoever dropped the table and created it again"
    elif now[SNAPSHOT] == before.get(SNAPSHOT):
        who = "a commit of properties alone, such as ALTER TABLE ... UNSET TBLPROPERTIES"
    elif survived:
        who = "unknown: data was committed, but the lineage outlived such commits before"
    else:
        who = "a writer that commits data and replaces the properties, such as CREATE OR REPLACE TABLE"
    name = ".".join((*table.namespace, table.name))
    return f"{who}. The log of the catalog's calls, for S3 Tables CloudTrail's of {name}, names it"
