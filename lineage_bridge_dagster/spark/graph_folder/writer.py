"""Writing a graph to a folder of Parquet files.

Beside the fields of nodes and edges, the files have what a write of the lineage tables makes of each:

- `nodes.parquet`: the columns of the lineage table; `gaps`, the group of `gap_groups`; `database` and
  `table_name` of a table that takes lineage; `hop`, the columns of a hop that the node lacks.
- `edges.parquet`: the columns of the lineage table; `gaps`; `src` and `dst`, the numbers of the two nodes,
  null for one that is not there; `flows`, whether data flows along.

The number of a node is that of its row, from 0.
"""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.lineage.catalog_tables import name_of, takes_lineage
from lineage_bridge_dagster.lineage.coverage import Coverage, ScopeReport
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.gap_groups import group_of_edge, group_of_node
from lineage_bridge_dagster.lineage.graph_folder import COVERAGE, EDGES, NODES, Provenance
from lineage_bridge_dagster.lineage.graph_records import report_record
from lineage_bridge_dagster.lineage.model import FLOW_EDGES, Edge, Graph, Node
from lineage_bridge_dagster.lineage.other_forms import read_other_forms
from lineage_bridge_dagster.lineage.sql_policy import mode_of
from lineage_bridge_dagster.spark.chains.frames import PART_ROWS
from lineage_bridge_dagster.spark.chains.hops import (
    HOP_COLUMNS,
    HOP_NAMES,
    NODE_NAMES,
    hop_columns,
    hop_digests,
)
from lineage_bridge_dagster.spark.chains.lineage_tables import (
    DIGEST,
    arrow_array,
    columns_of,
    edge_columns,
    edge_digests,
    node_columns,
    node_digests,
)

T = TypeVar("T")

_TEXT = pa.string()

#: The columns of a hop that its node lacks, and a digest of the hop.
HOP = pa.struct(
    [
        *(HOP_COLUMNS.field(name) for name in HOP_NAMES if name not in NODE_NAMES),
        pa.field(DIGEST, pa.int64()),
    ]
)

_NODES = pa.schema(
    [
        *columns_of("nodes"),
        ("gaps", _TEXT),
        ("database", _TEXT),
        ("table_name", _TEXT),
        ("hop", HOP),
    ]
)
_EDGES = pa.schema(
    [
        *columns_of("edges"),
        ("gaps", _TEXT),
        ("src", pa.int32()),
        ("dst", pa.int32()),
        ("flows", pa.bool_()),
    ]
)
_COVERAGE = pa.schema(
    [
        *((name, _TEXT) for name in ("scope", "status", "reason")),
        ("count", pa.int64()),
        ("by_name", pa.bool_()),
        ("notes", pa.list_(pa.struct([("kind", _TEXT), ("names", pa.list_(_TEXT))]))),
    ]
)


def dump_folder(discovery: Discovery, folder: Path) -> None:
    """Write a discovery to a folder, which is replaced as a whole once all is written.

    Raises:
        ConfigurationError: the folder cannot be written, or holds other files.
    """
    graph = Graph(discovery.graph.nodes.values(), discovery.graph.edges.values())
    read_other_forms(graph)
    write_folder(
        folder,
        graph.nodes.values(),
        graph.edges.values(),
        discovery.coverage,
        discovered_at=discovery.discovered_at,
        sql=mode_of(discovery),
    )


def write_folder(
    folder: Path,
    nodes: Iterable[Node],
    edges: Iterable[Edge],
    coverage: Coverage,
    *,
    discovered_at: str,
    sql: str | None,
) -> None:
    """Write nodes and edges, each of them once: `dump_folder` for a graph that is not in memory as a whole.

    Facts have to be where our readers look for them, as after `read_other_forms`.

    Args:
        folder: where to.
        nodes: taken a part at a time, before the edges.
        edges: taken a part at a time.
        coverage: of the discovery.
        discovered_at: ISO 8601, may be empty.
        sql: the mode that the statements are limited to, if any.
    """
    _check(folder)
    about = Provenance(sql, discovered_at, uuid.uuid4().hex)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as place:
            new = Path(place) / "new"
            new.mkdir()
            number: dict[str, int] = {}
            _write(new / NODES, _NODES, nodes, partial(_of_nodes, number), about)
            _write(new / EDGES, _EDGES, edges, partial(_of_edges, number), about)
            if len(coverage):
                _write(new / COVERAGE, _COVERAGE, coverage, _of_reports, about)
            if folder.exists():
                folder.rename(Path(place) / "old")
            new.rename(folder)
    except OSError as error:
        raise ConfigurationError(
            f"Cannot write {folder}: {error.strerror}.", hint="Choose a folder that you may write to."
        ) from error


def _check(folder: Path) -> None:
    """Raise unless the folder may be replaced."""
    if not folder.exists():
        return
    ours = {NODES, EDGES, COVERAGE}
    others = [f"{folder}"] if not folder.is_dir() else sorted({f.name for f in folder.iterdir()} - ours)
    if others:
        raise ConfigurationError(
            f"{folder} is not a graph folder: it also holds {others[0]}."
            if folder.is_dir()
            else f"{folder} is a file.",
            hint="Choose a folder that does not exist yet, or one with an earlier graph alone.",
        )


def _write(
    path: Path,
    schema: pa.Schema,
    entries: Iterable[T],
    columns: Callable[[Sequence[T]], Mapping[str, Any]],
    about: Provenance,
) -> None:
    rest = iter(entries)
    with pq.ParquetWriter(path, schema.with_metadata(about.metadata), compression="zstd") as writer:
        while part := list(islice(rest, PART_ROWS)):
            values = columns(part)
            arrays = [_array(values[field.name], field.type) for field in schema]
            writer.write_table(pa.table(arrays, schema=schema), PART_ROWS)


def _array(values: Any, kind: pa.DataType) -> pa.Array:
    """An Arrow array; of a struct, from the columns of its fields."""
    if not pa.types.is_struct(kind):
        return arrow_array(values, kind)
    fields = list(kind)
    return pa.StructArray.from_arrays([arrow_array(values[f.name], f.type) for f in fields], fields=fields)


def _of_nodes(number: dict[str, int], nodes: Sequence[Node]) -> Mapping[str, Any]:
    """The columns of nodes, which get the next numbers."""
    first = len(number)
    number |= {node.node_id: place for place, node in enumerate(nodes, start=first)}
    hops = hop_columns(nodes, "full")
    names = [name_of(node) if takes_lineage(node) else None for node in nodes]
    return {
        **node_columns(nodes),
        DIGEST: node_digests(nodes),
        "gaps": map(group_of_node, nodes),
        "database": [name and name.database for name in names],
        "table_name": [name and name.table for name in names],
        "hop": {**hops, DIGEST: hop_digests(hops)},
    }


def _of_edges(number: Mapping[str, int], edges: Sequence[Edge]) -> Mapping[str, Any]:
    return {
        **edge_columns(edges),
        DIGEST: edge_digests(edges),
        "gaps": map(group_of_edge, edges),
        "src": [number.get(edge.src_id) for edge in edges],
        "dst": [number.get(edge.dst_id) for edge in edges],
        "flows": [edge.edge_type in FLOW_EDGES for edge in edges],
    }


def _of_reports(reports: Sequence[ScopeReport]) -> Mapping[str, Any]:
    records = [report_record(report) for report in reports]
    return {field.name: [record.get(field.name) for record in records] for field in _COVERAGE}
