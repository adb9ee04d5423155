"""Column lineage in a graph: how it stands on a node, and what a topic's or a table's columns are made of.

A Flink job's node holds what it makes of columns; the rest follows from the graph: a mirror's columns are its
source's, and an Iceberg table's are its topic's fields, under the same names as Glue spells them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from lineage_bridge_dagster.lineage.chains import walk
from lineage_bridge_dagster.lineage.model import EdgeType, Graph, Node, NodeType
from lineage_bridge_dagster.lineage.nodes import GlueTableNode, TopicNode

#: Attribute of a Flink job's node: `{"topics": [node id], "columns": [[topic, column, sources], ...]}`, each
#: source `[topic, column, how]`, topics by their place in the list: ids are long, and come again and again.
#: A fourth part `true` says that the column is made of more than is told.
ATTRIBUTE = "column_lineage"
#: Attribute of a topic's node: names of its key's columns, if its key has a schema.
KEY_COLUMNS = "key_columns"

IDENTITY = "identity"
#: From weakest to strongest: a value that passes through several is the strongest of them.
_HOW = (IDENTITY, "expression", "aggregate")

#: Columns and sources that one node holds at most.
MAX_ENTRIES = 5_000


class Column(NamedTuple):
    """A column of a topic or a table."""

    node_id: str
    name: str


class ColumnSource(NamedTuple):
    """A column that another is made of, and how: `identity`, `expression` or `aggregate`."""

    column: Column
    how: str


@dataclass(frozen=True, slots=True)
class ColumnFlow:
    """What one column is made of; of no column when `sources` is empty. `complete`: of nothing else."""

    column: Column
    sources: tuple[ColumnSource, ...] = ()
    complete: bool = True


def to_attribute(flows: Iterable[ColumnFlow]) -> tuple[dict[str, Any] | None, int]:
    """The flows as the attribute, None when there are none; and how many had no room."""
    topics: dict[str, int] = {}
    columns: list[list[Any]] = []
    entries = left_out = 0
    for flow in flows:
        entries += 1 + len(flow.sources)
        if entries > MAX_ENTRIES:
            left_out += 1
            continue
        row: list[Any] = [
            topics.setdefault(flow.column.node_id, len(topics)),
            flow.column.name,
            [[topics.setdefault(c.node_id, len(topics)), c.name, how] for c, how in flow.sources],
        ]
        columns.append(row if flow.complete else [*row, True])
    return ({"topics": list(topics), "columns": columns} if columns else None), left_out


def flows_of(node: Node) -> tuple[ColumnFlow, ...]:
    """The flows on a node; entries of another shape, in a file, are passed over."""
    found = node.attributes.get(ATTRIBUTE)
    if not isinstance(found, Mapping):
        return ()
    topics, rows = found.get("topics"), found.get("columns")
    if not isinstance(topics, Sequence) or not isinstance(rows, Sequence):
        return ()
    flows = []
    for row in rows:
        try:
            at, name, sources, *more = row
            parts = [
                ColumnSource(Column(str(topics[source]), str(column)), str(how))
                for source, column, how in sources
            ]
            flows.append(ColumnFlow(Column(str(topics[at]), str(name)), tuple(parts), not any(more)))
        except (TypeError, ValueError, IndexError):
            continue
    return tuple(flows)


class ColumnIndex:
    """The columns of all topics and tables of a graph, with what each is made of.

    Args:
        graph: It must not change any more.
        upstream: Direct sources of its nodes, by id (`Graph.upstream_index`).
    """

    def __init__(self, graph: Graph, upstream: Mapping[str, Sequence[str]]) -> None:
        self._graph = graph
        self._upstream = upstream
        self._by_topic: dict[str, dict[str, list[ColumnFlow]]] = {}
        self._writers: dict[str, set[str]] = {}
        for job in graph.of_type(NodeType.FLINK_JOB):
            for flow in flows_of(job):
                topic, name = flow.column
                if topic in graph:
                    self._by_topic.setdefault(topic, {}).setdefault(name, []).append(flow)
                    self._writers.setdefault(topic, set()).add(job.node_id)
        self._known: dict[str, Mapping[str, ColumnFlow]] = {}

    def topic(self, node_id: str) -> Mapping[str, ColumnFlow]:
        """A topic's columns of which it is known what they are made of, by name."""
        known = self._known.get(node_id)
        if known is None:
            known = self._known[node_id] = self._topic(node_id)
        return known

    def table(self, table: Node, topics: Sequence[Node]) -> list[ColumnFlow]:
        """A catalog table's columns, in order, each with its topic's field if it is one.

        Columns that Tableflow adds have no source; nor has any when the table has not just one topic.
        """
        if len(topics) != 1:
            return []
        names = self.names(topics[0])
        folded: dict[str, list[str]] = {}
        for name in names:
            folded.setdefault(name.lower(), []).append(name)
        flows = []
        for name, _, _ in GlueTableNode.of(table).columns:
            # Glue keeps names in lower case; of two fields that become one name, neither is known to be it.
            fields = [name] if name in names else folded.get(name.lower(), [])
            if len(fields) == 1:
                source = ColumnSource(Column(topics[0].node_id, fields[0]), IDENTITY)
                flows.append(ColumnFlow(Column(table.node_id, name), (source,)))
        return flows

    def names(self, topic: Node) -> dict[str, None]:
        """The columns that a topic is known to have: of its key, of its value, and those written to it."""
        view = TopicNode.of(topic)
        fields = [field.name for field in view.schema_fields]
        return dict.fromkeys([*view.key_columns, *fields, *self._by_topic.get(topic.node_id, ())])

    def first(self, flow: ColumnFlow) -> list[Column]:
        """The columns farthest upstream that a column comes from: those that nothing known goes into."""

        def upstream(column: Column) -> list[Column]:
            if column == flow.column:
                return [source for source, _ in flow.sources]
            above = self.topic(column.node_id).get(column.name)
            return [source for source, _ in above.sources] if above else []

        reached = walk(flow.column, upstream)
        return sorted(column for column in reached if not set(upstream(column)) - {column})

    def _topic(self, node_id: str) -> dict[str, ColumnFlow]:
        parts = {name: list(flows) for name, flows in self._by_topic.get(node_id, {}).items()}
        writers = set(self._writers.get(node_id, ()))
        topic = self._graph.nodes.get(node_id)
        for source_id in self._upstream.get(node_id, ()):
            if topic and (source_id, node_id, EdgeType.TRANSFORMS) in self._graph.edges:
                source = self._graph.nodes[source_id]
                if source.node_type != NodeType.KAFKA_TOPIC:
                    continue
                # A mirror is its source byte for byte, so it has its columns too.
                writers.add(source_id)
                for name in {**self.names(topic), **self.names(source)}:
                    mirrored = ColumnSource(Column(source_id, name), IDENTITY)
                    parts.setdefault(name, []).append(ColumnFlow(Column(node_id, name), (mirrored,)))
        # What writes the topic too and does not say which columns may write them all.
        others = set(self._upstream.get(node_id, ())) - writers
        return {name: _united(Column(node_id, name), flows, not others) for name, flows in parts.items()}


def _united(column: Column, flows: Sequence[ColumnFlow], complete: bool) -> ColumnFlow:
    found: dict[Column, str] = {}
    for flow in flows:
        for source, how in flow.sources:
            found[source] = max(found.get(source, how), how, key=_rank)
    sources = tuple(ColumnSource(source, how) for source, how in found.items())
    return ColumnFlow(column, sources, complete and all(flow.complete for flow in flows))


def _rank(how: str) -> int:
    return _HOW.index(how) if how in _HOW else len(_HOW)
