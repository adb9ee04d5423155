"""The emulator's state survives restarts and kills."""

from __future__ import annotations

from pathlib import Path

import pytest

from lineage_bridge_dagster.embedded import world
from lineage_bridge_dagster.embedded.confluent.state import EmulatorState
from lineage_bridge_dagster_tests.embedded.confluent import paths
from lineage_bridge_dagster_tests.embedded.confluent.conftest import Caller
from lineage_bridge_dagster_tests.embedded.confluent.emulator import ConfluentEmulator


def test_state_survives_a_restart(tmp_path: Path) -> None:
    with ConfluentEmulator(data=tmp_path) as emulator:
        emulator.seed()
        call = Caller(emulator.url)
        schemas = call(f"{paths.REGISTRY}/schemas").json()
        with emulator.client() as client:
            client.put(f"/emulator/tableflow/{paths.US}/orders.v1/status", json={"phase": "RUNNING"})
        brokers = emulator.brokers
    with ConfluentEmulator(data=tmp_path, brokers=brokers) as emulator:
        call = Caller(emulator.url)
        assert call(f"{paths.REGISTRY}/schemas").json() == schemas
        topic = f"{paths.TABLEFLOW}/tableflow-topics/orders.v1?{paths.ENV}&spec.kafka_cluster={paths.US}"
        assert call(topic).json()["status"]["phase"] == "RUNNING"
        assert emulator.seed() == world.SeedReport(topics=0, records=0)


def test_sample_data_is_written_only_once(tmp_path: Path) -> None:
    state = EmulatorState(tmp_path)
    with state.changing("connectors") as document:
        document[paths.US].clear()
    with EmulatorState(tmp_path).reading("connectors") as document:
        assert document[paths.US] == {}
        assert document[paths.EU]


def test_failed_change_is_undone_and_not_saved(tmp_path: Path) -> None:
    state = EmulatorState(tmp_path)
    before = (tmp_path / "tableflow.json").read_text("utf-8")

    def fail_during_change() -> None:
        with state.changing("tableflow") as document:
            document["topics"].clear()
            raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError):
        fail_during_change()
    with state.reading("tableflow") as document:
        assert document["topics"]
    assert (tmp_path / "tableflow.json").read_text("utf-8") == before


def test_partially_written_file_is_ignored(tmp_path: Path) -> None:
    EmulatorState(tmp_path)
    (tmp_path / "schemas.part").write_text('{"next_id": 1')
    with EmulatorState(tmp_path).reading("schemas") as document:
        assert document["subjects"] == {}


def test_paths_of_sample_tables_are_deterministic() -> None:
    def tables() -> dict[str, str]:
        with EmulatorState(None).reading("tableflow") as document:
            return {key: topic["table_path"] for key, topic in document["topics"].items()}

    first = tables()
    assert first == tables()
    assert len(set(first.values())) == len(first) >= 6
