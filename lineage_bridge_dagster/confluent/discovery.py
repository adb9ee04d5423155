"""One discovery of Confluent: fetches everything, then builds the graph and its coverage."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING

import httpx

from lineage_bridge_dagster.confluent.api.access import ROLES
from lineage_bridge_dagster.confluent.api.connect import OFFSETS
from lineage_bridge_dagster.confluent.api.session import ConfluentSession
from lineage_bridge_dagster.confluent.cluster_fetching import ClusterListing
from lineage_bridge_dagster.confluent.connectors.java_regex.patterns import EXPRESSIONS
from lineage_bridge_dagster.confluent.fetching import EnvironmentListing, Fetch, Fetched
from lineage_bridge_dagster.confluent.graph.builder import Builder, Console
from lineage_bridge_dagster.confluent.graph.connector_columns import add_connector_columns
from lineage_bridge_dagster.confluent.graph.connectors import add_connectors
from lineage_bridge_dagster.confluent.graph.flink import add_jobs
from lineage_bridge_dagster.confluent.graph.flink_columns import FlinkCache, JobTexts, add_columns
from lineage_bridge_dagster.confluent.graph.flink_jobs import (
    Job,
    is_table_statement,
    statement_job,
    table_job,
)
from lineage_bridge_dagster.confluent.graph.ksqldb import add_ksqldb
from lineage_bridge_dagster.confluent.graph.ksqldb_columns import add_ksqldb_columns
from lineage_bridge_dagster.confluent.graph.subject_conventions import add_connector_conventions
from lineage_bridge_dagster.confluent.graph.tableflow import add_tableflow
from lineage_bridge_dagster.confluent.graph.topics import (
    add_consumer_groups,
    add_mirrors,
    add_schemas,
    add_topic_schemas,
    add_topics,
    configs_by_topic,
    remove_unused_internal_topics,
)
from lineage_bridge_dagster.confluent.offset_cache import OffsetCache
from lineage_bridge_dagster.confluent.scopes import ScopeRecorder
from lineage_bridge_dagster.confluent.settings import ConfluentSettings
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.lineage.coverage import Coverage, Scope, ScopeReport, Status
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.selection import ClusterSelection
from lineage_bridge_dagster.lineage.sql_policy import limited
from lineage_bridge_dagster.lineage.times import iso, utc_now
from lineage_bridge_dagster.lineage.unknowns import note_lines, with_notes
from lineage_bridge_dagster.lineage.writers import settle_writers
from lineage_bridge_dagster.redaction.redact import redact_text
from lineage_bridge_dagster.text import ReportLine, first_few

if TYPE_CHECKING:
    from lineage_bridge_dagster.sql.flink.parser import FlinkSqlParser

Clock = Callable[[], datetime]

#: The APIs that must all be read to know every connector.
_CONNECTOR_LISTS = frozenset({"environments", "clusters", "connect"})


def discover(
    settings: ConfluentSettings,
    *,
    transport: httpx.BaseTransport | None = None,
    renew: Callable[[], ConfluentSettings] | None = None,
    parser: FlinkSqlParser | None = None,
    last: Discovery | None = None,
    sql: str = "redacted",
    progress: ReportLine = lambda _line: None,
    clock: Clock = utc_now,
) -> Discovery:
    """Discover Confluent once. Failed requests are recorded in the coverage and raise nothing.

    Args:
        settings: the API's address, the keys, and what to read.
        parser: a running Flink parser to use; otherwise one is started if there is SQL to parse.
        last: the last discovery; SQL that it parsed is not parsed again.
        sql: how statements and queries are shown: full, redacted, hash or none.
        progress: called with one readable line per step.
        clock: the time that nodes, edges and the discovery are stamped with.

    Raises:
        ConfigurationError: the settings name an environment or a cluster that does not exist; Java is
            missing and there is SQL to parse.
    """
    recorder = ScopeRecorder(progress)
    EXPRESSIONS.try_again()
    offsets = OffsetCache(last, clock()) if settings.connector_offsets else None
    now, cache = iso(clock()), FlinkCache(last)
    selection = ClusterSelection(settings.clusters, last.graph if last else None)
    with ConfluentSession(settings, transport, renew=renew) as session:
        fetch = Fetch(session, recorder, offsets)
        fetched = fetch.run()
        read = {cluster.place.key for cluster in fetched.clusters}
        while True:
            builder = Builder(now=now, console=Console.of(session.base), places=fetched.places)
            texts = _add_nodes(builder, recorder, fetched, parser, cache)
            # Lineage does not end where the selected clusters do.
            unread = selection.feeding(builder.graph) & fetched.places.keys() - read
            if not unread:
                break
            fetch.run_upstream(unread)
            read |= unread
    settle_writers(builder.graph)
    add_connector_conventions(builder)
    for environment in fetched.environments:
        add_schemas(builder, environment.environment, environment.schemas)
        add_topic_schemas(builder, environment.environment)
    add_connector_columns(builder)
    if texts is not None:
        with _running(parser) as flink:
            add_columns(builder, texts, flink, cache)
    for environment in fetched.environments:
        for ksqldb in environment.ksqldb:
            add_ksqldb_columns(builder, environment.environment, ksqldb)
    remove_unused_internal_topics(builder)
    graph = selection.of(builder.graph)
    for_offsets = session.requests_for(OFFSETS)
    recorder.progress(
        f"Confluent: {len(graph.nodes)} nodes, {len(graph.edges)} edges, "
        f"{session.requests} requests" + (f", {for_offsets} of them for {OFFSETS}" if for_offsets else "")
    )
    # Responses arrive in any order; the stored discovery must not depend on it.
    coverage = with_notes(Coverage(sorted(recorder.coverage, key=lambda report: report.scope)), graph)
    for scope, line in note_lines(coverage):
        progress(f"{scope}: {line}")
    caches = {FlinkCache.NAME: cache.to_json()} if texts is not None else {}
    if offsets is not None:
        unlisted = any(report.scope.api in _CONNECTOR_LISTS for report in coverage.incomplete)
        caches[OffsetCache.NAME] = offsets.to_json(keep_all=unlisted)
    return limited(Discovery(graph, coverage, now, caches), sql, last)


def require_environments(discovery: Discovery) -> None:
    """Reject a discovery that is empty because not even the environments could be listed.

    Raises:
        LineageBridgeError: the hint names the plane and the variable, or the failure.
    """
    report = discovery.coverage.get(Scope("environments"))
    if report is None or report.status is Status.COMPLETE or len(discovery.graph) or report.count:
        return
    raise LineageBridgeError(
        f"Confluent's environments could not be listed, so nothing can be discovered ({report.status}).",
        hint=report.reason,
    )


def _add_nodes(
    builder: Builder,
    recorder: ScopeRecorder,
    fetched: Fetched,
    parser: FlinkSqlParser | None,
    cache: FlinkCache,
) -> JobTexts | None:
    """Add everything that was fetched with the edges between it, without schemas and columns."""
    _add_topics(builder, recorder, fetched)
    for cluster in fetched.clusters:
        _add_cluster(builder, recorder, cluster)
    texts = _add_flink(builder, recorder, fetched.environments, parser, cache)
    for environment in fetched.environments:
        for ksqldb in environment.ksqldb:
            add_ksqldb(builder, environment.environment, ksqldb)
    return texts


def _add_topics(builder: Builder, recorder: ScopeRecorder, fetched: Fetched) -> None:
    """Add every cluster's topics; must come first, because edges cross clusters."""
    for cluster in fetched.clusters:
        place = cluster.place
        builder.topics[place.key] = {topic.topic_name for topic in cluster.topics}
        # Lists contain what the key may see. A list that lacks a topic with a Tableflow table is incomplete,
        # so the absence of other topics proves nothing either.
        unlisted = sorted({topic.display_name for topic in cluster.tableflow} - builder.topics[place.key])
        if cluster.topics_complete and unlisted:
            reason = (
                f"The key may not see all topics of {place.cluster.label}: Tableflow has "
                f"{first_few(unlisted, 3)}. Grant its owner {ROLES['kafka']}."
            )
            _report_partial(recorder, place.scope("kafka"), reason)
        elif cluster.topics_complete:
            builder.fully_listed.add(place.key)
        add_topics(builder, place, cluster.topics, configs_by_topic(cluster.configs))


def _add_cluster(builder: Builder, recorder: ScopeRecorder, cluster: ClusterListing) -> None:
    place = cluster.place
    kafka = recorder.coverage.get(place.scope("kafka"))
    denied = kafka is not None and kafka.status is Status.DENIED
    unevaluated = EXPRESSIONS.unevaluated
    incomplete = add_connectors(
        builder, place, cluster.connectors, topics_failed=not denied, offsets=cluster.offsets
    )
    reasons = []
    if incomplete:
        reasons.append(
            f"The topics of {place.cluster.label} are not all known, so the connectors "
            f"{', '.join(sorted(incomplete))} may lack topics. {kafka.reason if kafka else ''}".strip()
        )
    if EXPRESSIONS.unevaluated > unevaluated:
        reasons.append(
            f"Regular expressions in connector configurations could not be evaluated, so connectors of "
            f"{place.cluster.label} may lack topics and datasets: {EXPRESSIONS.problem}"
        )
    if reasons:
        _report_partial(recorder, place.scope("connect"), " ".join(reasons))
    add_tableflow(builder, place, cluster.tableflow, cluster.integrations)
    sources = {link.link_name: link.source for link in cluster.links}
    unnamed = sorted({mirror.link_name for mirror in cluster.mirrors if not sources.get(mirror.link_name)})
    if unnamed and recorder.is_complete(place.scope("mirrors")):
        reason = (
            f"The cluster links of {place.cluster.label} name no source for {first_few(unnamed, 3)}, so the "
            "sources of mirror topics are not known. Grant the key's owner CloudClusterAdmin on the cluster."
        )
        _report_partial(recorder, place.scope("mirrors"), reason)
    for line in add_mirrors(builder, place, cluster.mirrors, sources):
        recorder.progress(f"{place.cluster.label}: {line}")
    add_consumer_groups(builder, place, cluster.groups, cluster.group_topics)


def _report_partial(recorder: ScopeRecorder, scope: Scope, reason: str) -> None:
    known = recorder.coverage.get(scope)
    recorder.coverage.add(ScopeReport(scope, Status.PARTIAL, reason, known.count if known else None))


def _add_flink(
    builder: Builder,
    recorder: ScopeRecorder,
    environments: Sequence[EnvironmentListing],
    parser: FlinkSqlParser | None,
    cache: FlinkCache,
) -> JobTexts | None:
    jobs: list[Job] = []
    for environment in environments:
        for listing in environment.flink:
            jobs += [
                statement_job(environment.environment, listing.region, statement)
                for statement in listing.statements
                if not is_table_statement(statement, listing.tables)
            ]
            jobs += [table_job(environment.environment, listing.region, table) for table in listing.tables]
    if not jobs:
        return None
    _report_unknown_names(recorder, environments)
    recorder.progress(f"Parsing the SQL of {len(jobs)} Flink statements")
    with _running(parser) as flink:
        return add_jobs(builder, jobs, flink, cache)


def _report_unknown_names(recorder: ScopeRecorder, environments: Sequence[EnvironmentListing]) -> None:
    """Report Flink's scopes as partial if names in SQL may be those of clusters that could not be listed."""
    scopes = [Scope("environments"), *(Scope("clusters", each.environment.id) for each in environments)]
    error = next(filter(None, map(recorder.error_of, scopes)), None)
    if error is None:
        return
    reason = f"The clusters that Flink's SQL names are not all known. {redact_text(error.reason)}"
    for environment in environments:
        for listing in environment.flink:
            if recorder.is_complete(listing.scope):
                _report_partial(recorder, listing.scope, reason)


@contextmanager
def _running(parser: FlinkSqlParser | None) -> Iterator[FlinkSqlParser]:
    """Use the given parser, else one that starts at its first new statement and ends afterwards."""
    if parser is not None:
        yield parser
        return
    from lineage_bridge_dagster.sql.flink.parser import FlinkSqlParser

    with FlinkSqlParser() as own:
        yield own
