"""Column lineage on the nodes of Flink jobs. No I/O but the parser's.

It is derived after table lineage and schemas: a failure here leaves table lineage as it is, with a warning on
the job.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.confluent.graph.builder import Builder, put_columns, warn_underived
from lineage_bridge_dagster.confluent.graph.inferred_tables import inferred_table
from lineage_bridge_dagster.confluent.graph.schema_rows import Lookup, referenced
from lineage_bridge_dagster.confluent.graph.subjects import split_context
from lineage_bridge_dagster.lineage import ids
from lineage_bridge_dagster.lineage.carry import STALE_ATTRIBUTES
from lineage_bridge_dagster.lineage.columns import (
    COLUMN_LINEAGE,
    Column,
    ColumnFlow,
    ColumnInput,
    ColumnUses,
    to_attribute,
)
from lineage_bridge_dagster.lineage.model import EdgeType, Graph
from lineage_bridge_dagster.sql.columns.derivation import TextColumns, derive_columns
from lineage_bridge_dagster.sql.columns.origins import ColumnOrigin
from lineage_bridge_dagster.sql.columns.relations import known_columns, shown, unknown_columns
from lineage_bridge_dagster.sql.columns.tables import Registered
from lineage_bridge_dagster.sql.flink.names import NameIndex
from lineage_bridge_dagster.sql.flink.parse_cache import VERSION, ParseCache
from lineage_bridge_dagster.sql.flink.tree import ParsedText
from lineage_bridge_dagster.sql.statement import TablePath

if TYPE_CHECKING:
    from lineage_bridge_dagster.lineage.discovery import Discovery
    from lineage_bridge_dagster.sql.flink.parser import FlinkSqlParser


class FlinkCache:
    """Table lineage by SQL text, and column lineage by job. Reads the last discovery, collects for the next.

    Its JSON is `{"version", "entries": {text digest: statements}, "columns": {node id: [digest, omitted]}}`:
    digests and names, never SQL text. The columns themselves are on the jobs' nodes.

    Args:
        last: The last discovery. A cache of another parser version, or a malformed one, counts as empty.
    """

    #: Key in `Discovery.caches`.
    NAME = "flink_sql"

    def __init__(self, last: Discovery | None = None) -> None:
        saved = last.caches.get(self.NAME) if last is not None else None
        saved = saved if isinstance(saved, Mapping) and saved.get("version") == VERSION else {}
        self.texts = ParseCache(saved)
        self._last_nodes = last.graph.nodes if last is not None else {}
        columns = saved.get("columns")
        self._last_columns: Mapping[str, Any] = columns if isinstance(columns, Mapping) else {}
        self._columns: dict[str, tuple[str, int]] = {}

    def columns(self, node_id: str, digest: str) -> tuple[Any, int] | None:
        """A job's column lineage attribute and its number of omitted columns, if the digest is unchanged.

        Args:
            digest: A digest of everything that the job's columns depend on.
        """
        node = self._last_nodes.get(node_id)
        match self._last_columns.get(node_id):
            case [str(known), int(omitted)] if known == digest and node is not None:
                # Columns carried over because the registry failed do not belong to this digest.
                if COLUMN_LINEAGE not in node.texts(STALE_ATTRIBUTES):
                    return node.attributes.get(COLUMN_LINEAGE), omitted
        return None

    def put_columns(self, node_id: str, digest: str, omitted: int) -> None:
        self._columns[node_id] = (digest, omitted)

    def to_json(self) -> dict[str, Any]:
        """The texts and columns that this discovery used, for `Discovery.caches`."""
        return {**self.texts.to_json(), "columns": {k: list(v) for k, v in self._columns.items()}}


#: Maximum nodes of syntax trees in memory, about 250 bytes each; later (newer) statements get no column
#: lineage.
MAX_TREE_NODES = 4_000_000

#: Increment when the rules for deriving columns change, to discard cached results.
_RULES = 7

#: Kinds of statement that define nothing which another statement's columns may depend on.
_PLAIN = frozenset({"INSERT", "SELECT", "STATEMENT SET"})


@dataclass(frozen=True, slots=True)
class JobText:
    """A job's parsed text.

    Attributes:
        node_id: The id of the job, which need not be in the graph.
        text: The parsed text; without trees if it was parsed by an earlier discovery.
        topics: Node ids of the topics that it reads and writes, also through views.
        table: The topic's node id for a materialized table, whose text is a query.
    """

    node_id: str
    sql: str
    text: ParsedText
    topics: tuple[str, ...] = ()
    table: str | None = None
    environment: str = ""

    @property
    def defines(self) -> bool:
        """Whether other texts may depend on it."""
        return any(s.view is not None or s.kind not in _PLAIN for s in self.text.statements)

    @property
    def has_errors(self) -> bool:
        return any(s.error is not None for s in self.text.statements)

    @property
    def can_have_trees(self) -> bool:
        return any(s.error is None for s in self.text.statements)

    @property
    def has_trees(self) -> bool:
        return any(tree is not None for tree in self.text.trees)


@dataclass(frozen=True, slots=True)
class JobTexts:
    """The texts of all jobs, by creation time, with the names of clusters that they are resolved against."""

    index: NameIndex
    names: str
    jobs: Sequence[JobText] = field(default_factory=list)


def parsed_texts(
    parser: FlinkSqlParser, texts: Iterable[str], cache: FlinkCache | None = None
) -> dict[str, ParsedText]:
    """Parse each distinct text, except cached ones, which get no trees; nor do those beyond MAX_TREE_NODES.

    Raises:
        LineageBridgeError: The parser cannot run.
    """
    found: dict[str, ParsedText] = {}
    new: list[str] = []
    for text in dict.fromkeys(texts):
        lineage = cache.texts.get(text) if cache is not None else None
        if lineage is None:
            new.append(text)
        else:
            found[text] = ParsedText(lineage, (None,) * len(lineage.statements))
    tree_nodes = 0
    for text, parsed in zip(new, parser.parse_trees(new), strict=True):
        if cache is not None:
            cache.texts.put(text, parsed.lineage)
        tree_nodes += sum(len(tree.nodes) for tree in parsed.trees if tree is not None)
        no_trees = (None,) * len(parsed.trees)
        found[text] = parsed if tree_nodes <= MAX_TREE_NODES else ParsedText(parsed.lineage, no_trees)
    return found


def add_columns(
    builder: Builder, texts: JobTexts, parser: FlinkSqlParser, cache: FlinkCache | None = None
) -> None:
    """Put the column lineage of each job on its node, as far as it can be derived. Never raises.

    Jobs whose columns depend on the same input as at the last discovery keep their column lineage.
    """
    graph = builder.graph
    cache = cache or FlinkCache()
    registry = _Registry(builder)
    digests = _digests(texts, registry)
    reused = {
        job.node_id: last
        for job, digest in zip(texts.jobs, digests, strict=True)
        if (last := cache.columns(job.node_id, digest)) is not None
    }
    try:
        jobs = _with_trees(graph, texts.jobs, reused.keys(), parser)
        derived = derive_columns(
            (job.text for job in jobs),
            index=texts.index,
            outputs={at for at, job in enumerate(jobs) if job.table},
            registry=registry.columns,
            details=True,
        )
    except Exception as error:
        warn_underived(graph, error, *(job.node_id for job in texts.jobs))
        return
    for job, digest, columns in zip(jobs, digests, derived, strict=True):
        if job.node_id not in graph:
            continue
        attribute, omitted = reused.get(job.node_id) or to_attribute(
            _flows(graph, job, columns), _further(graph, job, columns), _uses(graph, job, columns)
        )
        put_columns(graph, job.node_id, attribute, omitted)
        if job.node_id in reused or (job.has_trees and not job.has_errors):
            cache.put_columns(job.node_id, digest, omitted)


def _with_trees(
    graph: Graph, jobs: Sequence[JobText], reused: Collection[str], parser: FlinkSqlParser
) -> list[JobText]:
    """The jobs, with the syntax trees that are needed to derive the columns of those that changed."""
    changed = {job.node_id for job in jobs if job.node_id in graph and job.node_id not in reused}
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
        replace(job, text=replace(job.text, lineage=again.lineage, trees=again.trees))
        if job.can_have_trees and not job.has_trees and (again := parsed.get(job.sql)) is not None
        else job
        for job in jobs
    ]


def _digests(texts: JobTexts, registry: _Registry) -> list[str]:
    """One digest per job of everything its columns depend on: its text, defining texts, and its topics."""
    defining = _digest(
        VERSION,
        _RULES,
        texts.names,
        [
            [job.sql, job.text.catalog, job.text.database, registry.named(job)]
            for job in texts.jobs
            if job.defines
        ],
    )
    defining_before = 0
    digests = []
    for job in texts.jobs:
        topics = [registry.facts(job.node_id, topic) for topic in job.topics]
        text = [job.sql, job.text.catalog, job.text.database, len(job.text.statements), job.table]
        digests.append(_digest(defining, defining_before, text, topics))
        defining_before += job.defines
    return digests


def _digest(*parts: Any) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _flows(graph: Graph, job: JobText, derived: TextColumns) -> Iterator[ColumnFlow]:
    """The flows into topics that the job's edges lead to, but not into views or unknown topics."""
    for column in derived.written:
        target = _topic(column.table)
        if target and (job.node_id, target, EdgeType.PRODUCES) in graph.edges:
            yield _flow(graph, Column(target, column.column), column.sources, column.open)
    if job.table and (job.node_id, job.table, EdgeType.PRODUCES) in graph.edges:
        for relation in derived.outputs[-1:]:
            for name, origin in known_columns(relation or ()):
                yield _flow(graph, Column(job.table, name), origin.sources, origin.open)


def _uses(graph: Graph, job: JobText, derived: TextColumns) -> list[ColumnUses]:
    """What decides on the columns of topics besides their sources, each role once for a topic or a column."""
    found: dict[tuple[str, str | None, str], dict[Column, None]] = {}
    written = [
        (_topic(writer.table), column.column, column.uses)
        for writers in derived.statements
        for writer in writers
        for column in writer.columns
    ]
    for relation in derived.outputs[-1:] if job.table else ():
        columns = known_columns(relation or ())
        written += [(job.table or "", name, origin.uses) for name, origin in columns]
    for target, name, uses in written:
        if (job.node_id, target, EdgeType.PRODUCES) not in graph.edges:
            continue
        for use in uses:
            sources = [Column(_topic(table), column) for table, column, _ in use.sources]
            known = [column for column in sources if column.node_id in graph]
            key = (target, None if use.selects_rows else name, use.role)
            found.setdefault(key, {}).update(dict.fromkeys(known))
    return [ColumnUses(*key, tuple(sources)) for key, sources in found.items() if sources]


def _further(graph: Graph, job: JobText, derived: TextColumns) -> dict[str, str]:
    """The topics into which the job writes columns of unknown names, each with the reason."""
    found = {_topic(o.table): o.reason for o in derived.open if o.table and o.column is None}
    if job.table:
        gaps = [gap for relation in derived.outputs[-1:] for gap in unknown_columns(relation or ())]
        found |= {job.table: gaps[0].reason} if gaps else {}
    return {
        topic: why for topic, why in found.items() if (job.node_id, topic, EdgeType.PRODUCES) in graph.edges
    }


def _flow(graph: Graph, column: Column, found: Sequence[ColumnOrigin], reason: str) -> ColumnFlow:
    sources = []
    for table, name, how in found:
        source = _topic(table)
        if source in graph:
            sources.append(ColumnInput(Column(source, name), str(how)))
        else:
            reason = reason or f"{shown(table)} is not in the graph"
    return ColumnFlow(column, tuple(sources), not reason, reason)


@lru_cache(maxsize=1024)
def _topic(path: TablePath) -> str:
    return ids.topic_id(path[0], path[1], path[2]) if len(path) == 3 else ""


class _Registry:
    """The tables of topics by their schemas."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder
        self._tables: dict[tuple[object, ...], Registered | None] = {}
        self._facts: dict[str, list[Any]] = {}

    def columns(self, path: TablePath, options: Mapping[str, str]) -> Registered | None:
        """The columns of a topic's table; None for one that is not in the graph."""
        topic = _topic(path)
        if topic not in self._builder.graph:
            return None
        key = (topic, *sorted(options.items()))
        if key not in self._tables:
            matches = self._builder.schemas.get(topic, ())
            self._tables[key] = inferred_table(path[2], matches, self._lookup(path[0]), options)
        return self._tables[key]

    def _lookup(self, environment: str) -> Lookup:
        index = self._builder.subjects.get(environment)
        return index.by_subject.get if index is not None else lambda _: None

    def facts(self, job: str, topic: str) -> list[Any]:
        """Everything about a topic that a job's columns may depend on."""
        written = (job, topic, EdgeType.PRODUCES) in self._builder.graph.edges
        if topic not in self._facts:
            node = self._builder.graph.nodes.get(topic)
            lookup = self._lookup(node.environment_id or "" if node else "")
            schemas = [match.schema for match in self._builder.schemas.get(topic, ()) if match.certain]
            schemas += [one for schema in schemas for _, one in referenced(schema, lookup)]
            texts = [_digest(schema.subject, schema.schema_type, schema.text) for schema in schemas]
            self._facts[topic] = [node is not None, *texts]
        return [topic, written, *self._facts[topic]]

    def named(self, job: JobText) -> list[str]:
        """The schemas whose subjects a text names."""
        if "subject-names" not in job.sql and "schema-context" not in job.sql:
            return []
        index = self._builder.subjects.get(job.environment)
        schemas = index.by_subject.values() if index is not None else ()
        named = (
            one for one in schemas if split_context(one.subject)[1] in job.sql or one.subject.startswith(":")
        )
        return [_digest(one.subject, one.text) for one in named]
