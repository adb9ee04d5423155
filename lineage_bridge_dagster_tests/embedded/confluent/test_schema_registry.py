"""Schema Registry: registration and lookup of schemas."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from lineage_bridge_dagster.embedded import world
from lineage_bridge_dagster_tests.embedded.confluent import paths
from lineage_bridge_dagster_tests.embedded.confluent.conftest import Caller
from lineage_bridge_dagster_tests.embedded.confluent.emulator import ConfluentEmulator

STRING = json.dumps({"type": "string"})
LONG = json.dumps({"type": "long"})


@pytest.fixture
def emulator() -> Iterator[ConfluentEmulator]:
    with ConfluentEmulator() as running:
        yield running


def register(call: Caller, subject: str, schema: str, **fields: object) -> dict[str, int]:
    response = call(
        f"{paths.REGISTRY}/subjects/{subject}/versions", "POST", json={"schema": schema, **fields}
    )
    assert response.status_code == 200, response.text
    registered: dict[str, int] = response.json()
    return registered


def test_registered_schema_keeps_its_id_and_version(call: Caller) -> None:
    first = register(call, "a-value", STRING)
    second = register(call, "a-value", LONG)
    again = register(call, "a-value", STRING)
    assert (first["version"], second["version"], again["version"]) == (1, 2, 1)
    assert first["id"] == again["id"] != second["id"]
    assert register(call, "b-value", STRING)["id"] == first["id"]
    assert call(f"{paths.REGISTRY}/subjects/a-value/versions").json() == [1, 2]


def test_one_request_returns_all_latest_schemas(call: Caller, emulator: ConfluentEmulator) -> None:
    emulator.seed()
    register(call, "orders.v1-value", LONG)
    latest = call(f"{paths.REGISTRY}/schemas?latestOnly=true").json()
    by_subject = {entry["subject"]: entry for entry in latest}
    assert set(by_subject) == {t.subject for t in world.TOPICS if t.schema}
    assert by_subject["orders.v1-value"]["version"] == 2
    # The default type, AVRO, is omitted.
    assert all("schemaType" not in entry for entry in latest)
    assert len(call(f"{paths.REGISTRY}/schemas").json()) == len(latest) + 1
    assert call(f"{paths.REGISTRY}/schemas?latestOnly=true&offset=1&limit=2").json() == latest[1:3]


def test_subjects_with_slashes_and_contexts_are_distinct(call: Caller) -> None:
    register(call, "%3A.eu%3Aa%2Fb-value", STRING)
    register(call, "a%2Fb-value", LONG)
    version = call(f"{paths.REGISTRY}/subjects/%3A.eu%3Aa%2Fb-value/versions/latest").json()
    assert version["schema"] == STRING
    assert [entry["subject"] for entry in call(f"{paths.REGISTRY}/schemas").json()] == [
        ":.eu:a/b-value",
        "a/b-value",
    ]
    (found,) = call(f"{paths.REGISTRY}/schemas?subjectPrefix=:.eu:").json()
    assert found["subject"] == ":.eu:a/b-value"


def test_other_schema_types_are_stored_with_their_references(call: Caller) -> None:
    references = [{"name": "other.proto", "subject": "other", "version": 1}]
    register(call, "p-value", "message A {}", schemaType="PROTOBUF", references=references)
    version = call(f"{paths.REGISTRY}/subjects/p-value/versions/1").json()
    assert version["schemaType"] == "PROTOBUF"
    assert version["references"] == references


@pytest.mark.parametrize(
    "body",
    [
        b"no",
        b"[]",
        b"{}",
        b'{"schema": "no"}',
        b'{"schema": "{}"}',
        b'{"schema": 3}',
        b'{"schema": "\\"thing\\""}',
    ],
)
def test_invalid_schema_is_rejected(call: Caller, body: bytes) -> None:
    response = call(f"{paths.REGISTRY}/subjects/a-value/versions", "POST", content=body)
    assert response.status_code == 422, response.text
    assert response.json()["error_code"] == 42201
    assert call(f"{paths.REGISTRY}/schemas").json() == []


def test_invalid_and_unknown_versions_are_rejected(call: Caller) -> None:
    register(call, "a-value", STRING)
    root = f"{paths.REGISTRY}/subjects/a-value/versions"
    assert call(f"{root}/-1").status_code == 200
    assert (call(f"{root}/0").status_code, call(f"{root}/x").status_code) == (422, 422)
    assert call(f"{root}/2").json()["error_code"] == 40402
    assert call(f"{paths.REGISTRY}/subjects/none/versions").json()["error_code"] == 40401
    assert call(f"{paths.REGISTRY}/schemas/ids/7").json()["error_code"] == 40403
