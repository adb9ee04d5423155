"""Plays a history on a table, and checks at each write of ours that nobody else lost anything by it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import requests

from lineage_bridge_dagster.catalogs.settings.push_settings import PushSettings
from lineage_bridge_dagster.lineage.push_results import PushStatus, TableResult
from lineage_bridge_dagster_tests.catalogs.push.histories import Answer, Attempt, History, Push
from lineage_bridge_dagster_tests.catalogs.push.lineages import Lineage
from lineage_bridge_dagster_tests.catalogs.push.tables import Observed, PushedTable, users_text_and_block

CALM = Attempt()


class Writes:
    """The writes of one push, with what happens around each of its attempts.

    Attributes:
        applied: The table after each write that took effect.
    """

    def __init__(self, table: PushedTable, attempts: Sequence[Attempt] = ()) -> None:
        self._table = table
        self._attempts = list(attempts)
        self.sent = 0
        self.applied: list[Observed] = []
        self._errors: list[Exception] = []

    def __call__(self, send: Callable[[], Any]) -> Any:
        attempt = self._attempts[self.sent] if self.sent < len(self._attempts) else CALM
        self.sent += 1
        with self._noted():
            read = self._table.observe()
            for change in attempt.before:
                change.make(self._table)
            before = self._table.observe()
        if attempt.answer is Answer.CUT:
            raise self._table.timeout
        try:
            answer = send()
        except Exception:
            with self._noted():
                assert self._table.observe() == before, "a write that was rejected changed the table"
            raise
        with self._noted():
            self._check(read, before, answer)
            for change in attempt.after:
                change.make(self._table)
        if attempt.answer is Answer.LOST:
            raise self._table.timeout
        return answer

    @contextmanager
    def _noted(self) -> Iterator[None]:
        """Note an error for `raise_noted`: a push takes any exception for one of its call."""
        try:
            yield
        except Exception as error:
            self._errors.append(error)
            raise

    def raise_noted(self) -> None:
        for error in self._errors:
            raise error

    def _check(self, read: Observed, before: Observed, answer: object) -> None:
        after = self._table.observe()
        if isinstance(answer, requests.Response) and not answer.ok:
            assert after == before, "a commit that was rejected changed the table"
            return
        assert before.bound_to == read.bound_to, "a write was applied to a table that was not the one read"
        assert after.foreign == before.foreign
        text, block = users_text_and_block(after.description)
        assert text == users_text_and_block(before.description)[0]
        assert len(after.description.encode()) <= 2_048
        assert after.description == "\n\n".join(filter(None, (text, block)))
        self.applied.append(after)


def play(
    table: PushedTable, lineages: Sequence[Lineage], history: History, settings: PushSettings
) -> list[TableResult]:
    """Play the history, then push until nothing is left to do. Returns the results of its pushes."""
    results = [_push(table, lineages[push.lineage], settings, push) for push in history]
    undisturbed = _push(table, lineages[0], settings, Push(0))
    assert undisturbed.ok, undisturbed
    assert_in_sync(table, lineages[0], settings)
    assert_all_there(table)
    return [*results, undisturbed]


def _push(table: PushedTable, lineage: Lineage, settings: PushSettings, push: Push) -> TableResult:
    for change in push.earlier:
        change.make(table)
    writes = Writes(table, push.attempts)
    limited = settings.model_copy(update={"max_attempts": push.max_attempts})
    (result,) = table.push(lineage, limited, writes).results
    writes.raise_noted()
    if result.status is PushStatus.UPDATED:
        assert writes.applied, "reported an update that never was"
        written = writes.applied[-1]
        # A table that was read again to learn of a write is reported as it was read.
        assert result.after in (written.parameters, table.observe().parameters)
        assert {**result.after, **written.ours} == result.after
    elif result.status is PushStatus.UNCHANGED:
        # A write without an answer is not recognized if others changed what it wrote before it was looked up.
        doubtful = [each.answer is Answer.LOST and each.after for each in push.attempts[: writes.sent]]
        assert not writes.applied or any(doubtful), "an update was reported as nothing to do"
    else:
        assert result.status is PushStatus.FAILED, result
        assert result.reason
        assert result.hint
    if result.ok and not any(attempt.after for attempt in push.attempts[: writes.sent]):
        assert_in_sync(table, lineage, settings)
    return result


def assert_in_sync(table: PushedTable, lineage: Lineage, settings: PushSettings) -> None:
    """Another push finds nothing to do."""
    before, writes = table.observe(), Writes(table)
    (result,) = table.push(lineage, settings, writes).results
    assert (result.status, writes.sent) == (PushStatus.UNCHANGED, 0), result
    assert table.observe() == before


def assert_all_there(table: PushedTable) -> None:
    """All that other writers were told was committed."""
    loaded, acknowledged = table.load(), table.acknowledged
    assert sorted(loaded.scan().to_arrow()["id"].to_pylist()) == sorted(acknowledged.rows)
    assert {snapshot.snapshot_id for snapshot in loaded.snapshots()} == acknowledged.snapshots
    assert acknowledged.properties.items() <= dict(loaded.properties).items()
    columns = {field.name: field.doc for field in loaded.schema().fields if field.name != "id"}
    assert columns == acknowledged.columns
