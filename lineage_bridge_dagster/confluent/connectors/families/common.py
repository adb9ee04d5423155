"""Readers that many families share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.family import Sink, Source, SourceContext, Written


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
