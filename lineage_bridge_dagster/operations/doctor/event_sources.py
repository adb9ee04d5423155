"""Whether the sources of OpenLineage events can be read."""

from __future__ import annotations

from collections.abc import Iterator

from lineage_bridge_dagster.config.aws import s3_client
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.event_sources.sources import event_sources
from lineage_bridge_dagster.lineage.coverage import OPENLINEAGE, Scope
from lineage_bridge_dagster.lineage.model import Graph
from lineage_bridge_dagster.lineage.unknowns import note_text
from lineage_bridge_dagster.operations.doctor.context import Context
from lineage_bridge_dagster.operations.doctor.finding import Result, failed, ok, skipped, warning


def readable(context: Context) -> Iterator[Result]:
    """Each source, and what the last discovery left out of it. No event is read."""
    settings = context.openlineage
    if not (settings.paths or settings.topics):
        yield skipped("Looked for openlineage.paths and openlineage.topics.", "None is set.")
        return
    stored = context.stored()
    graph = stored.discovery.graph if stored else Graph()
    for source in event_sources(settings, context.confluent, graph, lambda: s3_client(context.aws)):
        tried = f"Looked at {source.name}."
        try:
            yield ok(tried, source.probe())
        except LineageBridgeError as error:
            yield failed(tried, error.message, error.hint)
            continue
        report = stored.discovery.coverage.get(Scope(OPENLINEAGE, "", source.name)) if stored else None
        for note in report.notes if report else ():
            yield warning(
                f"Read what the last discovery says of {source.name}.",
                note_text(note),
                "Correct what sends these events, or see docs/openlineage_in.md.",
            )
