"""DataFrames in and out of assets.

In: a topic's records, a table's rows or a chain's hops, lazily: loading an asset plans a read and runs
none. Out: a DataFrame becomes an Iceberg table.

Annotations are not postponed in this module: Dagster looks for `ResourceDependency` itself, not its name.
"""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from dagster import (
    ConfigurableIOManager,
    Failure,
    InputContext,
    MetadataValue,
    OutputContext,
    ResourceDependency,
    TableColumn,
    TableColumnConstraints,
    TableSchema,
)
from pydantic import Field

from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.iceberg import spark_name
from lineage_bridge_dagster.settings import Settings
from lineage_bridge_dagster.spark.asset_source import AssetSource, table_parts
from lineage_bridge_dagster.spark.avro import decoded, fetch_schemas
from lineage_bridge_dagster.spark.iceberg_tables import (
    current_snapshot,
    ensure_namespace,
    exists,
    explain_missing_warehouse,
)
from lineage_bridge_dagster.spark.kafka import read_topic
from lineage_bridge_dagster.spark.lineage_tables import UPSTREAM_CHAINS
from lineage_bridge_dagster.spark.session import SparkResource

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class PySparkIcebergIOManager(ConfigurableIOManager):
    """Gives a downstream asset a lazy DataFrame of what it depends on, and stores the one it returns.

    The table of an output is `lineage_bridge/database` and `lineage_bridge/table` of the asset's metadata,
    or `dagster/table_name`, or the last two parts of its key; `lineage_bridge/write_mode: append` there
    adds rows where the default replaces the table.
    """

    spark: ResourceDependency[SparkResource]
    namespace: str = Field("lineage_bridge", description="Namespace of the lineage tables.")
    database: str = Field(
        "", description="Database of the table of an output whose asset key has one part alone."
    )
    write_mode: Literal["overwrite", "append"] = Field(
        "overwrite", description="What is done with rows that a table has, unless its asset says otherwise."
    )

    def load_input(self, context: InputContext) -> "DataFrame":
        """A DataFrame of the upstream asset; nothing is computed."""
        upstream = context.upstream_output
        metadata = dict(
            (upstream.definition_metadata if upstream else None) or context.definition_metadata or {}
        )
        key = tuple(context.asset_key.path) if context.has_asset_key else ()
        try:
            source = AssetSource.from_metadata(metadata, key)
            return load(self.spark.spark_session, source, self.spark.catalog_config.name, self.namespace)
        except LineageBridgeError as error:
            raise Failure(description=str(error), allow_retries=False) from error

    def handle_output(self, context: OutputContext, obj: Any) -> None:
        """Write a DataFrame to its Iceberg table; None is an asset that did its own writing."""
        if obj is None:
            return
        from pyspark.sql import DataFrame

        if not isinstance(obj, DataFrame):
            raise Failure(
                description=f"{context.asset_key.to_user_string()} returned a {type(obj).__name__}; "
                "this IO manager stores PySpark DataFrames.\n  -> Return a DataFrame, or None for an asset "
                "that writes by itself, or give the asset another io_manager_key.",
                allow_retries=False,
            )
        given = {name: str(getattr(v, "value", v)) for name, v in (context.definition_metadata or {}).items()}
        key = tuple(context.asset_key.path)
        database, table = table_parts(given, key if len(key) > 1 else (self.database, *key))
        if not database:
            raise Failure(
                description=f"{context.asset_key.to_user_string()} names no database to write to.\n  -> Give "
                "its metadata dagster/table_name as database.table, or set the IO manager's database.",
                allow_retries=False,
            )
        mode = given.get("lineage_bridge/write_mode", self.write_mode)
        try:
            context.add_output_metadata(
                store(obj, self.spark.catalog_config.name, database, table, append=mode == "append")
            )
        except LineageBridgeError as error:
            raise Failure(description=str(error), allow_retries=False) from error


def load(
    spark: "SparkSession", source: AssetSource, catalog: str = "glue", namespace: str = "lineage_bridge"
) -> "DataFrame":
    """A lazy DataFrame of a topic's records, a table's rows or a chain's hops."""
    if source.kind == "table":
        return spark.table(spark_name(catalog, source.database, source.table))
    if source.kind == "chain":
        from pyspark.sql import functions as F

        rows = spark.table(spark_name(catalog, namespace, UPSTREAM_CHAINS))
        return rows.where(F.col("table_id") == source.node_id).orderBy("hop", "qualified_name", "node_id")
    return load_topic(spark, source)


def load_topic(
    spark: "SparkSession", source: AssetSource, env: Mapping[str, str] | None = None
) -> "DataFrame":
    """A topic's records from first to last: Kafka's own columns, then `value`, decoded.

    Where the subject `{topic}-value` has an Avro schema `value` is of its type, and `raw_value` is beside
    it; without a schema `value` stays bytes. Only the registry is asked here, for the schemas.
    """
    settings = Settings.from_env(os.environ if env is None else env).confluent
    records = read_topic(
        spark, source.topic, source.bootstrap, settings.credential("kafka", source.cluster_id)
    )
    if not source.schema_registry_url:
        return records
    schemas = fetch_schemas(
        source.schema_registry_url, f"{source.topic}-value", settings.credential("schema_registry")
    )
    if schemas.reader is None:
        return records
    from pyspark.sql import functions as F

    return records.withColumnRenamed("value", "raw_value").withColumn(
        "value", decoded(F.col("raw_value"), schemas)
    )


def store(
    frame: "DataFrame", catalog: str, database: str, table: str, *, append: bool = False
) -> dict[str, Any]:
    """Write a DataFrame to an Iceberg table and return what Dagster should show of it.

    Rows are counted while they are written, not by a second computation.
    """
    from pyspark.sql import Observation
    from pyspark.sql import functions as F

    spark = frame.sparkSession
    name = spark_name(catalog, database, table)
    ensure_namespace(spark, catalog, database)
    counted = Observation()
    writer = frame.observe(counted, F.count(F.lit(1)).alias("rows")).writeTo(name).using("iceberg")
    writer = writer.tableProperty("format-version", "2")
    try:
        if append and exists(spark, name):
            writer.append()
        elif append:
            writer.create()
        else:
            writer.createOrReplace()
    except Exception as error:
        better = explain_missing_warehouse(error, catalog)
        if better is error:
            raise
        raise better from error
    snapshot = current_snapshot(spark, name)
    stored = spark.table(name).schema
    metadata: dict[str, Any] = {
        "dagster/row_count": int(counted.get["rows"]),
        "dagster/table_name": f"{database}.{table}",
        "dagster/column_schema": MetadataValue.table_schema(
            TableSchema(
                columns=[
                    TableColumn(
                        name=column.name,
                        type=column.dataType.simpleString(),
                        description=column.metadata.get("comment"),
                        constraints=TableColumnConstraints(nullable=column.nullable),
                    )
                    for column in stored.fields
                ]
            )
        ),
    }
    if snapshot is not None:
        # As text: JavaScript, and so the UI, would round an integer of this size.
        metadata["lineage_bridge/snapshot_id"] = str(snapshot.snapshot_id)
    return metadata
