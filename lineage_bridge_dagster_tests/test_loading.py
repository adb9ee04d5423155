"""A code location loads while APIs or the state storage are down, or if the stored state is damaged."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from dagster import DagsterInstance, Definitions, SensorDefinition, SensorResult, build_sensor_context
from dagster._core.definitions.definitions_load_context import (
    DefinitionsLoadContext,
    DefinitionsLoadType,
)
from dagster._core.definitions.repository_definition.repository_definition import RepositoryLoadData

import lineage_bridge_dagster.discovery.discover
from lineage_bridge_dagster.assets.stored_component import ReplacedStateError
from lineage_bridge_dagster.automation import reload
from lineage_bridge_dagster.automation.state import StateStore
from lineage_bridge_dagster.specs.names import AssetNames
from lineage_bridge_dagster_tests.assets.world import world
from lineage_bridge_dagster_tests.project import load

KEY = "LineageBridgeComponent"

#: Loads the location as a code server does, without a network, and prints its attempts to connect.
_LOAD_OFFLINE = """
import socket

tried = []

def refuse(*args, **_options):
    tried.append(repr(args[1:] if args and isinstance(args[0], socket.socket) else args))
    raise ConnectionRefusedError("no connection is allowed at load")

socket.socket.connect = socket.socket.connect_ex = refuse
socket.socket.sendto = refuse
socket.create_connection = socket.getaddrinfo = refuse

from dagster import DagsterInstance
from dagster._core.definitions.definitions_load_context import DefinitionsLoadContext, DefinitionsLoadType
from dagster._core.storage.defs_state.base import set_defs_state_storage

with DagsterInstance.get() as instance, set_defs_state_storage(instance.defs_state_storage):
    from lineage_bridge_dagster.definitions import defs

    with DefinitionsLoadContext.scoped(DefinitionsLoadContext(DefinitionsLoadType.INITIALIZATION)):
        repository = defs().get_repository_def()
    print("assets", len(repository.asset_graph.get_all_asset_keys()))
    print("jobs", *sorted(job.name for job in repository.get_all_jobs()))
    print("sensors", *[sensor.name for sensor in repository.sensor_defs])
    print("tried", tried)
"""

_UNREACHABLE = "http://127.0.0.1:1"


@pytest.mark.parametrize("with_state", [False, True], ids=["without a state", "with a state"])
def test_loading_makes_no_network_calls(tmp_path: Path, with_state: bool) -> None:
    (tmp_path / "dagster.yaml").write_text("telemetry: {enabled: false}\n", encoding="utf-8")
    if with_state:
        with DagsterInstance.from_config(str(tmp_path)) as instance:
            StateStore.of(instance, KEY).store(world().discovery())
    env = {
        **os.environ,
        "PYTHONWARNINGS": "ignore",
        "DAGSTER_HOME": str(tmp_path),
        "AWS_ENDPOINT_URL": _UNREACHABLE,
        "AWS_EC2_METADATA_SERVICE_ENDPOINT": _UNREACHABLE,
        "LINEAGE_BRIDGE_AWS_REGION": "us-east-1",
        "LINEAGE_BRIDGE_AWS_ENDPOINT_URL": _UNREACHABLE,
        "LINEAGE_BRIDGE_AWS_ROLE_ARN": "arn:aws:iam::111122223333:role/lineage",
        "LINEAGE_BRIDGE_CONFLUENT_API_URL": _UNREACHABLE,
        "LINEAGE_BRIDGE_CONFLUENT_CLOUD_API_KEY": "key",
        "LINEAGE_BRIDGE_CONFLUENT_CLOUD_API_SECRET": "secret",
        "LINEAGE_BRIDGE_SECRETS": "prod/confluent",
        "LINEAGE_BRIDGE_CATALOG_WAREHOUSE": "s3://bucket/warehouse",
        "LINEAGE_BRIDGE_CATALOG_S3_ENDPOINT": _UNREACHABLE,
        "LINEAGE_BRIDGE_SPARK_MASTER": "spark://127.0.0.1:1",
        "LINEAGE_BRIDGE_SENSORS": "on",
    }
    command = [sys.executable, "-c", _LOAD_OFFLINE]
    process = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120, check=False)
    assert process.returncode == 0, process.stderr
    printed = dict(line.partition(" ")[::2] for line in process.stdout.splitlines())
    assert printed["tried"] == "[]"
    assert (int(printed["assets"]) > 20) is with_state
    assert "refresh" in printed["jobs"].split()
    assert printed["sensors"] == "lineage_sensor"


def _truncated(path: Path) -> None:
    path.write_text(path.read_text("utf-8")[:2000], encoding="utf-8")


def _newer_format(path: Path) -> None:
    path.write_text('{"format": 9, "nodes": {"by_kind": {}}, "edges": {}}', encoding="utf-8")


def _binary(path: Path) -> None:
    path.write_bytes(b"\x00\xff\xfe" * 100)


def _deleted(path: Path) -> None:
    path.unlink()


def _explanation(definitions: Definitions) -> str:
    """What the page of the only asset says."""
    graph = definitions.resolve_asset_graph()
    (key,) = graph.get_all_asset_keys()
    assert key == AssetNames().discovery_key
    return graph.get(key).description or ""


def _tick(instance: DagsterInstance, definitions: Definitions) -> SensorResult:
    sensor = definitions.get_sensor_def("lineage_sensor")
    assert isinstance(sensor, SensorDefinition)
    with build_sensor_context(instance, definitions=definitions) as context:
        tick = sensor(context)
    assert isinstance(tick, SensorResult)
    return tick


@pytest.mark.parametrize("corrupt", [_truncated, _binary, _deleted])
def test_an_unreadable_state_is_replaced_by_a_new_discovery(
    instance: DagsterInstance,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    corrupt: Callable[[Path], None],
) -> None:
    store = StateStore.of(instance, KEY)
    version = store.store(world().discovery())
    (path,) = Path(instance.root_directory).rglob(version)
    corrupt(path)

    with caplog.at_level(logging.WARNING):
        definitions = load()
    assert "The stored discovery cannot be read. " in caplog.text
    assert _explanation(definitions) in caplog.text
    assert [request.job_name for request in _tick(instance, definitions).run_requests or []] == ["refresh"]

    monkeypatch.setattr(
        lineage_bridge_dagster.discovery.discover, "discover", lambda *_args, **_options: world().discovery()
    )
    monkeypatch.setenv("LINEAGE_BRIDGE_AWS_REGION", "us-east-1")
    job = definitions.get_repository_def().get_job("refresh")
    assert job.execute_in_process(instance=instance).success
    assert store.latest_version() != version
    assert load().resolve_asset_graph().get_all_asset_keys()


def test_definitions_that_may_be_too_large_for_a_message_tell_what_to_set(
    instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    StateStore.of(instance, KEY).store(world().discovery())
    load()
    assert "DAGSTER_GRPC" not in caplog.text
    monkeypatch.setenv("DAGSTER_GRPC_MAX_SEND_BYTES", "10000")
    load()
    assert "set DAGSTER_GRPC_MAX_SEND_BYTES and DAGSTER_GRPC_MAX_RX_BYTES to 1000000000" in caplog.text


def _fail(*_args: object) -> None:
    raise ConnectionError("Could not connect to the bucket")


def test_while_the_state_storage_is_down_the_sensor_waits_and_then_loads_what_is_stored(
    instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = StateStore.of(instance, KEY).store(world().discovery())
    (path,) = Path(instance.root_directory).rglob(version)
    with monkeypatch.context() as away:
        away.setattr(type(instance.defs_state_storage), "download_state_to_path", _fail)
        definitions = load()
        assert "Could not connect to the bucket" in _explanation(definitions)
        # A discovery would replace what is there, and carry nothing over from it.
        tick = _tick(instance, definitions)
        assert not tick.run_requests
        assert "Could not connect to the bucket" in str(tick.skip_reason)
        refresh = definitions.get_repository_def().get_job("refresh")
        assert not refresh.execute_in_process(instance=instance, raise_on_error=False).success
    assert StateStore.of(instance, KEY).latest_version() == version
    assert path.exists()
    reloads: list[object] = []
    monkeypatch.setattr(reload, "_reload_with_state", lambda *args: reloads.append(args))
    assert "Loaded a newer discovery" in str(_tick(instance, definitions).skip_reason)
    assert reloads


def test_a_state_of_a_newer_version_is_refused_and_kept(
    instance: DagsterInstance, caplog: pytest.LogCaptureFixture
) -> None:
    store = StateStore.of(instance, KEY)
    version = store.store(world().discovery())
    (path,) = Path(instance.root_directory).rglob(version)
    _newer_format(path)
    definitions = load()
    for text in (_explanation(definitions), str(_tick(instance, definitions).skip_reason)):
        assert "has format 9 of the stored discovery, and this version of lineage-bridge-dagster" in text
        assert "lineage-bridge migrate" in text
    assert not _tick(instance, definitions).run_requests
    refresh = definitions.get_repository_def().get_job("refresh")
    assert not refresh.execute_in_process(instance=instance, raise_on_error=False).success
    assert store.latest_version() == version


def test_a_server_keeps_its_assets_where_the_newest_state_cannot_be_loaded(instance: DagsterInstance) -> None:
    """Each load is a code server's: the first as it starts, the others as it is told of a newer state."""
    store = StateStore.of(instance, KEY)
    store.store(world().discovery())
    assert len(_served(instance).resolve_asset_graph().get_all_asset_keys()) > 20
    version = store.store(world().discovery())
    (path,) = Path(instance.root_directory).rglob(version)
    good = path.read_bytes()
    for corrupt in (_truncated, _newer_format, _deleted):
        corrupt(path)
        with pytest.raises(Exception, match="building definitions") as caught:
            _served(instance)
        causes = [caught.value, caught.value.__cause__]
        assert any(isinstance(each, ReplacedStateError) for each in causes), causes
        path.write_bytes(good)
    assert len(_served(instance).resolve_asset_graph().get_all_asset_keys()) > 20


def _served(instance: DagsterInstance) -> Definitions:
    from lineage_bridge_dagster.definitions import defs

    info = instance.defs_state_storage.get_latest_defs_state_info()  # type: ignore[union-attr]
    given = RepositoryLoadData(defs_state_info=info)
    context = DefinitionsLoadContext(DefinitionsLoadType.INITIALIZATION, repository_load_data=given)
    with DefinitionsLoadContext.scoped(context):
        loaded = defs()
    assert isinstance(loaded, Definitions)
    return loaded
