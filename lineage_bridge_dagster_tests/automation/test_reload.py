"""Having a code server load a newer state, and what is done when it can't."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from dagster import DagsterInstance
from dagster._grpc.client import DagsterGrpcClient
from dagster_shared.error import SerializableErrorInfo
from dagster_shared.serdes import deserialize_value, serialize_value
from dagster_shared.serdes.objects.models.defs_state_info import DefsStateInfo

from lineage_bridge_dagster.automation.reload import ReloadError, reload_code_location
from lineage_bridge_dagster.automation.state import StateStore
from lineage_bridge_dagster_tests.assets.world import many


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[DagsterInstance]:
    with DagsterInstance.local_temp(str(tmp_path)) as made:
        StateStore.of(made, "LineageBridgeComponent").store(many(1).discovery())
        yield made


class Server:
    """A code server's client; `with_state` is what it answers, an error or None."""

    location_name = "here"

    def __init__(self, with_state: str | Exception | None = None, *, follows_reload: bool = True) -> None:
        self.with_state = with_state
        self.follows = follows_reload
        self.id = 1
        self.infos: list[DefsStateInfo] = []

    def create_client(self) -> Server:
        return self

    def reload_code_with_state(self, serialized_defs_state_info: str, timeout: int) -> Any:
        self.infos.append(deserialize_value(serialized_defs_state_info, DefsStateInfo))
        if isinstance(self.with_state, Exception):
            raise self.with_state
        error = serialize_value(SerializableErrorInfo(self.with_state, [], None)) if self.with_state else ""
        return SimpleNamespace(serialized_error=error)

    def reload_code(self, timeout: int) -> None:
        self.id += self.follows

    def get_server_id(self, timeout: int) -> int:
        return self.id


def test_the_server_is_told_the_newest_versions(instance: DagsterInstance) -> None:
    server = Server()
    assert reload_code_location(server, instance).how == "reload_code_with_state"
    version = StateStore.of(instance, "LineageBridgeComponent").latest_version()
    assert server.infos[0].get_version("LineageBridgeComponent") == version


@pytest.mark.parametrize("trouble", ["Conflicting asset keys", ConnectionError("gone")])
def test_an_error_in_the_answer_or_of_the_call_leads_to_the_next_way(
    instance: DagsterInstance, trouble: str | Exception
) -> None:
    done = reload_code_location(Server(trouble), instance)
    assert done.how == "reload_code"
    assert str(trouble) in done.tried[0]


def test_of_an_error_in_the_answer_the_cause_is_told(
    instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    cause = SerializableErrorInfo("defs.yaml:7 - owners: Invalid owner\n  -> ...", [], None)
    error = serialize_value(SerializableErrorInfo("Error while building definitions", [], None, cause))
    server = Server()
    monkeypatch.setattr(
        server, "reload_code_with_state", lambda *_args, **_options: SimpleNamespace(serialized_error=error)
    )
    done = reload_code_location(server, instance)
    assert done.tried == ("reload_code_with_state: defs.yaml:7 - owners: Invalid owner",)


def test_a_server_that_answers_and_loads_nothing_is_no_reload(
    instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    def post(url: str, json: Any, timeout: float) -> httpx.Response:
        asked.append((url, json["variables"]))
        answer = {
            "reloadRepositoryLocation": {"__typename": "WorkspaceLocationEntry", "locationOrLoadError": {}}
        }
        return httpx.Response(200, json={"data": answer}, request=httpx.Request("POST", url))

    monkeypatch.setattr(httpx, "post", post)
    done = reload_code_location(
        Server("no", follows_reload=False), instance, timeout_seconds=0, graphql_url="http://ui"
    )
    assert done.how == "graphql"
    assert asked == [("http://ui/graphql", {"name": "here"})]


def test_when_nothing_works_the_error_says_what_was_tried_and_what_to_do(instance: DagsterInstance) -> None:
    with pytest.raises(ReloadError) as caught:
        reload_code_location(SimpleNamespace(location_name="x"), instance)
    for word in ("reload_code_with_state", "reload_code", "LINEAGE_BRIDGE_DAGSTER_URL"):
        assert word in str(caught.value)


def test_dagster_still_has_the_call_that_is_not_documented() -> None:
    for name in ("reload_code_with_state", "reload_code", "get_server_id"):
        assert callable(getattr(DagsterGrpcClient, name)), name
