"""Reading the watched lists from Confluent and Glue."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import httpx
import pytest
from botocore.client import BaseClient
from pydantic import SecretStr

from lineage_bridge_dagster.automation.list_client import ListClient
from lineage_bridge_dagster.automation.watched_lists import (
    GLUE,
    INTEGRATIONS,
    TABLEFLOW,
    ListScope,
    NamedTables,
    names,
)
from lineage_bridge_dagster.catalogs.glue import client as glue_client_module
from lineage_bridge_dagster.config.aws_settings import AwsSettings
from lineage_bridge_dagster.config.credentials import Credential
from lineage_bridge_dagster.confluent.settings import ConfluentSettings
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.settings import Settings
from lineage_bridge_dagster_tests.assets.location import create_tables
from lineage_bridge_dagster_tests.assets.world import EAST, ENV, REGION, many
from lineage_bridge_dagster_tests.aws.extended import ExtendedAws


def settings(text: str = "s") -> Settings:
    key = Credential(key="K", secret=SecretStr(text), variable="LINEAGE_BRIDGE_TABLEFLOW_API_KEY")
    return Settings(
        confluent=ConfluentSettings(api_url="http://127.0.0.1:9", credentials={"tableflow": key}),
        aws=AwsSettings(region=REGION),
    )


def topic(name: str, phase: str) -> dict[str, Any]:
    return {"spec": {"display_name": name, "suspended": False}, "status": {"phase": phase}}


def serving(**lists: Any) -> httpx.MockTransport:
    """Serves the lists `topics` and `integrations`; an integer is an HTTP status."""

    def answer(request: httpx.Request) -> httpx.Response:
        entries = lists["topics" if "tableflow-topics" in request.url.path else "integrations"]
        if isinstance(entries, int):
            return httpx.Response(entries, json={"errors": []})
        return httpx.Response(200, json={"data": entries, "metadata": {}})

    return httpx.MockTransport(answer)


def test_topics_have_their_phase_so_that_a_change_of_phase_is_noticed() -> None:
    client = ListClient(settings, transport=serving(topics=[topic("a.b", "PENDING"), topic("c", "RUNNING")]))
    items = list(client(ListScope(TABLEFLOW, ENV, EAST)))
    assert names(items) == {"a.b", "c"}
    assert any("PENDING" in item for item in items)


def test_integrations_have_their_database() -> None:
    integrations = [{"id": "tci-1", "spec": {"config": {"kind": "AwsGlue", "custom_database": "sales"}}}]
    items = list(
        ListClient(settings, transport=serving(integrations=integrations))(ListScope(INTEGRATIONS, ENV, EAST))
    )
    assert "sales" in items[0]


@pytest.mark.parametrize("status", [401, 403, 500])
def test_a_refused_list_raises_instead_of_being_empty(status: int) -> None:
    client = ListClient(settings, transport=serving(topics=status))
    with pytest.raises(LineageBridgeError):
        list(client(ListScope(TABLEFLOW, ENV, EAST)))


def test_a_glue_database_that_does_not_exist_yet_has_no_tables(
    glue: BaseClient, strict_aws: ExtendedAws
) -> None:
    create_tables(glue, many(3))
    client = ListClient(settings)
    assert names(client(ListScope(GLUE, "", EAST))) == {f"topic.0000{number}" for number in range(3)}
    assert list(client(ListScope(GLUE, "", "elsewhere"))) == []
    strict_aws.fail("GetTables", "AccessDeniedException", times=None)
    with pytest.raises(LineageBridgeError, match="glue:GetTables"):
        list(client(ListScope(GLUE, "", EAST)))


def named(*missing: str, present: Iterable[str] = ()) -> ListScope:
    return ListScope(GLUE, "", EAST, tables=lambda: NamedTables(frozenset(present), missing))


#: What LineageBridge's documented policy grants.
GET_TABLE_ONLY = {"Statement": [{"Effect": "Allow", "Action": ["glue:GetTable"], "Resource": ["*"]}]}


def test_missing_tables_are_asked_for_by_name_where_the_list_is_denied(
    glue: BaseClient, strict_aws: ExtendedAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_tables(glue, many(3))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "restricted")
    strict_aws.restrict(GET_TABLE_ONLY, "restricted")
    strict_aws.clear_faults()
    client = ListClient(settings)
    scope = named("topic.00001", "not.there", present=["topic.00000"])
    assert names(client(scope)) == {"topic.00000", "topic.00001"}
    # A table that is there is not asked for again, or every tick would cost a call for each table.
    assert names(client(scope)) == {"topic.00000", "topic.00001"}
    assert dict(strict_aws.calls) == {"GetTables": 2, "GetTable": 3}


def test_a_tick_asks_for_a_few_names_and_the_next_one_for_others(
    glue: BaseClient, strict_aws: ExtendedAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_tables(glue, many(1))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "restricted")
    strict_aws.restrict(GET_TABLE_ONLY, "restricted")
    strict_aws.clear_faults()
    client = ListClient(settings)
    scope = named(*(f"a{number:03d}" for number in range(90)), "topic.00000")
    assert names(client(scope)) == set()
    assert strict_aws.calls["GetTable"] == 50
    assert names(client(scope)) == {"topic.00000"}
    assert names(client(scope)) == {"topic.00000"}
    assert strict_aws.calls["GetTable"] == 150


def test_a_list_of_which_no_table_may_be_read_raises(
    glue: BaseClient, strict_aws: ExtendedAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_tables(glue, many(1))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "restricted")
    strict_aws.restrict({"Statement": []}, "restricted")
    client = ListClient(settings)
    with pytest.raises(LineageBridgeError, match="glue:GetTables"):
        list(client(named(*(f"a{number}" for number in range(40)))))
    assert strict_aws.calls["GetTable"] < 10


def test_only_the_names_of_glue_tables_are_read_page_by_page(monkeypatch: pytest.MonkeyPatch) -> None:
    requests: list[dict[str, Any]] = []

    class Client:
        get_databases = get_table = None

        def get_tables(self, **request: Any) -> dict[str, Any]:
            requests.append(request)
            number = len(requests)
            more = {"NextToken": str(number)} if number < 3 else {}
            return {"TableList": [{"Name": f"t{number}", "DatabaseName": EAST}], **more}

    monkeypatch.setattr(glue_client_module, "glue_client", lambda _settings: Client())
    assert list(ListClient(settings)(ListScope(GLUE, "", EAST))) == ["t1", "t2", "t3"]
    assert [request["AttributesToGet"] for request in requests] == [["NAME"]] * 3


def test_a_changed_key_is_used_for_the_next_list() -> None:
    sent: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request.headers["Authorization"])
        return httpx.Response(200, json={"data": [], "metadata": {}})

    secrets = iter(["one", "one", "two"])
    client = ListClient(lambda: settings(next(secrets)), transport=httpx.MockTransport(answer))
    for _ in range(3):
        list(client(ListScope(TABLEFLOW, ENV, EAST)))
    assert sent[0] == sent[1] != sent[2]


def test_session_with_a_replaced_key_is_closed() -> None:
    closed: list[str] = []

    class Transport(httpx.MockTransport):
        def close(self) -> None:
            closed.append("session")

    secrets = iter(["one", "one", "two"])
    transport = Transport(serving(topics=[]).handler)
    client = ListClient(lambda: settings(next(secrets)), transport=transport)
    for expected in ([], [], ["session"]):
        list(client(ListScope(TABLEFLOW, ENV, EAST)))
        assert closed == expected
