"""Losses of lineage, counted by table, and when each may be repaired.

A further loss counts only after a repair: a table that was not repaired yet, or whose repair failed, has
still lost its lineage once.
"""

from __future__ import annotations

from dataclasses import dataclass

from lineage_bridge_dagster.automation.cursor import Cursor, Loss, backoff
from lineage_bridge_dagster.automation.data_versions import Written
from lineage_bridge_dagster.automation.loaded import LoadedTable
from lineage_bridge_dagster.catalogs.drift import Comparison
from lineage_bridge_dagster.text import clock_time

#: Tables with losses that the cursor keeps, at about 400 bytes each.
MAX_LOSSES = 1000
#: Lineage that was lost this many times is being undone.
UNDONE = 3
#: A table that has kept its lineage for this long starts over, in seconds.
FORGOTTEN_AFTER = 86_400.0
_LONGEST_WAIT = 6 * 3600.0


@dataclass(frozen=True)
class Drifted:
    """A table whose lineage was lost.

    Attributes:
        how: what was lost.
        count: how often.
        since: Unix time in seconds of the first loss.
        writer: who likely took it away, if it is another loss and there are `UNDONE` by now.
        due: whether to repair it now.
        not_before: Unix time in seconds of the next repair, if it is not due; 0 if that is not known.
        new: whether it was not reported before.
    """

    table: LoadedTable
    how: str
    count: int = 1
    since: float = 0.0
    writer: str = ""
    due: bool = False
    not_before: float = 0.0
    new: bool = False

    @property
    def undone(self) -> bool:
        return self.count >= UNDONE

    def describe(self, repairing: bool) -> str:
        """The table with what became of its lineage, and when it is repaired."""
        text = f"{self.table.name} ({self.how})"
        if self.undone:
            text += f", lost {self.count} times since {clock_time(self.since)}"
        if self.writer:
            text += f"; likely writer: {self.writer}"
        if repairing and not self.due:
            when = f"at {clock_time(self.not_before)}" if self.not_before else "by a later sweep"
            text += f", next repair {when}"
        return text


class Losses:
    """The losses that the cursor keeps.

    Args:
        cursor: it is changed by every comparison.
        repair: whether lost lineage is repaired.
        wait: seconds after the first repair of a table before the next one; they double from then on.
        now: Unix time in seconds.
    """

    def __init__(self, cursor: Cursor, *, repair: bool, wait: float, now: float) -> None:
        self._losses, self._totals = cursor.losses, cursor.totals
        self._repair, self._wait, self._now = repair, wait, now

    def keep(self, tables: set[str]) -> None:
        """Forget all tables but these."""
        for key in [key for key in self._losses if key not in tables]:
            del self._losses[key]

    def in_sync(self, table: LoadedTable, comparison: Comparison) -> bool:
        """Note that a table has its lineage. Returns whether it had lost it when it was looked at last."""
        key = table.key.to_user_string()
        loss = self._losses.get(key)
        if loss is None:
            return False
        if self._now - loss.found > FORGOTTEN_AFTER:
            del self._losses[key]
            return False
        back = not loss.in_sync
        loss.survived = loss.survived or bool(not back and loss.facts != comparison.facts)
        loss.in_sync, loss.facts = True, dict(comparison.facts)
        return back

    def lost(self, table: LoadedTable, comparison: Comparison, written: Written) -> Drifted:
        """Note that a table does not have its lineage, and decide whether to repair it now."""
        key = table.key.to_user_string()
        loss = self._losses.get(key)
        writer = ""
        if loss is None:
            if not self._make_room():
                return Drifted(table, comparison.how)
            loss = Loss(since=self._now, found=self._now, facts=dict(comparison.facts))
            self._losses[key] = loss
            self._totals.losses += 1
            new = True
        elif loss.in_sync or written.at > loss.found:
            loss.count += 1
            self._totals.losses += 1
            if loss.count >= UNDONE and comparison.likely_writer is not None:
                writer = comparison.likely_writer(loss.facts, loss.survived)
            if not loss.in_sync:
                # It was lost again before a sweep saw it: these facts are the next best to compare with.
                loss.facts = dict(comparison.facts)
            loss.found, loss.in_sync = self._now, False
            new = True
        else:
            new = comparison.how != loss.how
        loss.how = comparison.how
        due = self._repair and self._now >= loss.not_before
        if due:
            loss.repairs += 1
            loss.not_before = self._now + backoff(loss.repairs, first=self._wait, longest=_LONGEST_WAIT)
        return Drifted(table, comparison.how, loss.count, loss.since, writer, due, loss.not_before, new)

    def _make_room(self) -> bool:
        """Whether another table fits; one that lost its lineage once and has it again gives way."""
        if len(self._losses) < MAX_LOSSES:
            return True
        for key, loss in self._losses.items():
            if loss.in_sync and loss.count == 1:
                del self._losses[key]
                return True
        return False
