"""The chains of all tables as one DataFrame: the pure walk, distributed over the workers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lineage_bridge_dagster.lineage.catalog_tables import name_of
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.gaps import Gaps
from lineage_bridge_dagster.lineage.hops import hop_record
from lineage_bridge_dagster.lineage.model import Graph
from lineage_bridge_dagster.lineage.nodes import NodeView
from lineage_bridge_dagster.lineage.text import clean
from lineage_bridge_dagster.spark.chains.adjacency import SharedAdjacency

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: Rows of an Arrow batch: a worker holds one batch at a time, whatever the size of the graph.
BATCH_ROWS = 65_536

#: Up to this many nodes, the join broadcasts them; beyond, Spark chooses.
_BROADCAST_NODES = 200_000

_HOPS = pa.schema(
    [
        pa.field("table", pa.int32(), nullable=False),
        pa.field("hop", pa.int32(), nullable=False),
        pa.field("node", pa.int32(), nullable=False),
        pa.field("complete", pa.bool_(), nullable=False),
    ]
)
_HOPS_DDL = "table int NOT NULL, hop int NOT NULL, node int NOT NULL, complete boolean NOT NULL"

_NODES = pa.schema(
    [
        pa.field("node", pa.int32(), nullable=False),
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
    ]
)


def walk_tables(arrays: SharedAdjacency) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A `mapInArrow` function: batches of table numbers in, batches of hops out.

    It walks by the function that computes chains everywhere, `lineage.upstream.walk`.
    """

    def hops_of(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        graph = arrays.open()
        columns: tuple[list[Any], ...] = ([], [], [], [])
        for batch in batches:
            for table in batch.column(0).to_pylist():
                distances = graph.distances(table)
                complete = not (graph.uncovered[table] or graph.uncovered[list(distances)].any())
                columns[0].extend([table] * len(distances))
                columns[1].extend(distances.values())
                columns[2].extend(distances)
                columns[3].extend([complete] * len(distances))
                if len(columns[0]) >= BATCH_ROWS:
                    yield pa.RecordBatch.from_arrays(list(columns), schema=_HOPS)
                    columns = ([], [], [], [])
        yield pa.RecordBatch.from_arrays(list(columns), schema=_HOPS)

    return hops_of


def hop_rows(
    spark: SparkSession,
    graph: Graph,
    arrays: SharedAdjacency,
    table_ids: Sequence[str],
    sql: str = "redacted",
) -> DataFrame:
    """One row for each table and each node upstream of it, lazily.

    Columns: `table_id, database, table_name, hop, node_id, kind, qualified_name, display_name,
    environment_id, cluster_id, sql, connector_class, schema_fields, stale_since, complete`.

    Args:
        spark: the session.
        graph: the arrays number its nodes in order.
        arrays: shared with the session's workers until the frame is computed.
        table_ids: the tables; an id that is not in the graph raises KeyError.
        sql: how SQL text is shown: full, redacted, hash or none.
    """
    from pyspark.sql import functions as F

    number = {node_id: i for i, node_id in enumerate(graph.nodes)}
    wanted = [number[table_id] for table_id in table_ids]
    shown = [name_of(graph.nodes[table_id]) for table_id in table_ids]
    tables = spark.createDataFrame(
        pa.table(
            {
                "table": pa.array(wanted, pa.int32()),
                "table_id": pa.array([clean(table_id) for table_id in table_ids], pa.string()),
                "database": pa.array([clean(name.database) for name in shown], pa.string()),
                "table_name": pa.array([clean(name.table) for name in shown], pa.string()),
            }
        )
    )
    nodes = spark.createDataFrame(node_records(graph, sql))
    # More slices than cores: chains differ by orders of magnitude in length.
    slices = max(1, min(len(wanted), spark.sparkContext.defaultParallelism * 4))
    hops = tables.select("table").repartition(slices).mapInArrow(walk_tables(arrays), _HOPS_DDL)
    if len(number) <= _BROADCAST_NODES:
        nodes, tables = F.broadcast(nodes), F.broadcast(tables)
    names = [field.name for field in _NODES if field.name != "node"]
    return (
        hops.join(nodes, "node")
        .join(tables, "table")
        .select("table_id", "database", "table_name", "hop", *names, "complete")
    )


def node_records(graph: Graph, sql: str = "redacted") -> pa.Table:
    """The columns that a hop takes from its node, one row for each node; `node` is its number.

    The fields are those of a hop everywhere else (`lineage.hops.hop_record`).
    """
    nodes = list(graph.nodes.values())
    shown = [hop_record(0, node, sql) for node in nodes]
    columns: dict[str, list[Any]] = {
        "node": list(range(len(nodes))),
        "node_id": [clean(node.node_id) for node in nodes],
        "environment_id": [node.environment_id for node in nodes],
        "cluster_id": [node.cluster_id for node in nodes],
        "stale_since": [NodeView.of(node).stale_since or None for node in nodes],
    }
    columns |= {f.name: [r.get(f.name) for r in shown] for f in _NODES if f.name not in columns}
    return pa.table([pa.array(columns[f.name], f.type) for f in _NODES], schema=_NODES)


def incomplete_nodes(discovery: Discovery) -> Callable[[str], bool]:
    """A predicate of node ids: whether a scope that was not fully read may hide upstream nodes."""
    gaps = Gaps(discovery.graph, discovery.coverage)
    return lambda node_id: bool(gaps.of((node_id,)))
