"""A mark in Dagster's instance: each move is a materialization of an asset that stands for the mark.

The event log keeps it wherever the runs are, and shows every move. What the last extract saw, which may be
megabytes, is in a folder beside the files. Without it, a mark counts as not there: what was not fully read
before the mark is known from it alone, so that everything is extracted again rather than something skipped.
"""

from __future__ import annotations

from pathlib import Path

from dagster import AssetKey, AssetMaterialization, DagsterInstance

from lineage_bridge_dagster.collector.assets.metadata import MARK
from lineage_bridge_dagster.collector.marks import MarkFile, Marks, MarkState, checked, state_name

#: Moves that are read back. Runs at the same time may record theirs in another order.
_EVENTS = 25


class InstanceMarks(Marks):
    """A mark in Dagster's instance."""

    def __init__(self, prefix: str, instance: DagsterInstance, key: AssetKey, folder: Path) -> None:
        super().__init__(prefix)
        self._instance = instance
        self._key = key
        self._states = MarkFile(prefix, folder)

    @property
    def location(self) -> str:
        return f"the asset {self._key.to_user_string()}"

    def _read(self) -> tuple[str | None, str]:
        found = []
        for record in self._instance.fetch_materializations(self._key, limit=_EVENTS).records:
            event = record.asset_materialization
            value = event.metadata.get(MARK) if event else None
            if value is not None:
                found.append(checked(str(value.value), self.location))
        mark = max(found, default=None)
        if mark and (self._states.folder / state_name(self.prefix, mark)).is_file():
            return mark, ""
        return None, ""

    def state(self, mark: str) -> MarkState | None:
        return self._states.state(mark)

    def keep(self, mark: str, state: MarkState) -> None:
        self._states.keep(mark, state)

    def remove_older(self, mark: str) -> None:
        self._states.remove_older(mark)

    def _write(self, mark: str, version: str) -> bool:  # noqa: ARG002 - of moves, the furthest counts
        self._instance.report_runless_asset_event(AssetMaterialization(self._key, metadata={MARK: mark}))
        return True
