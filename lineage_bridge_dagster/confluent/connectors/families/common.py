"""Readers that many families share."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from lineage_bridge_dagster.confluent.connectors import datasets
from lineage_bridge_dagster.confluent.connectors.config import Config, split_list
from lineage_bridge_dagster.confluent.connectors.family import (
    Sink,
    SinkContext,
    Source,
    SourceContext,
    Written,
)
from lineage_bridge_dagster.confluent.connectors.java_regex import full_matches, is_literal, literal


def no_dataset(_config: Config) -> str:
    return ""


def url(scheme: str, *keys: str) -> Source:
    """A source with one topic and the dataset `{scheme}://{value}/{value}...`, by the keys of the values."""

    def dataset(config: Config) -> str:
        parts = [datasets.host_of(v) if "://" in (v := config.get(key)) else v for key in keys]
        return f"{scheme}://{'/'.join(parts)}" if all(parts) else ""

    return single_topic(dataset)


def selected(items: list[str], candidates: list[str]) -> list[str]:
    """The tables of an include list: plain names, and the candidates that its expressions match."""
    found: list[str] = []
    for item in items:
        found += [literal(item)] if is_literal(item) else full_matches(item, candidates)
    return list(dict.fromkeys(found))


def qualified(item: str, candidates: list[str], heads: list[str]) -> list[str]:
    """The candidates (unqualified tables) that an expression over qualified names matches, qualified.

    Topic names contain only the last part of a table's name, so this tries schemas in front of it: the usual
    ones of the database, and the one at the start of the expression.
    """
    # A dot before a quantifier is any character; others are taken to separate name parts.
    start = re.match(r"(?:[\w$#-]|\.(?![*+?{]))*", item.replace("[.]", ".").replace("\\.", "."))
    parts = start[0].split(".") if start else []
    own = [".".join(parts[:count]) for count in range(1, len(parts))] or parts
    tried = list(dict.fromkeys([*heads, *own, ""]))
    found: list[str] = []
    for table in candidates:
        for head in tried:
            name = f"{head}.{table}" if head else table
            if full_matches(item, [name]):
                found.append(name)
                break
    return found


def single_topic(dataset: Callable[[Config], str]) -> Source:
    """A source with one topic, named in the configuration."""

    def source(context: SourceContext) -> Iterator[Written]:
        topic = context.config.get("kafka.topic", "topic", "kafka.topic.name")
        if not topic:
            context.warnings.append("kafka.topic is not set")
            return
        yield Written(topic, dataset(context.config))

    return source


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


def patterned(names: str, dataset: Callable[[Config, str], str], default: str = "${entityName}") -> Source:
    """Topics by `topic.name.pattern`, one for each entity in a list."""

    def source(context: SourceContext) -> Iterator[Written]:
        template = context.config.get("topic.name.pattern", default=default)
        for name in context.config.items(names, "entity.names"):
            topic = template.replace("${entityName}", name).replace("${resourceName}", name)
            yield Written(topic, dataset(context.config, name))

    return source


def numbered(topics: str, dataset: Callable[[Config, int], str]) -> Source:
    """Topics of numbered objects, each with a list: `api{n}.topics`, `table{n}.topic`."""

    def source(context: SourceContext) -> Iterator[Written]:
        for number, value in context.config.numbered(topics):
            for topic in split_list(value):
                yield Written(topic, dataset(context.config, number))

    return source


def topic_map(name: str, dataset: Callable[[Config, str], str], *, separator: str = "#") -> Source:
    """Topics of a map: `topic#container,...`"""

    def source(context: SourceContext) -> Iterator[Written]:
        for topic, container in context.config.pairs(name, separator).items():
            yield Written(topic, dataset(context.config, container))

    return source


def templated(template: str) -> Sink:
    """A dataset composed of configuration values (`{key}`) and `{topic}`; unknown when a value is missing."""
    keys = [key for key in re.findall(r"\{([^{}]+)\}", template) if key != "topic"]

    def sink(context: SinkContext, topic: str) -> str:
        config = context.config
        values = {key: config.get(key) for key in keys}
        if not all(values.values()):
            return ""
        text = template.replace("{topic}", topic)
        for key, value in values.items():
            # Of an address only the host is used, as in the datasets of source connectors.
            address = key.endswith((".url", ".uri")) or "://" in value
            text = text.replace(f"{{{key}}}", datasets.host_of(value) if address else value)
        return datasets.formatted(text, topic)

    return sink


def table_name(config: Config, topic: str, default_schema: str = "") -> str:
    """The table of a topic by `table.name.format`, in the default schema unless it names one."""
    table = datasets.formatted(config.get("table.name.format", default="${topic}"), topic)
    return table if "." in table or not default_schema else f"{default_schema}.{table}"
