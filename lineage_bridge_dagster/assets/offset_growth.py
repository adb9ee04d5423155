"""When a topic's newest record came, by its offsets: what the checks before saw of them.

Offsets tell it whatever the records' own times say, which producers may set as they like; but only to the
span between two checks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from dagster import AssetCheckKey, DagsterInstance, JsonMetadataValue, MetadataValue

#: Metadata key of a check's result: an arrival, as `Arrival.metadata` writes it.
OFFSETS = "lineage_bridge/offsets"


@dataclass(frozen=True, slots=True)
class Arrival:
    """A topic's newest record came after `after_ms` (None: nobody looked) and no later than `by_ms`.

    `written` is the sum of the partitions' next offsets, `asked_ms` when it was last asked for. Times are
    Unix milliseconds.
    """

    written: int
    after_ms: int | None
    by_ms: int
    asked_ms: int

    def then(self, written: int, asked_ms: int, told_ms: int) -> Self:
        """What is known when the offsets were asked for again at one time and told by another."""
        if written == self.written:
            return type(self)(written, self.after_ms, self.by_ms, asked_ms)
        # They grew, or the topic was made anew: either way what is there now was not there before.
        return type(self)(written, self.asked_ms, told_ms, asked_ms)

    @property
    def metadata(self) -> dict[str, Any]:
        return {OFFSETS: MetadataValue.json(asdict(self))}


def arrived(written: int, before: Arrival | None, asked_ms: int, told_ms: int) -> Arrival:
    """What is known of the newest record, with what a check saw before, if one did."""
    if before is None:
        return Arrival(written, None, told_ms, asked_ms)
    return before.then(written, asked_ms, told_ms)


def last_arrivals(
    instance: DagsterInstance, keys: Iterable[AssetCheckKey]
) -> Mapping[AssetCheckKey, Arrival]:
    """What each check saw when it was last evaluated; nothing for one that was not, or that saw nothing."""
    found = {}
    for key, summary in instance.event_log_storage.get_asset_check_summary_records(list(keys)).items():
        record = summary.last_completed_check_execution_record
        event = record.event.dagster_event if record and record.event else None
        value = event.asset_check_evaluation_data.metadata.get(OFFSETS) if event else None
        if isinstance(value, JsonMetadataValue) and isinstance(value.data, dict):
            try:
                found[key] = Arrival(**value.data)
            except TypeError:
                # Another version's; this check begins anew.
                continue
    return found
