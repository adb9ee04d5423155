"""Adds the jobs outside Confluent, of which events of OpenLineage tell, to a discovery."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from lineage_bridge_dagster.event_sources.source import EventIntake, EventSource, EventSourceError
from lineage_bridge_dagster.lineage.carry import kept_nodes
from lineage_bridge_dagster.lineage.coverage import OPENLINEAGE, Coverage, Note, Scope, ScopeReport, Status
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.model import Edge, Graph, Node, scopes_of
from lineage_bridge_dagster.lineage.times import iso, parse_iso
from lineage_bridge_dagster.lineage.unknowns import AGED_OUT, REFUSED_EVENTS
from lineage_bridge_dagster.openlineage.incoming.joining import DatasetJoin
from lineage_bridge_dagster.openlineage.incoming.ledger import JobLedger
from lineage_bridge_dagster.openlineage.incoming.ledger_json import ledger_from_json, ledger_to_json
from lineage_bridge_dagster.openlineage.incoming.merging import merge_jobs
from lineage_bridge_dagster.redaction.redact import redact_text
from lineage_bridge_dagster.text import ReportLine, plural

#: Key in `Discovery.caches`: by source, `{"ledger", "position", "refused": [[time, text], ...]}`.
CACHE = "openlineage"
#: Names in a note.
_MAX_NAMED = 20


@dataclass(frozen=True, slots=True)
class SourceReading:
    """What was read from one source.

    Attributes:
        ledger: What counts, of this reading and of those before.
        report: How completely it was read.
        count: The events that are new.
    """

    name: str
    ledger: JobLedger
    report: ScopeReport
    saved: Mapping[str, Any]
    count: int

    @property
    def is_read(self) -> bool:
        """Whether at least a part of it was read."""
        return self.report.status in (Status.COMPLETE, Status.PARTIAL)


def read_source(source: EventSource, saved: object, now: datetime, max_age: timedelta) -> SourceReading:
    """Read what is new in a source; nothing is raised for one that cannot be read.

    Args:
        saved: What the last reading left; if it is malformed, everything is read again.
        max_age: How old the last run of an edge may be.
    """
    scope = Scope(OPENLINEAGE, "", source.name)
    known = saved if isinstance(saved, Mapping) else {}
    intake, refused = _intake(known, now)
    # Twice as long, so that what is too old can still be named.
    intake.since = now - 2 * max_age
    status, reason = Status.COMPLETE, ""
    try:
        source.read(intake)
    except EventSourceError as error:
        status = Status.PARTIAL if error.partial else Status.DENIED if error.denied else Status.FAILED
        reason = redact_text(error.reason)
    ledger, since = intake.ledger, iso(now - max_age)
    ledger.prune(iso(intake.since))
    # What is read again is refused again.
    refused = [each for each in refused if each[0] >= since and each[1] not in intake.refused]
    refused += [[ledger.now, text] for text in intake.refused]
    if intake.refused_count > len(intake.refused):
        refused.append([ledger.now, f"and {intake.refused_count - len(intake.refused)} more"])
    refused = refused[-_MAX_NAMED:]
    notes = []
    if refused:
        notes.append(Note(REFUSED_EVENTS, tuple(text for _, text in refused)))
    if status is Status.COMPLETE and (old := ledger.aged_out(since)):
        more = (f"and {len(old) - _MAX_NAMED} more",) if len(old) > _MAX_NAMED else ()
        notes.append(Note(AGED_OUT, (*old[:_MAX_NAMED], *more)))
    report = ScopeReport(scope, status, reason, notes=tuple(notes))
    left = {"ledger": ledger_to_json(ledger), "position": intake.position, "refused": refused}
    return SourceReading(source.name, ledger, report, left, intake.count)


def enrich(
    discovery: Discovery,
    sources: Sequence[EventSource],
    *,
    max_age: timedelta,
    ports: Mapping[str, str],
    sql: str = "redacted",
    clock: Callable[[], datetime],
    last: Discovery | None = None,
    progress: ReportLine = lambda _line: None,
) -> Discovery:
    """Add a node for each job that feeds what the discovery has, or is fed by it, with datasets and edges.

    Args:
        discovery: With everything else that is read: events are joined with its nodes by name.
        max_age: How old the last run of an edge may be. Nothing ages in a source that is not fully read.
        ports: The default port by scheme, for names that leave it out.
        sql: How SQL is shown: redacted, hash or none; full shows it redacted, too.
        clock: The time of the reading.
        last: The last discovery, which tells how far each source is read.
        progress: Called with one readable line per source.

    Returns:
        A new discovery. A source that could not be read is in its coverage, as `openlineage::{name}`; nothing
        is raised for it.
    """
    now = clock()
    saved = last.caches.get(CACHE) if last is not None else None
    known = saved if isinstance(saved, Mapping) else {}
    readings = [read_source(source, known.get(source.name), now, max_age) for source in sources]
    nodes: list[Node] = [*discovery.graph.nodes.values()]
    if last is not None:
        nodes += [node for node in kept_nodes(discovery, last) if not is_only_told(node)]
    join = DatasetJoin(nodes, ports=ports, listed=fully_listed(discovery.coverage))
    since, coverage = iso(now - max_age), Coverage(discovery.coverage)
    merged = merge_jobs(
        discovery.graph,
        {reading.name: reading.ledger for reading in readings if reading.is_read},
        join,
        since={each.name: since if each.report.status is Status.COMPLETE else "" for each in readings},
        now=iso(now),
        sql=sql,
    )
    for reading in readings:
        jobs = merged.jobs.get(reading.name, 0)
        coverage.add(replace(reading.report, count=jobs))
        progress(_line(reading, jobs, merged.unconnected.get(reading.name, 0)))
    caches = {reading.name: reading.saved for reading in readings}
    kept = {**discovery.caches, **({CACHE: caches} if caches else {})}
    return replace(discovery, graph=merged.graph, coverage=coverage, caches=kept)


def without_other_sources(last: Discovery, names: Iterable[str]) -> Discovery:
    """The last discovery without what only sources told that are not read any more."""
    read = frozenset(str(Scope(OPENLINEAGE, "", name)) for name in names)
    prefix = f"{OPENLINEAGE}:"

    def is_left(entry: Node | Edge) -> bool:
        scopes = scopes_of(entry.attributes)
        return not scopes or any(scope in read or not scope.startswith(prefix) for scope in scopes)

    nodes = [node for node in last.graph.nodes.values() if is_left(node)]
    kept = {node.node_id for node in nodes}
    edges = [
        edge for edge in last.graph.edges.values() if is_left(edge) and {edge.src_id, edge.dst_id} <= kept
    ]
    if len(nodes) == len(last.graph.nodes) and len(edges) == len(last.graph.edges):
        return last
    return replace(last, graph=Graph(nodes, edges))


def is_only_told(node: Node) -> bool:
    """Whether only events tell of a node: it is nothing that others join."""
    scopes = scopes_of(node.attributes)
    return bool(scopes) and all(scope.startswith(f"{OPENLINEAGE}:") for scope in scopes)


def _intake(known: Mapping[str, Any], now: datetime) -> tuple[EventIntake, list[Any]]:
    try:
        ledger = ledger_from_json(known["ledger"], now)
        position, refused = known["position"], known.get("refused")
    except (KeyError, ValueError):
        return EventIntake(JobLedger(now)), []
    named = [
        [str(time), str(text)]
        for time, text in (refused if isinstance(refused, list) else ())
        if parse_iso(str(time)) is not None
    ]
    return EventIntake(ledger, position if isinstance(position, Mapping) else {}), named


def fully_listed(coverage: Coverage) -> list[str]:
    """The clusters whose lists of topics are complete."""
    return [
        report.scope.place
        for report in coverage
        if report.scope.api == "kafka" and report.status is Status.COMPLETE
    ]


def _line(reading: SourceReading, jobs: int, unconnected: int) -> str:
    if not reading.is_read:
        return f"Events of {reading.name}: {reading.report.status}: {reading.report.reason}"
    text = f"Events of {reading.name}: {plural(reading.count, 'new event')}, {plural(jobs, 'job')}"
    return text + (f"; left out as unconnected: {plural(unconnected, 'job')}" if unconnected else "")
