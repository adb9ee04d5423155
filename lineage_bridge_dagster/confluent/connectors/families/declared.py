"""Families that differ in nothing but their keys: rows of a table in the module of their kind."""

from __future__ import annotations

import re
from collections.abc import Callable
from textwrap import dedent
from typing import Any

from lineage_bridge_dagster.confluent.connectors import naming
from lineage_bridge_dagster.confluent.connectors.families import kcql
from lineage_bridge_dagster.confluent.connectors.families.common import (
    keyed,
    named_by_topic,
    per_topic,
    topic_of,
)
from lineage_bridge_dagster.confluent.connectors.family import sink_family, source_family

_OPTION = re.compile(r"(keys|kcql|topic):(.+)")


def declare(table: str, /, **readers: Callable[..., Any]) -> None:
    """Declare families, those of sources and of sinks in one row: by one name and the same keys.

    A row has the family's name, what makes the dataset's name, and its parts, each as `keyed` takes it
    without spaces. Words without `=` are its classes, of which those with `Sink` in their names are sinks:

        pinecone: PINECONE keys:pinecone. project=project index=index
            PineconeSink confluent:pinecone.PineconeSinkConnector

    The name is made by a rule of `naming`, or by one of `readers`; a reader without parts reads the
    configuration itself. Options are `keys:`, the start of every key; `topic:`, the keys of a source's topic,
    with `|` between them; and `kcql:`, those of statements that map topics and datasets.
    """
    for row in re.split(r"\n(?=\S)", dedent(table).strip()):
        name, rule, *words = row.split()
        options = {found[1]: found[2] for word in words if (found := _OPTION.fullmatch(word))}
        parts = dict(word.split("=", 1) for word in words if "=" in word)
        reader: Callable[..., Any] = readers.get(rule) or getattr(naming, rule)
        dataset = keyed(reader, options.get("keys", ""), **parts) if parts else reader
        classes = [word for word in words if "=" not in word and not _OPTION.fullmatch(word)]
        sinks = [each for each in classes if "Sink" in each.rpartition(".")[2]]
        statements = options.get("kcql")
        if sources := [each for each in classes if each not in sinks]:
            topics = filter(None, options.get("topic", "").split("|"))
            reads = kcql.source(statements, dataset) if statements else topic_of(dataset, *topics)
            source_family(name.removesuffix(":"), *sources)(reads)
        if sinks:
            named = named_by_topic(dataset) if parts else per_topic(dataset)
            writes = kcql.sink(dataset, *statements.split("|")) if statements else named
            sink_family(name.removesuffix(":"), *sinks)(writes)
