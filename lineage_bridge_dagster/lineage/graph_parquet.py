"""A graph as a folder of Parquet files: the fields of `lineage_graph.json`, with `attributes` and `tags` as
JSON text. PyArrow is imported only here, when a folder is read or written."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.graph_json import (
    COVERAGE_FILE,
    EDGES_FILE,
    NODES_FILE,
    edge_record,
    from_records,
    node_record,
    report_record,
    to_text,
)

_HINT = "Give a folder with nodes.parquet and edges.parquet, `attributes` and `tags` in them as JSON text."
#: Columns that hold JSON text.
_JSON_COLUMNS = ("attributes", "tags")


def load_folder(folder: Path) -> Discovery:
    """Read `nodes.parquet`, `edges.parquet` and, when it is there, `coverage.parquet`.

    Raises:
        ConfigurationError: a file is missing, no Parquet or malformed; the message names the place.
    """
    return from_records(
        _read(folder / NODES_FILE, "nodes"),
        _read(folder / EDGES_FILE, "edges"),
        _read(folder / COVERAGE_FILE, "coverage") if (folder / COVERAGE_FILE).exists() else None,
        name=str(folder),
    )


def dump_folder(discovery: Discovery, folder: str | os.PathLike[str]) -> None:
    """Write the graph as such a folder, each file by way of a neighbour that then takes its name."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / NODES_FILE, (node_record(node) for node in discovery.graph.nodes.values()))
    _write(folder / EDGES_FILE, (edge_record(edge) for edge in discovery.graph.edges.values()))
    if len(discovery.coverage):
        _write(folder / COVERAGE_FILE, (report_record(report) for report in discovery.coverage))
    else:
        # An old word on coverage must not speak for a graph that has none.
        (folder / COVERAGE_FILE).unlink(missing_ok=True)


def _read(path: Path, place: str) -> list[dict[str, Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not path.exists():
        raise ConfigurationError(f"There is no {path}.", hint=_HINT)
    try:
        rows: list[dict[str, Any]] = pq.read_table(path).to_pylist()
    except (pa.ArrowException, OSError) as error:
        raise ConfigurationError(f"{path} is no readable Parquet file: {error}", hint=_HINT) from error
    for i, row in enumerate(rows):
        for column in _JSON_COLUMNS:
            value = row.get(column)
            if isinstance(value, str):
                row[column] = _parse(value, f"{path}: {place}[{i}].{column}")
    return rows


def _parse(text: str, place: str) -> object:
    if not text:
        return None
    try:
        return json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise ConfigurationError(f"{place} is no JSON text: {error}", hint=_HINT) from error


def _write(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [
        {key: to_text(value) if key in _JSON_COLUMNS else value for key, value in record.items()}
        for record in records
    ]
    # A column that is null throughout would have no type of its own.
    types = {"confidence": pa.float64(), "count": pa.int64()}
    columns = list(rows[0]) if rows else _COLUMNS[path.name]
    schema = pa.schema([(column, types.get(column, pa.string())) for column in columns])
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        pq.write_table(pa.Table.from_pylist(rows, schema=schema), beside)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


#: The columns of a file without rows.
_COLUMNS = {
    NODES_FILE: ["node_id", "system", "node_type", "qualified_name"],
    EDGES_FILE: ["src_id", "dst_id", "edge_type"],
    COVERAGE_FILE: ["scope", "status"],
}
