"""The topics that connectors of any family read and write: `topics`, dead letters and reports."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from lineage_bridge_dagster.confluent.connectors.config import Config, split_list
from lineage_bridge_dagster.confluent.connectors.java_regex import BadRegexError, full_matches
from lineage_bridge_dagster.confluent.connectors.record import ConnectorRecord


def sink_topics(
    config: Config, cluster_topics: Collection[str], warnings: list[str], numbered: Iterable[str] = ()
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
    """The success and error topics of a connector that calls an API: those set, and defaults that exist."""
    found: list[str] = []
    for key, default in (("result", "success-${connector}"), ("error", "error-${connector}")):
        named = config.get(f"reporter.{key}.topic.name")
        topic = (named or default).replace("${connector}", connector.id or connector.name)
        if named or (connector.id is not None and topic in cluster_topics):
            found.append(topic)
    return found
