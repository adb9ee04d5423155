"""The IO manager: lazy DataFrames of upstream assets in, Iceberg tables out.

The module `options` lists what metadata can set.

Annotations are not postponed in this module: Dagster looks for `ResourceDependency` itself, not its name.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dagster import (
    AssetKey,
    ConfigurableIOManager,
    Failure,
    InputContext,
    MetadataValue,
    OutputContext,
    ResourceDependency,
)
from pydantic import Field, PrivateAttr

from lineage_bridge_dagster.config.confluent_resource import ConfluentSettingsResource
from lineage_bridge_dagster.dagster_internals import assets_beside
from lineage_bridge_dagster.errors import ConfigurationError, LineageBridgeError
from lineage_bridge_dagster.spark.commits import CommitConflictError
from lineage_bridge_dagster.spark.iceberg_tables import TableName
from lineage_bridge_dagster.spark.io.increments import FULL_REFRESH, Downstream, run_marker
from lineage_bridge_dagster.spark.io.options import ReadOptions, WriteMode, WriteOptions, plain
from lineage_bridge_dagster.spark.io.read import read_asset
from lineage_bridge_dagster.spark.io.slices import Slice, slice_of
from lineage_bridge_dagster.spark.io.source import AssetSource
from lineage_bridge_dagster.spark.io.targets import output_table, refuse_tableflows, require_namespace
from lineage_bridge_dagster.spark.session import SparkResource
from lineage_bridge_dagster.specs.keys import NAMESPACE
from lineage_bridge_dagster.specs.metadata import LineageMetadata

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class PySparkIcebergIOManager(ConfigurableIOManager):
    """Gives an asset lazy DataFrames of its upstream assets, and writes the DataFrame that it returns.

    The table of an output is `lineage_bridge/database` and `lineage_bridge/table` of the asset's metadata,
    or `dagster/table_name`, or the last two parts of its key. `lineage_bridge/catalog` names its catalog, by
    default that of `spark.catalog`.
    """

    spark: ResourceDependency[SparkResource]
    confluent: ResourceDependency[ConfluentSettingsResource]
    namespace: str = Field("lineage_bridge", description="Namespace of the lineage tables.")
    database: str = Field("", description="Database of tables whose asset key has only one part.")
    write_mode: WriteMode = Field(
        "overwrite",
        description="What becomes of the rows that a table has, unless its asset's metadata sets write_mode. "
        "An asset with partitions replaces those of its run.",
    )
    preview_rows: int = Field(
        default=5, ge=0, le=100, description="Rows shown in the metadata of a materialization; 0 shows none."
    )

    #: The downstream table of a step with incremental inputs, by run and step, until its output is written.
    _downstream: dict[tuple[str, str], Downstream] = PrivateAttr(default_factory=dict)

    def load_input(self, context: InputContext) -> "DataFrame":
        """A DataFrame of the upstream asset; nothing is computed."""
        try:
            return self._read(context)
        except LineageBridgeError as error:
            retry = not isinstance(error, ConfigurationError)
            raise Failure(description=str(error), allow_retries=retry) from error

    def handle_output(self, context: OutputContext, obj: Any) -> None:
        """Write a DataFrame to its Iceberg table; None means that the asset has written its data itself."""
        try:
            if obj is not None:
                self._write(context, obj)
            elif (context.run_id, context.step_key) in self._downstream:
                raise _no_downstream_table("An input")
        except LineageBridgeError as error:
            retry = isinstance(error, CommitConflictError)
            raise Failure(description=str(error), allow_retries=retry) from error

    def _read(self, context: InputContext) -> "DataFrame":
        upstream = context.upstream_output
        metadata = (upstream.definition_metadata if upstream else None) or {}
        key = tuple(context.asset_key.path) if context.has_asset_key else ()
        label = "/".join(key) or context.name
        _check_outputs(context)
        source = AssetSource.from_metadata(metadata or context.definition_metadata, self._with_database(key))
        catalogs = self.spark.all_catalogs
        catalog = source.catalog_in(catalogs)
        if source.kind != "topic":
            catalogs.spark_conf_of(catalog.name)
        options = ReadOptions.from_metadata(
            context.definition_metadata if metadata or key else {}, source.kind, label
        )
        slice_: Slice | None = None
        if context.has_asset_key and context.has_asset_partitions:
            if options.incremental:
                raise ConfigurationError(
                    f"Input {label} has partitions, which incremental does not support.",
                    hint="Leave incremental out: each partition reads its own slice.",
                )
            expr = plain(metadata.get("partition_expr", metadata.get(f"{NAMESPACE}/partition_expr", "")))
            slice_ = slice_of(context.asset_partitions_def, context.asset_partition_keys, expr, label)
        return read_asset(
            self.spark.spark_session,
            source,
            catalog.name,
            self.namespace,
            confluent=self.confluent.settings,
            options=options,
            slice_=slice_,
            downstream=_downstream_of(context, label) if options.incremental else None,
            label=label,
        )

    def _write(self, context: OutputContext, obj: Any) -> None:
        from pyspark.sql import DataFrame

        from lineage_bridge_dagster.spark.io.output_metadata import commit_metadata, output_metadata
        from lineage_bridge_dagster.spark.io.write import write_frame

        key = tuple(context.asset_key.path) if context.has_asset_key else ()
        label = "/".join(key) or context.name
        table = self.table(context.step_context, context.definition_metadata, key)
        if not isinstance(obj, DataFrame):
            raise LineageBridgeError(
                f"{label} returned a {type(obj).__name__}; this IO manager writes PySpark DataFrames.",
                hint="Return a DataFrame, or None for an asset that writes its data itself, or set another "
                "io_manager_key.",
            )
        partitioned = context.has_asset_key and context.has_asset_partitions
        options = WriteOptions.resolve(
            context.definition_metadata,
            context.output_metadata,
            self._defaults(),
            partitioned=partitioned,
            asset=label,
        )
        downstream = self._downstream.pop((context.run_id, context.step_key), None)
        if downstream is not None:
            _check_incremental_mode(options, label)
            if downstream.full_refresh:
                options = options.full_refresh()
        slice_ = None
        keys = context.asset_partition_keys if partitioned else []
        if partitioned and options.partition_expr:
            slice_ = slice_of(context.asset_partitions_def, keys, options.partition_expr, label)
        consumed = downstream.consumed if downstream else {}
        if table.catalog != self.spark.catalog_config.name:
            require_namespace(obj.sparkSession, table)
        result = write_frame(obj, table, options, run_marker(context.run_id, consumed), slice_)
        try:
            metadata = output_metadata(
                self.spark.spark_session, result, partitions=len(keys), preview_rows=options.preview_rows
            )
        except Exception:
            # The rows are in the table: after a failure now, a retry would append them again.
            context.log.warning(f"{table} was written, but could not be read for the metadata", exc_info=True)
            metadata = commit_metadata(result)
        if consumed:
            metadata |= LineageMetadata(consumed=MetadataValue.json(dict(consumed)))
        context.add_output_metadata(metadata)

    def _defaults(self) -> WriteOptions:
        return WriteOptions(write_mode=self.write_mode, preview_rows=self.preview_rows)

    def table(self, step: Any, metadata: Mapping[str, Any], key: tuple[str, ...]) -> TableName:
        """The table of an asset that this IO manager writes.

        Args:
            step: the context of the step.
            metadata: that of the asset's definition.
            key: the asset's key.

        Raises:
            ConfigurationError: the table is not one to write to: its catalog is unknown or read-only, or
                Tableflow writes it.
        """
        catalogs = self.spark.all_catalogs
        table = output_table(metadata, self._with_database(key), catalogs)
        refuse_tableflows(table, catalogs, (each for _, each in assets_beside(step)))
        return table

    def _with_database(self, key: tuple[str, ...]) -> tuple[str, ...]:
        """The key, with the IO manager's database before a key of one part."""
        return key if len(key) > 1 or not self.database else (self.database, *key)

    def downstream(self, context: InputContext, key: AssetKey, metadata: Mapping[str, Any]) -> Downstream:
        """The table of an asset that this IO manager writes, which the inputs of its step share."""
        step = context.step_context
        at = (step.run_id, step.step.key)
        if at not in self._downstream:
            label = "/".join(key.path)
            options = WriteOptions.resolve(metadata, {}, self._defaults(), partitioned=False, asset=label)
            _check_incremental_mode(options, label)
            full_refresh = step.run_tags.get(FULL_REFRESH, "").lower() == "true"
            self._downstream[at] = Downstream(self.table(step, metadata, tuple(key.path)), full_refresh)
        return self._downstream[at]


def _check_outputs(context: InputContext) -> None:
    """Fail before Spark starts if the step of an input has an output that its IO manager would refuse."""
    step = context.step_context
    layer = step.job_def.asset_layer
    definition = layer.get_assets_def_for_node(step.node_handle)
    if definition is None or all(output.dagster_type.is_nothing for output in step.op_def.output_defs):
        return
    for key in definition.keys:
        manager = getattr(step.resources, layer.get(key).io_manager_key, None)
        if isinstance(manager, PySparkIcebergIOManager):
            manager.table(step, definition.metadata_by_key.get(key, {}), tuple(key.path))


def _downstream_of(context: InputContext, label: str) -> Downstream:
    """The table of the asset that reads this input; its own IO manager knows it, and will write it."""
    step = context.step_context
    layer = step.job_def.asset_layer
    definition = layer.get_assets_def_for_node(step.node_handle)
    keys = list(definition.keys) if definition else []
    manager = getattr(step.resources, layer.get(keys[0]).io_manager_key, None) if len(keys) == 1 else None
    if (
        definition is None
        or definition.partitions_def is not None
        or not isinstance(manager, PySparkIcebergIOManager)
        or all(output.dagster_type.is_nothing for output in step.op_def.output_defs)
    ):
        raise _no_downstream_table(f"Input {label}")
    return manager.downstream(context, keys[0], definition.metadata_by_key.get(keys[0], {}))


def _no_downstream_table(which: str) -> ConfigurationError:
    return ConfigurationError(
        f"{which} is incremental, and its step does not produce one asset without partitions that this IO "
        "manager writes: there is no table to record how far the input was read.",
        hint="Use incremental in an @asset that returns one DataFrame and has this IO manager's key.",
    )


def _check_incremental_mode(options: WriteOptions, label: str) -> None:
    if options.write_mode not in ("append", "merge"):
        raise ConfigurationError(
            f"{label} has an incremental input, and write_mode {options.write_mode} would drop the rows of "
            "earlier increments.",
            hint="Set write_mode: merge with join_cols, or append, in its metadata.",
        )
