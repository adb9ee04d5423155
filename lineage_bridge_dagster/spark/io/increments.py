"""What of an upstream asset is new since the downstream table last took from it.

How far a table has got stands in the summary of the snapshot that holds the rows, so one commit moves both or
neither: a run that fails reads the same again, one that succeeded never does, and a table that is dropped or
rolled back takes its position along.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.lineage.times import iso
from lineage_bridge_dagster.spark.commits import CONSUMED, Target
from lineage_bridge_dagster.spark.iceberg_tables import Snapshot, ancestors, exists, snapshot
from lineage_bridge_dagster.spark.kafka import Offsets

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Set on a run, it loads incremental inputs whole and replaces all rows of the tables.
FULL_REFRESH = "lineage_bridge/full_refresh"


@dataclass(frozen=True, slots=True)
class Downstream:
    """The table that takes from an input, and the positions that this run moves it to, by input.

    `full`: the run starts over.
    """

    target: Target
    full: bool = False
    consumed: dict[str, Any] = field(default_factory=dict)


class IncrementError(LineageBridgeError):
    """What is new can't be told, or is no longer there."""


def position(spark: SparkSession, downstream: Downstream, shown: str) -> Mapping[str, Any] | None:
    """Where the downstream table stands in an input; None when it starts at the beginning.

    A snapshot that somebody else committed (a compaction) says nothing: the one before it tells.

    Raises:
        IncrementError: the table has rows, and no snapshot says where they are from.
    """
    target = downstream.target
    if downstream.full or not exists(spark, target.name):
        return None
    newest = True
    rows = False
    for found in ancestors(spark, target.name):
        if CONSUMED in found.summary:
            positions = json.loads(found.summary[CONSUMED])
            if shown in positions:
                return dict(positions[shown])
        # Whoever wrote it may have left the count out: then rows may be there.
        rows = rows or (newest and found.summary.get("total-records") != "0")
        newest = False
    if rows:
        raise IncrementError(
            f"{target} has rows, and none of its snapshots says how far they go in {shown}: it was written "
            "otherwise, or those snapshots have expired.",
            hint=full_refresh_hint(shown),
        )
    return None


def full_refresh_hint(shown: str) -> str:
    """What to do where an incremental input can't go on."""
    return (
        f"Launch it once with the run tag {FULL_REFRESH}: true: {shown} is loaded whole, all rows replaced."
    )


def appended_since(spark: SparkSession, name: str, start: int, end: int, shown: str, hint: str) -> None:
    """Refuse unless all that came after one snapshot up to another are rows appended.

    Raises:
        IncrementError: one of them has expired or is not in the table's past, or rows were replaced or
            deleted since the first.
    """
    past: list[Snapshot] = []
    for found in ancestors(spark, name):
        past.append(found)
        if found.snapshot_id == start:
            break
    ids = [found.snapshot_id for found in past]
    if start not in ids:
        reason = (
            "is no longer part of the table's history: it was replaced or rolled back"
            if snapshot(spark, name, start)
            else "has expired, or is another table's"
        )
        raise IncrementError(
            f"Snapshot {start} of {shown}, after which its rows are new, {reason}.",
            hint=f"{hint} Keep snapshots longer than the longest pause between runs.",
        )
    if end not in ids:
        raise IncrementError(
            f"Snapshot {end} of {shown} does not come after snapshot {start} in the table's history.",
            hint=hint,
        )
    since = past[ids.index(end) : ids.index(start)]
    changed = next((one for one in reversed(since) if one.operation not in ("append", "replace")), None)
    if changed is not None:
        when = iso(datetime.fromtimestamp(changed.committed_at / 1000, UTC))
        raise IncrementError(
            f"{shown} was not only appended to since snapshot {start}: snapshot {changed.snapshot_id} of "
            f"{when} is of operation {changed.operation}, which replaces or deletes rows.",
            hint=f"{hint} A table that is updated in place is better loaded whole.",
        )


def offsets_since(
    last: Mapping[str, Any] | None, first: Offsets, end: Offsets, shown: str
) -> tuple[Offsets, Offsets]:
    """The offsets to read from and to; a partition that is new is read from its first record.

    Raises:
        IncrementError: records were removed before they were read, or the topic was made anew.
    """
    done = {int(partition): int(offset) for partition, offset in ((last or {}).get("offsets") or {}).items()}
    for partition, at in sorted(done.items()):
        begin, stop = first.get(partition, 0), end.get(partition, -1)
        if at < begin:
            raise IncrementError(
                f"Records {at} to {begin - 1} of partition {partition} of {shown} were removed before they "
                "were read.",
                hint=full_refresh_hint(shown) + " Give the topic a longer retention, or run more often.",
            )
        if at > stop:
            raise IncrementError(
                f"Partition {partition} of {shown} ends before offset {at}, up to which it was read: the "
                "topic was made anew.",
                hint=full_refresh_hint(shown),
            )
    return {partition: done.get(partition, begin) for partition, begin in first.items()}, dict(end)
