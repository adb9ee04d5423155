"""One deployment for all tests: PostgreSQL, code server, daemon and webservers, with Glue and S3 alone below.

Its discovery has topics and no table, so that the sensor compares, reloads and launches nothing: each fault
takes seconds. Confluent's APIs are not there, as in an outage of all of them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from dagster import DagsterInstance

from lineage_bridge_dagster.automation.state import StateStore
from lineage_bridge_dagster.embedded.aws import ACCESS_KEY, SECRET_KEY, StrictAws
from lineage_bridge_dagster.embedded.production.deployment import READ_ONLY_WEBSERVER, WEBSERVER, Production
from lineage_bridge_dagster.embedded.production.postgres import _programs
from lineage_bridge_dagster.embedded.stack import Stack
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster_tests.assets.world import EAST, REGION, World
from lineage_bridge_dagster_tests.dagster_ui import eventually

KEY = "LineageBridgeComponent"
_SELECTOR = {
    "repositoryLocationName": "lineage_bridge_dagster",
    "repositoryName": "__repository__",
    "sensorName": "lineage_sensor",
}
_TICKS = """
query($sensor: SensorSelector!) { sensorOrError(sensorSelector: $sensor) { ... on Sensor { sensorState {
  ticks(limit: 20) { status endTimestamp skipReason error { message } } } } } }
"""


class AwsAlone(Stack):
    """A stack of which only Glue and S3 are there."""

    def __init__(self, home: Path, aws: StrictAws) -> None:
        super().__init__(home)
        self.paths.prepare()
        self._aws = aws

    def env(self) -> dict[str, str]:
        return {
            "AWS_ENDPOINT_URL": self._aws.endpoint_url,
            "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "LINEAGE_BRIDGE_AWS_REGION": REGION,
            "LINEAGE_BRIDGE_CONFLUENT_API_URL": "http://127.0.0.1:1",
            "LINEAGE_BRIDGE_CONFLUENT_CLOUD_API_KEY": "key",
            "LINEAGE_BRIDGE_CONFLUENT_CLOUD_API_SECRET": "secret",
            "LINEAGE_BRIDGE_CONFLUENT_MAX_ATTEMPTS": "1",
        }


@dataclass(slots=True)
class Deployed:
    """The running deployment, and what its processes show."""

    production: Production
    instance: DagsterInstance
    aws: StrictAws
    topics: int = 0

    def store_newer(self) -> str:
        """Store a discovery with one more topic, and return the key of the topic's asset."""
        self.topics += 1
        world = World()
        for number in range(self.topics):
            world.topic(EAST, f"topic-{number}")
        StateStore.of(self.instance, KEY).store(world.discovery())
        return f"kafka/{EAST}/topic-{self.topics - 1}"

    @contextmanager
    def reload_under_way(self) -> Iterator[str]:
        """Within the block, a tick has the code server load a newer discovery, whose file is slow to come.

        Yields the key of the asset that it adds.
        """
        self.aws.fail("GetObject", delay_seconds=5, matching="defs_state")
        try:
            key = self.store_newer()
            eventually(lambda: self.aws.pending_faults == 0 or None, 240, "a reload", 0.05)
            yield key
        finally:
            self.aws.clear_faults()

    def cursor(self) -> Mapping[str, Any]:
        """The sensor's cursor."""
        found = (each for each in self.instance.all_instigator_state() if each.name == "lineage_sensor")
        return dict(json.loads(next(found).instigator_data.cursor))  # type: ignore[union-attr]

    def query(self, text: str, process: str = WEBSERVER, **variables: Any) -> Mapping[str, Any]:
        """What a webserver answers; each connection that PostgreSQL has closed fails one request."""
        url = f"http://{self.production.addresses[process]}/graphql"

        def answer() -> Mapping[str, Any] | None:
            response = httpx.post(url, json={"query": text, "variables": variables}, timeout=60)
            return None if response.status_code == 500 else response.raise_for_status().json()["data"]

        return eventually(answer, 60, f"an answer of {process}", 0.5)

    def assets(self, process: str = WEBSERVER) -> list[str]:
        """The keys that a webserver shows; none while it has no code server."""
        nodes = self.query("{ assetNodes { assetKey { path } } }", process)["assetNodes"]
        return ["/".join(node["assetKey"]["path"]) for node in nodes]

    def ticks(self) -> list[Mapping[str, Any]]:
        """The sensor's last ticks, newest first; none while the webserver has no code server."""
        sensor = self.query(_TICKS, sensor=_SELECTOR)["sensorOrError"]
        found = sensor["sensorState"]["ticks"] if sensor else []
        return [tick for tick in found if tick["status"] != "STARTED"]

    def wait_for_tick(self, text: str, since: float) -> Mapping[str, Any]:
        """A tick that ended after a Unix time, whose reason to skip has a text."""

        def found() -> Mapping[str, Any] | None:
            ticks = (tick for tick in self.ticks() if (tick["endTimestamp"] or 0) > since)
            return next((tick for tick in ticks if text in (tick["skipReason"] or "").lower()), None)

        return eventually(found, 240, f"a tick with {text!r}", 0.5)

    def wait_for_assets(self, *keys: str, process: str = WEBSERVER) -> None:
        eventually(lambda: set(keys) <= set(self.assets(process)) or None, 240, f"{keys} in {process}", 0.5)


@pytest.fixture(scope="session")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    try:
        _programs()
    except ConfigurationError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))
    with StrictAws() as aws:
        settings = {
            "LINEAGE_BRIDGE_SENSORS": "on",
            "LINEAGE_BRIDGE_SENSOR_INTERVAL_SECONDS": "1",
            # Only the sensor's requests matter here.
            "LINEAGE_BRIDGE_REFRESH_CRON": "",
        }
        production = Production(AwsAlone(tmp_path_factory.mktemp("production") / "home", aws), settings)
        before = dict(os.environ)
        with production:
            os.environ.update(production.env)
            try:
                with DagsterInstance.from_config(str(production.home)) as instance:
                    found = Deployed(production, instance, aws)
                    key = found.store_newer()
                    for process in (WEBSERVER, READ_ONLY_WEBSERVER):
                        production.wait_until_ready(process)
                        found.wait_for_assets(key, process=process)
                    eventually(lambda: found.ticks() or None, 240, "the sensor's first tick")
                    yield found
            finally:
                # Nothing of them is to be kept, so they need not end in good order.
                for name in production.members:
                    production.kill(name)
                os.environ.clear()
                os.environ.update(before)
