"""Readers that many families share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.family import (
    Sink,
    SinkContext,
    Source,
    SourceContext,
    Written,
)

#: Naming strategies of Debezium's sinks, by the name of their class, under all its packages: whether a
#: topic's dots become underscores.
_DEBEZIUM_NAMING = {
    "": True,
    "DefaultTableNamingStrategy": True,
    "DefaultCollectionNamingStrategy": True,
    "TemporaryBackwardCompatibleCollectionNamingStrategyProxy": True,
    "PassthroughCollectionNamingStrategy": False,
}


def topic_of(datasets: Callable[[Config], Iterable[str]], *keys: str) -> Source:
    """A source with one topic, made of all the datasets that its configuration names.

    Args:
        datasets: Reads their names; empty for one that is not known.
        keys: Of the topic, the first that has a value; by default `kafka.topic`.
    """
    names = keys or ("kafka.topic", "topic", "kafka.topic.name")

    def source(context: SourceContext) -> Iterator[Written]:
        topic = context.config.get(*names)
        if not topic:
            context.warnings.append(f"{names[0]} is not set: its topic is not known")
        for dataset in [*datasets(context.config)] or [""]:
            yield Written(topic, dataset)

    return source


def per_topic(datasets: Callable[[Config], Iterable[str]]) -> Sink:
    """A sink that writes the records of every topic to the same datasets."""
    return lambda context, _topic: datasets(context.config)


def table_name(config: Config, topic: str, key: str = "table.name.format") -> str:
    """The table of a topic, by a template in which `${topic}` stands for the topic."""
    return config.get(key, default="${topic}").replace("${topic}", topic)


def debezium_collection(context: SinkContext, topic: str) -> str:
    """The table or collection of a sink of Debezium, by `collection.name.format`; empty if not known.

    Source: the package `io.debezium.sink.naming` of debezium/debezium.
    """
    config = context.config
    strategy = config.get("collection.naming.strategy", "table.naming.strategy")
    replaces_dots = _DEBEZIUM_NAMING.get(strategy.rpartition(".")[2])
    if replaces_dots is None:
        context.warnings.append(f"its naming strategy {strategy} is not known, so its targets are not")
        return ""
    template = config.get("collection.name.format", "table.name.format", default="${topic}")
    name = template.replace("${topic}", topic.replace(".", "_") if replaces_dots else topic)
    if "${" in name:
        context.warnings.append(f"collection.name.format {template} takes the target's name from the record")
        return ""
    return name
