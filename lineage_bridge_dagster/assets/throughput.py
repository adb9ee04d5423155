"""How fast a topic is written to: what its offsets grew by since it was last materialized."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dagster import AssetKey, DagsterInstance, MetadataValue

from lineage_bridge_dagster.assets.times import at

#: Metadata key: the sum of the next offsets of all partitions; only a topic made anew lets it fall.
WRITTEN = "lineage_bridge/records_written"


@dataclass(frozen=True, slots=True)
class Reading:
    """Records ever written to a topic, at a time in Unix milliseconds."""

    at_ms: int
    written: int


def last_readings(instance: DagsterInstance, keys: Sequence[AssetKey]) -> Mapping[AssetKey, Reading]:
    """What each topic's last materialization saw; nothing for one that has none, or none that says it."""
    found: dict[AssetKey, Reading] = {}
    for record in instance.get_asset_records(keys):
        event = record.asset_entry.last_materialization_record
        materialization = event.event_log_entry.asset_materialization if event else None
        value = materialization.metadata.get(WRITTEN) if materialization else None
        if event is not None and value is not None and isinstance(value.value, int):
            found[record.asset_entry.asset_key] = Reading(int(event.timestamp * 1000), value.value)
    return found


def throughput(now: Reading, before: Reading | None) -> dict[str, Any]:
    """Records a second since the last reading, where there was one and the topic is the same since."""
    metadata: dict[str, Any] = {WRITTEN: now.written}
    if before is None or now.written < before.written or now.at_ms <= before.at_ms:
        return metadata
    seconds = (now.at_ms - before.at_ms) / 1000
    grown = now.written - before.written
    metadata["lineage_bridge/records_per_second"] = MetadataValue.float(round(grown / seconds, 3))
    metadata["lineage_bridge/throughput"] = f"{grown} records since {at(before.at_ms)}"
    return metadata
