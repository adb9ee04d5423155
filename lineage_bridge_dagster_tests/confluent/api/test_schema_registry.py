"""What discovery's registry client and Spark's reads do today with one registry."""

from __future__ import annotations

import json

import httpx
import pytest

from lineage_bridge_dagster.confluent.api.errors import ServerError, UntrustedAddress
from lineage_bridge_dagster.confluent.api.schema_registry import Registry, SchemaRegistryClient
from lineage_bridge_dagster.confluent.api.session import ConfluentSession
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.spark.avro import fetch_schemas
from lineage_bridge_dagster_tests.confluent.fake import FakeConfluent, failure, key_of, keys

PSRC = "https://psrc-1.us-east-1.aws.confluent.cloud"


def registry(endpoint: str) -> Registry:
    return Registry.model_validate({"id": "lsrc-1", "spec": {"http_endpoint": endpoint}})


@pytest.mark.parametrize("endpoint", ["https://registry.corp", "http://psrc-1.confluent.cloud"])
def test_where_a_key_goes(fake: FakeConfluent, session: ConfluentSession, endpoint: str) -> None:
    with pytest.raises(UntrustedAddress):
        SchemaRegistryClient(session, "env-1").latest_schemas(registry(endpoint))
    assert not fake.requests
    # ! Spark sends the key to any host, in clear text too.
    fake.routes["/subjects/a/versions"] = []
    credential = keys()["schema_registry"]
    fetch_schemas(endpoint, "a", credential, client=httpx.Client(transport=fake.transport))
    assert [key_of(request) for request in fake.requests] == ["KEY-schema_registry"]


def test_what_is_tried_again(fake: FakeConfluent, session: ConfluentSession) -> None:
    fake.routes["/schemas"] = fake.routes["/subjects/a/versions"] = failure(503)
    with pytest.raises(ServerError):
        SchemaRegistryClient(session, "env-1").latest_schemas(registry(PSRC))
    assert len(fake.requests) == 3
    # ! Spark gives up at the first failure.
    with pytest.raises(LineageBridgeError):
        fetch_schemas(PSRC, "a", client=httpx.Client(transport=fake.transport))
    assert len(fake.requests) == 4


def test_requests_of_a_read_with_three_versions(fake: FakeConfluent) -> None:
    fake.routes["/subjects/a/versions"] = [1, 2, 3]
    for version in (1, 2, 3):
        schema = {"version": version, "id": version, "schema": json.dumps("string")}
        fake.routes[f"/subjects/a/versions/{version}"] = schema
    client = httpx.Client(transport=fake.transport)
    for _ in range(2):
        fetch_schemas(PSRC, "a", client=client)
    assert len(fake.requests) == 2 * (1 + 3)
