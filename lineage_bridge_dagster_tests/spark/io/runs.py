"""Runs of assets with an IO manager, and what they left."""

from __future__ import annotations

from typing import Any

from dagster import AssetsDefinition, AssetSpec, ExecuteInProcessResult, materialize
from pyiceberg.table import Table

from lineage_bridge_dagster.catalogs.iceberg.open_catalog import open_catalog
from lineage_bridge_dagster.spark.io.base import TableIOManager


def run(
    manager: TableIOManager,
    *assets: AssetsDefinition | AssetSpec,
    raise_on_error: bool = True,
    **options: Any,
) -> ExecuteInProcessResult:
    """Materialize assets with the IO manager."""
    return materialize(
        list(assets), resources={"io_manager": manager}, raise_on_error=raise_on_error, **options
    )


def metadata_of(result: ExecuteInProcessResult) -> dict[str, Any]:
    """The metadata of the one materialization of a run."""
    (event,) = result.get_asset_materialization_events()
    return {name: value.value for name, value in event.materialization.metadata.items()}


def failure_of(result: ExecuteInProcessResult) -> str:
    """Why the one failed step of a run failed."""
    (event,) = result.get_step_failure_events()
    data = event.step_failure_data
    return str((data.user_failure_data and data.user_failure_data.description) or data.error)


def stored(manager: TableIOManager, table: str, database: str = "sales") -> Table:
    """The table as it is now."""
    catalogs = manager.tables
    return open_catalog(catalogs, catalogs.default.name).load_table((database, table))


def rows(manager: TableIOManager, table: str) -> list[tuple[Any, ...]]:
    """The rows of a table, sorted."""
    found = stored(manager, table).scan().to_arrow().to_pylist()
    return sorted((tuple(row.values()) for row in found), key=repr)
