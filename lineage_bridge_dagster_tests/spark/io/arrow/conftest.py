"""A catalog in a file, which every thread and process of a test can open, and an IO manager on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from lineage_bridge_dagster.catalogs.settings.catalogs_resource import CatalogsResource
from lineage_bridge_dagster.spark.io.iceberg_manager import IcebergIOManager


@pytest.fixture
def catalogs(tmp_path: Path) -> CatalogsResource:
    """A SQL catalog in SQLite, with its tables beside it."""
    warehouse = tmp_path / "warehouse"
    warehouse.mkdir()
    return CatalogsResource(
        catalog={
            "name": "lake",
            "type": "jdbc",
            "uri": f"jdbc:sqlite:{tmp_path / 'catalog.db'}?timeout=60",
            "warehouse": warehouse.as_uri(),
        }
    )


@pytest.fixture
def manager(catalogs: CatalogsResource) -> IcebergIOManager:
    return IcebergIOManager(catalogs=catalogs, database="sales")
