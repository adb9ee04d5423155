"""One pass over Confluent: which calls are made, in which order, and what becomes of their answers.

Requests of E environments with C clusters, R registries, F pairs of environment and Flink region and K
ksqlDB clusters that are not paused: 2 (organization, environments) + 4 E (clusters, compute pools,
registries, ksqlDB clusters) + 1 (Flink regions, if there are pools) + 7 C (topics, settings, mirrors,
consumer groups, connectors, Tableflow topics, integrations) + R (schemas) + 2 F (statements, materialized
tables) + K (streams, tables and queries), lists longer than a page aside; and 1 for the links of a cluster
with mirrors, 1 for each consumer group of a dedicated cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

import httpx

from lineage_bridge_dagster.config.settings import ConfluentSettings
from lineage_bridge_dagster.confluent.api.access import ROLES
from lineage_bridge_dagster.confluent.api.session import ConfluentSession
from lineage_bridge_dagster.confluent.fetched import ClusterAnswers, EnvironmentAnswers, World
from lineage_bridge_dagster.confluent.fetching import gather
from lineage_bridge_dagster.confluent.graph.builder import Builder, Place
from lineage_bridge_dagster.confluent.graph.connectors import add_connectors
from lineage_bridge_dagster.confluent.graph.console_links import Console
from lineage_bridge_dagster.confluent.graph.flink import (
    Job,
    add_jobs,
    is_table_statement,
    statement_job,
    table_job,
)
from lineage_bridge_dagster.confluent.graph.flink_cache import FlinkCache
from lineage_bridge_dagster.confluent.graph.flink_columns import JobTexts, add_columns
from lineage_bridge_dagster.confluent.graph.ksqldb import add_ksqldb
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
from lineage_bridge_dagster.confluent.scopes import Asker, Progress
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.lineage.coverage import Coverage, Scope, ScopeReport, Status
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.model import NodeType
from lineage_bridge_dagster.lineage.nodes import FlinkNode
from lineage_bridge_dagster.lineage.times import iso, utc_now
from lineage_bridge_dagster.text import first_few, plural

if TYPE_CHECKING:
    from lineage_bridge_dagster.sql.flink.parser import FlinkSqlParser

Clock = Callable[[], datetime]


def _silent(_line: str) -> None:
    return None


def discover(
    settings: ConfluentSettings,
    *,
    transport: httpx.BaseTransport | None = None,
    parser: FlinkSqlParser | None = None,
    last: Discovery | None = None,
    progress: Progress = _silent,
    clock: Clock = utc_now,
) -> Discovery:
    """Ask Confluent once. What could not be asked is in the coverage, never an error.

    Args:
        settings: where to ask, with which keys, and what of it.
        transport: exchanges the HTTP transport.
        parser: shares a running Flink parser; without one, one is started if there is SQL, and ended.
        last: the last discovery: SQL that it parsed is not parsed again.
        progress: called with one readable line a step.
        clock: the time that nodes, edges and the discovery are stamped with.

    Raises:
        ConfigurationError: the settings name an environment or a cluster that does not exist; Java is
            missing and there is SQL to parse.
    """
    with ConfluentSession(settings, transport) as session:
        return discover_with(session, parser=parser, last=last, progress=progress, clock=clock)


def discover_with(
    session: ConfluentSession,
    *,
    parser: FlinkSqlParser | None = None,
    last: Discovery | None = None,
    progress: Progress = _silent,
    clock: Clock = utc_now,
) -> Discovery:
    """As `discover`, through a session that the caller keeps (and whose requests it can count)."""
    asker = Asker(progress)
    world = gather(session, asker)
    now = iso(clock())
    builder = Builder(now=now, console=Console.of(session.base), places=world.places)
    _know_topics(builder, asker, world)
    for cluster in world.clusters:
        _add_cluster(builder, asker, cluster)
    cache = FlinkCache(last)
    texts = _add_flink(builder, asker, world.environments, parser, cache)
    for environment in world.environments:
        for ksqldb in environment.ksqldb:
            add_ksqldb(builder, environment.environment, ksqldb)
        add_schemas(builder, environment.environment, environment.schemas)
        add_topic_schemas(builder, environment.environment, environment.schemas)
    if texts is not None:
        with _running(parser) as flink:
            add_columns(builder, texts, flink, cache)
    remove_unused_internal_topics(builder)
    asker.say(
        f"Confluent: {len(builder.graph.nodes)} nodes, {len(builder.graph.edges)} edges, "
        f"{session.requests} requests"
    )
    # Answers come in any order; what is stored must not differ by it.
    coverage = Coverage(sorted(asker.coverage, key=lambda report: report.scope))
    caches = {FlinkCache.NAME: cache.to_json()} if texts is not None else {}
    return Discovery(builder.graph, coverage, now, caches)


def raise_if_hopeless(discovery: Discovery) -> None:
    """Refuse a discovery that knows nothing, because not even the environments could be listed.

    Raises:
        LineageBridgeError: it names the plane and the variable, or what else stood in the way.
    """
    report = discovery.coverage.get(Scope("environments"))
    if report is None or report.status is Status.COMPLETE or len(discovery.graph):
        return
    if report.count:
        return
    raise LineageBridgeError(
        f"Confluent's environments could not be listed, so nothing can be discovered ({report.status}).",
        hint=report.reason,
    )


def _know_topics(builder: Builder, asker: Asker, world: World) -> None:
    """What every cluster lists, before anything is tied to a topic: edges cross clusters."""
    for cluster in world.clusters:
        key = cluster.place.key
        builder.topics[key] = {topic.topic_name for topic in cluster.topics}
        # A list holds what the key may see. One that lacks a topic that Tableflow keeps a table of is short,
        # and says nothing of any other topic that it lacks.
        unlisted = sorted({one.display_name for one in cluster.tableflow} - builder.topics[key])
        if cluster.topics_whole and unlisted:
            asker.coverage.add(_short_list_report(asker, cluster.place, unlisted))
        elif cluster.topics_whole:
            builder.fully_listed.add(key)
        add_topics(builder, cluster.place, cluster.topics, configs_by_topic(cluster.configs))


def _add_cluster(builder: Builder, asker: Asker, cluster: ClusterAnswers) -> None:
    place = cluster.place
    kafka = asker.coverage.get(place.scope("kafka"))
    denied = kafka is not None and kafka.status is Status.DENIED
    untold = add_connectors(builder, place, cluster.connectors, topics_failed=not denied)
    if untold:
        asker.coverage.add(_untold_report(asker, place, untold))
    add_tableflow(builder, place, cluster.tableflow, cluster.integrations)
    for line in add_mirrors(builder, place, cluster.mirrors, cluster.links):
        asker.say(f"{place.cluster.label}: {line}")
    add_consumer_groups(builder, place, cluster.groups, cluster.group_topics)


def _short_list_report(asker: Asker, place: Place, unlisted: list[str]) -> ScopeReport:
    scope = place.scope("kafka")
    known = asker.coverage.get(scope)
    return ScopeReport(
        scope,
        Status.PARTIAL,
        f"The key may not see all topics of {place.cluster.label}: Tableflow has "
        f"{first_few(unlisted, 3)}. Grant its owner {ROLES['kafka']}.",
        known.count if known else None,
    )


def _untold_report(asker: Asker, place: Place, names: list[str]) -> ScopeReport:
    scope = place.scope("connect")
    known = asker.coverage.get(scope)
    kafka = asker.coverage.get(place.scope("kafka"))
    return ScopeReport(
        scope,
        Status.PARTIAL,
        f"The topics of {place.cluster.label} are not all known, so the connectors "
        f"{', '.join(sorted(names))} may lack topics. {kafka.reason if kafka else ''}".strip(),
        known.count if known else None,
    )


def _add_flink(
    builder: Builder,
    asker: Asker,
    environments: Iterable[EnvironmentAnswers],
    parser: FlinkSqlParser | None,
    cache: FlinkCache,
) -> JobTexts | None:
    jobs: list[Job] = []
    for environment in environments:
        for answers in environment.flink:
            jobs += [
                statement_job(environment.environment, answers.region, statement)
                for statement in answers.statements
                if not is_table_statement(statement, answers.tables)
            ]
            jobs += [table_job(environment.environment, answers.region, table) for table in answers.tables]
    if not jobs:
        return None
    asker.say(f"Reading the SQL of {len(jobs)} Flink statements")
    with _running(parser) as flink:
        texts = add_jobs(builder, jobs, flink, cache)
    _report_unread(builder, asker)
    return texts


def _report_unread(builder: Builder, asker: Asker) -> None:
    """Count the statements that the parser rejects in the coverage of their region.

    The list was whole, so the scope stays complete: what is gone from it is gone.
    """
    unread: dict[Scope, list[str]] = {}
    for job in builder.graph.of_type(NodeType.FLINK_JOB):
        if FlinkNode.of(job).parse_error:
            unread.setdefault(Scope.parse(str(job.attributes["scope"])), []).append(job.qualified_name)
    for scope, names in sorted(unread.items()):
        report = asker.coverage.get(scope)
        if report is not None and report.status is Status.COMPLETE:
            reason = f"{plural(len(names), 'statement')} could not be parsed: {first_few(sorted(names), 3)}"
            asker.coverage.add(replace(report, reason=reason))


@contextmanager
def _running(parser: FlinkSqlParser | None) -> Iterator[FlinkSqlParser]:
    """The parser given, else one of our own, started by its first new statement and ended after."""
    if parser is not None:
        yield parser
        return
    from lineage_bridge_dagster.sql.flink.parser import FlinkSqlParser

    with FlinkSqlParser() as own:
        yield own
