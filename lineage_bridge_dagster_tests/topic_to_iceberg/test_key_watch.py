"""A load that goes on ends once its keys are other ones, and for no other reason."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from lineage_bridge_dagster.confluent.resource import ConfluentSettingsResource
from lineage_bridge_dagster.topic_to_iceberg.key_watch import KeyWatch
from lineage_bridge_dagster.topic_to_iceberg.run import LoadRun
from lineage_bridge_dagster.topic_to_iceberg.settings.topic_load import TopicLoad
from lineage_bridge_dagster_tests.topic_to_iceberg.yaml import FakeLoader, FakeTopic


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    monkeypatch.setenv("LINEAGE_BRIDGE_SECRETS_DIR", str(tmp_path))

    def write(key: str) -> None:
        for half in ("KEY", "SECRET"):
            (tmp_path / f"LINEAGE_BRIDGE_KAFKA_API_{half}_LKC_1").write_text(key)

    write("old")
    return write


class Minutes:
    """A clock that moves by a minute each time that it is asked."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 60
        return self.now


def test_a_rotated_key_is_seen_and_one_that_cannot_be_read_is_not_rotated(
    tmp_path: Path, write: Callable[[str], None]
) -> None:
    rotated = KeyWatch(ConfluentSettingsResource().settings, Minutes())
    assert not rotated()
    secret = tmp_path / "LINEAGE_BRIDGE_KAFKA_API_SECRET_LKC_1"
    secret.unlink()
    assert not rotated()
    write("new")
    assert rotated()


def test_a_run_without_an_end_stops_when_it_is_over(write: Callable[[str], None]) -> None:
    load = TopicLoad(topic="orders", catalog="glue", database="lkc-1", table="orders")
    rotated = KeyWatch(ConfluentSettingsResource().settings, Minutes())
    topic = FakeTopic(on_step=lambda: write("new"))
    run = LoadRun(
        [load], lambda _load: FakeLoader(topic), threads=1, commit_seconds=0.01, report_seconds=3600
    )
    assert [report.final for report in run.reports(is_over=rotated)][-1]
