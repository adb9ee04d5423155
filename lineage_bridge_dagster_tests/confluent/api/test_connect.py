from __future__ import annotations

import pytest

from lineage_bridge_dagster.confluent.api.connect import ConnectClient
from lineage_bridge_dagster.confluent.api.errors import (
    PartialResponse,
)
from lineage_bridge_dagster.confluent.api.session import ConfluentSession
from lineage_bridge_dagster_tests.confluent.fake import (
    FakeConfluent,
    connector,
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


def test_malformed_connector_keeps_the_others(fake: FakeConfluent, session: ConfluentSession) -> None:
    fake.routes[PATH] = {**connector("good", "sink", {}), "bad": {"info": None}}
    with pytest.raises(PartialResponse, match="'bad'") as raised:
        ConnectClient(session).connectors("env-1", "lkc-a")
    assert [one.name for one in raised.value.items] == ["good"]
