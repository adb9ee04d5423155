"""Tableflow: enabling, materializing and disabling topics."""

from __future__ import annotations

import pytest

from lineage_bridge_dagster.embedded import world
from lineage_bridge_dagster_tests.embedded.confluent import paths
from lineage_bridge_dagster_tests.embedded.confluent.conftest import Caller
from lineage_bridge_dagster_tests.embedded.confluent.emulator import ConfluentEmulator


def spec(topic: str, cluster: str = paths.US, **fields: object) -> dict[str, object]:
    return {
        "spec": {
            "display_name": topic,
            "storage": {"kind": "Managed"},
            "environment": {"id": world.ENVIRONMENT_ID},
            "kafka_cluster": {"id": cluster},
            **fields,
        }
    }


def topic_path(topic: str, cluster: str = paths.US) -> str:
    return f"{paths.TABLEFLOW}/tableflow-topics/{topic}?{paths.ENV}&spec.kafka_cluster={cluster}"


def test_topic_is_pending_until_its_table_exists(emulator: ConfluentEmulator, call: Caller) -> None:
    body = spec("Sessions.Enriched", storage=None)
    assert call(f"{paths.TABLEFLOW}/tableflow-topics", "POST", json=body).status_code == 202
    pending = call(topic_path("Sessions.Enriched")).json()
    assert pending["status"]["phase"] == "PENDING"
    assert "table_path" not in pending["spec"]["storage"]
    assert pending["status"]["catalog_sync_statuses"][0]["sync_status"] == "PENDING"
    with emulator.client() as client:
        entry = next(e for e in client.get("/emulator/tableflow").json() if e["topic"] == "Sessions.Enriched")
        assert (entry["glue_database"], entry["glue_table"]) == (paths.US, "sessions.enriched")
        url = f"/emulator/tableflow/{paths.US}/Sessions.Enriched/status"
        client.put(url, json={"phase": "RUNNING"}).raise_for_status()
    running = call(topic_path("Sessions.Enriched")).json()
    assert running["status"]["phase"] == "RUNNING"
    assert running["status"]["catalog_sync_statuses"][0]["sync_status"] == "SYNCED"
    assert running["spec"]["storage"]["table_path"] == entry["table_path"]
    assert entry["table_path"].startswith("s3://")


def test_glue_gets_no_table_of_confluents_own_storage(emulator: ConfluentEmulator, call: Caller) -> None:
    call(f"{paths.TABLEFLOW}/tableflow-topics", "POST", json=spec("checkout-clicks"))
    with emulator.client() as client:
        url = f"/emulator/tableflow/{paths.US}/checkout-clicks/status"
        client.put(url, json={"phase": "RUNNING"}).raise_for_status()
    running = call(topic_path("checkout-clicks")).json()
    assert running["status"]["catalog_sync_statuses"] == []
    assert running["spec"]["storage"]["table_path"].startswith("s3://confluent-managed-us-east-1/")


def test_failed_table_has_a_reason(emulator: ConfluentEmulator, call: Caller) -> None:
    with emulator.client() as client:
        url = f"/emulator/tableflow/{paths.EU}/orders.v1/status"
        client.put(url, json={"phase": "FAILED", "error_message": "no schema"}).raise_for_status()
    status = call(topic_path("orders.v1", paths.EU)).json()["status"]
    assert status["phase"] == "FAILED"
    assert status["failing_table_formats"] == [{"format": "ICEBERG", "error_message": "no schema"}]
    assert call(topic_path("orders.v1", paths.US)).json()["status"]["phase"] == "PENDING"


def test_disabled_topic_is_listed_as_dropped_until_removed_and_gets_a_new_table(
    emulator: ConfluentEmulator, call: Caller
) -> None:
    path = call(topic_path("orders-v1")).json()["spec"]["storage"]
    assert path["bucket_region"] == "us-east-1"
    assert call(topic_path("orders-v1"), "DELETE").status_code == 204
    assert call(topic_path("orders-v1")).status_code == 404
    with emulator.client() as client:
        assert "orders-v1" not in [e["topic"] for e in client.get("/emulator/tableflow").json()]
        dropped = client.get("/emulator/tableflow/dropped").json()
        assert [(e["cluster"], e["topic"]) for e in dropped] == [(paths.US, "orders-v1")]
        table = dropped[0]["table_path"].rpartition("/")[2]
        assert client.delete(f"/emulator/tableflow/dropped/{table}").status_code == 204
        assert client.delete(f"/emulator/tableflow/dropped/{table}").status_code == 404
        assert client.get("/emulator/tableflow/dropped").json() == []
        call(f"{paths.TABLEFLOW}/tableflow-topics", "POST", json=spec("orders-v1"))
        entries = client.get("/emulator/tableflow").json()
    assert table not in next(e["table_path"] for e in entries if e["topic"] == "orders-v1")


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
def test_error_for_an_invalid_request_names_the_field(
    call: Caller, body: object, status: int, pointer: str
) -> None:
    response = call(f"{paths.TABLEFLOW}/tableflow-topics", "POST", json=body)
    assert response.status_code == status, response.text
    assert response.json()["errors"][0]["source"] == {"pointer": pointer}


def test_invalid_status_report_is_rejected(emulator: ConfluentEmulator) -> None:
    with emulator.client() as client:
        url = f"/emulator/tableflow/{paths.US}/orders.v1/status"
        assert client.put(url, json={"phase": "ACTIVE"}).status_code == 400
        assert client.put(url, content=b"no").status_code == 400
        other = f"/emulator/tableflow/{paths.US}/nothing/status"
        assert client.put(other, json={"phase": "RUNNING"}).status_code == 404


def test_one_cluster_has_a_custom_database(call: Caller) -> None:
    def config(cluster: str) -> dict[str, str]:
        path = f"{paths.TABLEFLOW}/catalog-integrations?{paths.ENV}&spec.kafka_cluster={cluster}"
        config: dict[str, str] = call(path).json()["data"][0]["spec"]["config"]
        return config

    assert config(paths.EU)["custom_database"] == "analytics_eu"
    assert "custom_database" not in config(paths.US)
