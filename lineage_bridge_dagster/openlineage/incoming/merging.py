"""Jobs of events -> nodes and edges of a graph. Pure.

Only what is on the way to a node that the discovery knows, or on the way from one, becomes part of the graph:
a company's other jobs do not. What joins to no node is an outside dataset, named as it came.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lineage_bridge_dagster.lineage.columns import (
    COLUMN_LINEAGE,
    Column,
    ColumnFlow,
    ColumnInput,
    ColumnUses,
    to_attribute,
)
from lineage_bridge_dagster.lineage.coverage import OPENLINEAGE, Scope
from lineage_bridge_dagster.lineage.ids import external_job_id
from lineage_bridge_dagster.lineage.model import (
    FLOW_EDGES,
    INPUTS,
    Edge,
    EdgeType,
    Evidence,
    Graph,
    Node,
)
from lineage_bridge_dagster.lineage.nodes import DatasetNode, ExternalJobNode
from lineage_bridge_dagster.lineage.sql_policy import limited_node
from lineage_bridge_dagster.lineage.writers import is_inferred
from lineage_bridge_dagster.openlineage.facets import PRODUCER
from lineage_bridge_dagster.openlineage.incoming.field_lineage import is_cut
from lineage_bridge_dagster.openlineage.incoming.joining import DatasetJoin, Joined
from lineage_bridge_dagster.openlineage.incoming.ledger import (
    DatasetRecord,
    JobLedger,
    JobRecord,
    Shown,
    WrittenRecord,
)
from lineage_bridge_dagster.openlineage.names import OpenLineageName
from lineage_bridge_dagster.text import first_few

_CUT = "its events tell of more columns than are kept"


@dataclass(slots=True)
class MergedJobs:
    """The outcome of a merge.

    Attributes:
        jobs: The number of jobs in it, by source.
        unconnected: The number of jobs that touch nothing that is known, by source.
    """

    graph: Graph
    jobs: dict[str, int] = field(default_factory=dict)
    unconnected: dict[str, int] = field(default_factory=dict)


def merge_jobs(
    graph: Graph,
    ledgers: Mapping[str, JobLedger],
    join: DatasetJoin,
    *,
    since: Mapping[str, str],
    now: str,
    sql: str,
) -> MergedJobs:
    """Add the jobs of each source to a graph.

    Args:
        graph: What was found otherwise; it is not changed.
        ledgers: The jobs by the name of their source.
        join: Of the nodes that are known: those of the graph, and those of the last discovery that are kept.
        since: ISO 8601 by source; what no run has shown since then is left out.
        now: ISO 8601.
        sql: How SQL is shown, one of `SQL_MODES`.
    """
    merged = MergedJobs(Graph(graph.nodes.values(), graph.edges.values()))
    told = told_jobs(ledgers, join, since)
    for each in told:
        counts = merged.jobs if each.connected else merged.unconnected
        counts[each.source] = counts.get(each.source, 0) + 1
        if each.connected:
            each.add_to(merged.graph, now, sql)
    _explain_writers(merged.graph, {each.node_id for each in told if each.connected})
    return merged


def told_jobs(ledgers: Mapping[str, JobLedger], join: DatasetJoin, since: Mapping[str, str]) -> list[ToldJob]:
    """The jobs of each source, with their datasets as nodes; arguments as of `merge_jobs`."""
    told = []
    for source, ledger in sorted(ledgers.items()):
        resolve = _Resolver(join, ledger)
        told += [
            ToldJob(source, job, resolve)
            for job in ledger.active(since[source])
            # Our own events, which a topic that others share brings back.
            if not job.facts.producer.startswith(PRODUCER)
        ]
    _connect(told)
    return told


class _Resolver:
    """Resolves the datasets of one ledger, each once."""

    def __init__(self, join: DatasetJoin, ledger: JobLedger) -> None:
        self._join, self._ledger = join, ledger
        self._found: dict[OpenLineageName, Joined] = {}

    def __call__(self, name: OpenLineageName) -> Joined:
        found = self._found.get(name)
        if found is None:
            others = self._ledger.datasets.get(name, DatasetRecord()).aliases or ()
            found = self._found[name] = self._join.find((name, *others))
        return found

    def fields(self, name: OpenLineageName) -> Any:
        return self._ledger.datasets.get(name, DatasetRecord()).fields or ()


class ToldJob:
    """A job of a source, with its datasets as nodes.

    Attributes:
        source: The name of the source.
        name: The job's.
        node_id: The id of its node.
        reads: What each dataset is that it reads.
        writes: What each dataset is that it writes.
        connected: Whether it feeds a node that is known, or is fed by one, maybe through other jobs.
    """

    def __init__(self, source: str, job: JobRecord, resolve: _Resolver) -> None:
        self.source, self.name, self.connected = source, job.name, False
        self._job, self._resolve = job, resolve
        self.node_id = external_job_id(*job.name)
        self.reads = {name: resolve(name) for name in job.reads}
        self.writes = {name: resolve(name) for name in job.writes}

    def add_to(self, graph: Graph, now: str, sql: str) -> None:
        job, scope = self._job, str(Scope(OPENLINEAGE, "", self.source))
        for name, joined in {**self.reads, **self.writes}.items():
            if joined.dataset:
                graph.add_node(self._dataset(name, joined, scope, now))
        graph.add_node(limited_node(self._node(scope, now), sql))
        for name, shown in job.reads.items():
            self._add_edge(graph, self.reads[name], shown, scope, now)
        for name, record in job.writes.items():
            self._add_edge(graph, self.writes[name], record.shown, scope, now, record)

    def _dataset(self, name: OpenLineageName, joined: Joined, scope: str, now: str) -> Node:
        return DatasetNode(
            node_id=joined.node_id,
            qualified_name=joined.dataset,
            display_name=joined.dataset,
            attributes={"scope": scope},
            columns=self._resolve.fields(name),
            first_seen=now,
            last_seen=now,
        )

    def _node(self, scope: str, now: str) -> Node:
        job = self._job
        facts, last = job.facts, self._last()
        problems = sorted(
            {
                f"{name.namespace}/{name.name} is an outside dataset here, since {joined.problem}"
                for name, joined in {**self.reads, **self.writes}.items()
                if joined.problem
            }
        )
        cut = {self.writes[name].node_id: _CUT for name, each in job.writes.items() if is_cut(each.columns)}
        columns, _ = to_attribute(self._columns(), cut, self._uses())
        return ExternalJobNode(
            node_id=self.node_id,
            qualified_name="/".join(job.name),
            display_name=job.name.name,
            attributes={
                "scope": scope,
                **({COLUMN_LINEAGE: columns} if columns else {}),
                **({"warnings": problems} if problems else {}),
            },
            owners=facts.owners,
            sql=facts.sql,
            evidence=str(Evidence.OBSERVED),
            integration=facts.integration,
            processing_type=facts.processing,
            job_type=facts.kind,
            parent_job=facts.parent,
            producer=facts.producer,
            description=facts.description,
            last_run=last.run,
            last_run_on=last.time[:10],
            first_seen=now,
            last_seen=now,
        )

    def _last(self) -> Shown:
        job = self._job
        return max((*job.reads.values(), *(each.shown for each in job.writes.values())))

    def _add_edge(
        self,
        graph: Graph,
        joined: Joined,
        shown: Shown,
        scope: str,
        now: str,
        written: WrittenRecord | None = None,
    ) -> None:
        ends = (joined.node_id, self.node_id) if written is None else (self.node_id, joined.node_id)
        attributes: dict[str, Any] = {
            "evidence": str(Evidence.OBSERVED),
            "scope": scope,
            "source": OPENLINEAGE,
            "producer": self._job.facts.producer,
            "last_run_on": shown.time[:10],
        }
        if shown.run:
            attributes["last_run"] = shown.run
        if written is not None and written.made_of is not None:
            made_of = {self.reads[name].node_id for name in written.made_of if name in self.reads}
            if made_of != {each.node_id for each in self.reads.values()}:
                attributes[INPUTS] = sorted(made_of)
        kind = EdgeType.CONSUMES if written is None else EdgeType.PRODUCES
        graph.add_edge(Edge(*ends, kind, joined.confidence, attributes, now, shown.time))

    def _columns(self) -> Iterable[ColumnFlow]:
        for name, record in self._job.writes.items():
            target = self.writes[name].node_id
            for each in record.columns:
                if each.column:
                    found = {
                        Column(self._id_of(source.dataset), source.column): source.how
                        for source in each.sources
                        if source.direct
                    }
                    sources = tuple(ColumnInput(column, how) for column, how in found.items())
                    yield ColumnFlow(Column(target, each.column), sources)

    def _uses(self) -> Iterable[ColumnUses]:
        for name, record in self._job.writes.items():
            target = self.writes[name].node_id
            for each in record.columns:
                by_role: dict[str, dict[Column, None]] = defaultdict(dict)
                for source in each.sources:
                    if not source.direct:
                        by_role[source.how][Column(self._id_of(source.dataset), source.column)] = None
                for role, columns in by_role.items():
                    yield ColumnUses(target, each.column or None, role, tuple(columns))

    def _id_of(self, name: OpenLineageName) -> str:
        known = self.reads.get(name) or self.writes.get(name)
        return (known or self._resolve(name)).node_id


def _connect(jobs: Sequence[ToldJob]) -> None:
    """Mark the jobs from which a known node is reached downstream, or which one reaches."""
    writers: dict[str, list[ToldJob]] = defaultdict(list)
    readers: dict[str, list[ToldJob]] = defaultdict(list)
    for job in jobs:
        for joined in job.reads.values():
            readers[joined.node_id].append(job)
        for joined in job.writes.values():
            writers[joined.node_id].append(job)
    for start, others, upwards in (
        ([job for job in jobs if _any_known(job.writes)], writers, True),
        ([job for job in jobs if _any_known(job.reads)], readers, False),
    ):
        seen, rest = {id(job) for job in start}, start
        while rest:
            job = rest.pop()
            job.connected = True
            for joined in (job.reads if upwards else job.writes).values():
                for other in others.get(joined.node_id, ()):
                    if id(other) not in seen:
                        seen.add(id(other))
                        rest.append(other)


def _any_known(datasets: Mapping[OpenLineageName, Joined]) -> bool:
    return any(not each.dataset for each in datasets.values())


def _explain_writers(graph: Graph, jobs: set[str]) -> None:
    """Say on a job that what it writes is written by something else, too, as Confluent or a catalog tells."""
    written: dict[str, list[str]] = defaultdict(list)
    others: dict[str, list[str]] = defaultdict(list)
    for edge in graph.edges.values():
        if edge.edge_type in FLOW_EDGES and edge.dst_id in graph.nodes:
            if edge.src_id in jobs:
                written[edge.src_id].append(edge.dst_id)
            elif edge.src_id in graph.nodes and not is_inferred(edge):
                others[edge.dst_id].append(edge.src_id)
    for job_id, outputs in written.items():
        claims = [
            f"{_labels(graph, [output])} (by {_labels(graph, others[output])})"
            for output in outputs
            if output in others
        ]
        if claims:
            job = graph.nodes[job_id]
            note = f"events say that it writes what others are known to write: {first_few(sorted(claims))}"
            graph.nodes[job_id] = job.with_attributes(warnings=[*job.warnings, note])


def _labels(graph: Graph, node_ids: Iterable[str]) -> str:
    return first_few(sorted(graph.nodes[each].label for each in node_ids))
