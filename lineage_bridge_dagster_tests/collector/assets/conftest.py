"""A code location with collectors of a strict Glue, and a Dagster instance of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from dagster import (
    AssetKey,
    AssetMaterialization,
    DagsterInstance,
    Definitions,
    ExecuteInProcessResult,
    TableMetadataValue,
)
from dagster.components.testing import create_defs_folder_sandbox

from lineage_bridge_dagster.component import InventoryCollectorComponent
from lineage_bridge_dagster.embedded.aws import ACCESS_KEY, SECRET_KEY, StrictAws
from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog

TYPE = "lineage_bridge_dagster.component.InventoryCollectorComponent"
SERVER = "acme"
TODAY = datetime.now(UTC).strftime("%Y-%m-%d")
YESTERDAY = (datetime.now(UTC) - timedelta(days=1)).strftime("%Y-%m-%d")
#: Days ago, for a mark or a partition.
DAYS = [(datetime.now(UTC) - timedelta(days=days)).strftime("%Y-%m-%d") for days in range(10)]


@dataclass(frozen=True)
class Location:
    """A code location with one or more collectors."""

    definitions: Definitions
    instance: DagsterInstance

    def run(
        self, day: str = TODAY, job: str = f"collect_{SERVER}", *, ok: bool = True, **options: Any
    ) -> ExecuteInProcessResult:
        """Run a job for a day."""
        found = self.definitions.resolve_job_def(job)
        result = found.execute_in_process(
            instance=self.instance, partition_key=day, raise_on_error=False, **options
        )
        assert result.success is ok
        return result

    def last(self, *key: str, server: str = SERVER) -> AssetMaterialization:
        """The last materialization of an asset."""
        event = self.instance.get_latest_materialization_event(AssetKey(["collector", server, *key]))
        assert event is not None
        assert event.asset_materialization is not None
        return event.asset_materialization

    def mark(self, server: str = SERVER) -> str | None:
        """The mark, as the asset that stands for it shows."""
        event = self.instance.get_latest_materialization_event(
            AssetKey(["collector", server, "high_water_mark"])
        )
        found = event.asset_materialization if event else None
        return str(found.metadata["collector/mark"].value) if found else None


MakeLocation = Callable[..., Any]


def value(event: AssetMaterialization, key: str) -> Any:
    return event.metadata[key].value


def preview(event: AssetMaterialization) -> list[dict[str, Any]]:
    """The rows that a materialization shows."""
    table = event.metadata["collector/preview"]
    assert isinstance(table, TableMetadataValue)
    return [dict(record.data) for record in table.records]


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[StrictAws]:
    monkeypatch.setenv("LINEAGE_BRIDGE_COLLECTOR_KEY", ACCESS_KEY)
    monkeypatch.setenv("LINEAGE_BRIDGE_COLLECTOR_SECRET", SECRET_KEY)
    with StrictAws() as server:
        yield server


@pytest.fixture
def catalog(aws: StrictAws) -> Catalog:
    return Catalog(aws)


@pytest.fixture
def attributes(aws: StrictAws, tmp_path: Path) -> dict[str, Any]:
    """The YAML of a collector."""
    return {
        "server": SERVER,
        "regions": ["us-east-1"],
        "output_path": str(tmp_path / "files"),
        "endpoint_url": aws.endpoint_url,
        "start_date": DAYS[9],
        "overlap_seconds": 0,
    }


@pytest.fixture
def location(attributes: dict[str, Any], instance: DagsterInstance) -> MakeLocation:
    """Loads a code location with collectors, each with changes to the YAML above."""

    @contextmanager
    def load(*changes: Mapping[str, Any]) -> Iterator[Location]:
        with create_defs_folder_sandbox() as sandbox:
            for number, each in enumerate(changes or [{}]):
                sandbox.scaffold_component(
                    component_cls=InventoryCollectorComponent,
                    defs_path=f"collector{number}",
                    defs_yaml_contents={"type": TYPE, "attributes": {**attributes, **each}},
                )
            with sandbox.build_all_defs() as loaded:
                yield Location(loaded, instance)

    return load
