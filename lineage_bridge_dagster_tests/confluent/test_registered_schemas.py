"""All versions of a subject are fetched with few requests."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import httpx
import pytest

from lineage_bridge_dagster.confluent import registered_schemas
from lineage_bridge_dagster.confluent.api.errors import MalformedResponse
from lineage_bridge_dagster.confluent.api.schema_registry import SchemaRegistryClient
from lineage_bridge_dagster.confluent.api.session import ConfluentSession
from lineage_bridge_dagster.confluent.registered_schemas import fetch_schemas
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.schemas.schemas import RegisteredSchema, SubjectSchemas
from lineage_bridge_dagster_tests.confluent.fake import FakeConfluent, failure, settings

V1 = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}
V2 = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "string"}]}
SUBJECT = "o/v 1-value"


def version(subject: str, number: int, schema_id: int, schema: Any, **more: Any) -> dict[str, Any]:
    return {"subject": subject, "version": number, "id": schema_id, "schema": json.dumps(schema), **more}


@pytest.fixture
def fake() -> FakeConfluent:
    return FakeConfluent()


@pytest.fixture
def session(fake: FakeConfluent) -> Iterator[ConfluentSession]:
    with ConfluentSession(settings(max_attempts=1), fake.transport) as session:
        yield session


@pytest.fixture
def fetch(fake: FakeConfluent, session: ConfluentSession) -> Callable[..., SubjectSchemas]:
    return partial(fetch_schemas, SchemaRegistryClient(session, ""), "https://psrc-1.confluent.cloud/sr")


def test_all_versions_are_fetched_in_two_requests(
    fake: FakeConfluent, fetch: Callable[..., SubjectSchemas]
) -> None:
    fake.routes["/sr/schemas"] = [version(SUBJECT, 1, 7, V1), version(SUBJECT, 2, 9, V2)]
    found = fetch(SUBJECT)
    assert [(schema.id, schema.text) for schema in found.versions] == [
        (7, json.dumps(V1)),
        (9, json.dumps(V2)),
    ]
    assert len(fake.requests) == 2
    assert fetch(SUBJECT, known=found) == found
    assert len(fake.requests) == 4


def test_references_are_resolved_by_the_registry_once(
    fake: FakeConfluent, fetch: Callable[..., SubjectSchemas]
) -> None:
    references = [{"name": "Order", "subject": "o", "version": 1}]
    fake.routes["/sr/schemas"] = [version("a", 1, 7, ["Order"], references=references)]
    fake.routes["/sr/schemas/ids/7"] = {"schema": json.dumps(V2)}
    found = fetch("a")
    assert found.versions[0].text == json.dumps(V2)
    assert fake.requests[-1].url.params["format"] == "resolved"
    assert fetch("a", known=found) == found
    assert len(fake.requests_to("/ids/7")) == 1


def test_references_of_json_and_protobuf_schemas_are_walked(
    fake: FakeConfluent, fetch: Callable[..., SubjectSchemas]
) -> None:
    money = {"name": "money.json", "subject": "money/v1", "version": 3}
    cents = {"name": "cents.json", "subject": ":.other:cents", "version": 1}
    fake.routes["/sr/schemas"] = [version(":.shop:o", 1, 7, {}, schemaType="JSON", references=[money, cents])]
    fake.routes["/sr/subjects/%3A.shop%3Amoney%2Fv1/versions/3"] = version(
        ":.shop:money/v1", 3, 5, {"a": 1}, schemaType="JSON", references=[cents]
    )
    fake.routes["/sr/subjects/%3A.other%3Acents/versions/1"] = version(":.other:cents", 1, 6, {"b": 2})
    found = fetch(":.shop:o")
    assert found.versions[0].references == (("money.json", '{"a": 1}'), ("cents.json", '{"b": 2}'))
    assert len(fake.requests) == 4
    assert fetch(":.shop:o", known=found) == found
    assert len(fake.requests) == 6


def test_references_without_end_are_an_error(
    fake: FakeConfluent, fetch: Callable[..., SubjectSchemas], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registered_schemas, "_MAX_REFERENCES", 5)
    for number in range(10):
        reference = {"name": f"{number}.json", "subject": f"s{number}", "version": 1}
        schema = version(f"s{number - 1}", 1, 7 + number, {}, schemaType="JSON", references=[reference])
        fake.routes[f"/sr/subjects/s{number - 1}/versions/1" if number else "/sr/schemas"] = (
            schema if number else [{**schema, "subject": "o"}]
        )
    with pytest.raises(MalformedResponse, match="subject o refers to more than 5 schemas"):
        fetch("o")


def with_deleted(*deleted: int) -> Callable[[httpx.Request], httpx.Response]:
    """The versions 1 to 3, of the ids 7, 9 and 11, of which some were deleted softly."""
    stored = {7: version("a", 1, 7, V1), 9: version("a", 2, 9, V2), 11: version("a", 3, 11, V1)}

    def respond(request: httpx.Request) -> httpx.Response:
        is_all = request.url.params.get("deleted") == "true"
        return httpx.Response(
            200, json=[v for number, v in stored.items() if is_all or number not in deleted]
        )

    return respond


@pytest.mark.parametrize(
    ("deleted", "expected"), [((), [7, 9, 11]), ((7, 11), [7, 11, 9]), ((7, 9, 11), [7, 9, 11])]
)
def test_softly_deleted_versions_are_read_and_are_not_the_latest(
    deleted: tuple[int, ...], expected: list[int], fake: FakeConfluent, fetch: Callable[..., SubjectSchemas]
) -> None:
    fake.routes["/sr/schemas"] = with_deleted()
    known = fetch("a")
    fake.routes["/sr/schemas"] = with_deleted(*deleted)
    for found in (fetch("a"), fetch("a", known=known)):
        assert [schema.id for schema in found.versions] == expected


@pytest.mark.parametrize("text", ["[" * 100_000, "no JSON", None])
def test_schema_that_cannot_be_read_is_named(
    fake: FakeConfluent, fetch: Callable[..., SubjectSchemas], text: str | None
) -> None:
    fake.routes["/sr/schemas"] = [{**version("a", 1, 7, V1), "schema": text}]
    with pytest.raises(MalformedResponse, match=r"not an Avro schema|field `schema`"):
        fetch("a")


def test_subject_that_does_not_exist_takes_one_request(
    fake: FakeConfluent, fetch: Callable[..., SubjectSchemas]
) -> None:
    fake.routes["/sr/schemas"] = []
    assert fetch("a").versions == ()
    assert len(fake.requests) == 1


def test_all_of_a_schemas_fields_are_asked_for(
    fake: FakeConfluent, fetch: Callable[..., SubjectSchemas]
) -> None:
    """Confluent Cloud leaves out the type and the GUID otherwise."""
    fake.routes["/sr/schemas"] = []
    fetch("a")
    assert fake.requests[0].headers["Confluent-Accept-Unknown-Properties"] == "true"


def test_known_schema_deleted_since_is_kept(
    fake: FakeConfluent, fetch: Callable[..., SubjectSchemas]
) -> None:
    fake.routes["/sr/schemas"] = [version("a", 2, 9, V2)]
    known = SubjectSchemas("a", (RegisteredSchema(7, json.dumps(V1)),))
    found = fetch("a", known=known)
    assert [schema.id for schema in found.versions] == [7, 9]


def test_missing_subject_has_no_latest_version(
    fake: FakeConfluent, fetch: Callable[..., SubjectSchemas]
) -> None:
    fake.routes["/sr/schemas"] = [version("p", 1, 3, {}, schemaType="PROTOBUF")]
    assert fetch("none").latest is None
    assert fetch("p").types == {"PROTOBUF"}


def test_rejected_key_names_its_variable(fake: FakeConfluent, fetch: Callable[..., SubjectSchemas]) -> None:
    fake.routes["/sr/schemas"] = failure(401)
    with pytest.raises(LineageBridgeError, match="LINEAGE_BRIDGE_SCHEMA_REGISTRY_API_KEY"):
        fetch("a")
