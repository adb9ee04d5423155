"""The lineage tables: their columns, and the records of nodes, edges and coverage.

A digest of each record tells which rows differ from the stored ones, so that only those are made.

Comments become column comments in Glue.
"""

from __future__ import annotations

import hashlib
import marshal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import repeat
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lineage_bridge_dagster.lineage.canonical_json import canonical_json
from lineage_bridge_dagster.lineage.coverage import Coverage, ScopeReport
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.model import Edge, Node
from lineage_bridge_dagster.lineage.text import clean
from lineage_bridge_dagster.lineage.times import parse_iso
from lineage_bridge_dagster.lineage.unknowns import note_text
from lineage_bridge_dagster.spark.chains.frames import PART_ROWS, frame_of_parts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: Name, Spark type, comment.
Column = tuple[str, str, str]

UPSTREAM_CHAINS = "upstream_chains"

#: Column of `nodes` and `edges`.
DIGEST = "digest"

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
        ("writer", "string", "inferred on a topic of which only its name tells who writes it"),
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
        ("discovered_at", "timestamp", "Time of the discovery that found the row as it is"),
        (DIGEST, "bigint", "Changes when anything but the times in the row does"),
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
        ("discovered_at", "timestamp", "Time of the discovery that found the row as it is"),
        (DIGEST, "bigint", "Changes when anything but the times in the row does"),
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

#: Records whose values are held at once as Python's objects, which take several times an Arrow array's room.
RECORDS_AT_ONCE = 5_000

#: The version of `marshal` that writes equal values as equal bytes: later ones refer to equal strings by
#: their identity.
_MARSHAL = 2


@dataclass(frozen=True, slots=True)
class Records:
    """The records of one lineage table, as rows only when they are needed.

    Attributes:
        keys: the columns that identify a row, none if the table is always replaced as a whole.
        digests: one for each record; the times in it do not count.
    """

    table: str
    keys: tuple[str, ...]
    digests: npt.NDArray[np.int64]
    _entries: Sequence[Any]
    _columns: Callable[[Sequence[Any]], dict[str, Iterable[Any]]]

    def __len__(self) -> int:
        return len(self.digests)

    @property
    def digest(self) -> str:
        """A digest of all records, in any order."""
        return _unordered(self.digests)

    @property
    def key_schema(self) -> pa.Schema:
        """The columns that identify a row."""
        return pa.schema([(name, pa.string()) for name in self.keys])

    @property
    def rows(self) -> pa.Table:
        """All rows, with the columns of the table."""
        return self.take(np.arange(len(self)))

    def parts(self, places: npt.NDArray[np.int64] | None = None) -> Iterator[pa.Table]:
        """The rows of some records or of all, made a part at a time; at least one part."""
        wanted = np.arange(len(self)) if places is None else places
        return map(self.take, np.array_split(wanted, max(1, -(-len(wanted) // PART_ROWS))))

    def take(self, places: npt.NDArray[np.int64]) -> pa.Table:
        """The rows of some records, by their places."""
        count = max(1, -(-len(places) // RECORDS_AT_ONCE))
        return pa.concat_tables(map(self._rows, np.array_split(places, count)))

    def _rows(self, places: npt.NDArray[np.int64]) -> pa.Table:
        entries = [self._entries[place] for place in places.tolist()]
        values = {DIGEST: self.digests[places], **self._columns(entries)}
        return pa.table(
            [arrow_array(values[name], _ARROW[kind]) for name, kind, _ in COLUMNS[self.table]],
            names=[name for name, _, _ in COLUMNS[self.table]],
        )

    def frame(
        self, spark: SparkSession, places: npt.NDArray[np.int64] | None = None
    ) -> AbstractContextManager[DataFrame]:
        """The rows of some records or of all, with the columns of the table; for use within the block."""
        return frame_of_parts(spark, self.parts(places))

    def key_columns(self, places: npt.NDArray[np.int64]) -> pa.Table:
        """The columns that identify the rows of some records."""
        return self._keys_of([self._entries[place] for place in places.tolist()])

    def has_any(self, keys: pa.Table) -> bool:
        """Whether a record has one of these keys."""
        return bool(self._keys_of(self._entries).join(keys, list(self.keys), join_type="left semi").num_rows)

    def _keys_of(self, entries: Sequence[Any]) -> pa.Table:
        columns = [arrow_array(map(attrgetter(name), entries), pa.string()) for name in self.keys]
        return pa.table(columns, schema=self.key_schema)


def graph_records(discovery: Discovery) -> tuple[Records, Records, Records]:
    """The records of `nodes`, `edges` and `coverage`."""
    at = parse_iso(discovery.discovered_at)
    nodes = list(discovery.graph.nodes.values())
    edges = list(discovery.graph.edges.values())
    reports = list(discovery.coverage)
    # The time at which a scope was last read is part of coverage's content.
    of_reports = digests(
        ((*_report_content(report), discovery.discovered_at) for report in reports), of_columns("coverage")
    )
    return (
        Records(
            "nodes",
            ("node_id",),
            digests(map(_node_content, nodes), of_columns("nodes")),
            nodes,
            lambda some: _columns_of("nodes", some, "node_type", at),
        ),
        Records(
            "edges",
            ("src_id", "dst_id", "edge_type"),
            digests(map(_edge_content, edges), of_columns("edges")),
            edges,
            lambda some: _columns_of("edges", some, "edge_type", at),
        ),
        Records("coverage", (), of_reports, reports, lambda some: _of_reports(some, at)),
    )


def coverage_digest(coverage: Coverage) -> str:
    """A digest of all reports in any order, without the time of the discovery."""
    return _unordered(digests(map(_report_content, coverage), of_columns("coverage")))


def of_columns(table: str) -> bytes:
    """16 bytes for what a lineage table has for columns.

    They are part of the digests of its rows. So a version that adds a column rewrites every row, even if an
    interrupted write has already added the column.
    """
    columns = ",".join(f"{name} {kind}" for name, kind, _ in COLUMNS[table])
    return hashlib.blake2b(columns.encode(), digest_size=16).digest()


def digests(contents: Iterable[tuple[Any, ...]], kind: bytes = b"") -> npt.NDArray[np.int64]:
    """A digest of 64 bits for each tuple of JSON values; equal ones come from equal tuples.

    The entries of an object count in their order: another one may give another digest.

    Args:
        kind: up to 16 bytes; tuples of different kinds have different digests.
    """
    digest, dumps = partial(hashlib.blake2b, digest_size=8, person=kind), marshal.dumps
    found = bytearray()
    for content in contents:
        try:
            data = dumps(content, _MARSHAL)
        except ValueError:
            # A value that only has a text form, such as a time.
            data = canonical_json(content).encode("utf-8", "surrogatepass")
        found += digest(data).digest()
    return np.frombuffer(bytes(found), dtype="<i8").astype(np.int64)


def _unordered(found: npt.NDArray[np.int64]) -> str:
    """A digest of digests in any order."""
    return hashlib.sha256(np.sort(found).astype("<i8").tobytes()).hexdigest()


def arrow_array(values: Iterable[Any], kind: pa.DataType) -> pa.Array:
    """An Arrow array; lone surrogates, which JSON may have and UTF-8 may not, are replaced."""
    listed = values if isinstance(values, np.ndarray | list) else list(values)
    try:
        return pa.array(listed, kind)
    except UnicodeEncodeError:
        return pa.array([_clean(value) for value in listed], kind)


def _node_content(node: Node) -> tuple[Any, ...]:
    return (
        node.node_id,
        node.system,
        str(node.node_type),
        node.qualified_name,
        node.display_name,
        node.environment_id,
        node.environment_name,
        node.cluster_id,
        node.cluster_name,
        node.catalog_type,
        node.attributes,
        node.tags,
        node.url,
    )


def _edge_content(edge: Edge) -> tuple[Any, ...]:
    return (edge.src_id, edge.dst_id, str(edge.edge_type), edge.confidence, edge.attributes)


def _report_content(report: ScopeReport) -> tuple[Any, ...]:
    notes = [note_text(note) for note in report.notes]
    return (str(report.scope), str(report.status), report.reason, report.count, notes)


def _columns_of(
    table: str, entries: Sequence[Any], kind: str, at: datetime | None
) -> dict[str, Iterable[Any]]:
    """The columns of nodes or edges, except for their digests."""
    fields = [name for name, _, _ in COLUMNS[table] if name not in ("discovered_at", DIGEST)]
    return {
        **{name: map(attrgetter(name), entries) for name in fields},
        kind: [str(getattr(entry, kind)) for entry in entries],
        "attributes": [canonical_json(entry.attributes) for entry in entries],
        "discovered_at": list(repeat(at, len(entries))),
    }


def _of_reports(reports: Sequence[ScopeReport], at: datetime | None) -> dict[str, Iterable[Any]]:
    return {
        "api": [report.scope.api for report in reports],
        "environment": [report.scope.environment for report in reports],
        "place": [report.scope.place for report in reports],
        "status": [str(report.status) for report in reports],
        "reason": [report.reason for report in reports],
        "count": [report.count for report in reports],
        "notes": [[note_text(note) for note in report.notes] for report in reports],
        "discovered_at": list(repeat(at, len(reports))),
    }


def _clean(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_clean(item) for item in value]
    return clean(value) if isinstance(value, str) else value
