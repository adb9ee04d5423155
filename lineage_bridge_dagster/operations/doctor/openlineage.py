"""Whether events of OpenLineage can be sent and read, and posted to the DataZone domain."""

from __future__ import annotations

from collections.abc import Iterator

from lineage_bridge_dagster.catalogs.errors import CallError
from lineage_bridge_dagster.config.aws import s3_client
from lineage_bridge_dagster.datazone.domain import DataZoneDomain
from lineage_bridge_dagster.errors import ConfigurationError, LineageBridgeError
from lineage_bridge_dagster.event_sources.sources import event_sources
from lineage_bridge_dagster.lineage.coverage import OPENLINEAGE, Scope
from lineage_bridge_dagster.lineage.model import Graph
from lineage_bridge_dagster.lineage.times import utc_now
from lineage_bridge_dagster.lineage.unknowns import note_text
from lineage_bridge_dagster.openlineage.receivers import receivers
from lineage_bridge_dagster.operations.doctor.context import Context
from lineage_bridge_dagster.operations.doctor.finding import Finding, failed, ok, skipped, warning
from lineage_bridge_dagster.operations.doctor.network import reach


def sending(context: Context) -> Iterator[Finding]:
    """The configured receivers, and whether those behind a URL can be reached. No event is sent."""
    tried = "Looked for receivers in OpenLineage's own configuration."
    if not context.openlineage.send:
        yield skipped(tried, "openlineage.send is off.", "")
        return
    try:
        found = receivers()
    except ConfigurationError as error:
        yield failed(tried, error.message, error.hint)
        return
    if not found:
        yield warning(tried, "OPENLINEAGE_DISABLED is true, so that no event is sent.", "Unset it.")
    for receiver in found:
        receiver.close()
        if receiver.url:
            yield reach(f"OpenLineage {receiver.name}", receiver.url)
        else:
            yield ok(tried, f"{receiver.name} is configured; it is tried when events are sent.")


def readable(context: Context) -> Iterator[Finding]:
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


def domain(context: Context) -> Iterator[Finding]:
    """Whether the domain is there and shows us its events. Nothing is posted."""
    settings = context.datazone
    tried = f"ListLineageEvents of the domain {settings.domain}."
    if not settings.domain:
        yield skipped("Looked for a DataZone domain.", "datazone.domain is empty.", "")
        return
    try:
        next(DataZoneDomain(context.client("datazone"), settings.domain).events(utc_now()), None)
    except CallError as error:
        yield failed(tried, error.message, error.hint)
        return
    if settings.topic_asset_type and not settings.project:
        yield failed(tried, "Topics are to be assets of no project.", "Set datazone.project.")
        return
    yield ok(tried, "The domain is there, and this identity may read its events.")
