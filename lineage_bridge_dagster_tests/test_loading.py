"""A code location loads while APIs or the state storage are down, or if the stored state is damaged."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dagster import DagsterInstance, SensorDefinition, SensorResult, build_sensor_context

import lineage_bridge_dagster.discovery.discover
from lineage_bridge_dagster.automation.state import StateStore
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


@pytest.mark.parametrize("corrupt", [_truncated, _newer_format, _binary, _deleted])
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
    assert "The stored discovery cannot be read, so there are no assets until the refresh job" in caplog.text
    assert not definitions.resolve_asset_graph().get_all_asset_keys()
    sensor = definitions.get_sensor_def("lineage_sensor")
    assert isinstance(sensor, SensorDefinition)
    with build_sensor_context(instance, definitions=definitions) as context:
        tick = sensor(context)
    assert isinstance(tick, SensorResult)
    assert [request.job_name for request in tick.run_requests or []] == ["refresh"]

    monkeypatch.setattr(
        lineage_bridge_dagster.discovery.discover, "discover", lambda *_args, **_options: world().discovery()
    )
    monkeypatch.setenv("LINEAGE_BRIDGE_AWS_REGION", "us-east-1")
    job = definitions.get_repository_def().get_job("refresh")
    assert job.execute_in_process(instance=instance).success
    assert store.latest_version() != version
    assert load().resolve_asset_graph().get_all_asset_keys()


def test_loading_succeeds_while_the_state_storage_is_down(
    instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    StateStore.of(instance, KEY).store(world().discovery())
    storage: Any = instance.defs_state_storage

    def fail(*_args: object) -> None:
        raise ConnectionError("Could not connect to the bucket")

    monkeypatch.setattr(type(storage), "download_state_to_path", fail)
    assert load().get_sensor_def("lineage_sensor")
    assert "Could not connect to the bucket" in caplog.text
