from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from lineage_bridge_dagster.confluent.api.errors import (
    ConfluentError,
    Forbidden,
    NotFound,
    PartialResponse,
    ServerError,
)
from lineage_bridge_dagster.confluent.scopes import ScopeRecorder
from lineage_bridge_dagster.lineage.coverage import Scope, Status

SCOPE = Scope("kafka", "env-1", "lkc-1")
DOWN = ServerError("It is down.", hint="Wait.")


@pytest.fixture
def lines() -> list[str]:
    return []


@pytest.fixture
def recorder(lines: list[str]) -> ScopeRecorder:
    return ScopeRecorder(lines.append)


def raising(error: ConfluentError) -> Callable[[], Sequence[str]]:
    def call() -> Sequence[str]:
        raise error

    return call


def outcome(recorder: ScopeRecorder) -> tuple[Status, int | None]:
    report = recorder.coverage.get(SCOPE)
    assert report is not None
    return report.status, report.count


def test_complete_list_is_counted(recorder: ScopeRecorder, lines: list[str]) -> None:
    assert recorder.read(SCOPE, "Topics", lambda: ["a", "b"]) == ["a", "b"]
    assert outcome(recorder) == (Status.COMPLETE, 2)
    assert recorder.is_complete(SCOPE)
    assert recorder.error_of(SCOPE) is None
    assert lines == ["Topics: 2"]


@pytest.mark.parametrize(
    ("error", "items", "status"),
    [
        (DOWN, [], Status.FAILED),
        (Forbidden("No role."), [], Status.DENIED),
        (PartialResponse(["a"], DOWN), ["a"], Status.PARTIAL),
    ],
)
def test_failed_list_returns_the_part_that_was_read(
    recorder: ScopeRecorder, lines: list[str], error: ConfluentError, items: list[str], status: Status
) -> None:
    assert recorder.read(SCOPE, "Topics", raising(error)) == items
    assert outcome(recorder) == (status, len(items) or None)
    assert recorder.error_of(SCOPE) is error
    assert not recorder.is_complete(SCOPE)
    assert lines == [f"Topics: {status}: {error.reason}"]


@pytest.mark.parametrize(
    ("error", "items", "status"),
    [
        (NotFound("No such API."), [], Status.COMPLETE),
        (Forbidden("No role."), None, Status.DENIED),
        (DOWN, None, Status.FAILED),
        (PartialResponse(["a"], DOWN), ["a"], Status.PARTIAL),
    ],
)
def test_optional_list_may_not_exist_but_may_not_be_denied(
    recorder: ScopeRecorder, error: ConfluentError, items: list[str] | None, status: Status
) -> None:
    assert recorder.read_optional(SCOPE, "Mirrors", raising(error)) == items
    assert outcome(recorder)[0] is status


def test_secondary_list_makes_its_scope_partial_and_keeps_the_count(recorder: ScopeRecorder) -> None:
    recorder.read(SCOPE, "Topics", lambda: ["a", "b"])
    recorder.read_optional(SCOPE, "Settings", lambda: ["x"], secondary=True)
    assert outcome(recorder) == (Status.COMPLETE, 2)
    recorder.read_optional(SCOPE, "Settings", raising(DOWN), secondary=True)
    assert outcome(recorder) == (Status.PARTIAL, 2)


def test_denied_list_without_lineage_leaves_its_scope_complete(recorder: ScopeRecorder) -> None:
    denied = raising(Forbidden("No role."))
    found = recorder.read_optional(SCOPE, "Settings", denied, secondary=True, may_be_denied=True)
    assert found is None
    assert recorder.is_complete(SCOPE)
