"""The sources of events that the settings name, and what they tell, read at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from lineage_bridge_dagster.confluent.api.access import Access
from lineage_bridge_dagster.confluent.api.bootstrap import Bootstrap
from lineage_bridge_dagster.confluent.api.errors import BrokerError
from lineage_bridge_dagster.confluent.settings import ConfluentSettings
from lineage_bridge_dagster.event_sources.enrichment import fully_listed, is_only_told
from lineage_bridge_dagster.event_sources.files import EventFiles
from lineage_bridge_dagster.event_sources.s3 import EventObjects
from lineage_bridge_dagster.event_sources.source import EventIntake, EventSource, EventSourceError
from lineage_bridge_dagster.event_sources.topic import EventTopic, KafkaTopics
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.model import Graph
from lineage_bridge_dagster.lineage.nodes import TopicNode
from lineage_bridge_dagster.lineage.times import utc_now
from lineage_bridge_dagster.openlineage.incoming.joining import DatasetJoin
from lineage_bridge_dagster.openlineage.incoming.ledger import JobLedger
from lineage_bridge_dagster.openlineage.incoming.merging import ToldJob, told_jobs
from lineage_bridge_dagster.openlineage.settings import OpenLineageSettings

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


def event_sources(
    settings: OpenLineageSettings,
    confluent: ConfluentSettings,
    graph: Graph,
    s3: Callable[[], S3Client],
) -> list[EventSource]:
    """The sources; none is opened yet.

    Args:
        confluent: With the keys of the cluster that has the topics.
        graph: With topics of that cluster, if it is in Confluent Cloud: they tell its address.
        s3: Opens the client for `s3://` paths.
    """
    found: list[EventSource] = [
        EventObjects(path, s3) if path.startswith("s3://") else EventFiles(path) for path in settings.paths
    ]
    cluster = settings.cluster or settings.bootstrap_servers
    connect = partial(_connect, settings, confluent, graph)
    return [*found, *(EventTopic(cluster, topic, connect) for topic in settings.topics)]


def _connect(settings: OpenLineageSettings, confluent: ConfluentSettings, graph: Graph) -> KafkaTopics:
    if settings.bootstrap_servers:
        bootstrap = Bootstrap.parse(settings.bootstrap_servers)
        if bootstrap.protocol == "SASL_SSL":
            # The user wrote the addresses: they may receive the key, whatever their domain.
            key = Access("kafka", (settings.cluster,) if settings.cluster else ()).credential(confluent)
            bootstrap = replace(bootstrap, credential=key)
        return KafkaTopics(bootstrap, confluent.timeout_seconds)
    topic = next((each for each in graph.of_kind(TopicNode) if _is_of(each, settings.cluster)), None)
    if topic is None:
        raise BrokerError(
            f"No topic of the cluster {settings.cluster or '(none is named)'} is known, so neither is its "
            "address.",
            hint="Write the id or the name of a cluster that is discovered in openlineage.cluster, or its "
            "brokers in openlineage.bootstrap_servers.",
        )
    bootstrap = Bootstrap.of_cluster(
        confluent, topic.bootstrap, topic.environment_id or "", topic.cluster_id or ""
    )
    return KafkaTopics(bootstrap, confluent.timeout_seconds)


def _is_of(topic: TopicNode, cluster: str) -> bool:
    return bool(cluster and topic.bootstrap) and cluster in (topic.cluster_id, topic.cluster_name)


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
