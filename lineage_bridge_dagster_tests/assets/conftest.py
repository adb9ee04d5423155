"""Code locations built from a stored discovery, with a strict local Glue."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.client import BaseClient
from dagster import DagsterInstance

from lineage_bridge_dagster.component import LineageBridgeComponent
from lineage_bridge_dagster.embedded.aws import ACCESS_KEY, SECRET_KEY
from lineage_bridge_dagster.lineage import graph_json
from lineage_bridge_dagster.spark.chains import write
from lineage_bridge_dagster_tests.assets.location import FakeSpark, Location
from lineage_bridge_dagster_tests.assets.world import REGION, World
from lineage_bridge_dagster_tests.aws.extended import ExtendedAws


@pytest.fixture
def instance() -> Iterator[DagsterInstance]:
    with DagsterInstance.ephemeral() as ephemeral:
        yield ephemeral


@pytest.fixture
def strict_aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[ExtendedAws]:
    with ExtendedAws() as aws:
        for name, value in {
            "AWS_ENDPOINT_URL": aws.endpoint_url,
            "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
            "LINEAGE_BRIDGE_AWS_REGION": REGION,
        }.items():
            monkeypatch.setenv(name, value)
        yield aws


@pytest.fixture
def glue(strict_aws: ExtendedAws) -> BaseClient:
    """A client of the strict Glue."""
    client: BaseClient = boto3.client("glue", region_name=REGION)
    return client


@pytest.fixture
def location(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Build a code location from a world, with fakes of Confluent and Spark, or with other resources."""
    monkeypatch.setattr(write, "write_lineage", FakeSpark.write_lineage)

    def build(world: World, component: LineageBridgeComponent | None = None, **resources: Any) -> Location:
        state = tmp_path / "state.json"
        graph_json.dump(world.discovery(), state)
        built = component or LineageBridgeComponent(aws={"region": REGION})
        return Location(built.build_defs_from_state(None, state), built, resources)  # type: ignore[arg-type]

    return build
