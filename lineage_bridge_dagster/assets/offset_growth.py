"""When a topic last received a record, by the growth of its offsets between checks.

Offsets grow whatever times producers give their records; but they show only between which two checks a
record arrived.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Self

from dagster import AssetCheckKey, DagsterInstance, JsonMetadataValue, MetadataValue

from lineage_bridge_dagster.assets.metadata import TopicMetadata

#: Metadata key of a check result that holds an `OffsetGrowth`.
OFFSETS = TopicMetadata.key("offsets")


@dataclass(frozen=True, slots=True)
class OffsetGrowth:
    """The period in which the offsets of a topic last grew.

    Times are Unix milliseconds.

    Attributes:
        written: the sum of the partitions' end offsets.
        after_ms: start of the period; None if there was no earlier check.
        by_ms: end of the period.
        asked_ms: when the offsets were last requested.
    """

    written: int
    after_ms: int | None
    by_ms: int
    asked_ms: int

    @classmethod
    def observe(cls, written: int, previous: Self | None, requested_ms: int, received_ms: int) -> Self:
        """Combine end offsets, requested at one time and received at another, with an earlier observation."""
        if previous is None:
            return cls(written, None, received_ms, requested_ms)
        if written == previous.written:
            return cls(written, previous.after_ms, previous.by_ms, requested_ms)
        # They grew, or the topic was recreated: either way its records are new.
        return cls(written, previous.asked_ms, received_ms, requested_ms)

    @property
    def metadata(self) -> JsonMetadataValue:
        return MetadataValue.json(asdict(self))


def last_observations(
    instance: DagsterInstance, keys: Iterable[AssetCheckKey]
) -> Mapping[AssetCheckKey, OffsetGrowth]:
    """Return what each check observed at its last evaluation; nothing for checks without an observation."""
    found = {}
    for key, summary in instance.event_log_storage.get_asset_check_summary_records(list(keys)).items():
        record = summary.last_completed_check_execution_record
        event = record.event.dagster_event if record and record.event else None
        value = event.asset_check_evaluation_data.metadata.get(OFFSETS) if event else None
        if isinstance(value, JsonMetadataValue) and isinstance(value.data, dict):
            try:
                found[key] = OffsetGrowth(**value.data)
            except TypeError:
                # Written by another version: this check starts over.
                continue
    return found
