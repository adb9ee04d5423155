"""The IO manager without Spark: frames of PyArrow, pandas and Polars in, Iceberg tables out.

Annotations are not postponed in this module: Dagster looks for `ResourceDependency` itself, not its name.
"""

from typing import Any

from dagster import ResourceDependency

from lineage_bridge_dagster.catalogs.settings.catalogs import Catalogs
from lineage_bridge_dagster.catalogs.settings.catalogs_resource import CatalogsResource
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.spark.io.arrow.kinds import FrameKind
from lineage_bridge_dagster.spark.io.base import TableIOManager


class IcebergIOManager(TableIOManager):
    """Gives an asset frames of its upstream assets, and writes the frame that it returns: all by PyIceberg.

    It imports neither PySpark nor starts a JVM. An input without an annotation is a PyArrow table.
    """

    catalogs: ResourceDependency[CatalogsResource]

    @property
    def tables(self) -> Catalogs:
        return self.catalogs.all_catalogs

    def default_kind(self) -> FrameKind | None:
        """PyArrow tables."""
        return FrameKind.TABLE

    def check_other(self, obj: Any, label: str) -> None:
        """Refuse an output that is not a frame."""
        raise LineageBridgeError(
            f"{label} returned a {type(obj).__name__}; this IO manager writes frames of PyArrow, pandas and "
            "Polars.",
            hint="Return such a frame, or None for an asset that writes its data itself. PySpark DataFrames "
            "need PySparkIcebergIOManager.",
        )
