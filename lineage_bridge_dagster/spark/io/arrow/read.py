"""Tables and chains as Arrow data: PyIceberg reads the files that the condition leaves."""

from __future__ import annotations

import difflib
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.expressions import AlwaysFalse, BooleanExpression

from lineage_bridge_dagster.catalogs.iceberg.open_catalog import open_catalog
from lineage_bridge_dagster.catalogs.iceberg.table_errors import translate
from lineage_bridge_dagster.errors import ConfigurationError, LineageBridgeError
from lineage_bridge_dagster.lineage.times import iso
from lineage_bridge_dagster.spark.chains.lineage_tables import UPSTREAM_CHAINS
from lineage_bridge_dagster.spark.column_names import pair, resolve
from lineage_bridge_dagster.spark.iceberg_tables import TableName
from lineage_bridge_dagster.spark.io.arrow import tables
from lineage_bridge_dagster.spark.io.arrow.conditions import all_of, one_of, parsed, slice_filter
from lineage_bridge_dagster.spark.io.arrow.kinds import FrameKind, from_arrow
from lineage_bridge_dagster.spark.io.increments import check_history, full_refresh_hint, position_in
from lineage_bridge_dagster.spark.io.options import ReadOptions
from lineage_bridge_dagster.spark.io.requests import ReadRequest

if TYPE_CHECKING:
    from pyiceberg.schema import Schema
    from pyiceberg.table import Table


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
    options, label = request.options, request.label
    if options.incremental and request.downstream is not None:
        return _new_rows(table, request)
    if options.start_snapshot_id is not None:
        current = table.current_snapshot()
        end = options.end_snapshot_id or (current.snapshot_id if current else options.start_snapshot_id)
        hint = f"Set both ids to snapshots that the history of {label} has, or read the full table."
        return _appended(table, options.start_snapshot_id, end, label, hint)
    snapshot_id = _snapshot_id(table, options, label)
    scan = table.scan(snapshot_id=snapshot_id)
    return scan, scan.projection()


def _new_rows(table: Table, request: ReadRequest) -> tuple[Any, Schema] | None:
    """The rows appended since the downstream table last consumed the input; all of them the first time."""
    downstream, label = request.downstream, request.label
    assert downstream is not None  # noqa: S101 - the caller's condition
    last = None
    if not downstream.full_refresh:
        found = tables.find(open_catalog(request.catalogs, downstream.table.catalog), downstream.table)
        if found is not None:
            last = position_in(tables.ancestors(found), downstream.table, label)
    current = table.current_snapshot()
    downstream.consumed[label] = {"snapshot_id": str(current.snapshot_id) if current else ""}
    if current is not None and (start := (last or {}).get("snapshot_id")):
        return _appended(table, int(start), current.snapshot_id, label, full_refresh_hint(label))
    scan = table.scan(snapshot_id=current.snapshot_id if current else None)
    return scan, scan.projection()


def _appended(table: Table, start: int, end: int, label: str, hint: str) -> tuple[Any, Schema] | None:
    check_history(
        tables.ancestors(table),
        lambda kept: table.snapshot_by_id(kept) is not None,
        start,
        end,
        label,
        hint,
    )
    if start == end:
        return None
    scan = table.incremental_append_scan(from_snapshot_id_exclusive=start, to_snapshot_id_inclusive=end)
    return scan, table.schema()


def _snapshot_id(table: Table, options: ReadOptions, label: str) -> int | None:
    if options.as_of is not None:
        entries = [entry for entry in table.history() if entry.timestamp_ms <= options.as_of]
        if not entries:
            first = min((entry.timestamp_ms for entry in table.history()), default=None)
            history = f"begins at {_iso(first)}" if first is not None else "is empty"
            raise LineageBridgeError(
                f"{label} has no snapshot as of {_iso(options.as_of)}: its history {history}.",
                hint="Choose a later time, or keep snapshots longer.",
            )
        return max(entries, key=lambda entry: entry.timestamp_ms).snapshot_id
    if options.snapshot_id is not None and table.snapshot_by_id(options.snapshot_id) is None:
        raise LineageBridgeError(
            f"{label} has no snapshot {options.snapshot_id}: it expired, or belongs to another table.",
            hint="Choose one that the table's history has.",
        )
    return options.snapshot_id


def _path(name: str, schema: Schema, label: str) -> tuple[str, ...]:
    if (found := resolve(name, schema, f"the columns of input {label}")) is None:
        columns = [each.name for each in schema.fields]
        near = difflib.get_close_matches(name, columns, 1)
        raise ConfigurationError(
            f"{label} does not have the column {name}.",
            hint=f"Did you mean {near[0]}?" if near else f"It has {', '.join(columns[:30])}.",
        )
    return found


def _column(rows: pa.Table, path: tuple[str, ...]) -> Any:
    found = rows.column(path[0])
    return pc.struct_field(found, list(path[1:])) if len(path) > 1 else found


def _iso(moment: int) -> str:
    return iso(datetime.fromtimestamp(moment / 1000, UTC))
