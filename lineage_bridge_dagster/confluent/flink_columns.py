"""What Flink jobs make of columns -> their nodes. No I/O but the parser's.

It comes after tables, and after the registry's schemas: whatever fails here leaves the lineage of tables as
it is, with a warning on the job.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lineage_bridge_dagster.confluent.building import Builder
from lineage_bridge_dagster.lineage import ids
from lineage_bridge_dagster.lineage.columns import (
    ATTRIBUTE,
    KEY_COLUMNS,
    Column,
    ColumnFlow,
    ColumnSource,
    to_attribute,
)
from lineage_bridge_dagster.lineage.model import EdgeType, Graph, Node
from lineage_bridge_dagster.sql.column_texts import ColumnText, TextColumns, derive_columns
from lineage_bridge_dagster.sql.names import NameIndex
from lineage_bridge_dagster.sql.origins import ColumnSource as SqlSource
from lineage_bridge_dagster.sql.queries import known
from lineage_bridge_dagster.sql.statement import TablePath

if TYPE_CHECKING:
    from lineage_bridge_dagster.sql.flink import FlinkSqlParser, ParsedText

_log = logging.getLogger(__name__)

#: Nodes of syntax trees that are held at once, about a quarter of a kilobyte each; statements past them, the
#: newest, have no column lineage.
MAX_TREE_NODES = 4_000_000


@dataclass(frozen=True, slots=True)
class JobText:
    """A job's parsed text; `table` is the topic's node id for a materialized table, whose text is a query."""

    node_id: str
    text: ColumnText
    table: str | None = None


@dataclass(frozen=True, slots=True)
class JobTexts:
    """All jobs' texts, in the order in which they were made, and the names that they are resolved in."""

    index: NameIndex
    jobs: Sequence[JobText] = field(default_factory=list)


def parsed_texts(parser: FlinkSqlParser, texts: Iterable[str]) -> dict[str, ParsedText]:
    """Each text once, parsed, as far as there is room for its trees.

    Raises:
        LineageBridgeError: the parser can't run.
    """
    distinct = list(dict.fromkeys(texts))
    held = 0
    found: dict[str, ParsedText] = {}
    for text, parsed in zip(distinct, parser.parse_trees(distinct), strict=True):
        held += sum(len(tree.nodes) for tree in parsed.trees if tree is not None)
        if held > MAX_TREE_NODES:
            parsed = type(parsed)(parsed.lineage, (None,) * len(parsed.trees))
        found[text] = parsed
    return found


def add_columns(builder: Builder, texts: JobTexts) -> None:
    """Put on each job's node what it makes of columns, as far as that can be derived. Never raises."""
    graph = builder.graph
    registry = _Registry(graph)
    try:
        derived = derive_columns(
            (job.text for job in texts.jobs),
            registry.columns,
            texts.index,
            outputs=True,
            sinks=registry.filled,
        )
    except Exception as error:
        # The lineage of tables stands without that of columns. The error's text may quote the SQL.
        _log.warning("The lineage of columns could not be derived: %s", type(error).__name__)
        for job in texts.jobs:
            _warn(graph, job.node_id, f"its columns could not be derived ({type(error).__name__})")
        return
    for job, columns in zip(texts.jobs, derived, strict=True):
        if job.node_id not in graph:
            continue
        attribute, left_out = to_attribute(_flows(graph, job, columns))
        if attribute is not None:
            graph.nodes[job.node_id] = graph.nodes[job.node_id].with_attributes(**{ATTRIBUTE: attribute})
        if left_out:
            _warn(graph, job.node_id, f"{left_out} more of its columns have no room in the graph")


def _flows(graph: Graph, job: JobText, derived: TextColumns) -> Iterator[ColumnFlow]:
    """Of the topics that the job's edges lead to alone: not of views, nor of topics that nobody knows."""
    for column in derived.written:
        target = _topic(column.table)
        if target and (job.node_id, target, EdgeType.PRODUCES) in graph.edges:
            yield from _flow(graph, Column(target, column.column), column.sources, column.complete)
    if job.table and (job.node_id, job.table, EdgeType.PRODUCES) in graph.edges:
        for relation in derived.outputs[-1:]:
            for name, origin in known(relation or ()):
                yield from _flow(graph, Column(job.table, name), origin.sources, origin.complete)


def _flow(graph: Graph, column: Column, found: Sequence[SqlSource], complete: bool) -> Iterator[ColumnFlow]:
    sources = []
    for table, name, how in found:
        source = _topic(table)
        if source in graph:
            sources.append(ColumnSource(Column(source, name), str(how)))
        else:
            complete = False
    if sources or complete:
        yield ColumnFlow(column, tuple(sources), complete)


def _topic(path: TablePath) -> str:
    return ids.topic_id(path[0], path[1], path[2]) if len(path) == 3 else ""


def _warn(graph: Graph, node_id: str, warning: str) -> None:
    node = graph.nodes.get(node_id)
    if node is not None:
        warnings = [*node.attributes.get("warnings", ()), warning]
        graph.nodes[node_id] = node.with_attributes(warnings=warnings)


class _Registry:
    """Columns of topics as the registry tells them: the key's, then the value's that are none of the key's.

    That is the order of the tables that Flink infers (Confluent, "CREATE TABLE", inferred tables). A topic
    without one sure value schema has none.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def columns(self, path: TablePath) -> Sequence[str] | None:
        node = self._graph.nodes.get(_topic(path))
        return None if node is None else _columns(node)

    def filled(self, path: TablePath) -> Sequence[str] | None:
        """Columns that are filled by position: not a JSON object's, which has no order."""
        node = self._graph.nodes.get(_topic(path))
        if node is None or str(node.attributes.get("schema_type", "")).upper() == "JSON":
            return None
        return _columns(node)


def _columns(topic: Node) -> list[str] | None:
    fields = topic.attributes.get("schema_fields")
    if not fields:
        return None
    return list(dict.fromkeys([*topic.attributes.get(KEY_COLUMNS, ()), *(one["name"] for one in fields)]))
