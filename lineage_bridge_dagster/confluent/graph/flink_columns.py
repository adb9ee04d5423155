"""What Flink jobs make of columns -> their nodes. No I/O but the parser's.

It comes after tables, and after the registry's schemas: whatever fails here leaves the lineage of tables as
it is, with a warning on the job.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.confluent.graph.builder import Builder
from lineage_bridge_dagster.confluent.graph.flink_cache import FlinkCache
from lineage_bridge_dagster.lineage import ids
from lineage_bridge_dagster.lineage.columns import (
    COLUMN_LINEAGE,
    KEY_COLUMNS,
    Column,
    ColumnFlow,
    ColumnInput,
    to_attribute,
)
from lineage_bridge_dagster.lineage.model import EdgeType, Graph, Node
from lineage_bridge_dagster.sql.columns.derivation import ColumnText, TextColumns, derive_columns
from lineage_bridge_dagster.sql.columns.origins import ColumnSource
from lineage_bridge_dagster.sql.columns.queries import known
from lineage_bridge_dagster.sql.flink.names import NameIndex
from lineage_bridge_dagster.sql.flink.parse_cache import VERSION
from lineage_bridge_dagster.sql.statement import TablePath

if TYPE_CHECKING:
    from lineage_bridge_dagster.sql.flink.parser import FlinkSqlParser, ParsedText

_log = logging.getLogger(__name__)

#: Nodes of syntax trees that are held at once, about a quarter of a kilobyte each; statements past them, the
#: newest, have no column lineage.
MAX_TREE_NODES = 4_000_000


#: Raise it when columns are derived by other rules: those of the last discovery then count no more.
_RULES = 1

#: Kinds of statement whose columns no other statement's depend on; every other may define something.
_PLAIN = frozenset({"INSERT", "SELECT", "STATEMENT SET"})


@dataclass(frozen=True, slots=True)
class JobText:
    """A job's parsed text.

    Attributes:
        node_id: Of the job, which need not be in the graph.
        sql: The text.
        text: As parsed; without trees if it was parsed by an earlier discovery.
        topics: Node ids of all that it reads and writes, through views.
        table: The topic's node id for a materialized table, whose text is a query.
    """

    node_id: str
    sql: str
    text: ColumnText
    topics: tuple[str, ...] = ()
    table: str | None = None

    @property
    def defines(self) -> bool:
        """Whether what other texts mean may depend on it."""
        return any(one.view is not None or one.kind not in _PLAIN for one in self.text.statements)

    @property
    def has_errors(self) -> bool:
        return any(one.error is not None for one in self.text.statements)

    @property
    def can_have_trees(self) -> bool:
        return any(one.error is None for one in self.text.statements)

    @property
    def has_trees(self) -> bool:
        return any(tree is not None for tree in self.text.trees)


@dataclass(frozen=True, slots=True)
class JobTexts:
    """All jobs' texts, in the order in which they were made, and the names that they are resolved in."""

    index: NameIndex
    names: str
    jobs: Sequence[JobText] = field(default_factory=list)


def parsed_texts(
    parser: FlinkSqlParser, texts: Iterable[str], cache: FlinkCache | None = None
) -> dict[str, ParsedText]:
    """Each text once, parsed, as far as there is room for its trees; one that was parsed before has none.

    Raises:
        LineageBridgeError: the parser can't run.
    """
    # Imported here: a discovery without SQL has no use for it.
    from lineage_bridge_dagster.sql.flink.parser import ParsedText

    found: dict[str, ParsedText] = {}
    new: list[str] = []
    for text in dict.fromkeys(texts):
        lineage = cache.lineage(text) if cache is not None else None
        if lineage is None:
            new.append(text)
        else:
            found[text] = ParsedText(lineage, (None,) * len(lineage.statements))
    held = 0
    for text, parsed in zip(new, parser.parse_trees(new), strict=True):
        if cache is not None:
            cache.put_lineage(text, parsed.lineage)
        held += sum(len(tree.nodes) for tree in parsed.trees if tree is not None)
        no_trees = (None,) * len(parsed.trees)
        found[text] = parsed if held <= MAX_TREE_NODES else ParsedText(parsed.lineage, no_trees)
    return found


def add_columns(
    builder: Builder, texts: JobTexts, parser: FlinkSqlParser, cache: FlinkCache | None = None
) -> None:
    """Put on each job's node what it makes of columns, as far as that can be derived. Never raises.

    Jobs whose columns depend on just what they did at the last discovery keep those they had.
    """
    graph = builder.graph
    cache = cache or FlinkCache()
    registry = _Registry(graph)
    digests = _digests(texts, registry)
    kept = {
        job.node_id: last
        for job, digest in zip(texts.jobs, digests, strict=True)
        if (last := cache.columns(job.node_id, digest)) is not None
    }
    try:
        jobs = _with_trees(graph, texts.jobs, kept.keys(), parser)
        derived = derive_columns(
            (job.text for job in jobs),
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
    for job, digest, columns in zip(jobs, digests, derived, strict=True):
        if job.node_id not in graph:
            continue
        attribute, left_out = kept.get(job.node_id) or to_attribute(_flows(graph, job, columns))
        if attribute is not None:
            graph.nodes[job.node_id] = graph.nodes[job.node_id].with_attributes(**{COLUMN_LINEAGE: attribute})
        if left_out:
            _warn(graph, job.node_id, f"{left_out} more of its columns have no room in the graph")
        if job.node_id in kept or (job.has_trees and not job.has_errors):
            cache.put_columns(job.node_id, digest, left_out)


def _with_trees(
    graph: Graph, jobs: Sequence[JobText], kept: Collection[str], parser: FlinkSqlParser
) -> list[JobText]:
    """The jobs, with the trees that it takes to derive the columns of those that can't keep theirs."""
    changed = {job.node_id for job in jobs if job.node_id in graph and job.node_id not in kept}
    changed = {job.node_id for job in jobs if job.node_id in changed and job.can_have_trees}
    if not changed:
        return list(jobs)
    missing = [
        job.sql
        for job in jobs
        if (job.defines or job.node_id in changed) and job.can_have_trees and not job.has_trees
    ]
    parsed = parsed_texts(parser, missing)
    return [
        replace(job, text=replace(job.text, statements=again.lineage.statements, trees=again.trees))
        if job.can_have_trees and not job.has_trees and (again := parsed.get(job.sql)) is not None
        else job
        for job in jobs
    ]


def _digests(texts: JobTexts, registry: _Registry) -> list[str]:
    """Of each job, all that its columns depend on: its text, those that define something, and its topics."""
    defining = _digest(
        VERSION,
        _RULES,
        texts.names,
        [[job.sql, job.text.catalog, job.text.database] for job in texts.jobs if job.defines],
    )
    before = 0
    found = []
    for job in texts.jobs:
        topics = [registry.facts(job.node_id, topic) for topic in job.topics]
        text = [job.sql, job.text.catalog, job.text.database, len(job.text.statements), job.table]
        found.append(_digest(defining, before, text, topics))
        before += job.defines
    return found


def _digest(*parts: Any) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


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


def _flow(
    graph: Graph, column: Column, found: Sequence[ColumnSource], complete: bool
) -> Iterator[ColumnFlow]:
    sources = []
    for table, name, how in found:
        source = _topic(table)
        if source in graph:
            sources.append(ColumnInput(Column(source, name), str(how)))
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
        return _columns(self._graph.nodes.get(_topic(path)))

    def filled(self, path: TablePath) -> Sequence[str] | None:
        """Columns that are filled by position: not a JSON object's, which has no order."""
        node = self._graph.nodes.get(_topic(path))
        return None if _is_json(node) else _columns(node)

    def facts(self, job: str, topic: str) -> list[Any]:
        """All about a topic that a job's columns may depend on."""
        node = self._graph.nodes.get(topic)
        written = (job, topic, EdgeType.PRODUCES) in self._graph.edges
        return [topic, node is not None, written, _columns(node), _is_json(node)]


def _is_json(topic: Node | None) -> bool:
    return topic is not None and str(topic.attributes.get("schema_type", "")).upper() == "JSON"


def _columns(topic: Node | None) -> list[str] | None:
    fields = topic.attributes.get("schema_fields") if topic is not None else None
    if topic is None or not fields:
        return None
    return list(dict.fromkeys([*topic.attributes.get(KEY_COLUMNS, ()), *(one["name"] for one in fields)]))
