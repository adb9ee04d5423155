"""The lineage tables: their columns, and the records of nodes, edges and coverage.

Comments become column comments in Glue.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.text import clean
from lineage_bridge_dagster.lineage.times import parse_iso
from lineage_bridge_dagster.lineage.unknowns import note_text

#: Name, Spark type, comment.
Column = tuple[str, str, str]

UPSTREAM_CHAINS = "upstream_chains"

COLUMNS: Mapping[str, Sequence[Column]] = {
    UPSTREAM_CHAINS: (
        ("table_id", "string", "Node id of the table whose chain this is"),
        ("database", "string", "Database of that table in its catalog"),
        ("table_name", "string", "Name of that table in its catalog"),
        ("hop", "int", "Shortest distance upstream of the table, from 1"),
        ("node_id", "string", "Id of the upstream node"),
        ("kind", "string", "Kind of the hop, such as topic or flink_job; a topic's node_type is kafka_topic"),
        ("qualified_name", "string", "Name of the node in its own system"),
        ("display_name", "string", "Display name"),
        ("environment_id", "string", "Confluent environment of the node"),
        ("cluster_id", "string", "Kafka cluster of the node"),
        ("sql", "string", "SQL of the statement or query, as the setting for SQL shows it"),
        ("connector_class", "string", "Class of the connector"),
        ("schema_fields", "array<struct<name: string, type: string>>", "Fields of the topic's values"),
        (
            "stale_since",
            "string",
            "ISO 8601: when the node was last seen, if not in this discovery",
        ),
        ("complete", "boolean", "Whether all scopes that the chain passes through were fully read"),
        ("chain_digest", "string", "The same in all rows of a chain; changes when a hop does"),
        ("discovered_at", "timestamp", "Time of the discovery that found the chain"),
        ("computed_at", "timestamp", "Time at which the chain was computed"),
    ),
    "nodes": (
        ("node_id", "string", "Id of the node"),
        ("system", "string", "System of the node"),
        ("node_type", "string", "Kind of the node"),
        ("qualified_name", "string", "Name of the node in its own system"),
        ("display_name", "string", "Display name"),
        ("environment_id", "string", "Confluent environment"),
        ("environment_name", "string", "Name of the environment"),
        ("cluster_id", "string", "Kafka cluster"),
        ("cluster_name", "string", "Name of the cluster"),
        ("catalog_type", "string", "Catalog of a catalog table, such as AWS_GLUE"),
        ("attributes", "string", "Further attributes, a JSON object"),
        ("tags", "array<string>", "Tags"),
        ("url", "string", "Link to the node's own console"),
        ("first_seen", "string", "ISO 8601"),
        ("last_seen", "string", "ISO 8601"),
        ("discovered_at", "timestamp", "Time of the discovery"),
    ),
    "edges": (
        ("src_id", "string", "Node that the data comes from"),
        ("dst_id", "string", "Node that the data goes to"),
        ("edge_type", "string", "Kind of the edge"),
        ("confidence", "double", "From 0 to 1"),
        (
            "inputs",
            "array<string>",
            "Ids of the nodes that an output is made of; null if all that its process reads count",
        ),
        ("attributes", "string", "Further attributes, a JSON object"),
        ("first_seen", "string", "ISO 8601"),
        ("last_seen", "string", "ISO 8601"),
        ("discovered_at", "timestamp", "Time of the discovery"),
    ),
    "coverage": (
        ("api", "string", "API that was read"),
        ("environment", "string", "Confluent environment"),
        ("place", "string", "Cluster, region or database within it"),
        ("status", "string", "complete, partial, denied or failed"),
        ("reason", "string", "Why it is not complete, and a remedy"),
        ("count", "bigint", "Number of items read"),
        ("notes", "array<string>", "What was read but leaves lineage open, such as an unknown class"),
        ("discovered_at", "timestamp", "Time of the discovery"),
    ),
}

_ARROW = {
    "string": pa.string(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "array<string>": pa.list_(pa.string()),
}

#: Columns of times: a table that differs only in these is not written again.
_TIMES = frozenset({"first_seen", "last_seen", "discovered_at", "computed_at"})


@dataclass(frozen=True, slots=True)
class Records:
    """The rows of one lineage table, and a digest of their content without times."""

    table: str
    rows: pa.Table
    digest: str


def graph_records(discovery: Discovery) -> list[Records]:
    """The rows of `nodes`, `edges` and `coverage`."""
    at = parse_iso(discovery.discovered_at)
    nodes = [
        {
            **{name: getattr(node, name) for name in _fields("nodes")},
            "node_type": str(node.node_type),
            "attributes": _json(node.attributes),
            "tags": list(node.tags),
            "discovered_at": at,
        }
        for node in discovery.graph.nodes.values()
    ]
    edges = [
        {
            **{name: getattr(edge, name) for name in _fields("edges")},
            "edge_type": str(edge.edge_type),
            "attributes": _json(edge.attributes),
            "discovered_at": at,
        }
        for edge in discovery.graph.edges.values()
    ]
    coverage = [
        {
            "api": report.scope.api,
            "environment": report.scope.environment,
            "place": report.scope.place,
            "status": str(report.status),
            "reason": report.reason,
            "count": report.count,
            "notes": [note_text(note) for note in report.notes],
            "discovered_at": at,
        }
        for report in discovery.coverage
    ]
    return [
        _records("nodes", nodes),
        _records("edges", edges),
        # The time at which a scope was last read is part of coverage's content.
        _records("coverage", coverage, times=frozenset()),
    ]


def _fields(table: str) -> Iterable[str]:
    return (name for name, _, _ in COLUMNS[table] if name != "discovered_at")


def _records(table: str, rows: Sequence[Mapping[str, Any]], times: frozenset[str] = _TIMES) -> Records:
    schema = pa.schema([pa.field(name, _ARROW[kind]) for name, kind, _ in COLUMNS[table]])
    content = sorted(_json({k: v for k, v in row.items() if k not in times}) for row in rows)
    digest = hashlib.sha256("\n".join(content).encode("utf-8", "surrogatepass")).hexdigest()
    return Records(table, pa.Table.from_pylist([_encodable(row) for row in rows], schema=schema), digest)


def _encodable(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row without lone surrogates: JSON may have them, UTF-8 may not, and Arrow would fail."""
    return {key: _clean(value) for key, value in row.items()}


def _clean(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_clean(item) for item in value]
    return clean(value) if isinstance(value, str) else value


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
