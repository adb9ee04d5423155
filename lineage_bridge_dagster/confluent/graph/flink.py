"""Nodes and edges of Flink statements and materialized tables. No I/O but the parser's.

Which statements become nodes, by phase:

- DELETING: none.
- COMPLETED and STOPPED: those that write, with their phase. Finished queries, DDL and views do not.
- FAILED: as these; with edges only if Flink reports offsets that it read (`latest_offsets`), since a
  statement that never ran moved no data.
- Any other phase, unknown ones included: all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.confluent.graph.builder import UNKNOWN_INPUTS, Builder, absent_warning
from lineage_bridge_dagster.confluent.graph.flink_columns import FlinkCache, JobText, JobTexts, parsed_texts
from lineage_bridge_dagster.confluent.graph.flink_jobs import FlinkTables, Job, Names, Output, Resolver
from lineage_bridge_dagster.lineage import ids
from lineage_bridge_dagster.lineage.model import EdgeType, Evidence, NodeType
from lineage_bridge_dagster.lineage.unknowns import UNKNOWN, Unknown
from lineage_bridge_dagster.redaction.redact import redact_text
from lineage_bridge_dagster.sql.flink.names import (
    ClusterName,
    NameIndex,
    TopicRef,
    quoted,
    resolve_statements,
)
from lineage_bridge_dagster.sql.flink.tree import ParsedText
from lineage_bridge_dagster.sql.flink.views import expand_resolved
from lineage_bridge_dagster.sql.formatting import formatted
from lineage_bridge_dagster.sql.statement import TablePath, TextLineage

if TYPE_CHECKING:
    from lineage_bridge_dagster.sql.flink.parser import FlinkSqlParser

_DROPPED = frozenset({"DELETING"})
_FINISHED = frozenset({"COMPLETED", "STOPPED", "STOPPING", "FAILED", "FAILING"})
_FAILED = frozenset({"FAILED", "FAILING"})
#: Parts of `status.traits.sql_kind` of statements that write, used if the parser rejects the text.
_WRITING_KINDS = ("INSERT", "CREATE_TABLE_AS", "STATEMENT_SET", "MATERIALIZED")


def add_jobs(
    builder: Builder, jobs: Iterable[Job], parser: FlinkSqlParser, cache: FlinkCache | None = None
) -> JobTexts:
    """Add the jobs of all regions at once, since a statement may read another's view from any region.

    Returns:
        The input of `add_columns`, to call once the topics' schemas are known.

    Raises:
        LineageBridgeError: The parser cannot run.
    """
    # A view means its latest definition before the statement that reads it.
    ordered = sorted(jobs, key=lambda job: (job.created_at, job.environment.id, job.region, job.name))
    if not ordered:
        return JobTexts(NameIndex(), "")
    index = NameIndex(
        ClusterName(place.environment.id, place.environment.label, place.cluster.id, place.cluster.label)
        for place in builder.places.values()
    )
    by_text = parsed_texts(parser, (job.sql for job in ordered), cache or FlinkCache())
    parsed = [by_text[job.sql].lineage for job in ordered]
    empty = TextLineage(reads=(), writes=())
    texts = [
        # A failed statement created no view.
        ParsedText(
            empty if lineage.views and job.phase in _FAILED else lineage,
            catalog=job.catalog,
            database=job.database,
        )
        for job, lineage in zip(ordered, parsed, strict=True)
    ]
    resolved = [[each.statement for each in resolve_statements(text, index)] for text in texts]
    expansions = expand_resolved(resolved)
    tables = FlinkTables()
    searched: set[TablePath] = set()
    for moment, (job, statements) in enumerate(zip(ordered, resolved, strict=True)):
        tables.note(moment, job.created_at, job.phase, statements)
        searched.update(path for statement in statements for path in statement.searches)
    for path, conventions in tables.conventions():
        if (ref := index.resolve(path)) is not None:
            builder.conventions[ids.topic_id(*ref.key, ref.topic)] = conventions
    job_texts: list[JobText] = []
    for moment, (job, lineage, expansion) in enumerate(zip(ordered, parsed, expansions, strict=True)):
        resolver = Resolver(builder, index, job, tables, moment, searched)
        # Nothing that a finished job wrote is left in a table that has been created again since.
        gone = {path for path in expansion.writes if job.phase in _FINISHED and resolver.is_gone(path)}
        reads = resolver.names(expansion.reads)
        reads.unknown += [
            f"views that read each other cannot be resolved: {' -> '.join(map(quoted, (*cycle, cycle[0])))}"
            for cycle in expansion.cycles
        ]
        writes = resolver.names([path for path in expansion.writes if path not in gone])
        sinks: dict[Output, Names] = {
            output: resolver.names(sink.reads)
            for sink in expansion.sinks
            if sink.path not in gone
            for output in resolver.names([sink.path]).outputs
        }
        if job.table is not None:
            writes.refs.append(job.table)
            sinks[job.table] = reads
        if expansion.cycles:
            # What is behind them may feed any sink.
            sinks = {ref: replace(names, unknown=reads.unknown) for ref, names in sinks.items()}
        job_texts.append(_job_text(job, by_text[job.sql], [*reads.refs, *writes.refs]))
        if job.phase not in _DROPPED and _is_job(job, lineage, writes):
            logs = resolver.error_logs(expansion.reads)
            _add_job(builder, index, job, lineage, reads, writes, sinks, logs)
    clusters = sorted(
        (place.key, place.environment.label, place.cluster.label) for place in builder.places.values()
    )
    return JobTexts(index, repr(clusters), job_texts)


def _job_text(job: Job, parsed: ParsedText, refs: Iterable[TopicRef]) -> JobText:
    if job.phase in _FAILED and (parsed.lineage.views or not job.read_topics):
        # It created no view or table, and moved no data.
        parsed = ParsedText(TextLineage(reads=(), writes=()))
    return JobText(
        node_id=_job_id(job),
        sql=job.sql,
        text=replace(parsed, catalog=job.catalog, database=job.database),
        topics=tuple(ids.topic_id(*ref.key, ref.topic) for ref in refs),
        table=ids.topic_id(*job.table.key, job.table.topic) if job.table else None,
        environment=job.environment.id,
    )


def _job_id(job: Job) -> str:
    return ids.flink_job_id(job.environment.id, job.region.cloud, job.region.region, job.name)


def _is_job(job: Job, lineage: TextLineage, writes: Names) -> bool:
    if job.phase not in _FINISHED or writes.any:
        return True
    return lineage.error is not None and any(kind in job.sql_kind.upper() for kind in _WRITING_KINDS)


def _add_job(
    builder: Builder,
    index: NameIndex,
    job: Job,
    lineage: TextLineage,
    reads: Names,
    writes: Names,
    sinks: Mapping[Output, Names],
    logs: Mapping[TopicRef, Sequence[TopicRef]],
) -> None:
    """Add a job with its edges.

    Args:
        sinks: The names that each topic and dataset it writes is made of.
        logs: The topics whose records go to a topic of dead letters.
    """
    scope = job.scope
    node_id = _job_id(job)
    ran = job.phase not in _FAILED or bool(job.read_topics)
    read, not_read = _existing(builder, job, reads.refs if ran else ())
    written, not_written = _existing(builder, job, writes.refs if ran else ())
    outside = [*reads.outside, *writes.outside]
    warnings = [*reads.unknown, *writes.unknown, *outside, *not_read, *not_written]
    datasets = {name: builder.add_dataset(name, scope) for name in (reads.datasets if ran else ())}
    outside_written = {name: builder.add_dataset(name, scope) for name in (writes.datasets if ran else ())}
    outputs = dict[Output, str]([*written.items(), *outside_written.items()])
    offsets = [ids.topic_id(*ref.key, ref.topic) for ref in _offset_refs(builder, index, job)]
    # Read at run time but not named in the text, such as through a view whose statement is gone.
    hidden = [topic_id for topic_id in offsets if topic_id not in read.values()]
    for source_id in (*read.values(), *datasets.values()):
        builder.add_edge(source_id, node_id, EdgeType.CONSUMES, scope, evidence=Evidence.PARSED)
    for topic_id in hidden:
        builder.add_edge(topic_id, node_id, EdgeType.CONSUMES, scope, evidence=Evidence.OBSERVED)
    sources = dict[Output, str]([*read.items(), *datasets.items()])
    made_of = _inputs(sinks, sources, hidden, rejected=lineage.error is not None)
    for output, output_id in outputs.items():
        inputs = made_of[output]
        sure = UNKNOWN_INPUTS if inputs is None else 1.0
        ends = (node_id, output_id, EdgeType.PRODUCES)
        builder.add_edge(*ends, scope, confidence=sure, evidence=Evidence.PARSED, inputs=inputs)
    for log, logged in logs.items() if ran else ():
        # It may be created at the first bad record only, so its absence is normal.
        log_id = builder.resolve_topic(log.key, log.topic, scope)
        if log_id is not None and log not in written:
            inputs = [read[ref] for ref in logged if ref in read]
            ends = (node_id, log_id, EdgeType.PRODUCES)
            builder.add_edge(*ends, scope, evidence=Evidence.PARSED, inputs=inputs, role="dlq")
    evidence = [str(Evidence.PARSED)] if read or datasets or outputs else []
    if offsets:
        evidence.append(str(Evidence.OBSERVED))
    if not ran:
        warnings.append("it failed before it read anything, so it has no edges")
    builder.add_node(
        node_id,
        NodeType.FLINK_JOB,
        job.name,
        scope,
        attributes={
            **_attributes(job, lineage, evidence, warnings),
            UNKNOWN: [
                *([str(Unknown.INPUTS)] if None in [made_of[output] for output in outputs] else []),
                *([str(Unknown.EXTERNAL)] if outside else []),
            ],
        },
        environment_id=job.environment.id,
        environment_name=job.environment.label,
        url=builder.console.statement(job.environment.id, job.name),
    )


def _existing(builder: Builder, job: Job, refs: Iterable[TopicRef]) -> tuple[dict[TopicRef, str], list[str]]:
    """The ids of the topics that exist, and warnings about those that do not."""
    found: dict[TopicRef, str] = {}
    absent: dict[str, list[str]] = {}
    for ref in refs:
        # Flink lists a materialized table, so its topic exists.
        topic_id = builder.resolve_topic(ref.key, ref.topic, job.scope, exists=ref == job.table)
        if topic_id is None:
            absent.setdefault(ref.cluster_id, []).append(ref.topic)
        else:
            found[ref] = topic_id
    return found, [absent_warning(names, cluster) for cluster, names in sorted(absent.items())]


def _inputs(
    sinks: Mapping[Output, Names], read: Mapping[Output, str], hidden: Sequence[str], *, rejected: bool
) -> dict[Output, list[str] | None]:
    """The ids of what each sink is made of; None where that is unknown.

    Args:
        sinks: The names that each topic and dataset written is made of.
        read: The ids of the topics and datasets that the text names.
        hidden: The ids of topics that the job reads and the text does not name.
        rejected: Whether a statement of the text could not be parsed, so that it may be what reads those.
    """
    vague = [sink for sink, names in sinks.items() if names.unknown or not read.keys() >= {*names.refs}]
    if not vague and not rejected:
        # The text explains none of what it reads besides.
        vague = list(sinks)
    inputs: dict[Output, list[str] | None] = {}
    for sink, names in sinks.items():
        own = [read[source] for source in names.outputs if source in read]
        if not hidden or sink not in vague:
            inputs[sink] = own
        elif len(vague) == 1 and not rejected:
            inputs[sink] = [*own, *hidden]
        else:
            inputs[sink] = None
    return inputs


def _attributes(job: Job, lineage: TextLineage, evidence: list[str], warnings: list[str]) -> dict[str, Any]:
    return {
        # As written: the discovery is limited to what may be shown of it once it is complete.
        "sql": job.sql,
        "formatted_sql": formatted(job.sql),
        "statement_kind": lineage.kind or job.sql_kind,
        "materialized_table": True if job.table else None,
        "phase": job.phase,
        "compute_pool_id": job.compute_pool_id,
        "principal": job.principal,
        "cloud": job.region.cloud,
        "region": job.region.region,
        "parse_error": redact_text(lineage.error) if lineage.error else None,
        "evidence": "+".join(evidence),
        "warnings": [redact_text(warning) for warning in warnings],
    }


def _offset_refs(builder: Builder, index: NameIndex, job: Job) -> list[TopicRef]:
    """The topics that Flink reports as read: those in `status.latest_offsets` that the cluster lists."""
    refs: list[TopicRef] = []
    for name in job.read_topics:
        ref = index.resolve((name,), job.catalog, job.database)
        if ref is not None and builder.has_topic(ref.key, ref.topic):
            refs.append(ref)
    return refs
