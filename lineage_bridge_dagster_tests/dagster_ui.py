"""GraphQL client of a running webserver, with the queries that the UI sends."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import httpx

from lineage_bridge_dagster.embedded.dagster_process import free_port, is_listening

T = TypeVar("T")

_ASSETS = "query { assetNodes { assetKey { path } } }"
_RUNS = """query($limit: Int!) { runsOrError(limit: $limit) { ... on Runs {
  results { runId status jobName tags { key value } assetSelection { path } } } } }"""
_SENSORS = """query($s: RepositorySelector!) { sensorsOrError(repositorySelector: $s) { ... on Sensors {
  results { name sensorState { status
    ticks(limit: 5) { status logKey skipReason error { message } } } } } } }"""
_SENSOR = """query($s: SensorSelector!) { sensorOrError(sensorSelector: $s) { ... on Sensor { sensorState {
  status ticks(limit: 1) { timestamp status } } } } }"""
_LAUNCH = """mutation($p: ExecutionParams!) { launchRun(executionParams: $p) { __typename
  ... on LaunchRunSuccess { run { runId } }
  ... on PythonError { message }
  ... on RunConfigValidationInvalid { errors { message } } } }"""
_RUN = """query($id: ID!) { runOrError(runId: $id) { ... on Run { status
  eventConnection { events { __typename
    ... on MessageEvent { message level }
    ... on ExecutionStepFailureEvent { error { message }
      failureMetadata { metadataEntries { label } } } } } } } }"""
_MATERIALIZATION = """query($k: AssetKeyInput!) { assetNodeOrError(assetKey: $k) { ... on AssetNode {
  assetMaterializations(limit: 1) { runId metadataEntries { label __typename
    ... on TextMetadataEntry { text } ... on MarkdownMetadataEntry { mdStr }
    ... on IntMetadataEntry { intValue } ... on JsonMetadataEntry { jsonString } } } } } }"""
#: Without a daemon nothing would take runs from a queue.
_SETTINGS = """telemetry: {enabled: false}
run_coordinator: {module: dagster.core.run_coordinator, class: DefaultRunCoordinator}
"""
_LOCATIONS = """query { workspaceOrError { ... on Workspace { locationEntries { name loadStatus
  locationOrLoadError { __typename ... on RepositoryLocation { repositories { name } }
    ... on PythonError { message } } } } } }"""


def eventually(probe: Callable[[], T | None], seconds: float, description: str, interval: float = 0.5) -> T:
    """Call `probe` until it returns a truthy value and return that; fail after `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        result = probe()
        if result:
            return result
        assert time.monotonic() < deadline, f"{description}: not within {seconds:.0f} s"
        time.sleep(interval)


@dataclass(slots=True)
class DagsterUi:
    """GraphQL calls against `url`."""

    url: str

    def query(self, query: str, **variables: Any) -> dict[str, Any]:
        """Send a query or mutation and return the response's data."""
        response = httpx.post(
            f"{self.url}/graphql", json={"query": query, "variables": variables}, timeout=30
        ).json()
        assert "errors" not in response, response["errors"]
        return dict(response["data"])

    def assets(self) -> set[str]:
        """Return all asset keys, with their parts joined by `/`."""
        return {"/".join(node["assetKey"]["path"]) for node in self.query(_ASSETS)["assetNodes"]}

    def runs(self, limit: int = 50) -> list[dict[str, Any]]:
        return list(self.query(_RUNS, limit=limit)["runsOrError"]["results"])

    def selector(self) -> dict[str, str]:
        """Return the selector of the only code location's only repository."""
        entry = self.query(_LOCATIONS)["workspaceOrError"]["locationEntries"][0]
        location = entry["locationOrLoadError"]
        assert location["__typename"] == "RepositoryLocation", location
        repository = location["repositories"][0]["name"]
        return {"repositoryLocationName": entry["name"], "repositoryName": repository}

    def sensors(self) -> dict[str, dict[str, Any]]:
        sensors = self.query(_SENSORS, s=self.selector())["sensorsOrError"]["results"]
        return {sensor["name"]: sensor["sensorState"] for sensor in sensors}

    def sensor(self, name: str) -> dict[str, Any]:
        """Return a sensor's status and its last tick."""
        response = self.query(_SENSOR, s={**self.selector(), "sensorName": name})
        return dict(response["sensorOrError"]["sensorState"])

    def await_tick(self, sensor: str, moment: float) -> None:
        """Wait until the sensor has ended a tick that began after the moment, in seconds since 1970."""

        def ticked() -> bool:
            return any(
                tick["timestamp"] > moment and tick["status"] in ("SKIPPED", "SUCCESS")
                for tick in self.sensor(sensor)["ticks"]
            )

        eventually(lambda: ticked() or None, 180, f"a tick of {sensor}")

    def launch(self, job: str, config: Mapping[str, Any] | None = None) -> str:
        """Launch a job as the launchpad does and return the run's id."""
        params = {
            "selector": {**self.selector(), "jobName": job},
            "runConfigData": config or {},
            "mode": "default",
        }
        launch = self.query(_LAUNCH, p=params)["launchRun"]
        assert launch["__typename"] == "LaunchRunSuccess", launch
        return str(launch["run"]["runId"])

    def run(self, run_id: str) -> dict[str, Any]:
        return dict(self.query(_RUN, id=run_id)["runOrError"])

    def finished(self, run_id: str, seconds: float = 180) -> dict[str, Any]:
        """Wait for a run to end, with whatever status, and return it."""

        def ended() -> dict[str, Any] | None:
            run = self.run(run_id)
            return run if run["status"] in ("SUCCESS", "FAILURE", "CANCELED") else None

        return eventually(ended, seconds, f"the end of run {run_id}")

    def metadata(self, key: str) -> dict[str, Any]:
        """Return the metadata of an asset's last materialization by label; empty if it has none."""
        node = self.query(_MATERIALIZATION, k={"path": key.split("/")})["assetNodeOrError"]
        events = node.get("assetMaterializations", [])
        entries = events[0]["metadataEntries"] if events else []
        kinds = ("text", "mdStr", "intValue", "jsonString")
        return {entry["label"]: next((entry[k] for k in kinds if k in entry), None) for entry in entries}


@contextmanager
def webserver(
    home: Path, *workspace: str, folder: Path, env: Mapping[str, str] | None = None
) -> Iterator[DagsterUi]:
    """`dagster-webserver` on a free port, without a daemon; a run that is launched starts at once.

    Args:
        home: the Dagster instance.
        workspace: options that name the code location.
        folder: the working directory, from which modules are imported.
        env: further variables, which runs have as well.
    """
    port = free_port()
    home.mkdir(exist_ok=True)
    (home / "dagster.yaml").write_text(_SETTINGS, encoding="utf-8")
    variables = {**os.environ, "PYTHONWARNINGS": "ignore", "PYTHONPATH": str(folder), **(env or {})}
    with subprocess.Popen(
        [sys.executable, "-m", "dagster_webserver", *workspace, "-h", "127.0.0.1", "-p", str(port)],
        cwd=folder,
        env={**variables, "DAGSTER_HOME": str(home)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            eventually(lambda: is_listening(port), 90, "the webserver")
            yield DagsterUi(f"http://127.0.0.1:{port}")
        finally:
            process.terminate()
            process.wait(30)
