"""What events tell, read once and joined with a graph: to see what a discovery would make of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from lineage_bridge_dagster.event_sources.enrichment import fully_listed, is_only_told
from lineage_bridge_dagster.event_sources.source import EventIntake, EventSource, EventSourceError
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.times import utc_now
from lineage_bridge_dagster.openlineage.incoming.joining import DatasetJoin
from lineage_bridge_dagster.openlineage.incoming.ledger import JobLedger
from lineage_bridge_dagster.openlineage.incoming.merging import ToldJob, told_jobs


class ToldBySources(NamedTuple):
    """The jobs, and what could not be read or was refused."""

    jobs: list[ToldJob]
    problems: list[str]


def read_told(
    discovery: Discovery, sources: Iterable[EventSource], *, ports: Mapping[str, str]
) -> ToldBySources:
    """Read events, however old they are."""
    ledgers: dict[str, JobLedger] = {}
    problems: list[str] = []
    for source in sources:
        ledgers[source.name] = JobLedger(utc_now())
        intake = EventIntake(ledgers[source.name])
        try:
            source.read(intake)
        except EventSourceError as error:
            problems.append(str(error))
        problems += intake.refused
        if more := intake.refused_count - len(intake.refused):
            problems.append(f"{source.name}: {more} more events are refused")
    nodes = (node for node in discovery.graph.nodes.values() if not is_only_told(node))
    join = DatasetJoin(nodes, ports=ports, listed=fully_listed(discovery.coverage))
    return ToldBySources(told_jobs(ledgers, join, dict.fromkeys(ledgers, "")), problems)
