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
from lineage_bridge_dagster.spark.iceberg_tables import ancestors, exists, snapshot
from lineage_bridge_dagster.spark.kafka import Offsets

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Set on a run, it loads incremental inputs whole and replaces all rows of the tables.
FULL_REFRESH = "lineage_bridge/full_refresh"

_AGAIN = (
    f"Launch it once with the run tag {FULL_REFRESH}: true: {{input}} is loaded whole, all rows replaced."
)


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
        rows = rows or (newest and found.count("total-records") > 0)
        newest = False
    if rows:
        raise IncrementError(
            f"{target} has rows, and none of its snapshots says how far they go in {shown}: it was written "
            "otherwise, or those snapshots have expired.",
            hint=_AGAIN.format(input=shown),
        )
    return None


def appended_since(spark: SparkSession, name: str, start: int, end: int, shown: str) -> None:
    """Refuse unless all that came after one snapshot up to another are rows appended.

    Raises:
        IncrementError: the first has expired or is no longer in the table's past, or rows were replaced or
            deleted since.
    """
    changed = None
    for found in _back_from(spark, name, end):
        if found.snapshot_id == start:
            break
        if found.operation not in ("append", "replace"):
            changed = found
    else:
        reason = (
            "is no longer part of the table's history: it was replaced or rolled back"
            if snapshot(spark, name, start)
            else "has expired"
        )
        raise IncrementError(
            f"Snapshot {start} of {shown}, up to which its rows were read, {reason}.",
            hint=_AGAIN.format(input=shown) + " Keep snapshots longer than the longest pause between runs.",
        )
    if changed is not None:
        when = iso(datetime.fromtimestamp(changed.committed_at / 1000, UTC))
        raise IncrementError(
            f"{shown} was not only appended to since snapshot {start}: snapshot {changed.snapshot_id} of "
            f"{when} is of operation {changed.operation}, which replaces or deletes rows.",
            hint=_AGAIN.format(input=shown) + " A table that is updated in place is better loaded whole.",
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
                hint=_AGAIN.format(input=shown) + " Give the topic a longer retention, or run more often.",
            )
        if at > stop:
            raise IncrementError(
                f"Partition {partition} of {shown} ends before offset {at}, up to which it was read: the "
                "topic was made anew.",
                hint=_AGAIN.format(input=shown),
            )
    return {partition: done.get(partition, begin) for partition, begin in first.items()}, dict(end)


def _back_from(spark: SparkSession, name: str, end: int) -> Any:
    """The snapshots of the current branch, from one of them back."""
    met = False
    for found in ancestors(spark, name):
        met = met or found.snapshot_id == end
        if met:
            yield found
