"""Column lineage: which columns feed the columns of a topic or a table.

The nodes of connectors, Flink jobs and ksqlDB queries hold the column lineage of their configurations and
statements. The rest follows from the graph: a mirror topic has its source's columns, and an Iceberg table has
its topic's fields, in Glue's spelling.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple, TypeVar

from lineage_bridge_dagster.lineage.model import EdgeType, Graph, Node, NodeType
from lineage_bridge_dagster.lineage.nodes import GlueTableNode, ProcessNode, TopicNode
from lineage_bridge_dagster.lineage.upstream import walk

#: Attribute of a process's node: `{"topics": [node id], "columns": [[topic, column, sources], ...]}`, with
#: each source `[topic, column, how]`. Topics are indexes into `topics`, since ids are long and repeated. A
#: fourth element, the reason or `true`, marks a column with further sources that are unknown. `open`, if
#: there, is `[[topic, reason], ...]`: topics with further columns, whose names are unknown. `uses`, if
#: there, is `[[topic, column, role, [[topic, column], ...]], ...]`: see `ColumnUses`.
COLUMN_LINEAGE = "column_lineage"
#: Attribute of a topic's node: the names of its key's columns, if the key has a schema.
KEY_COLUMNS = "key_columns"

#: Maximum number of columns and sources on one node.
MAX_ENTRIES = 5_000
_OMITTED = f"it has more than {MAX_ENTRIES:,} entries"


class How(StrEnum):
    """How a value derives from a column, from weakest to strongest; the strongest step on the way counts."""

    IDENTITY = "identity"
    """The same value, perhaps under another name."""
    EXPRESSION = "expression"
    """Computed from one row: a function, an operator, a cast, a nested field."""
    AGGREGATE = "aggregate"
    """Computed from many rows."""


_RANK: Mapping[str, int] = {how: rank for rank, how in enumerate(How)}
_H = TypeVar("_H", bound=str)


def stronger(left: _H, right: _H) -> _H:
    """Return the stronger of two derivations; one that is not a `How` is the strongest."""
    return max(left, right, key=lambda how: _RANK.get(how, len(_RANK)))


class Column(NamedTuple):
    """A column of a topic or a table."""

    node_id: str
    name: str


class ColumnInput(NamedTuple):
    """A column that feeds another, and how: a `How`, or what another version wrote."""

    column: Column
    how: str


class ColumnFlow(NamedTuple):
    """The columns that feed one column, which may be none.

    Attributes:
        complete: Whether `sources` are all of them.
        reason: Why others are unknown, if that is known.
    """

    column: Column
    sources: tuple[ColumnInput, ...] = ()
    complete: bool = True
    reason: str = ""


class ColumnUses(NamedTuple):
    """The columns that decide on an output besides what its columns are made of.

    Attributes:
        output: The topic that is written.
        column: The column on which they decide, such as one of a joined table; None: on its rows.
        role: How: `filter`, `group`, `window`, `match` (an inner join), `join`, ...
    """

    output: str
    column: str | None
    role: str
    sources: tuple[Column, ...]


def to_attribute(
    flows: Iterable[ColumnFlow],
    further: Mapping[str, str] | None = None,
    uses: Iterable[ColumnUses] = (),
) -> tuple[dict[str, Any] | None, int]:
    """Return the flows as the attribute, None if there are none, and the number omitted for lack of room.

    Topics of which some are omitted have further columns.

    Args:
        further: Topics with further columns, whose names are unknown, each with the reason.
        uses: What else decides on the columns.
    """
    topics: dict[str, int] = {}
    columns: list[list[Any]] = []
    further = dict(further or {})
    entries = omitted = 0
    for flow in flows:
        entries += 1 + len(flow.sources)
        if entries > MAX_ENTRIES:
            omitted += 1
            further.setdefault(flow.column.node_id, _OMITTED)
            continue
        row: list[Any] = [
            topics.setdefault(flow.column.node_id, len(topics)),
            flow.column.name,
            [[topics.setdefault(c.node_id, len(topics)), c.name, how] for c, how in flow.sources],
        ]
        columns.append(row if flow.complete else [*row, flow.reason or True])
    if not columns and not further:
        return None, omitted
    deciding = []
    for use in uses:
        entries += 1 + len(use.sources)
        if entries > MAX_ENTRIES:
            omitted += 1
            further.setdefault(use.output, _OMITTED)
            continue
        names = [[topics.setdefault(c.node_id, len(topics)), c.name] for c in use.sources]
        deciding.append([topics.setdefault(use.output, len(topics)), use.column, use.role, names])
    rest = [[topics.setdefault(topic, len(topics)), reason] for topic, reason in further.items()]
    parts = {"open": rest, "uses": deciding}
    found = {"topics": list(topics), "columns": columns}
    return found | {name: part for name, part in parts.items() if part}, omitted


def flows_of(node: Node) -> tuple[ColumnFlow, ...]:
    """Return the flows on a node, without malformed entries."""
    found = node.attributes.get(COLUMN_LINEAGE)
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
                ColumnInput(Column(str(topics[source]), str(column)), str(how))
                for source, column, how in sources
            ]
            reason = next((mark for mark in more if isinstance(mark, str)), "")
            flows.append(ColumnFlow(Column(str(topics[at]), str(name)), tuple(parts), not any(more), reason))
        except (TypeError, ValueError, IndexError):
            continue
    return tuple(flows)


def further_columns_of(node: Node) -> dict[str, str]:
    """Return the topics into which a process writes columns of unknown names, each with the reason."""
    found = node.attributes.get(COLUMN_LINEAGE)
    if not isinstance(found, Mapping):
        return {}
    topics, rows = found.get("topics"), found.get("open")
    if not isinstance(topics, Sequence) or not isinstance(rows, Sequence):
        return {}
    further = {}
    for row in rows:
        try:
            at, reason = row
            further[str(topics[at])] = str(reason)
        except (TypeError, ValueError, IndexError):
            continue
    return further


def uses_of(node: Node) -> tuple[ColumnUses, ...]:
    """Return what else decides on the columns that a process writes, without malformed entries."""
    found = node.attributes.get(COLUMN_LINEAGE)
    rows = found.get("uses") if isinstance(found, Mapping) else None
    if not isinstance(found, Mapping) or not isinstance(rows, Sequence):
        return ()
    topics, uses = found.get("topics", ()), []
    for row in rows:
        try:
            at, column, role, sources = row
            names = tuple(Column(str(topics[source]), str(name)) for source, name in sources)
            uses.append(
                ColumnUses(str(topics[at]), None if column is None else str(column), str(role), names)
            )
        except (TypeError, ValueError, IndexError):
            continue
    return tuple(uses)


class ColumnIndex:
    """The column lineage of all topics and tables of a graph, which must not change after this."""

    def __init__(self, graph: Graph, upstream: Mapping[str, Sequence[str]]) -> None:
        self._graph = graph
        self._upstream = upstream
        self._by_topic: dict[str, dict[str, list[ColumnFlow]]] = {}
        self._writers: dict[str, set[str]] = {}
        self._further: dict[str, set[str]] = {}
        for job in graph.of_kind(ProcessNode):
            for topic in further_columns_of(job):
                self._further.setdefault(topic, set()).add(job.node_id)
            for flow in flows_of(job):
                topic, name = flow.column
                if topic in graph:
                    written = graph.edges.get((job.node_id, topic, EdgeType.PRODUCES))
                    inputs = written.inputs if written else None
                    flow = flow if inputs is None else _within(flow, inputs)
                    self._by_topic.setdefault(topic, {}).setdefault(name, []).append(flow)
                    self._writers.setdefault(topic, set()).add(job.node_id)
        self._known: dict[str, Mapping[str, ColumnFlow]] = {}

    def topic(self, node_id: str) -> Mapping[str, ColumnFlow]:
        """The flows into a topic's columns, by name, as far as they are known."""
        known = self._known.get(node_id)
        if known is None:
            known = self._known[node_id] = self._topic(node_id)
        return known

    def table(self, table: Node, topics: Sequence[Node]) -> list[ColumnFlow]:
        """The flows into a catalog table's columns, in order: each from the topic's field of its name.

        Columns that Tableflow adds have none, and no column has one unless the table has exactly one topic.
        """
        if len(topics) != 1:
            return []
        names = self.names(topics[0])
        folded: dict[str, list[str]] = {}
        for name in names:
            folded.setdefault(name.lower(), []).append(name)
        flows = []
        for name, _, _ in GlueTableNode.of(table).columns:
            # Glue folds names to lower case; if two fields fold to one name, its source is unknown.
            fields = [name] if name in names else folded.get(name.lower(), [])
            if len(fields) == 1:
                source = ColumnInput(Column(topics[0].node_id, fields[0]), How.IDENTITY)
                flows.append(ColumnFlow(Column(table.node_id, name), (source,)))
        return flows

    def topics_of(self, table: Node) -> list[Node]:
        """The topics behind a catalog table, directly or through its Tableflow table; each once."""
        found: dict[str, Node] = {}
        for source in self._upstream.get(table.node_id, ()):
            is_topic = self._graph.nodes[source].node_type == NodeType.KAFKA_TOPIC
            for origin in [source] if is_topic else self._upstream.get(source, ()):
                if (node := self._graph.nodes[origin]).node_type == NodeType.KAFKA_TOPIC:
                    found[origin] = node
        return list(found.values())

    def names(self, topic: Node) -> dict[str, None]:
        """The known columns of a topic: of its key, of its value, and those that processes write."""
        view = TopicNode.of(topic)
        fields = [field.name for field in view.schema_fields]
        return dict.fromkeys([*view.key_columns, *fields, *self._by_topic.get(topic.node_id, ())])

    def origins(self, flow: ColumnFlow) -> list[Column]:
        """The columns farthest upstream of a column: those without known sources."""

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
                # A mirror is a byte-for-byte copy, so it has the same columns.
                writers.add(source_id)
                for name in {**self.names(topic), **self.names(source)}:
                    mirrored = ColumnInput(Column(source_id, name), How.IDENTITY)
                    parts.setdefault(name, []).append(ColumnFlow(Column(node_id, name), (mirrored,)))
        # A writer without column lineage may write any column, and so may one with columns of unknown names
        # if there are others: alone, it writes each column once.
        unknown_writers = set(self._upstream.get(node_id, ())) - writers
        if len(writers) > 1:
            unknown_writers |= self._further.get(node_id, set())
        return {
            name: _united(Column(node_id, name), flows, not unknown_writers) for name, flows in parts.items()
        }


def _within(flow: ColumnFlow, inputs: Sequence[str]) -> ColumnFlow:
    """The flow without the columns of nodes that are not inputs of its output."""
    sources = tuple(source for source in flow.sources if source.column.node_id in inputs)
    return flow if len(sources) == len(flow.sources) else ColumnFlow(flow.column, sources, False, flow.reason)


def _united(column: Column, flows: Sequence[ColumnFlow], complete: bool) -> ColumnFlow:
    found: dict[Column, str] = {}
    for flow in flows:
        for source, how in flow.sources:
            found[source] = stronger(found.get(source, how), how)
    sources = tuple(ColumnInput(source, how) for source, how in found.items())
    reason = next((flow.reason for flow in flows if flow.reason), "")
    return ColumnFlow(column, sources, complete and all(flow.complete for flow in flows), reason)
