"""The check of OpenLineage's receivers: configured, reached, and never with an event."""

from __future__ import annotations

from pathlib import Path

import pytest

from lineage_bridge_dagster.operations.doctor import openlineage
from lineage_bridge_dagster.operations.doctor.finding import CheckStatus
from lineage_bridge_dagster_tests.openlineage.collector import collecting, configure_nothing
from lineage_bridge_dagster_tests.operations.doctor.examined import context_of, examine

ON = {"LINEAGE_BRIDGE_OPENLINEAGE_SEND": "true"}


@pytest.fixture(autouse=True)
def nothing_configured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    configure_nothing(monkeypatch, tmp_path)


@pytest.mark.parametrize(
    ("variables", "status", "result"),
    [
        ({}, CheckStatus.FAILED, "no receiver to send events to"),
        ({"OPENLINEAGE_DISABLED": "true"}, CheckStatus.WARNING, "no event is sent"),
        (
            {"OPENLINEAGE_URL": "http://marquez.example", "OPENLINEAGE_API_KEY": "k"},
            CheckStatus.FAILED,
            "clear",
        ),
        ({"OPENLINEAGE_URL": "http://127.0.0.1:1"}, CheckStatus.FAILED, "does not accept connections"),
    ],
)
def test_wrong_configuration_and_a_receiver_that_is_down_are_found(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], status: CheckStatus, result: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    (found,) = examine(openlineage.sending, context_of(ON))
    assert (found.status, result in found.result) == (status, True), found


def test_receiver_is_reached_without_an_event(monkeypatch: pytest.MonkeyPatch) -> None:
    with collecting() as collector:
        monkeypatch.setenv("OPENLINEAGE_URL", collector.url)
        (found,) = examine(openlineage.sending, context_of(ON))
        assert (found.status, collector.requests) == (CheckStatus.OK, [])


def test_nothing_is_examined_unless_events_are_sent() -> None:
    (found,) = examine(openlineage.sending, context_of({}))
    assert found.status is CheckStatus.SKIPPED
