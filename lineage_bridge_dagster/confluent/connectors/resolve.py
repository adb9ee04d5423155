"""A connector's configuration -> the topics and external datasets that it reads and writes."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from lineage_bridge_dagster.confluent.connectors.config import Config, split_list
from lineage_bridge_dagster.confluent.connectors.families import family_of
from lineage_bridge_dagster.confluent.connectors.family import Family
from lineage_bridge_dagster.confluent.connectors.java_regex import BadRegexError, full_matches
from lineage_bridge_dagster.confluent.connectors.record import ConnectorLineage, ConnectorRecord
from lineage_bridge_dagster.confluent.connectors.sources import SourceContext
from lineage_bridge_dagster.confluent.connectors.transforms import routing_of
from lineage_bridge_dagster.lineage.redaction import redact_text

#: Confidence of lineage from the generic keys of an unknown class.
_UNKNOWN_CLASS = 0.6


def resolve(connector: ConnectorRecord, cluster_topics: Collection[str]) -> ConnectorLineage:
    """What a connector reads and writes. Never raises on a configuration, but adds warnings.

    Args:
        connector: The connector, as listed by the Connect API.
        cluster_topics: All topics of its cluster, to resolve expressions and prefixes.
    """
    config = Config(connector.config)
    class_name = config.get("connector.class", "confluent.custom.connector.class")
    family = family_of(class_name)
    direction = _direction(connector, config, family)
    topics = sorted(cluster_topics)
    if family is None:
        return _unknown(connector, config, class_name, direction, topics)
    read = _source if family.source is not None else _sink
    lineage = read(connector, config, family, topics)
    if direction == family.direction:
        return lineage
    warning = (
        f"{class_name} is a {family.direction}, but the API reports a {direction}; "
        f"treated as a {family.direction}"
    )
    return replace(lineage, warnings=(*lineage.warnings, warning))


def _direction(connector: ConnectorRecord, config: Config, family: Family | None) -> str:
    """The API's type, else the family's; never the configuration's own `type`, which may be wrong."""
    if connector.type.lower() in ("source", "sink"):
        return connector.type.lower()
    if family is not None:
        return family.direction
    return "sink" if config.get("topics", "topics.regex") else "source"


def _source(
    connector: ConnectorRecord, config: Config, family: Family, cluster_topics: list[str]
) -> ConnectorLineage:
    routing = routing_of(config, cluster_topics)
    context = SourceContext(connector, config, cluster_topics, routing)
    topics: list[str] = []
    datasets: list[str] = []
    try:
        for written in family.source(context) if family.source else ():
            topics += routing.route(written.topic)
            datasets.append(written.dataset)
    except BadRegexError as error:
        context.warnings.append(f"cannot apply {error}")
    if dlq := config.get("mongo.errors.deadletterqueue.topic.name"):
        topics.append(dlq)
    return ConnectorLineage(
        direction="source",
        family=family.name,
        topics_written=_unique(topics, without=context.internal),
        datasets_read=_without_secrets(datasets),
        dlq_topics=_unique([dlq]),
        internal_topics=_unique(context.internal),
        confidence=routing.confidence,
        warnings=_unique([*context.warnings, *routing.warnings]),
    )


def _sink(
    connector: ConnectorRecord, config: Config, family: Family, cluster_topics: list[str]
) -> ConnectorLineage:
    warnings: list[str] = []
    topics = sink_topics(config, cluster_topics, warnings, family.topics)
    dlq = dlq_topic(connector, config, cluster_topics)
    reports = report_topics(connector, config, cluster_topics)
    datasets = [family.sink(config, topic) for topic in topics] if family.sink else []
    if topics and not any(datasets):
        warnings.append(f"its target is not known from the configuration ({family.name})")
    return ConnectorLineage(
        direction="sink",
        family=family.name,
        topics_read=_unique(topics),
        topics_written=_unique([dlq, *reports]),
        datasets_written=_without_secrets(datasets),
        dlq_topics=_unique([dlq]),
        report_topics=_unique(reports),
        warnings=_unique(warnings),
    )


def _unknown(
    connector: ConnectorRecord, config: Config, class_name: str, direction: str, cluster_topics: list[str]
) -> ConnectorLineage:
    """Read the keys that all Kafka Connect connectors share, and warn that the rest is unknown."""
    warnings = [f"unknown connector class {class_name or '(none)'}: its external datasets are not known"]
    read: list[str] = []
    written: list[str] = []
    dlq = ""
    if direction == "sink":
        read = sink_topics(config, cluster_topics, warnings)
        dlq = dlq_topic(connector, config, cluster_topics)
        written = [dlq]
    elif topic := config.get("kafka.topic", "topic"):
        written = routing_of(config, cluster_topics).route(topic)
    return ConnectorLineage(
        direction=direction,
        topics_read=_unique(read),
        topics_written=_unique(written),
        dlq_topics=_unique([dlq]),
        confidence=_UNKNOWN_CLASS,
        warnings=tuple(warnings),
    )


def sink_topics(
    config: Config, cluster_topics: list[str], warnings: list[str], numbered: Iterable[str] = ()
) -> list[str]:
    """A sink's topics: `topics`, else the cluster's topics that match `topics.regex`; and numbered keys."""
    topics = config.items("topics")
    if not topics and (pattern := config.get("topics.regex")):
        try:
            topics = full_matches(pattern, cluster_topics)
        except BadRegexError as error:
            warnings.append(f"topics.regex cannot be applied: {error}")
        else:
            if not topics:
                warnings.append(f"topics.regex {pattern} matches no topic of the cluster")
    for pattern in numbered:
        for _, value in config.numbered(pattern):
            topics += split_list(value)
    if not topics and not config.get("topics.regex"):
        warnings.append("neither topics nor topics.regex is set: its topics are not known")
    return list(dict.fromkeys(topics))


def dlq_topic(connector: ConnectorRecord, config: Config, cluster_topics: Collection[str]) -> str:
    """A sink's dead letter topic: the configured one, else a managed connector's default `dlq-${connector}`.

    The default counts only if the topic exists: it is created with the first bad record.
    """
    named = config.get("errors.deadletterqueue.topic.name")
    if named:
        return named.replace("${connector}", connector.id or connector.name)
    if connector.id is None or config.get("errors.tolerance", default="all").lower() == "none":
        return ""
    default = f"dlq-{connector.id}"
    return default if default in cluster_topics or not cluster_topics else ""


def report_topics(connector: ConnectorRecord, config: Config, cluster_topics: Collection[str]) -> list[str]:
    """An HTTP sink's success and error topics: those configured, and defaults that exist."""
    found: list[str] = []
    for key, default in (("result", "success-${connector}"), ("error", "error-${connector}")):
        named = config.get(f"reporter.{key}.topic.name")
        topic = (named or default).replace("${connector}", connector.id or connector.name)
        if named or (connector.id is not None and topic in cluster_topics):
            found.append(topic)
    return found


def _unique(items: Iterable[str], *, without: Collection[str] = ()) -> tuple[str, ...]:
    return tuple(dict.fromkeys(item for item in items if item and item not in without))


def _without_secrets(names: Iterable[str]) -> tuple[str, ...]:
    """Redact dataset names, which are published in metadata and Glue: any address may contain a password."""
    return _unique(redact_text(name) for name in names)
