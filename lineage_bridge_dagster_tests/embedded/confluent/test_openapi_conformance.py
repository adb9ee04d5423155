"""Responses conform to Confluent's OpenAPI documents."""

from __future__ import annotations

import json

import pytest

from lineage_bridge_dagster.embedded import world
from lineage_bridge_dagster_tests.embedded.confluent import paths
from lineage_bridge_dagster_tests.embedded.confluent.conftest import Caller
from lineage_bridge_dagster_tests.embedded.confluent.emulator import ConfluentEmulator
from lineage_bridge_dagster_tests.embedded.confluent.openapi import check_request, check_response

pytestmark = [pytest.mark.shared, pytest.mark.xdist_group("openapi")]


@pytest.mark.parametrize("path", [*paths.PAGED, *paths.UNPAGED])
def test_lists_and_objects_are_as_documented(call: Caller, path: str) -> None:
    response = call(path)
    assert response.status_code == 200, response.text
    check_request(response.request)
    check_response(response)


@pytest.mark.parametrize("path", [*paths.PAGED, *paths.UNPAGED])
def test_unknown_key_gets_the_documented_error(call: Caller, path: str) -> None:
    response = call.http.get(path, auth=("NOBODY", "nothing"))
    assert response.status_code == 401
    check_response(response)


@pytest.mark.parametrize(("path", "missing"), paths.INCOMPLETE)
def test_error_for_a_missing_filter_names_it_as_documented(call: Caller, path: str, missing: str) -> None:
    response = call(path)
    assert response.status_code == 400
    check_response(response)
    assert response.json()["errors"][0]["source"] == {"parameter": missing}


@pytest.mark.parametrize(
    "path",
    [
        f"{paths.TABLEFLOW}/tableflow-topics/nothing?{paths.ENV}&spec.kafka_cluster={paths.US}",
        f"{paths.CONNECT}/{paths.US}/connectors/nothing/offsets",
        f"{paths.REGISTRY}/subjects/nothing/versions/latest",
        f"{paths.REGISTRY}/schemas/ids/1",
    ],
)
def test_missing_resource_gets_the_documented_error(call: Caller, path: str) -> None:
    response = call(path)
    assert response.status_code == 404, response.text
    check_response(response)


@pytest.mark.parametrize(
    "path", [paths.TOPICS_US, f"{paths.CONNECT}/{paths.US}/connectors", "/org/v2/environments"]
)
def test_scripted_rate_limit_is_as_documented(emulator: ConfluentEmulator, call: Caller, path: str) -> None:
    with emulator.fault(api="*", status=429, retry_after=3):
        response = call(path)
    assert response.status_code == 429
    check_response(response)
    assert (response.headers["Retry-After"], response.headers["X-RateLimit-Reset"]) == ("3", "3")


def test_enabling_and_disabling_tableflow_is_as_documented(call: Caller) -> None:
    spec = {
        "display_name": "checkout-clicks",
        "storage": {"kind": "Managed"},
        "environment": {"id": world.ENVIRONMENT_ID},
        "kafka_cluster": {"id": paths.US},
    }
    enabled = call(f"{paths.TABLEFLOW}/tableflow-topics", "POST", json={"spec": spec})
    assert enabled.status_code == 202
    check_response(enabled)
    again = call(f"{paths.TABLEFLOW}/tableflow-topics", "POST", json={"spec": spec})
    assert again.status_code == 409
    check_response(again)
    path = f"{paths.TABLEFLOW}/tableflow-topics/checkout-clicks?{paths.ENV}&spec.kafka_cluster={paths.US}"
    disabled = call(path, "DELETE")
    assert disabled.status_code == 204
    check_request(disabled.request)
    check_response(disabled)


def test_registering_a_schema_is_as_documented(call: Caller) -> None:
    body = {"schemaType": "AVRO", "schema": json.dumps({"type": "string"})}
    subject = f"{paths.REGISTRY}/subjects/some-value"
    registered = call(f"{subject}/versions", "POST", json=body)
    assert registered.status_code == 200
    check_response(registered)
    rejected = call(f"{subject}/versions", "POST", json={"schema": '{"type": "nonsense"}'})
    assert rejected.status_code == 422
    check_response(rejected)
