"""What came of a push: a result a table, and the report of them all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from lineage_bridge_dagster.lineage.documents import PREFIX


class PushStatus(StrEnum):
    """`updated` in a dry run means that it would be."""

    UPDATED = "updated"
    UNCHANGED = "unchanged"
    REFUSED = "refused"  # it may not be written: a view, a field we can't carry, a conflict of two topics
    FAILED = "failed"  # Glue has not what we wanted, and we know it
    UNKNOWN = "unknown"  # a write may have been done, and could not be read back
    HELD = "held"  # the discovery was not complete enough to write this


#: What makes a push end with an error.
_NOT_DONE = (PushStatus.REFUSED, PushStatus.FAILED, PushStatus.UNKNOWN)


@dataclass(frozen=True, slots=True)
class TableResult:
    """What came of one table.

    `before` and `after` are all of its Glue parameters; equal when nothing was written. `diff` has lines that
    begin with `+`, `-` or a space. `version_after` is the version that our write made: Glue counts versions
    up by one, and the write was bound to `version_before`.
    """

    table: str
    database: str
    table_name: str
    status: PushStatus
    reason: str = ""
    hint: str = ""
    before: Mapping[str, str] = field(default_factory=dict, repr=False)
    after: Mapping[str, str] = field(default_factory=dict, repr=False)
    description_before: str = field(default="", repr=False)
    description_after: str = field(default="", repr=False)
    version_before: str | None = None
    version_after: str | None = None
    diff: tuple[str, ...] = field(default=(), repr=False)
    attempts: int = 0
    conflicts: int = 0

    @property
    def name(self) -> str:
        return f"{self.database}.{self.table_name}"

    @property
    def ok(self) -> bool:
        return self.status not in _NOT_DONE

    def to_json(self) -> dict[str, Any]:
        """Our own parameters alone: others' values are not ours to print."""
        return {
            "table": self.table,
            "name": self.name,
            "status": str(self.status),
            "reason": self.reason,
            "hint": self.hint,
            "version_before": self.version_before,
            "version_after": self.version_after,
            "parameters_before": _ours(self.before),
            "parameters_after": _ours(self.after),
            "diff": list(self.diff),
            "attempts": self.attempts,
            "conflicts": self.conflicts,
        }


@dataclass(frozen=True, slots=True)
class PushReport:
    """What came of a push; `calls` counts the calls to Glue by operation."""

    results: tuple[TableResult, ...] = ()
    dry_run: bool = False
    calls: Mapping[str, int] = field(default_factory=dict)

    @property
    def counts(self) -> dict[str, int]:
        """Every status, with how many tables ended so."""
        counts = {str(status): 0 for status in PushStatus}
        for result in self.results:
            counts[str(result.status)] += 1
        return counts

    @property
    def failed(self) -> tuple[TableResult, ...]:
        """The results that make the push as a whole a failure: failed, unknown or refused."""
        return tuple(result for result in self.results if not result.ok)

    def result(self, table: str) -> TableResult | None:
        """The result of a table, by node id or `DB.TABLE`."""
        return next((each for each in self.results if table in (each.table, each.name)), None)

    def to_json(self) -> dict[str, Any]:
        return {
            "dry_run": self.dry_run,
            "counts": self.counts,
            "calls": dict(self.calls),
            "tables": [result.to_json() for result in self.results],
        }


def _ours(parameters: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in sorted(parameters.items()) if key.startswith(PREFIX)}
