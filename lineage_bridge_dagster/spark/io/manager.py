"""DataFrames in and out of assets.

In: a topic's records, a table's rows or a chain's hops, lazily: loading an asset plans a read and runs
none. Out: a DataFrame becomes rows of an Iceberg table. What metadata can ask for is in `io_options`.

Annotations are not postponed in this module: Dagster looks for `ResourceDependency` itself, not its name.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dagster import (
    AssetKey,
    ConfigurableIOManager,
    Failure,
    InputContext,
    OutputContext,
    ResourceDependency,
)
from pydantic import Field, PrivateAttr

from lineage_bridge_dagster.errors import ConfigurationError, LineageBridgeError
from lineage_bridge_dagster.spark.commits import CommitConflictError, Target, Write
from lineage_bridge_dagster.spark.io.increments import FULL_REFRESH, Downstream
from lineage_bridge_dagster.spark.io.options import (
    PREFIX,
    ReadOptions,
    WriteMode,
    WriteOptions,
    plain,
)
from lineage_bridge_dagster.spark.io.read import load
from lineage_bridge_dagster.spark.io.slices import Slice, slice_of
from lineage_bridge_dagster.spark.io.source import AssetSource, table_parts
from lineage_bridge_dagster.spark.session import SparkResource

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class PySparkIcebergIOManager(ConfigurableIOManager):
    """Gives a downstream asset a lazy DataFrame of what it depends on, and stores the one it returns.

    The table of an output is `lineage_bridge/database` and `lineage_bridge/table` of the asset's metadata,
    or `dagster/table_name`, or the last two parts of its key.
    """

    spark: ResourceDependency[SparkResource]
    namespace: str = Field("lineage_bridge", description="Namespace of the lineage tables.")
    database: str = Field(
        "", description="Database of the table of an output whose asset key has one part alone."
    )
    write_mode: WriteMode = Field(
        "overwrite",
        description="What is done with rows that a table has, unless its asset says otherwise. An asset with "
        "partitions replaces those of its run.",
    )
    preview_rows: int = Field(
        default=5, ge=0, le=100, description="Rows shown in the metadata of a materialization; 0 shows none."
    )

    #: What incremental inputs of a step read, by run and step, until its output stores it.
    _downstream: dict[tuple[str, str], Downstream] = PrivateAttr(default_factory=dict)

    def load_input(self, context: InputContext) -> "DataFrame":
        """A DataFrame of the upstream asset; nothing is computed."""
        try:
            return self._load(context)
        except LineageBridgeError as error:
            retry = not isinstance(error, ConfigurationError)
            raise Failure(description=str(error), allow_retries=retry) from error

    def handle_output(self, context: OutputContext, obj: Any) -> None:
        """Write a DataFrame to its Iceberg table; None is an asset that did its own writing."""
        try:
            if obj is not None:
                self._store(context, obj)
            elif (context.run_id, context.step_key) in self._downstream:
                raise _no_table_of_its_own("An input")
        except LineageBridgeError as error:
            retry = isinstance(error, CommitConflictError)
            raise Failure(description=str(error), allow_retries=retry) from error

    def _load(self, context: InputContext) -> "DataFrame":
        upstream = context.upstream_output
        metadata = (upstream.definition_metadata if upstream else None) or {}
        key = tuple(context.asset_key.path) if context.has_asset_key else ()
        shown = "/".join(key) or context.name
        source = AssetSource.from_metadata(metadata or context.definition_metadata, self._named(key))
        options = ReadOptions.from_metadata(
            context.definition_metadata if metadata or key else {}, source.kind, shown
        )
        slice_: Slice | None = None
        if context.has_asset_key and context.has_asset_partitions:
            if options.incremental:
                raise ConfigurationError(
                    f"Input {shown} has partitions, and incremental does not go with them.",
                    hint="Leave incremental out: each partition loads its own slice.",
                )
            expr = _partition_expr(metadata)
            slice_ = slice_of(context.asset_partitions_def, context.asset_partition_keys, expr, shown)
        downstream = _downstream_of(context, shown) if options.incremental else None
        return load(
            self.spark.spark_session,
            source,
            self.spark.catalog_config.name,
            self.namespace,
            options=options,
            slice_=slice_,
            downstream=downstream,
            shown=shown,
        )

    def _store(self, context: OutputContext, obj: Any) -> None:
        from pyspark.sql import DataFrame

        from lineage_bridge_dagster.spark.io.output_metadata import stored_metadata, written_metadata
        from lineage_bridge_dagster.spark.io.write import store

        key = tuple(context.asset_key.path) if context.has_asset_key else ()
        shown = "/".join(key) or context.name
        if not isinstance(obj, DataFrame):
            raise LineageBridgeError(
                f"{shown} returned a {type(obj).__name__}; this IO manager stores PySpark DataFrames.",
                hint="Return a DataFrame, or None for an asset that writes by itself, or give the asset "
                "another io_manager_key.",
            )
        partitioned = context.has_asset_key and context.has_asset_partitions
        target = self._target(context.definition_metadata, key)
        options = WriteOptions.resolve(
            context.definition_metadata,
            context.output_metadata,
            self._defaults(),
            partitioned=partitioned,
            shown=shown,
        )
        downstream = self._downstream.pop((context.run_id, context.step_key), None)
        if downstream is not None:
            _check_increment(options, shown)
            if downstream.full:
                options = options.whole()
        slice_, partitions = None, 0
        if partitioned:
            keys = context.asset_partition_keys
            partitions = len(keys)
            if options.partition_expr:
                slice_ = slice_of(context.asset_partitions_def, keys, options.partition_expr, shown)
        write = Write(context.run_id, downstream.consumed if downstream else {})
        stored = store(obj, target, options, write, slice_)
        try:
            told = stored_metadata(
                self.spark.spark_session, stored, partitions=partitions, preview_rows=options.preview_rows
            )
        except Exception:
            # The rows are there: a failure now would have a retry append them again.
            context.log.warning(
                f"{target} was written, but could not be read for the metadata", exc_info=True
            )
            told = written_metadata(stored)
        if write.consumed:
            told["lineage_bridge/consumed"] = dict(write.consumed)
        context.add_output_metadata(told)

    def _defaults(self) -> WriteOptions:
        return WriteOptions(write_mode=self.write_mode, preview_rows=self.preview_rows)

    def _target(self, metadata: Mapping[str, Any], key: tuple[str, ...]) -> Target:
        given = {name: str(plain(value)) for name, value in metadata.items()}
        database, table = table_parts(given, self._named(key))
        if not database or not table:
            raise ConfigurationError(
                f"{'/'.join(key) or 'The output'} names no database to write to.",
                hint="Give its metadata dagster/table_name as database.table, or set the IO manager's "
                "database.",
            )
        return Target(self.spark.catalog_config.name, database, table)

    def _named(self, key: tuple[str, ...]) -> tuple[str, ...]:
        """A key that names a database too: ours, where it has one part alone."""
        return key if len(key) > 1 or not self.database else (self.database, *key)

    def downstream(self, context: InputContext, key: AssetKey, metadata: Mapping[str, Any]) -> Downstream:
        """The table of an asset that this IO manager stores, for the inputs of its step to share."""
        step = context.step_context
        at = (step.run_id, step.step.key)
        if at not in self._downstream:
            shown = "/".join(key.path)
            options = WriteOptions.resolve(metadata, {}, self._defaults(), partitioned=False, shown=shown)
            _check_increment(options, shown)
            full = step.run_tags.get(FULL_REFRESH, "").lower() == "true"
            self._downstream[at] = Downstream(self._target(metadata, tuple(key.path)), full)
        return self._downstream[at]


def _downstream_of(context: InputContext, shown: str) -> Downstream:
    """The table of the asset that loads this input; its own IO manager knows it, and will store it."""
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
        raise _no_table_of_its_own(f"Input {shown}")
    return manager.downstream(context, keys[0], definition.metadata_by_key.get(keys[0], {}))


def _no_table_of_its_own(which: str) -> ConfigurationError:
    return ConfigurationError(
        f"{which} is incremental, and its step does not make one asset without partitions that this IO "
        "manager stores: there is no table that could say how far it has got.",
        hint="Use incremental in an @asset that returns one DataFrame and has this IO manager's key.",
    )


def _check_increment(options: WriteOptions, shown: str) -> None:
    if options.write_mode not in ("append", "merge"):
        raise ConfigurationError(
            f"{shown} has an incremental input, and write_mode {options.write_mode} would drop the rows that "
            "it made of earlier ones.",
            hint="Set write_mode: merge with join_cols, or append, in its metadata.",
        )


def _partition_expr(metadata: Mapping[str, Any]) -> Any:
    return plain(metadata.get("partition_expr", metadata.get(f"{PREFIX}/partition_expr", "")))
