"""The IO manager with Spark: lazy DataFrames of upstream assets in, Iceberg tables out.

Annotations are not postponed in this module: Dagster looks for `ResourceDependency` itself, not its name.
"""

from typing import Any

from dagster import ResourceDependency

from lineage_bridge_dagster.catalogs.settings.catalogs import Catalogs
from lineage_bridge_dagster.confluent.resource import ConfluentSettingsResource
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.spark.io.arrow.kinds import FrameKind
from lineage_bridge_dagster.spark.io.base import TableIOManager
from lineage_bridge_dagster.spark.io.requests import ReadRequest, WriteRequest
from lineage_bridge_dagster.spark.io.results import commit_metadata
from lineage_bridge_dagster.spark.io.targets import require_namespace
from lineage_bridge_dagster.spark.session import SparkResource


class PySparkIcebergIOManager(TableIOManager):
    """Gives an asset lazy DataFrames of its upstream assets, and writes the DataFrame that it returns.

    Frames of PyArrow, pandas and Polars go through PyIceberg, and start no Spark: inputs that are annotated
    so, and outputs that are so.
    """

    spark: ResourceDependency[SparkResource]
    confluent: ResourceDependency[ConfluentSettingsResource]

    @property
    def tables(self) -> Catalogs:
        return self.spark.all_catalogs

    def default_kind(self) -> FrameKind | None:
        """Spark's DataFrames."""
        return None

    def read_other(self, request: ReadRequest) -> Any:
        """A lazy DataFrame; nothing is computed."""
        # Imported here: definitions load without the decoders of topics.
        from lineage_bridge_dagster.spark.io.read import read_frame

        if request.source.kind != "topic":
            request.catalogs.spark_conf_of(request.catalog)
        return read_frame(self.spark.spark_session, request, self.confluent.settings)

    def write_other(self, request: WriteRequest, obj: Any) -> tuple[dict[str, Any], Exception | None]:
        """Write a DataFrame of Spark's."""
        from lineage_bridge_dagster.spark.io.output_metadata import output_metadata
        from lineage_bridge_dagster.spark.io.write import write_frame

        if not request.creates_namespace:
            require_namespace(obj.sparkSession, request.table)
        result = write_frame(obj, request.table, request.options, request.marker, request.slice_)
        try:
            found = output_metadata(
                self.spark.spark_session,
                result,
                partitions=request.partitions,
                preview_rows=request.options.preview_rows,
            )
        except Exception as error:
            return commit_metadata(result), error
        return found, None

    def check_other(self, obj: Any, label: str) -> None:
        """Refuse an output that is not a DataFrame."""
        from pyspark.sql import DataFrame

        if not isinstance(obj, DataFrame):
            raise LineageBridgeError(
                f"{label} returned a {type(obj).__name__}; this IO manager writes PySpark DataFrames, and "
                "frames of PyArrow, pandas and Polars.",
                hint="Return such a frame, or None for an asset that writes its data itself, or set another "
                "io_manager_key.",
            )
