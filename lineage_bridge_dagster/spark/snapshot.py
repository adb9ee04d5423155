"""A snapshot of an Iceberg table, however it was read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot of a table; `summary` has the keys of Iceberg's specification."""

    snapshot_id: int
    operation: str
    summary: Mapping[str, str] = field(default_factory=dict)
    committed_at: int = 0
    """Epoch milliseconds."""

    @classmethod
    def of_json(cls, found: Mapping[str, Any]) -> Self:
        """From a snapshot as Iceberg's specification writes it."""
        summary = {name: str(value) for name, value in found.get("summary", {}).items()}
        operation = summary.pop("operation", "")
        return cls(int(found["snapshot-id"]), operation, summary, int(found["timestamp-ms"]))

    def count(self, name: str) -> int:
        """A number of the summary, 0 if it is missing."""
        return int(self.summary.get(name, 0))
