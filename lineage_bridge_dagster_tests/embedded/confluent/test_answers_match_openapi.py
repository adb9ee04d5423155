"""Every answer has the shape that Confluent's own documents give it."""

from __future__ import annotations

import json

import pytest

from lineage_bridge_dagster.embedded import world
from lineage_bridge_dagster.embedded.confluent.server import ConfluentEmulator
from lineage_bridge_dagster_tests.embedded.confluent import paths
from lineage_bridge_dagster_tests.embedded.confluent.conftest import Caller
from lineage_bridge_dagster_tests.embedded.confluent.openapi import check_answer, check_request

pytestmark = [pytest.mark.shared, pytest.mark.xdist_group("openapi")]


@pytest.mark.parametrize("path", [*paths.PAGED, *paths.UNPAGED])
def test_every_list_and_object_is_as_documented(call: Caller, path: str) -> None:
    answer = call(path)
    assert answer.status_code == 200, answer.text
    check_request(answer.request)
    check_answer(answer)


@pytest.mark.parametrize("path", [*paths.PAGED, *paths.UNPAGED])
def test_a_key_of_no_plane_gets_the_documented_error(call: Caller, path: str) -> None:
    answer = call.http.get(path, auth=("NOBODY", "nothing"))
    assert answer.status_code == 401
    check_answer(answer)


@pytest.mark.parametrize(("path", "missing"), paths.INCOMPLETE)
def test_a_missing_filter_is_named_in_the_documented_error(call: Caller, path: str, missing: str) -> None:
    answer = call(path)
    assert answer.status_code == 400
    check_answer(answer)
    assert answer.json()["errors"][0]["source"] == {"parameter": missing}


@pytest.mark.parametrize(
    "path",
    [
        "/org/v2/environments/env-none",
        f"/cmk/v2/clusters/lkc-none?{paths.ENV}",
        f"{paths.TABLEFLOW}/tableflow-topics/nothing?{paths.ENV}&spec.kafka_cluster={paths.US}",
        f"{paths.FLINK_US}/statements/nothing",
        f"{paths.CONNECT}/{paths.US}/connectors/nothing",
        f"{paths.KAFKA_US}/topics/nothing",
        f"{paths.REGISTRY}/subjects/nothing/versions/latest",
        f"{paths.REGISTRY}/schemas/ids/1",
    ],
)
def test_what_is_not_there_gets_the_documented_error(call: Caller, path: str) -> None:
    answer = call(path)
    assert answer.status_code == 404, answer.text
    check_answer(answer)


@pytest.mark.parametrize(
    "path", [paths.TOPICS_US, f"{paths.CONNECT}/{paths.US}/connectors", "/org/v2/environments"]
)
def test_a_scripted_rate_limit_is_as_documented(emulator: ConfluentEmulator, call: Caller, path: str) -> None:
    with emulator.fault(api="*", status=429, retry_after=3):
        answer = call(path)
    assert answer.status_code == 429
    check_answer(answer)
    assert (answer.headers["Retry-After"], answer.headers["X-RateLimit-Reset"]) == ("3", "3")


def test_enabling_and_disabling_tableflow_is_as_documented(call: Caller) -> None:
    spec = {
        "display_name": "inventory-products",
        "storage": {"kind": "Managed"},
        "environment": {"id": world.ENVIRONMENT_ID},
        "kafka_cluster": {"id": paths.US},
    }
    enabled = call(f"{paths.TABLEFLOW}/tableflow-topics", "POST", json={"spec": spec})
    assert enabled.status_code == 202
    check_answer(enabled)
    again = call(f"{paths.TABLEFLOW}/tableflow-topics", "POST", json={"spec": spec})
    assert again.status_code == 409
    check_answer(again)
    path = f"{paths.TABLEFLOW}/tableflow-topics/inventory-products?{paths.ENV}&spec.kafka_cluster={paths.US}"
    gone = call(path, "DELETE")
    assert gone.status_code == 204
    check_request(gone.request)
    check_answer(gone)


def test_registering_a_schema_is_as_documented(call: Caller) -> None:
    body = {"schemaType": "AVRO", "schema": json.dumps({"type": "string"})}
    subject = f"{paths.REGISTRY}/subjects/some-value"
    registered = call(f"{subject}/versions", "POST", json=body)
    assert registered.status_code == 200
    check_answer(registered)
    found = call(subject, "POST", json=body)
    assert found.status_code == 200
    check_answer(found)
    refused = call(f"{subject}/versions", "POST", json={"schema": '{"type": "nonsense"}'})
    assert refused.status_code == 422
    check_answer(refused)
    assert call(subject, "DELETE").json() == [1]
