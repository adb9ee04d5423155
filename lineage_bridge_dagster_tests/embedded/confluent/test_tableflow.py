"""A topic's way to being a table, and back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lineage_bridge_dagster.embedded import world
from lineage_bridge_dagster.embedded.confluent.server import ConfluentEmulator
from lineage_bridge_dagster_tests.embedded.confluent import paths
from lineage_bridge_dagster_tests.embedded.confluent.conftest import Caller


@pytest.fixture
def emulator() -> Iterator[ConfluentEmulator]:
    with ConfluentEmulator() as started:
        started.seed()
        yield started


def spec(topic: str, cluster: str = paths.US, **more: object) -> dict[str, object]:
    return {
        "spec": {
            "display_name": topic,
            "storage": {"kind": "Managed"},
            "environment": {"id": world.ENVIRONMENT_ID},
            "kafka_cluster": {"id": cluster},
            **more,
        }
    }


def one(topic: str, cluster: str = paths.US) -> str:
    return f"{paths.TABLEFLOW}/tableflow-topics/{topic}?{paths.ENV}&spec.kafka_cluster={cluster}"


def test_a_topic_is_pending_until_its_table_is_there(emulator: ConfluentEmulator, call: Caller) -> None:
    assert (
        call(f"{paths.TABLEFLOW}/tableflow-topics", "POST", json=spec("Sessions.Enriched")).status_code == 202
    )
    pending = call(one("Sessions.Enriched")).json()
    assert pending["status"]["phase"] == "PENDING"
    assert "table_path" not in pending["spec"]["storage"]
    assert pending["status"]["catalog_sync_statuses"][0]["sync_status"] == "PENDING"
    with emulator.client() as client:
        entry = next(e for e in client.get("/emulator/tableflow").json() if e["topic"] == "Sessions.Enriched")
        assert (entry["glue_database"], entry["glue_table"]) == (paths.US, "sessions.enriched")
        url = f"/emulator/tableflow/{paths.US}/Sessions.Enriched/status"
        client.put(url, json={"phase": "RUNNING"}).raise_for_status()
    running = call(one("Sessions.Enriched")).json()
    assert running["status"]["phase"] == "RUNNING"
    assert running["status"]["catalog_sync_statuses"][0]["sync_status"] == "SYNCED"
    assert running["spec"]["storage"]["table_path"] == entry["table_path"]
    assert entry["table_path"].startswith("s3://")


def test_a_failed_table_says_why(emulator: ConfluentEmulator, call: Caller) -> None:
    with emulator.client() as client:
        url = f"/emulator/tableflow/{paths.EU}/orders.v1/status"
        client.put(url, json={"phase": "FAILED", "error_message": "no schema"}).raise_for_status()
    status = call(one("orders.v1", paths.EU)).json()["status"]
    assert status["phase"] == "FAILED"
    assert status["failing_table_formats"] == [{"format": "ICEBERG", "error_message": "no schema"}]
    assert call(one("orders.v1", paths.US)).json()["status"]["phase"] == "PENDING"


def test_a_disabled_topic_is_handed_over_to_be_cleaned_up(emulator: ConfluentEmulator, call: Caller) -> None:
    path = call(one("orders-v1")).json()["spec"]["storage"]
    assert path["bucket_region"] == "us-east-1"
    assert call(one("orders-v1"), "DELETE").status_code == 204
    assert call(one("orders-v1")).status_code == 404
    with emulator.client() as client:
        assert "orders-v1" not in [e["topic"] for e in client.get("/emulator/tableflow").json()]
        dropped = client.get("/emulator/tableflow/dropped").json()
        assert [(e["cluster"], e["topic"]) for e in dropped] == [(paths.US, "orders-v1")]
        table = dropped[0]["table_path"].rpartition("/")[2]
        assert client.delete(f"/emulator/tableflow/dropped/{table}").status_code == 204
        assert client.delete(f"/emulator/tableflow/dropped/{table}").status_code == 404
        assert client.get("/emulator/tableflow/dropped").json() == []


def test_a_topic_enabled_again_gets_a_table_of_its_own(emulator: ConfluentEmulator, call: Caller) -> None:
    def path() -> str:
        with emulator.client() as client:
            entries = client.get("/emulator/tableflow").json()
        return str(next(e["table_path"] for e in entries if e["topic"] == "orders-v1"))

    before = path()
    call(one("orders-v1"), "DELETE")
    call(f"{paths.TABLEFLOW}/tableflow-topics", "POST", json=spec("orders-v1"))
    assert path() != before


@pytest.mark.parametrize(
    ("body", "status", "pointer"),
    [
        ({}, 400, "/spec"),
        ({"spec": []}, 400, "/spec"),
        (spec(""), 400, "/spec/display_name"),
        (spec("nothing"), 404, "/spec/display_name"),
        (spec("orders.status", storage={"kind": "Tape"}), 400, "/spec/storage/kind"),
        (spec("orders.status", storage={"kind": "ByobAws"}), 400, "/spec/storage/bucket_name"),
        (spec("orders.status", table_formats=["CSV"]), 400, "/spec/table_formats"),
        (spec("orders.status", environment={"id": "env-none"}), 403, "/spec/environment/id"),
        (spec("orders.status", kafka_cluster={}), 400, "/spec/kafka_cluster/id"),
    ],
)
def test_a_request_that_makes_no_sense_is_refused_by_name(
    call: Caller, body: object, status: int, pointer: str
) -> None:
    answer = call(f"{paths.TABLEFLOW}/tableflow-topics", "POST", json=body)
    assert answer.status_code == status, answer.text
    assert answer.json()["errors"][0]["source"] == {"pointer": pointer}


def test_a_phase_that_is_none_is_refused(emulator: ConfluentEmulator) -> None:
    with emulator.client() as client:
        url = f"/emulator/tableflow/{paths.US}/orders.v1/status"
        assert client.put(url, json={"phase": "ACTIVE"}).status_code == 400
        assert client.put(url, content=b"no").status_code == 400
        other = f"/emulator/tableflow/{paths.US}/nothing/status"
        assert client.put(other, json={"phase": "RUNNING"}).status_code == 404


def test_one_clusters_tables_are_in_a_custom_database(call: Caller) -> None:
    def config(cluster: str) -> dict[str, str]:
        path = f"{paths.TABLEFLOW}/catalog-integrations?{paths.ENV}&spec.kafka_cluster={cluster}"
        found: dict[str, str] = call(path).json()["data"][0]["spec"]["config"]
        return found

    assert config(paths.EU)["custom_database"] == "analytics_eu"
    assert "custom_database" not in config(paths.US)
