"""The rate at which records are written to a topic, by the growth of its offsets between materializations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dagster import AssetKey, DagsterInstance

from lineage_bridge_dagster.assets.metadata import TopicMetadata
from lineage_bridge_dagster.assets.times import as_text

#: Metadata key of the sum of the partitions' end offsets, which shrinks only if the topic is recreated.
WRITTEN = TopicMetadata.key("records_written")


@dataclass(frozen=True, slots=True)
class Reading:
    """The records ever written to a topic until a time in Unix milliseconds."""

    at_ms: int
    written: int


def last_readings(instance: DagsterInstance, keys: Sequence[AssetKey]) -> Mapping[AssetKey, Reading]:
    """Return the reading of each topic's last materialization; nothing for topics that have none."""
    found: dict[AssetKey, Reading] = {}
    for record in instance.get_asset_records(keys):
        event = record.asset_entry.last_materialization_record
        materialization = event.event_log_entry.asset_materialization if event else None
        value = materialization.metadata.get(WRITTEN) if materialization else None
        if event is not None and value is not None and isinstance(value.value, int):
            found[record.asset_entry.asset_key] = Reading(int(event.timestamp * 1000), value.value)
    return found


def throughput(now: Reading, previous: Reading | None) -> TopicMetadata:
    """Return the records per second since the previous reading, unless the topic was recreated since."""
    if previous is None or now.written < previous.written or now.at_ms <= previous.at_ms:
        return TopicMetadata(records_written=now.written)
    grown = now.written - previous.written
    return TopicMetadata(
        records_written=now.written,
        records_per_second=round(grown / ((now.at_ms - previous.at_ms) / 1000), 3),
        throughput=f"{grown} records since {as_text(previous.at_ms)}",
    )
