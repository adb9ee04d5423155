"""Readers that many families share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.family import (
    Sink,
    SinkContext,
    Source,
    SourceContext,
    WrittenTopic,
)

_TOPIC = "${topic}"
#: Naming strategies of Debezium's sinks, by the name of their class, under all its packages: whether a
#: topic's dots become underscores.
_DEBEZIUM_NAMING = {
    "": True,
    "DefaultTableNamingStrategy": True,
    "DefaultCollectionNamingStrategy": True,
    "TemporaryBackwardCompatibleCollectionNamingStrategyProxy": True,
    "PassthroughCollectionNamingStrategy": False,
}


class KeyedDataset(Protocol):
    """Names a dataset by a configuration and a name: of a topic, a queue, a container, a folder."""

    def __call__(self, config: Config, name: str = "", /) -> str: ...


def keyed(rule: Callable[..., str], prefix: str = "", /, **parts: str) -> KeyedDataset:
    """A dataset, each part of which is the value of a key.

    Args:
        rule: Makes the dataset's name of its parts.
        prefix: The start of every key.
        **parts: What each part is read from: `key`, `key | older key` for the first that has a value,
            `key = default`, or `= constant`. In a default and in the value that replaces it, `${topic}`
            stands for the name.
    """
    values = key_values(prefix, **parts)
    return lambda config, name="", /: rule(**values(config, name))


def key_values(prefix: str = "", /, **parts: str) -> Callable[[Config, str], dict[str, str]]:
    """The values of the keys that `keyed` takes, by part."""
    declared = {part: _declared(prefix, text) for part, text in parts.items()}
    templates = [part for part, (_, default) in declared.items() if _TOPIC in default]

    def read(config: Config, name: str) -> dict[str, str]:
        values = {part: config.get(*keys, default=default) for part, (keys, default) in declared.items()}
        for part in templates:
            values[part] = values[part].replace(_TOPIC, name)
        return values

    return read


def _declared(prefix: str, text: str) -> tuple[list[str], str]:
    """The keys and the default of a part."""
    keys, _, default = text.partition("=")
    return [prefix + key for each in keys.split("|") if (key := each.strip())], default.strip()


def topic_of(datasets: Callable[[Config], str | Iterable[str]], *keys: str) -> Source:
    """A source with one topic, made of all the datasets that its configuration names.

    Args:
        datasets: Reads their names; empty for one that is not known.
        keys: The keys that may name the topic; the first that has a value counts. By default `kafka.topic`.
    """
    names = keys or ("kafka.topic", "topic", "kafka.topic.name")

    def source(context: SourceContext) -> Iterator[WrittenTopic]:
        topic = context.config.get(*names)
        if not topic:
            context.warnings.append(f"{names[0]} is not set: its topic is not known")
        found = datasets(context.config)
        for dataset in [found] if isinstance(found, str) else [*found] or [""]:
            yield WrittenTopic(topic, dataset)

    return source


def per_topic(datasets: Callable[[Config], str | Iterable[str]]) -> Sink:
    """A sink that writes the records of every topic to the same datasets."""
    return lambda context, _topic: datasets(context.config)


def named_by_topic(dataset: KeyedDataset) -> Sink:
    """A sink that writes the records of each topic to a dataset of its own."""
    return lambda context, topic: dataset(context.config, topic)


def table_name(config: Config, topic: str, key: str = "table.name.format") -> str:
    """The table of a topic, by a template in which `${topic}` stands for the topic."""
    return config.get(key, default=_TOPIC).replace(_TOPIC, topic)


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
    template = config.get("collection.name.format", "table.name.format", default=_TOPIC)
    name = template.replace(_TOPIC, topic.replace(".", "_") if replaces_dots else topic)
    if "${" in name:
        context.warnings.append(f"collection.name.format {template} takes the target's name from the record")
        return ""
    return name
