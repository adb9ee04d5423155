"""Writing a graph as a folder of Parquet files, as users hand one in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.graph_json import to_text
from lineage_bridge_dagster.lineage.graph_records import edge_record, node_record, report_record


def dump_folder(discovery: Discovery, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    graph = discovery.graph
    _write(folder / "nodes.parquet", map(node_record, graph.nodes.values()), "node_id")
    _write(folder / "edges.parquet", map(edge_record, graph.edges.values()), "src_id")
    if len(discovery.coverage):
        _write(folder / "coverage.parquet", map(report_record, discovery.coverage), "scope")
    return folder


def _write(path: Path, records: Iterable[Mapping[str, Any]], first_column: str) -> None:
    rows = [
        {key: to_text(value) if key in ("attributes", "tags") else value for key, value in record.items()}
        for record in records
    ]
    # A column that holds only nulls would have no type of its own.
    types = {"confidence": pa.float64(), "count": pa.int64()}
    columns = list(rows[0]) if rows else [first_column]
    schema = pa.schema([(column, types.get(column, pa.string())) for column in columns])
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path)
