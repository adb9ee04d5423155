from __future__ import annotations

import pytest

from lineage_bridge_dagster.confluent.api.connect import OFFSETS, ConnectClient
from lineage_bridge_dagster.confluent.api.errors import MalformedResponse, PartialResponse
from lineage_bridge_dagster.confluent.api.session import ConfluentSession
from lineage_bridge_dagster.confluent.connectors import ConnectorOffset
from lineage_bridge_dagster_tests.confluent.fake import (
    FakeConfluent,
    connector,
    failure,
    in_sequence,
    offsets,
)

PATH = "/connect/v1/environments/env-1/clusters/lkc-a/connectors"


def test_empty_object_means_no_connectors(fake: FakeConfluent, session: ConfluentSession) -> None:
    fake.routes[PATH] = {}
    assert ConnectClient(session).connectors("env-1", "lkc-a") == []


def test_type_comes_from_the_api_not_the_configuration(
    fake: FakeConfluent, session: ConfluentSession
) -> None:
    fake.routes[PATH] = connector("s3", "sink", {"type": "source", "connector.class": "S3_SINK"})
    (found,) = ConnectClient(session).connectors("env-1", "lkc-a")
    assert (found.name, found.type, found.id, found.state) == ("s3", "sink", "lcc-s3", "RUNNING")
    assert fake.requests[0].url.params["expand"] == "info,status,id"


@pytest.mark.parametrize(
    "bad",
    [
        {"info": None},
        connector("bad", "sink", {"topics": "a"})["bad"],
        {**connector("bad", "sink", {"connector.class": "S3_SINK"})["bad"], "id": {}},
    ],
)
def test_malformed_connector_keeps_the_others(
    fake: FakeConfluent, session: ConfluentSession, bad: object
) -> None:
    fake.routes[PATH] = {**connector("good", "sink", {"connector.class": "S3_SINK"}), "bad": bad}
    with pytest.raises(PartialResponse, match="'bad'") as raised:
        ConnectClient(session).connectors("env-1", "lkc-a")
    assert [one.name for one in raised.value.items] == ["good"]


def offsets_of(session: ConfluentSession, name: str = "pg") -> list[ConnectorOffset]:
    return ConnectClient(session).offsets("env-1", "lkc-a", name)


def test_offsets_are_pairs_of_objects(fake: FakeConfluent, session: ConfluentSession) -> None:
    partition, offset = {"protocol": "1", "table": "shop.public.orders"}, {"incrementing": 3}
    fake.routes[f"{PATH}/pg/offsets"] = offsets({"partition": partition, "offset": offset})
    assert offsets_of(session) == [ConnectorOffset(partition, offset)]


def test_name_of_a_connector_is_one_segment_of_the_path(
    fake: FakeConfluent, session: ConfluentSession
) -> None:
    fake.routes[f"{PATH}/a%2Fb%20c/offsets"] = offsets()
    assert offsets_of(session, "a/b c") == []


@pytest.mark.parametrize("body", [{"id": "lcc-pg", "name": "pg"}, {"name": "pg", "offsets": None}])
def test_connector_that_has_read_nothing_has_no_offsets(
    fake: FakeConfluent, session: ConfluentSession, body: dict[str, object]
) -> None:
    fake.routes[f"{PATH}/pg/offsets"] = body
    assert offsets_of(session) == []


@pytest.mark.parametrize("body", [{}, [], "x", {"name": "pg", "offsets": {}}, {"offsets": [{"offset": {}}]}])
def test_response_of_another_shape_is_malformed(
    fake: FakeConfluent, session: ConfluentSession, body: object
) -> None:
    fake.routes[f"{PATH}/pg/offsets"] = body
    with pytest.raises(MalformedResponse):
        offsets_of(session)


def test_malformed_offset_keeps_the_others(fake: FakeConfluent, session: ConfluentSession) -> None:
    good = {"partition": {"table": "t"}, "offset": {}}
    fake.routes[f"{PATH}/pg/offsets"] = offsets(good, {"partition": "t", "offset": {}})
    with pytest.raises(PartialResponse) as raised:
        offsets_of(session)
    assert [one.partition for one in raised.value.items] == [{"table": "t"}]


def test_requests_for_offsets_are_counted_apart_with_their_retries(
    fake: FakeConfluent, session: ConfluentSession
) -> None:
    fake.routes[PATH] = {}
    fake.routes[f"{PATH}/pg/offsets"] = in_sequence(failure(429, {"Retry-After": "1"}), offsets())
    ConnectClient(session).connectors("env-1", "lkc-a")
    offsets_of(session)
    assert (session.requests, session.requests_for(OFFSETS)) == (3, 2)
