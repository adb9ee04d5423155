"""The cheap lists, as Confluent and Glue answer them."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from botocore.client import BaseClient
from pydantic import SecretStr

from lineage_bridge_dagster.automation.list_client import OutsideLister
from lineage_bridge_dagster.automation.watched_lists import (
    GLUE,
    INTEGRATIONS,
    TABLEFLOW,
    ListScope,
    names,
)
from lineage_bridge_dagster.config.settings import (
    AwsSettings,
    ConfluentSettings,
    Credential,
    Settings,
)
from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.glue import client as glue_client_module
from lineage_bridge_dagster_tests.assets.location import create_tables
from lineage_bridge_dagster_tests.assets.world import EAST, ENV, REGION, many


def settings(text: str = "s") -> Settings:
    key = Credential(key="K", secret=SecretStr(text), variable="LINEAGE_BRIDGE_TABLEFLOW_API_KEY")
    return Settings(
        confluent=ConfluentSettings(api_url="http://127.0.0.1:9", credentials={"tableflow": key}),
        aws=AwsSettings(region=REGION),
    )


def topic(name: str, phase: str) -> dict[str, Any]:
    return {"spec": {"display_name": name, "suspended": False}, "status": {"phase": phase}}


def answering(**lists: Any) -> httpx.MockTransport:
    """`topics` and `integrations` are what the lists hold, or an HTTP status."""

    def answer(request: httpx.Request) -> httpx.Response:
        held = lists["topics" if "tableflow-topics" in request.url.path else "integrations"]
        if isinstance(held, int):
            return httpx.Response(held, json={"errors": []})
        return httpx.Response(200, json={"data": held, "metadata": {}})

    return httpx.MockTransport(answer)


def test_topics_come_with_their_phase_so_that_a_change_of_it_is_news() -> None:
    lister = OutsideLister(
        settings, transport=answering(topics=[topic("a.b", "PENDING"), topic("c", "RUNNING")])
    )
    items = list(lister(ListScope(TABLEFLOW, ENV, EAST)))
    assert names(items) == {"a.b", "c"}
    assert any("PENDING" in item for item in items)


def test_an_integrations_database_is_part_of_its_list() -> None:
    held = [{"id": "tci-1", "spec": {"config": {"kind": "AwsGlue", "custom_database": "sales"}}}]
    items = list(
        OutsideLister(settings, transport=answering(integrations=held))(ListScope(INTEGRATIONS, ENV, EAST))
    )
    assert "sales" in items[0]


@pytest.mark.parametrize("status", [401, 403, 500])
def test_a_list_that_is_refused_raises_and_is_never_empty(status: int) -> None:
    lister = OutsideLister(settings, transport=answering(topics=status))
    with pytest.raises(LineageBridgeError):
        list(lister(ListScope(TABLEFLOW, ENV, EAST)))


def test_a_glue_database_that_is_not_there_yet_holds_no_tables(
    glue: BaseClient, strict_aws: StrictAws
) -> None:
    create_tables(glue, many(3))
    lister = OutsideLister(settings)
    assert names(lister(ListScope(GLUE, "", EAST))) == {f"topic.0000{number}" for number in range(3)}
    assert list(lister(ListScope(GLUE, "", "elsewhere"))) == []
    strict_aws.fail("GetTables", "AccessDeniedException", times=-1)
    with pytest.raises(LineageBridgeError, match="glue:GetTables"):
        list(lister(ListScope(GLUE, "", EAST)))


def test_glue_is_asked_for_the_names_of_tables_alone_by_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []

    class Client:
        get_databases = get_table = None

        def get_tables(self, **request: Any) -> dict[str, Any]:
            asked.append(request)
            number = len(asked)
            more = {"NextToken": str(number)} if number < 3 else {}
            return {"TableList": [{"Name": f"t{number}", "DatabaseName": EAST}], **more}

    monkeypatch.setattr(glue_client_module, "glue_client", lambda _settings: Client())
    assert list(OutsideLister(settings)(ListScope(GLUE, "", EAST))) == ["t1", "t2", "t3"]
    assert [request["AttributesToGet"] for request in asked] == [["NAME"]] * 3


def test_a_key_that_was_changed_is_used_at_the_next_list() -> None:
    sent: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request.headers["Authorization"])
        return httpx.Response(200, json={"data": [], "metadata": {}})

    secrets = iter(["one", "one", "two"])
    lister = OutsideLister(lambda: settings(next(secrets)), transport=httpx.MockTransport(answer))
    for _ in range(3):
        list(lister(ListScope(TABLEFLOW, ENV, EAST)))
    assert sent[0] == sent[1] != sent[2]
