"""Which topics the Iceberg sink connectors write to which tables. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SinkRoute:
    """A topic whose records a connector writes to a table: namespace and name."""

    topic: str
    table: tuple[str, str]


def routes(config: Mapping[str, str]) -> list[SinkRoute]:
    """The routes of a connector: by `route-regex` of each table, else each topic to every table.

    The field that the sample connectors route by has the topic's name.
    """
    found = []
    for topic in _items(config, "topics"):
        for name in _items(config, "iceberg.tables"):
            pattern = config.get(f"iceberg.table.{name}.route-regex")
            if pattern is None or re.fullmatch(pattern, topic):
                namespace, _, table = name.rpartition(".")
                found.append(SinkRoute(topic, (namespace, table)))
    return found


def topic_field(config: Mapping[str, str]) -> str:
    """The field that a transform adds with the topic's name; empty if none does."""
    for label in _items(config, "transforms"):
        if name := config.get(f"transforms.{label}.topic.field"):
            return name
    return ""


def _items(config: Mapping[str, str], name: str) -> list[str]:
    return [item.strip() for item in config.get(name, "").split(",") if item.strip()]
