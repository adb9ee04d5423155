"""A snapshot of an Iceberg table, however it was read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot of a table; `summary` has the keys of Iceberg's specification."""

    snapshot_id: int
    operation: str
    summary: Mapping[str, str] = field(default_factory=dict)
    committed_at: int = 0
    """Epoch milliseconds."""

    def count(self, name: str) -> int:
        """A number of the summary, 0 if it is missing."""
        return int(self.summary.get(name, 0))
