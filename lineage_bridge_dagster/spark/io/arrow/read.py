"""Tables and chains as Arrow data: PyIceberg reads the files that the condition leaves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.expressions import AlwaysFalse, BooleanExpression

from lineage_bridge_dagster.catalogs.iceberg.open_catalog import open_catalog
from lineage_bridge_dagster.catalogs.iceberg.table_errors import translate
from lineage_bridge_dagster.errors import ConfigurationError, LineageBridgeError
from lineage_bridge_dagster.spark.chains.lineage_tables import UPSTREAM_CHAINS
from lineage_bridge_dagster.spark.column_names import pair, resolve
from lineage_bridge_dagster.spark.iceberg_tables import TableName
from lineage_bridge_dagster.spark.io.arrow import tables
from lineage_bridge_dagster.spark.io.arrow.conditions import all_of, one_of, parsed, slice_filter
from lineage_bridge_dagster.spark.io.arrow.kinds import FrameKind, from_arrow
from lineage_bridge_dagster.spark.io.history import chosen_snapshots
from lineage_bridge_dagster.spark.io.requests import ReadRequest
from lineage_bridge_dagster.text import did_you_mean

if TYPE_CHECKING:
    from pyiceberg.schema import Schema
    from pyiceberg.table import Table

    from lineage_bridge_dagster.spark.snapshot import Snapshot


def read_rows(request: ReadRequest, kind: FrameKind) -> Any:
    """A frame of a table's rows or a chain's hops.

    Raises:
        ConfigurationError: a column or the filter does not fit, the asset is a topic, or the library of the
            frame is not installed.
        LineageBridgeError: the table or the snapshot was not found, or what is new cannot be determined.
    """
    source = request.source
    if source.kind == "topic":
        raise ConfigurationError(
            f"{request.label} is a topic, whose records only Spark reads; the input is a {kind.value}.",
            hint="Annotate the input as pyspark.sql.DataFrame, or read the table of the topic.",
        )
    chain = source.kind == "chain"
    name = (
        TableName(request.catalog, request.namespace, UPSTREAM_CHAINS)
        if chain
        else TableName(request.catalog, source.database, source.table)
    )
    table = tables.require(open_catalog(request.catalogs, name.catalog), name)
    found = _scan(table, request)
    scan, schema = (table.scan(), table.schema()) if found is None else found
    conditions: list[BooleanExpression] = [one_of("table_id", [source.node_id])] if chain else []
    if found is None:
        conditions.append(AlwaysFalse())
    if request.slice_ is not None:
        conditions.append(slice_filter(request.slice_, schema, request.label))
    if request.options.filter:
        option = f"The filter of input {request.label}"
        conditions.append(parsed(request.options.filter, schema, option))
    paths = [_path(column, schema, request.label) for column in request.options.columns]
    pair([path[-1] for path in paths], (), f"input {request.label}")
    scan = scan.update(row_filter=all_of(conditions))
    if paths and not chain:
        scan = scan.update(selected_fields=tuple(dict.fromkeys(path[0] for path in paths)))
    try:
        if kind is FrameKind.READER and not paths and not chain:
            return scan.to_arrow_batch_reader()
        rows = scan.to_arrow()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise LineageBridgeError(
            f"Arrow cannot read {request.label}: {error}",
            hint="Change the filter of the input, or read it with Spark.",
        ) from error
    except Exception as error:
        raise translate(error, action="Reading", where=f"the table {name}") from error
    if chain:
        rows = rows.sort_by([(column, "ascending") for column in ("hop", "qualified_name", "node_id")])
    if paths:
        columns = [_column(rows, path) for path in paths]
        rows = pa.Table.from_arrays(columns, names=[path[-1] for path in paths])
    return from_arrow(rows, kind)


def _scan(table: Table, request: ReadRequest) -> tuple[Any, Schema] | None:
    """The scan of the snapshots that an input reads, and its columns; None if it has no rows."""

    def ancestors_of(name: TableName) -> Iterator[Snapshot] | None:
        found = tables.find(open_catalog(request.catalogs, name.catalog), name)
        return None if found is None else tables.ancestors(found)

    history, label = tables.LoadedHistory(table), request.label
    choice = chosen_snapshots(history, request.options, request.downstream, ancestors_of, label)
    if choice.is_empty:
        return None
    if choice.after is None:
        scan = table.scan(snapshot_id=choice.snapshot_id)
        return scan, scan.projection()
    added = table.incremental_append_scan(
        from_snapshot_id_exclusive=choice.after, to_snapshot_id_inclusive=choice.snapshot_id
    )
    return added, table.schema()


def _path(name: str, schema: Schema, label: str) -> tuple[str, ...]:
    if (found := resolve(name, schema, f"the columns of input {label}")) is None:
        columns = [each.name for each in schema.fields]
        raise ConfigurationError(
            f"{label} does not have the column {name}.",
            hint=did_you_mean(name, columns).strip() or f"It has {', '.join(columns[:30])}.",
        )
    return found


def _column(rows: pa.Table, path: tuple[str, ...]) -> Any:
    found = rows.column(path[0])
    return pc.struct_field(found, list(path[1:])) if len(path) > 1 else found
