"""A running webserver, asked as the UI asks it: by GraphQL."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx

T = TypeVar("T")

_ASSETS = "query { assetNodes { assetKey { path } } }"
_RUNS = """query($limit: Int!) { runsOrError(limit: $limit) { ... on Runs {
  results { runId status jobName tags { key value } assetSelection { path } } } } }"""
_SENSORS = """query($s: RepositorySelector!) { sensorsOrError(repositorySelector: $s) { ... on Sensors {
  results { name sensorState { status
    ticks(limit: 5) { status logKey skipReason error { message } } } } } } }"""
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
_LOCATIONS = """query { workspaceOrError { ... on Workspace { locationEntries { name loadStatus
  locationOrLoadError { __typename ... on RepositoryLocation { repositories { name } }
    ... on PythonError { message } } } } } }"""


def eventually(look: Callable[[], T | None], seconds: float, what: str, every: float = 0.5) -> T:
    """The first answer that is there; fails, naming what was waited for, when none came in time."""
    until = time.monotonic() + seconds
    while True:
        found = look()
        if found:
            return found
        assert time.monotonic() < until, f"{what}: not within {seconds:.0f} s"
        time.sleep(every)


@dataclass(slots=True)
class DagsterUi:
    """GraphQL calls against `url`."""

    url: str

    def ask(self, query: str, **variables: Any) -> dict[str, Any]:
        answer = httpx.post(
            f"{self.url}/graphql", json={"query": query, "variables": variables}, timeout=30
        ).json()
        assert "errors" not in answer, answer["errors"]
        return dict(answer["data"])

    def assets(self) -> set[str]:
        """Asset keys, their parts joined by `/`."""
        return {"/".join(node["assetKey"]["path"]) for node in self.ask(_ASSETS)["assetNodes"]}

    def runs(self, limit: int = 50) -> list[dict[str, Any]]:
        return list(self.ask(_RUNS, limit=limit)["runsOrError"]["results"])

    def selector(self) -> dict[str, str]:
        """The one repository of the one code location."""
        entry = self.ask(_LOCATIONS)["workspaceOrError"]["locationEntries"][0]
        place = entry["locationOrLoadError"]
        assert place["__typename"] == "RepositoryLocation", place
        return {"repositoryLocationName": entry["name"], "repositoryName": place["repositories"][0]["name"]}

    def sensors(self) -> dict[str, dict[str, Any]]:
        found = self.ask(_SENSORS, s=self.selector())["sensorsOrError"]["results"]
        return {sensor["name"]: sensor["sensorState"] for sensor in found}

    def launch(self, job: str, config: Mapping[str, Any] | None = None) -> str:
        """Launch a job as the launchpad does; returns the run's id."""
        params = {
            "selector": {**self.selector(), "jobName": job},
            "runConfigData": config or {},
            "mode": "default",
        }
        answer = self.ask(_LAUNCH, p=params)["launchRun"]
        assert answer["__typename"] == "LaunchRunSuccess", answer
        return str(answer["run"]["runId"])

    def run(self, run_id: str) -> dict[str, Any]:
        return dict(self.ask(_RUN, id=run_id)["runOrError"])

    def finished(self, run_id: str, seconds: float = 180) -> dict[str, Any]:
        """The run once it has ended, however it did."""

        def look() -> dict[str, Any] | None:
            run = self.run(run_id)
            return run if run["status"] in ("SUCCESS", "FAILURE", "CANCELED") else None

        return eventually(look, seconds, f"the end of run {run_id}")

    def metadata(self, key: str) -> dict[str, Any]:
        """Label -> value of an asset's last materialization; empty when it has none."""
        node = self.ask(_MATERIALIZATION, k={"path": key.split("/")})["assetNodeOrError"]
        events = node.get("assetMaterializations", [])
        entries = events[0]["metadataEntries"] if events else []
        kinds = ("text", "mdStr", "intValue", "jsonString")
        return {entry["label"]: next((entry[k] for k in kinds if k in entry), None) for entry in entries}
