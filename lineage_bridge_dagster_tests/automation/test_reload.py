"""Reloading a code server's definitions, and the fallbacks."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from dagster import DagsterInstance
from dagster._grpc.client import DagsterGrpcClient
from dagster_shared.error import SerializableErrorInfo
from dagster_shared.serdes import deserialize_value, serialize_value
from dagster_shared.serdes.objects.models.defs_state_info import DefsStateInfo

from lineage_bridge_dagster.assets.stored_component import ReplacedStateError
from lineage_bridge_dagster.automation.reload import KeptDefinitionsError, ReloadError, reload_code_location
from lineage_bridge_dagster.automation.state import StateStore
from lineage_bridge_dagster_tests.assets.world import many


@pytest.fixture
def instance(local_instance: DagsterInstance) -> DagsterInstance:
    StateStore.of(local_instance, "LineageBridgeComponent").store(many(1).discovery())
    return local_instance


class Server:
    """A code server's client; `with_state` is the error of its reload, or None."""

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


def test_the_server_gets_the_newest_versions(instance: DagsterInstance) -> None:
    server = Server()
    assert reload_code_location(server, instance).how == "reload_code_with_state"
    version = StateStore.of(instance, "LineageBridgeComponent").latest_version()
    assert server.infos[0].get_version("LineageBridgeComponent") == version


@pytest.mark.parametrize("error", ["Conflicting asset keys", ConnectionError("gone")])
def test_an_error_in_the_response_or_of_the_call_leads_to_the_next_way(
    instance: DagsterInstance, error: str | Exception
) -> None:
    reloaded = reload_code_location(Server(error), instance)
    assert reloaded.how == "reload_code"
    assert str(error) in reloaded.tried[0]


def test_the_cause_of_an_error_in_the_response_is_reported(
    instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    cause = SerializableErrorInfo("defs.yaml:7 - owners: Invalid owner\n  -> ...", [], None)
    error = serialize_value(SerializableErrorInfo("Error while building definitions", [], None, cause))
    server = Server()
    monkeypatch.setattr(
        server, "reload_code_with_state", lambda *_args, **_options: SimpleNamespace(serialized_error=error)
    )
    reloaded = reload_code_location(server, instance)
    assert reloaded.tried == ("reload_code_with_state: defs.yaml:7 - owners: Invalid owner",)


def test_a_server_that_keeps_its_definitions_is_not_restarted(
    instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A restart would load none at all. What kept it from loading the newest has causes of its own."""
    first = SerializableErrorInfo("Forbidden", [], "PermissionError")
    kept = SerializableErrorInfo("It cannot be fetched", [], ReplacedStateError.__name__, first)
    error = serialize_value(SerializableErrorInfo("Error while building definitions", [], None, kept))
    server = Server()
    monkeypatch.setattr(
        server, "reload_code_with_state", lambda *_args, **_options: SimpleNamespace(serialized_error=error)
    )
    with pytest.raises(KeptDefinitionsError, match="It cannot be fetched"):
        reload_code_location(server, instance)
    assert server.id == 1


def test_a_response_without_a_new_server_id_is_not_a_reload(
    instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests: list[Any] = []

    def post(url: str, json: Any, timeout: float) -> httpx.Response:
        requests.append((url, json["variables"]))
        data = {
            "reloadRepositoryLocation": {"__typename": "WorkspaceLocationEntry", "locationOrLoadError": {}}
        }
        return httpx.Response(200, json={"data": data}, request=httpx.Request("POST", url))

    monkeypatch.setattr(httpx, "post", post)
    reloaded = reload_code_location(
        Server("no", follows_reload=False), instance, timeout_seconds=0, graphql_url="http://ui"
    )
    assert reloaded.how == "graphql"
    assert requests == [("http://ui/graphql", {"name": "here"})]


def test_the_error_after_every_way_failed_names_them_and_a_remedy(instance: DagsterInstance) -> None:
    with pytest.raises(ReloadError) as caught:
        reload_code_location(SimpleNamespace(location_name="x"), instance)
    for part in ("reload_code_with_state", "reload_code", "LINEAGE_BRIDGE_DAGSTER_URL"):
        assert part in str(caught.value)


def test_dagster_still_has_the_undocumented_calls() -> None:
    for name in ("reload_code_with_state", "reload_code", "get_server_id"):
        assert callable(getattr(DagsterGrpcClient, name)), name
