"""A connector's configuration -> the topics and outside datasets it reads and writes."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from lineage_bridge_dagster.confluent.connectors.families import family_of
from lineage_bridge_dagster.confluent.connectors.family import Family
from lineage_bridge_dagster.confluent.connectors.java_regex import BadRegexError, full_matches
from lineage_bridge_dagster.confluent.connectors.record import Config, ConnectorLineage, ConnectorRecord
from lineage_bridge_dagster.confluent.connectors.sources import SourceContext
from lineage_bridge_dagster.confluent.connectors.transforms import routing_of
from lineage_bridge_dagster.lineage.redaction import redact_text

#: Confidence of what is read from a generic key of an unknown class.
_UNKNOWN_CLASS = 0.6


def resolve(connector: ConnectorRecord, cluster_topics: Collection[str]) -> ConnectorLineage:
    """What a connector reads and writes; never raises on a configuration, but warns.

    Args:
        connector: as the Connect API tells it.
        cluster_topics: every topic of its cluster, against which expressions and prefixes are resolved.
    """
    config = Config(connector.config)
    class_name = config.get("connector.class", "confluent.custom.connector.class")
    family = family_of(class_name)
    direction = _direction(connector, config, family)
    if family is None:
        return _unknown(connector, config, class_name, direction, sorted(cluster_topics))
    if direction != family.direction:
        warning = (
            f"{class_name} is a {family.direction}, but the API says {direction}; taken as {family.direction}"
        )
        return _with_warning(_resolve_known(connector, config, family, sorted(cluster_topics)), warning)
    return _resolve_known(connector, config, family, sorted(cluster_topics))


def _direction(connector: ConnectorRecord, config: Config, family: Family | None) -> str:
    """The API's word, then the class table's; never the configuration's own `type`, which may be wrong."""
    if connector.type.lower() in ("source", "sink"):
        return connector.type.lower()
    if family is not None:
        return family.direction
    return "sink" if config.get("topics", "topics.regex") else "source"


def _with_warning(lineage: ConnectorLineage, warning: str) -> ConnectorLineage:
    from dataclasses import replace

    return replace(lineage, warnings=(*lineage.warnings, warning))


def _resolve_known(
    connector: ConnectorRecord, config: Config, family: Family, cluster_topics: list[str]
) -> ConnectorLineage:
    if family.source is not None:
        return _source(connector, config, family, cluster_topics)
    return _sink(connector, config, family, cluster_topics)


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
    if dead := config.get("mongo.errors.deadletterqueue.topic.name"):
        topics.append(dead)
    return ConnectorLineage(
        direction="source",
        family=family.name,
        topics_written=_unique(topics, without=context.internal),
        datasets_read=_without_secrets(datasets),
        dlq_topics=_unique([dead]),
        internal_topics=_unique(context.internal),
        confidence=routing.confidence,
        warnings=_unique([*context.warnings, *routing.warnings]),
    )


def _sink(
    connector: ConnectorRecord, config: Config, family: Family, cluster_topics: list[str]
) -> ConnectorLineage:
    warnings: list[str] = []
    topics = sink_topics(config, cluster_topics, warnings, family.topics)
    dead = dlq_topic(connector, config, cluster_topics)
    reports = report_topics(connector, config, cluster_topics)
    datasets = [family.sink(config, topic) for topic in topics] if family.sink else []
    if topics and not any(datasets):
        warnings.append(f"where it writes is not known from the configuration of {family.name}")
    return ConnectorLineage(
        direction="sink",
        family=family.name,
        topics_read=_unique(topics),
        topics_written=_unique([dead, *reports]),
        datasets_written=_without_secrets(datasets),
        dlq_topics=_unique([dead]),
        report_topics=_unique(reports),
        warnings=_unique(warnings),
    )


def _unknown(
    connector: ConnectorRecord, config: Config, class_name: str, direction: str, cluster_topics: list[str]
) -> ConnectorLineage:
    """The keys that every Kafka Connect connector shares, with a warning that the rest is not known."""
    warnings = [f"unknown connector class {class_name or '(none)'}: its outside datasets are not known"]
    read: list[str] = []
    written: list[str] = []
    dead = ""
    if direction == "sink":
        read = sink_topics(config, cluster_topics, warnings)
        dead = dlq_topic(connector, config, cluster_topics)
        written = [dead]
    elif topic := config.get("kafka.topic", "topic"):
        written = routing_of(config, cluster_topics).route(topic)
    return ConnectorLineage(
        direction=direction,
        topics_read=_unique(read),
        topics_written=_unique(written),
        dlq_topics=_unique([dead]),
        confidence=_UNKNOWN_CLASS,
        warnings=tuple(warnings),
    )


def sink_topics(
    config: Config, cluster_topics: list[str], warnings: list[str], numbered: Iterable[str] = ()
) -> list[str]:
    """`topics`, `topics.regex` against the cluster's topics, and the family's own numbered keys."""
    topics = config.items("topics")
    if not topics and (pattern := config.get("topics.regex")):
        try:
            topics = full_matches(pattern, cluster_topics)
        except BadRegexError as error:
            warnings.append(f"topics.regex cannot be applied: {error}")
        else:
            if not topics:
                warnings.append(f"topics.regex {pattern} matches no topic of the cluster")
    for shape in numbered:
        for _, value in config.numbered(shape):
            topics += [item.strip() for item in value.split(",") if item.strip()]
    if not topics and not config.get("topics.regex"):
        warnings.append("neither topics nor topics.regex is set: what it reads is not known")
    return list(dict.fromkeys(topics))


def dlq_topic(connector: ConnectorRecord, config: Config, cluster_topics: Collection[str]) -> str:
    """The dead letter topic: the override, else a managed sink's default `dlq-${connector}`.

    The default is told only where the topic is there, for a connector with no bad record makes none.
    """
    named = config.get("errors.deadletterqueue.topic.name")
    if named:
        return named.replace("${connector}", connector.id or connector.name)
    if connector.id is None or config.get("errors.tolerance", default="all").lower() == "none":
        return ""
    default = f"dlq-{connector.id}"
    return default if default in cluster_topics or not cluster_topics else ""


def report_topics(connector: ConnectorRecord, config: Config, cluster_topics: Collection[str]) -> list[str]:
    """An HTTP-like sink's success and error topics: as set, or the defaults that are there."""
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
    """Dataset names go into graphs, metadata and Glue; an address may hold a password wherever it is set."""
    return _unique(redact_text(name) for name in names)
