from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from lineage_bridge_dagster.confluent.api import schema_registry
from lineage_bridge_dagster.confluent.api.errors import (
    MalformedResponse,
    MissingCredential,
    PartialResponse,
    ServerError,
    UntrustedAddress,
)
from lineage_bridge_dagster.confluent.api.schema_registry import Registry, SchemaRegistryClient
from lineage_bridge_dagster.confluent.api.session import ConfluentSession
from lineage_bridge_dagster_tests.confluent.fake import FakeConfluent, avro, failure, key_of, keys

PSRC = "https://psrc-1.us-east-1.aws.confluent.cloud"


def registry(endpoint: str) -> Registry:
    return Registry.model_validate({"id": "lsrc-1", "spec": {"http_endpoint": endpoint}})


LSRC = registry(PSRC)


def test_all_contexts_take_one_request(fake: FakeConfluent, session: ConfluentSession) -> None:
    fake.routes["/schemas"] = [avro("orders-value", "id"), avro(":.eu:orders-value", "id")]
    found = SchemaRegistryClient(session, "env-1").latest_schemas(LSRC)
    assert [schema.subject for schema in found] == ["orders-value", ":.eu:orders-value"]
    assert [schema.schema_type for schema in found] == ["AVRO", "AVRO"]
    (request,) = fake.requests
    assert request.url.params["latestOnly"] == "true"
    assert request.url.params["subjectPrefix"] == ":*:"


@pytest.mark.parametrize("cap", [1000, 500])
def test_page_cut_at_the_server_cap_is_continued(
    fake: FakeConfluent, session: ConfluentSession, cap: int
) -> None:
    everything = [avro(f"t{n}-value", "id") for n in range(1203)]

    def respond(request: httpx.Request) -> httpx.Response:
        offset, limit = (int(request.url.params[name]) for name in ("offset", "limit"))
        return httpx.Response(200, json=everything[offset : offset + min(limit, cap)])

    fake.routes["/schemas"] = respond
    assert len(SchemaRegistryClient(session, "env-1").latest_schemas(LSRC)) == 1203


@pytest.mark.parametrize(
    ("is_schema", "is_new", "why", "kept"),
    [
        (True, False, "the same schemas for another offset", 100),
        (True, True, "more than 250 schemas", 300),
        (False, False, "a page without a schema", 0),
    ],
)
def test_registry_that_never_ends_its_list_is_partially_read(
    fake: FakeConfluent,
    session: ConfluentSession,
    monkeypatch: pytest.MonkeyPatch,
    is_schema: bool,
    is_new: bool,
    why: str,
    kept: int,
) -> None:
    monkeypatch.setattr(schema_registry, "_MAX_SCHEMAS", 250)

    def respond(request: httpx.Request) -> httpx.Response:
        first = int(request.url.params["offset"]) if is_new else 0
        page = [avro(f"t{first + n}-value", "id") if is_schema else "schema" for n in range(100)]
        return httpx.Response(200, json=page)

    fake.routes["/schemas"] = respond
    with pytest.raises(PartialResponse if kept else MalformedResponse, match=why) as raised:
        SchemaRegistryClient(session, "env-1").latest_schemas(LSRC)
    assert len(getattr(raised.value, "items", ())) == kept


def test_schema_text_is_absent_from_repr(fake: FakeConfluent, session: ConfluentSession) -> None:
    fake.routes["/schemas"] = [avro("orders-value", "ssn")]
    assert "ssn" not in repr(SchemaRegistryClient(session, "env-1").latest_schemas(LSRC))


def test_versions_of_a_subject_take_one_request(fake: FakeConfluent, session: ConfluentSession) -> None:
    fake.routes["/schemas"] = [
        avro("orders-value", "id", version=10),
        avro("orders-value", "id", version=2),
        # Other subjects with the same prefix, of which one is malformed.
        avro("orders-value-v2-value", "id", version=1),
        {"subject": "orders-value-v3-value", "version": 1},
    ]
    found = SchemaRegistryClient(session, "env-1").versions(PSRC, "orders-value")
    assert [schema.version for schema in found] == [2, 10]
    (request,) = fake.requests
    assert dict(request.url.params) == {
        "latestOnly": "false",
        "subjectPrefix": "orders-value",
        "offset": "0",
        "limit": "1000",
    }


def test_unknown_subject_has_no_versions(fake: FakeConfluent, session: ConfluentSession) -> None:
    fake.routes["/schemas"] = []
    assert SchemaRegistryClient(session, "env-1").versions(PSRC, "none-value") == []


Read = Callable[[SchemaRegistryClient, str], Any]


def discovery(client: SchemaRegistryClient, endpoint: str) -> Any:
    return client.latest_schemas(registry(endpoint))


def subject(client: SchemaRegistryClient, endpoint: str) -> Any:
    return client.versions(endpoint, "a")


@pytest.mark.parametrize("read", [discovery, subject])
@pytest.mark.parametrize("endpoint", ["https://registry.corp", "http://psrc-1.confluent.cloud"])
def test_untrusted_registry_gets_no_key(
    fake: FakeConfluent, session: ConfluentSession, read: Read, endpoint: str
) -> None:
    with pytest.raises(UntrustedAddress):
        read(SchemaRegistryClient(session, "env-1"), endpoint)
    assert not fake.requests


@pytest.mark.parametrize("read", [discovery, subject])
def test_failures_are_retried(fake: FakeConfluent, session: ConfluentSession, read: Read) -> None:
    fake.routes["/schemas"] = failure(503)
    with pytest.raises(ServerError):
        read(SchemaRegistryClient(session, "env-1"), PSRC)
    assert len(fake.requests) == 3


def test_key_may_be_named_after_the_environment(
    fake: FakeConfluent, session_with: Callable[..., ConfluentSession]
) -> None:
    fake.routes["/schemas"] = []
    named = session_with(credentials={"schema_registry/ENV_1": keys()["schema_registry"]})
    for read in (discovery, subject):
        read(SchemaRegistryClient(named, "env-1"), PSRC)
    assert [key_of(request) for request in fake.requests] == ["KEY-schema_registry"] * 2
    with pytest.raises(MissingCredential, match="Schema Registry"):
        subject(SchemaRegistryClient(named, ""), PSRC)


def test_reference_is_resolved_in_the_context_of_its_subject(
    fake: FakeConfluent, session: ConfluentSession
) -> None:
    client = SchemaRegistryClient(session, "env-1")
    fake.routes["/schemas"] = [avro(":.eu:orders-value", "id")]
    (schema,) = client.versions(PSRC, ":.eu:orders-value")
    fake.routes[f"/schemas/ids/{schema.id}"] = {"schema": "resolved"}
    assert client.resolved_text(PSRC, schema) == "resolved"
    assert dict(fake.requests[-1].url.params) == {"format": "resolved", "subject": ":.eu:orders-value"}
    fake.routes[f"/schemas/ids/{schema.id}"] = []
    with pytest.raises(MalformedResponse, match="/schemas/ids"):
        client.resolved_text(PSRC, schema)
