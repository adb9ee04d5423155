"""What the IO managers have in common: which table, which options, which part, and who reads or writes it.

An input is loaded as its annotation says, and an output is written as what it is: frames of PyArrow, pandas
and Polars through PyIceberg, without a JVM, all others by the engine of the IO manager. The module `options`
lists what metadata can set.

Annotations are not postponed in this module: Dagster looks for `ResourceDependency` itself, not its name.
"""

from collections.abc import Mapping
from typing import Any

from dagster import (
    AssetKey,
    ConfigurableIOManager,
    Failure,
    InputContext,
    MetadataValue,
    OutputContext,
)
from pydantic import Field, PrivateAttr

from lineage_bridge_dagster.catalogs.settings.catalogs import Catalogs
from lineage_bridge_dagster.config.known_fields import known_fields
from lineage_bridge_dagster.dagster_internals.definitions import assets_beside
from lineage_bridge_dagster.errors import ConfigurationError, LineageBridgeError
from lineage_bridge_dagster.spark.commits import CommitConflictError
from lineage_bridge_dagster.spark.iceberg_tables import TableName
from lineage_bridge_dagster.spark.io.arrow.kinds import FrameKind, frame_kind
from lineage_bridge_dagster.spark.io.increments import FULL_REFRESH, Downstream, run_marker
from lineage_bridge_dagster.spark.io.metadata import WriteMetadata
from lineage_bridge_dagster.spark.io.options import ReadOptions, WriteMode, WriteOptions
from lineage_bridge_dagster.spark.io.requests import ReadRequest, WriteRequest
from lineage_bridge_dagster.spark.io.results import commit_metadata
from lineage_bridge_dagster.spark.io.slices import Slice, slice_of
from lineage_bridge_dagster.spark.io.source import AssetSource, plain
from lineage_bridge_dagster.spark.io.targets import output_table, refuse_tableflows
from lineage_bridge_dagster.spark.remote import server_errors
from lineage_bridge_dagster.specs.keys import NAMESPACE


class TableIOManager(ConfigurableIOManager):
    """Gives an asset frames of its upstream assets, and writes the frame that it returns.

    The table of an output is `lineage_bridge/database` and `lineage_bridge/table` of the asset's metadata,
    or `dagster/table_name`, or the last two parts of its key. `lineage_bridge/catalog` names its catalog, by
    default the default one.
    """

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

    _known = known_fields
    #: The downstream table of a step with incremental inputs, by run and step, until its output is written.
    _downstream: dict[tuple[str, str], Downstream] = PrivateAttr(default_factory=dict)

    @property
    def tables(self) -> Catalogs:
        """The catalogs of the tables."""
        raise NotImplementedError

    def default_kind(self) -> FrameKind | None:
        """What an input without an annotation is loaded as; None: what the engine has."""
        raise NotImplementedError

    def read_other(self, request: ReadRequest) -> Any:
        """An input whose annotation is not an Arrow, pandas or Polars frame."""
        raise NotImplementedError

    def write_other(self, request: WriteRequest, obj: Any) -> tuple[dict[str, Any], Exception | None]:
        """Write an output that is not an Arrow, pandas or Polars frame.

        Returns:
            The metadata, and the error that kept it from being complete.
        """
        raise NotImplementedError

    def check_other(self, obj: Any, label: str) -> None:
        """Refuse an output that is not a frame."""
        raise NotImplementedError

    def load_input(self, context: InputContext) -> Any:
        """A frame of the upstream asset."""
        try:
            with server_errors():
                return self._read(context)
        except LineageBridgeError as error:
            retry = not isinstance(error, ConfigurationError)
            raise Failure(description=str(error), allow_retries=retry) from error

    def handle_output(self, context: OutputContext, obj: Any) -> None:
        """Write a frame to its Iceberg table; None means that the asset has written its data itself."""
        try:
            if obj is not None:
                with server_errors():
                    self._write(context, obj)
            elif (context.run_id, context.step_key) in self._downstream:
                raise _no_downstream_table("An input")
        except LineageBridgeError as error:
            retry = isinstance(error, CommitConflictError)
            raise Failure(description=str(error), allow_retries=retry) from error

    def _read(self, context: InputContext) -> Any:
        upstream = context.upstream_output
        metadata = (upstream.definition_metadata if upstream else None) or {}
        key = tuple(context.asset_key.path) if context.has_asset_key else ()
        label = "/".join(key) or context.name
        _check_outputs(context)
        source = AssetSource.from_metadata(metadata or context.definition_metadata, self._with_database(key))
        catalogs = self.tables
        catalog = source.catalog_in(catalogs)
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
        request = ReadRequest(
            source,
            catalog.name,
            catalogs,
            self.namespace,
            options,
            label,
            slice_,
            _downstream_of(context, label) if options.incremental else None,
        )
        kind = frame_kind(context.dagster_type.typing_type) or self.default_kind()
        if kind is None:
            return self.read_other(request)
        from lineage_bridge_dagster.spark.io.arrow.read import read_rows

        return read_rows(request, kind)

    def _write(self, context: OutputContext, obj: Any) -> None:
        key = tuple(context.asset_key.path) if context.has_asset_key else ()
        label = "/".join(key) or context.name
        kind = frame_kind(type(obj))
        table = self.table(context.step_context, context.definition_metadata, key, by_spark=kind is None)
        if kind is None:
            self.check_other(obj, label)
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
        request = WriteRequest(
            table, self.tables, options, run_marker(context.run_id, consumed), slice_, len(keys)
        )
        metadata, error = self.write_other(request, obj) if kind is None else _write_rows(request, obj, kind)
        if error is not None:
            # The rows are in the table: after a failure now, a retry would append them again.
            context.log.warning(f"{table} was written, but could not be read for the metadata: {error}")
        if consumed:
            metadata |= WriteMetadata(consumed=MetadataValue.json(dict(consumed)))
        context.add_output_metadata(metadata)

    def _defaults(self) -> WriteOptions:
        return WriteOptions(write_mode=self.write_mode, preview_rows=self.preview_rows)

    def table(
        self, step: Any, metadata: Mapping[str, Any], key: tuple[str, ...], *, by_spark: bool = False
    ) -> TableName:
        """The table of an asset that this IO manager writes.

        Raises:
            ConfigurationError: the table is not one to write to: its catalog is unknown or read-only, or
                Tableflow writes it.
        """
        catalogs = self.tables
        table = output_table(metadata, self._with_database(key), catalogs, by_spark=by_spark)
        refuse_tableflows(table, catalogs, (each for _, each in assets_beside(step)))
        return table

    def writes_by_spark(self, step: Any) -> bool:
        """Whether the outputs of a step, as they are annotated, are Spark's to write."""
        kinds = [frame_kind(output.dagster_type.typing_type) for output in step.op_def.output_defs]
        return self.default_kind() is None and None in kinds

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
            table = self.table(step, metadata, tuple(key.path), by_spark=self.writes_by_spark(step))
            self._downstream[at] = Downstream(table, full_refresh)
        return self._downstream[at]


def _write_rows(request: WriteRequest, obj: Any, kind: FrameKind) -> tuple[dict[str, Any], Exception | None]:
    from lineage_bridge_dagster.spark.io.arrow.write import arrow_output_metadata, write_rows

    written = write_rows(request, obj, kind)
    try:
        preview = request.options.preview_rows
        return arrow_output_metadata(written, partitions=request.partitions, preview_rows=preview), None
    except Exception as error:
        return commit_metadata(written.result), error


def _check_outputs(context: InputContext) -> None:
    """Fail before anything is read if the step of an input has an output that its IO manager would refuse."""
    step = context.step_context
    layer = step.job_def.asset_layer
    definition = layer.get_assets_def_for_node(step.node_handle)
    if definition is None or all(output.dagster_type.is_nothing for output in step.op_def.output_defs):
        return
    for key in definition.keys:
        manager = getattr(step.resources, layer.get(key).io_manager_key, None)
        if isinstance(manager, TableIOManager):
            metadata = definition.metadata_by_key.get(key, {})
            manager.table(step, metadata, tuple(key.path), by_spark=manager.writes_by_spark(step))


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
        or not isinstance(manager, TableIOManager)
        or all(output.dagster_type.is_nothing for output in step.op_def.output_defs)
    ):
        raise _no_downstream_table(f"Input {label}")
    return manager.downstream(context, keys[0], definition.metadata_by_key.get(keys[0], {}))


def _no_downstream_table(which: str) -> ConfigurationError:
    return ConfigurationError(
        f"{which} is incremental, and its step does not produce one asset without partitions that this IO "
        "manager writes: there is no table to record how far the input was read.",
        hint="Use incremental in an @asset that returns one frame and has this IO manager's key.",
    )


def _check_incremental_mode(options: WriteOptions, label: str) -> None:
    if options.write_mode not in ("append", "merge"):
        raise ConfigurationError(
            f"{label} has an incremental input, and write_mode {options.write_mode} would drop the rows of "
            "earlier increments.",
            hint="Set write_mode: merge with join_cols, or append, in its metadata.",
        )
