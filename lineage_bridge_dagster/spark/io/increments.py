"""Incremental inputs: what an upstream asset got since the downstream table last consumed it.

The summary of the snapshot that holds the rows also holds the position of the inputs, so one commit moves
both or neither: after a failed run the same rows are read again, after a successful one never, and a table
that is dropped or rolled back takes its position along.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.spark.commits import CommitMarker
from lineage_bridge_dagster.spark.iceberg_tables import TableName
from lineage_bridge_dagster.spark.kafka import Offsets
from lineage_bridge_dagster.spark.snapshot import Snapshot
from lineage_bridge_dagster.specs.keys import NAMESPACE

#: Run tag with which incremental inputs are read in full and all rows of the tables are replaced.
FULL_REFRESH = f"{NAMESPACE}/full_refresh"

#: Keys of snapshot summaries. The run's is dagster-iceberg's.
RUN_ID = "dagster-run-id"
CONSUMED = "lineage_bridge.consumed"


@dataclass(frozen=True, slots=True)
class Downstream:
    """The table that consumes incremental inputs.

    Attributes:
        full_refresh: whether the run starts over.
        consumed: the position that this run moves each input to, by the input's label.
    """

    table: TableName
    full_refresh: bool = False
    consumed: dict[str, Any] = field(default_factory=dict)


class IncrementError(LineageBridgeError):
    """What is new cannot be determined, or no longer exists."""


def run_marker(run_id: str, consumed: Mapping[str, Any]) -> CommitMarker:
    """The marker of a run's write, with the positions of its incremental inputs."""
    properties = {RUN_ID: run_id}
    if consumed:
        properties[CONSUMED] = json.dumps(consumed, sort_keys=True)
    return CommitMarker(properties)


def position(
    downstream: Downstream, ancestors_of: Callable[[TableName], Iterable[Snapshot] | None], label: str
) -> Mapping[str, Any] | None:
    """How far the downstream table has consumed an input; None at the beginning.

    A snapshot that another writer committed (a compaction) has no position: an earlier one has.

    Args:
        ancestors_of: the snapshots of a table's current branch, newest first; None if it does not exist.

    Raises:
        IncrementError: the table has rows, and no snapshot with their position in the input.
    """
    table, has_rows = downstream.table, False
    history = None if downstream.full_refresh else ancestors_of(table)
    for number, found in enumerate(history or ()):
        if CONSUMED in found.summary:
            positions = json.loads(found.summary[CONSUMED])
            if label in positions:
                return dict(positions[label])
        # Without a count in the newest snapshot the table may have rows.
        has_rows = has_rows or (number == 0 and found.summary.get("total-records") != "0")
    if has_rows:
        raise IncrementError(
            f"{table} has rows, and none of its snapshots records their position in {label}: they were not "
            "written incrementally, or those snapshots have expired.",
            hint=full_refresh_hint(label),
        )
    return None


def full_refresh_hint(label: str) -> str:
    """What to do when an incremental input cannot continue."""
    return (
        f"Launch it once with the run tag {FULL_REFRESH}: true, which reads {label} in full and replaces "
        "all rows."
    )


def offsets_since(
    last: Mapping[str, Any] | None, first: Offsets, end: Offsets, label: str
) -> tuple[Offsets, Offsets]:
    """The offsets to read from and to; a new partition is read from its first record.

    Raises:
        IncrementError: records were removed before they were read, or the topic was recreated.
    """
    done = {int(partition): int(offset) for partition, offset in ((last or {}).get("offsets") or {}).items()}
    for partition, at in sorted(done.items()):
        begin, stop = first.get(partition, 0), end.get(partition, -1)
        if at < begin:
            raise IncrementError(
                f"Records {at} to {begin - 1} of partition {partition} of {label} were removed before they "
                "were read.",
                hint=full_refresh_hint(label) + " Give the topic a longer retention, or run more often.",
            )
        if at > stop:
            raise IncrementError(
                f"Partition {partition} of {label} ends before offset {at}, up to which it was read: the "
                "topic was recreated.",
                hint=full_refresh_hint(label),
            )
    return {partition: done.get(partition, begin) for partition, begin in first.items()}, dict(end)
