"""What the numbers of hops stand for.

A hop is three numbers until it is written (see `walker`): its table, its distance and its node. What they
stand for is joined only for chains that differ from the stored ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lineage_bridge_dagster.lineage.catalog_tables import name_of
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.gaps import Gaps
from lineage_bridge_dagster.lineage.hops import hop_record
from lineage_bridge_dagster.lineage.model import Graph, Node
from lineage_bridge_dagster.lineage.text import clean
from lineage_bridge_dagster.lineage.upstream import UpstreamIndex
from lineage_bridge_dagster.spark.chains.frames import PART_ROWS, frame_of_parts
from lineage_bridge_dagster.spark.chains.freed_memory import release_freed
from lineage_bridge_dagster.spark.chains.lineage_tables import RECORDS_AT_ONCE, arrow_array, digests

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: About how many bytes the rows of a partition have, where a few statements are very long.
_PART_BYTES = 128 << 20

#: About how many bytes a field of a schema has, and all of a hop but its statement and its fields.
_FIELD_BYTES, _HOP_BYTES = 40, 400

#: A node as a hop.
HOP_COLUMNS = pa.schema(
    [
        pa.field("node_id", pa.string(), nullable=False),
        pa.field("kind", pa.string()),
        pa.field("qualified_name", pa.string()),
        pa.field("display_name", pa.string()),
        pa.field("environment_id", pa.string()),
        pa.field("cluster_id", pa.string()),
        pa.field("sql", pa.string()),
        pa.field("connector_class", pa.string()),
        pa.field("schema_fields", pa.list_(pa.struct([("name", pa.string()), ("type", pa.string())]))),
        pa.field("stale_since", pa.string()),
        pa.field("writer", pa.string()),
    ]
)

#: The columns that are copied from `hop_record`.
_FROM_RECORD = ("kind", "qualified_name", "display_name", "sql", "connector_class", "writer")

#: Columns of a hop that its digest does not count: a chain that is only read worse is not another one.
_NOT_IN_DIGEST = frozenset({"stale_since", "writer"})


@dataclass(frozen=True, slots=True)
class HopNodes:
    """Nodes as hops.

    Attributes:
        numbers: the number of each, by its id: its place in what follows.
        rows: one row for each node.
        stale: whether this discovery has not seen it.
        contents: a digest of the columns that a hop has.
    """

    numbers: Mapping[str, int]
    rows: pa.Table
    stale: npt.NDArray[np.bool_]
    contents: npt.NDArray[np.int64]


def hop_nodes(graph: Graph, index: UpstreamIndex, sql: str = "redacted") -> HopNodes:
    """The nodes that are directly upstream of another one, as hops: no other node is a hop of any chain.

    The fields are those of a hop everywhere else (`lineage.hops.hop_record`).
    """
    node_ids = list(dict.fromkeys(source for sources in index.direct.values() for source in sources))
    parts: list[list[pa.Array]] = [[] for _ in HOP_COLUMNS]
    stale, contents = [], []
    for start in range(0, max(1, len(node_ids)), RECORDS_AT_ONCE):
        some = node_ids[start : start + RECORDS_AT_ONCE]
        columns = _hop_columns([graph.nodes[node_id] for node_id in some], sql)
        contents.append(_hop_digests(columns))
        stale.append(np.array([since is not None for since in columns["stale_since"]], dtype=np.bool_))
        for of_column, field in zip(parts, HOP_COLUMNS, strict=True):
            of_column.append(arrow_array(columns[field.name], field.type))
    rows = pa.table([_in_one(parts.pop(0), field.type) for field in HOP_COLUMNS], schema=HOP_COLUMNS)
    release_freed()
    numbers = {node_id: number for number, node_id in enumerate(node_ids)}
    return HopNodes(numbers, rows, np.concatenate(stale), np.concatenate(contents))


def _in_one(arrays: list[pa.Array], kind: pa.DataType) -> pa.ChunkedArray:
    """A column in as few chunks as hold it, so that it need not be put together again."""
    return pa.table([pa.chunked_array(arrays, kind)], names=["column"]).combine_chunks()["column"]


def _hop_digests(columns: Mapping[str, Sequence[Any]]) -> npt.NDArray[np.int64]:
    """Digests of nodes as hops.

    A hop without a mark has the digest that it had before there were marks.
    """
    fields = (columns[f.name] for f in HOP_COLUMNS if f.name not in _NOT_IN_DIGEST)
    rows = zip(*fields, strict=True)
    return digests((*row, mark) if mark else row for row, mark in zip(rows, columns["writer"], strict=True))


def _hop_columns(nodes: Sequence[Node], sql: str) -> dict[str, list[Any]]:
    """The columns of nodes as hops."""
    records, schemas = [], []
    for node in nodes:
        record = hop_record(0, node, sql)
        fields = record.pop("schema_fields", None)
        schemas.append(fields and [(field["name"], field["type"]) for field in fields])
        records.append(record)
    return {
        **{name: [record.get(name) for record in records] for name in _FROM_RECORD},
        "node_id": [clean(node.node_id) for node in nodes],
        "environment_id": [node.environment_id for node in nodes],
        "cluster_id": [node.cluster_id for node in nodes],
        "schema_fields": schemas,
        "stale_since": [node.stale_since or None for node in nodes],
    }


def table_rows(graph: Graph, table_ids: Sequence[str]) -> pa.Table:
    """The columns that all hops of a table share, one row for each table; `table` is its place among them.

    Raises:
        KeyError: a table is not in the graph.
    """
    shown = [name_of(graph.nodes[table_id]) for table_id in table_ids]
    return pa.table(
        {
            "table": pa.array(range(len(table_ids)), pa.int32()),
            "table_id": arrow_array(list(table_ids), pa.string()),
            "database": arrow_array([name.database for name in shown], pa.string()),
            "table_name": arrow_array([name.table for name in shown], pa.string()),
        }
    )


def hop_rows(
    spark: SparkSession, hops: pa.Table, nodes: pa.Table, tables: pa.Table
) -> AbstractContextManager[DataFrame]:
    """One row for each hop of these tables, by table and hop in each partition; for use within the block.

    Columns: `table_id, database, table_name, hop, node_id, kind, qualified_name, display_name,
    environment_id, cluster_id, sql, connector_class, schema_fields, stale_since, writer, complete`, and what
    else `tables` has.

    Args:
        hops: with the columns `walker.HOPS`; hops of other tables are left out.
        nodes: `HopNodes.rows` of all nodes that are hops of the tables.
        tables: `table_rows`.
    """
    first = ["table_id", "database", "table_name"]
    rest = [name for name in tables.column_names if name not in ("table", *first)]
    columns = [*first, "hop", *HOP_COLUMNS.names, "complete", *rest]
    return frame_of_parts(spark, _joined(hops, nodes, tables, columns))


def _joined(hops: pa.Table, nodes: pa.Table, tables: pa.Table, columns: Sequence[str]) -> Iterator[pa.Table]:
    """`hop_rows`, a part at a time: at least one."""
    # Taking rows of a table in chunks would put it together each time.
    nodes, tables = nodes.combine_chunks(), tables.sort_by("table_id").combine_chunks()
    ranks = pc.index_in(hops["table"], value_set=tables["table"])
    hops = hops.set_column(0, "table", ranks).filter(ranks.is_valid())
    hops = hops.sort_by([("table", "ascending"), ("hop", "ascending")]).combine_chunks()
    places = hops["node"]
    bytes_of_nodes = (
        pc.fill_null(pc.binary_length(nodes["sql"]), 0).to_numpy().astype(np.int64)
        + pc.fill_null(pc.list_value_length(nodes["schema_fields"]), 0).to_numpy() * _FIELD_BYTES
        + _HOP_BYTES
    )
    for start, end in _slices(np.cumsum(bytes_of_nodes[places.to_numpy()])):
        part = {name: hops[name].slice(start, end - start) for name in ("table", "hop", "complete")}
        of_table = tables.take(part.pop("table"))
        of_node = nodes.take(places.slice(start, end - start))
        for some in (of_table, of_node):
            part |= {name: some[name] for name in some.column_names}
        yield pa.table([part[name] for name in columns], names=columns)


def _slices(total_bytes: npt.NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Parts of not too many rows and bytes, at least one, by the bytes of all rows up to each."""
    start, before = 0, 0
    while True:
        by_bytes = int(np.searchsorted(total_bytes, before + _PART_BYTES, side="right"))
        end = max(min(start + PART_ROWS, by_bytes), min(start + 1, len(total_bytes)))
        yield start, end
        if end >= len(total_bytes):
            return
        start, before = end, int(total_bytes[end - 1])


def incomplete_nodes(discovery: Discovery) -> Callable[[str], bool]:
    """A predicate of node ids: whether a scope that was not fully read may hide upstream nodes."""
    return Gaps(discovery.graph, discovery.coverage).any_behind
