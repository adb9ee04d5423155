"""The results of a push: one per table, and a report of all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any

from lineage_bridge_dagster.lineage.documents import PREFIX
from lineage_bridge_dagster.lineage.sql_policy import shown_parameters


class PushStatus(StrEnum):
    """The result of the push to one table. In a dry run, `updated` means that it would be."""

    UPDATED = "updated"
    UNCHANGED = "unchanged"
    REFUSED = "refused"  # must not be written: a view, an unknown field, a conflict of two topics
    FAILED = "failed"  # the lineage was not written
    UNKNOWN = "unknown"  # a write may have been applied, and the table could not be read back
    SKIPPED = "skipped"  # nothing to write to yet, in a catalog without writes, or another instance's table
    HELD = "held"  # the discovery was too incomplete to replace the current lineage


#: The reason of a table whose lineage was taken out on purpose, and of one that had none.
REMOVED = "lineage removed"
NOT_OURS = "it carries no lineage of ours"

#: Statuses with which the push as a whole fails.
_NOT_OK = (PushStatus.REFUSED, PushStatus.FAILED, PushStatus.UNKNOWN)


@dataclass(frozen=True, slots=True)
class TableResult:
    """The result of the push to one table.

    Attributes:
        table: its node id; the name in the selection if the graph has no such table.
        before: all of its Glue parameters before the push.
        after: the same after the push; equal to `before` if nothing was written.
        version_after: the version that the write made: one more than `version_before`, to which it was bound.
        diff: lines that start with `+`, `-` or a space.
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
        return self.status not in _NOT_OK

    @property
    def outcome(self) -> str:
        """Status, reason and hint on one line."""
        told = " ".join(filter(None, (self.reason, self.hint)))
        return f"{self.status}: {told}" if told else str(self.status)

    def to_json(self, sql: str = "redacted") -> dict[str, Any]:
        """As JSON, with SQL shown as `sql` tells.

        Of the parameters only ours: the values of others may be confidential.
        """
        return {
            "table": self.table,
            "name": self.name,
            "status": str(self.status),
            "reason": self.reason,
            "hint": self.hint,
            "version_before": self.version_before,
            "version_after": self.version_after,
            "parameters_before": _ours(self.before, sql),
            "parameters_after": _ours(self.after, sql),
            "diff": list(self.diff),
            "attempts": self.attempts,
            "conflicts": self.conflicts,
        }


@dataclass(frozen=True)
class PushReport:
    """The results of a push, and its calls to Glue by operation.

    Attributes:
        business_context: Those of the same tables' assets in Glue's business context, which decide on nothing
            here; None if it takes none.
    """

    results: tuple[TableResult, ...] = ()
    dry_run: bool = False
    calls: Mapping[str, int] = field(default_factory=dict)
    business_context: PushReport | None = None

    @property
    def counts(self) -> dict[str, int]:
        """The number of tables by status, for every status."""
        counts = {str(status): 0 for status in PushStatus}
        for result in self.results:
            counts[str(result.status)] += 1
        return counts

    @property
    def failed(self) -> tuple[TableResult, ...]:
        """The results with which the push as a whole fails: failed, unknown or refused."""
        return tuple(result for result in self.results if not result.ok)

    def result(self, table: str) -> TableResult | None:
        """The result of a table, by node id or `DB.TABLE`; None if it was not pushed."""
        return self._by_name.get(table)

    @cached_property
    def _by_name(self) -> Mapping[str, TableResult]:
        # The first of several results of a name.
        return {name: each for each in reversed(self.results) for name in (each.name, each.table)}

    def to_json(self, sql: str = "redacted") -> dict[str, Any]:
        """As JSON, with SQL shown as `sql` tells."""
        return {
            "dry_run": self.dry_run,
            "counts": self.counts,
            "calls": dict(self.calls),
            "tables": [result.to_json(sql) for result in self.results],
            **({"business_context": self.business_context.to_json(sql)} if self.business_context else {}),
        }


def _ours(parameters: Mapping[str, str], sql: str) -> dict[str, str]:
    shown = shown_parameters(parameters, sql)
    return {key: value for key, value in sorted(shown.items()) if key.startswith(PREFIX)}
