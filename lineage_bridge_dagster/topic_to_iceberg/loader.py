"""What loads one topic into its table: an engine on Spark, or a test's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol

from lineage_bridge_dagster.spark.kafka import Offsets
from lineage_bridge_dagster.topic_to_iceberg.loading.model import LoadStep
from lineage_bridge_dagster.topic_to_iceberg.loading.slices import SliceReport, TimeSlice
from lineage_bridge_dagster.topic_to_iceberg.settings.topic_load import TopicLoad


@dataclass(frozen=True, slots=True)
class LoadStatus:
    """A table and its topic at one time.

    Attributes:
        snapshot_id: None before the first commit.
        committed_ms: Unix milliseconds.
        rows: that the table has; None if its delete files leave that open.
        columns: name -> type.
        offsets: up to which the table has the topic, by partition.
        ends: of the topic's partitions.
        oldest_unread_ms: the time of the oldest record that is not in the table; None if there is none.
        schema_ids: of the registered schemas that records are decoded with.
    """

    snapshot_id: int | None = None
    committed_ms: int | None = None
    rows: int | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    offsets: Offsets = field(default_factory=dict)
    ends: Offsets = field(default_factory=dict)
    oldest_unread_ms: int | None = None
    schema_ids: tuple[int, ...] = ()

    @property
    def lag_records(self) -> int:
        """Offsets between the table and the topic's ends; transactions and compaction leave fewer records."""
        return sum(max(0, end - self.offsets.get(partition, 0)) for partition, end in self.ends.items())


class Loader(Protocol):
    """Loads one topic. It is used by one thread at a time."""

    def ensure(self) -> None:
        """Create the table if it does not exist."""

    def ends(self) -> Offsets:
        """The ends that the topic's partitions have now."""

    def columns(self) -> Mapping[str, str]:
        """The columns that the table has now: name -> type; empty if there is no table."""

    def advance(self) -> LoadStep:
        """Commit the next records.

        Raises:
            LineageBridgeError: they could not be read or committed; a `SuspendedError` if the topic, its
                schema or its settings have to be changed first.
        """

    def backfill(self, slices: Sequence[TimeSlice], late: timedelta | None) -> Iterator[SliceReport]:
        """Load slices of the topic again, whatever the table's offsets; yield each one that is done.

        Raises:
            LineageBridgeError: as `advance`.
        """

    def status(self) -> LoadStatus:
        """The current state of the table and its topic."""


#: Opens the loader of a topic, in the thread that uses it.
OpenLoader = Callable[[TopicLoad], Loader]
