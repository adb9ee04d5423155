"""A Kafka topic's page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lineage_bridge_dagster.lineage.model import Node, NodeType
from lineage_bridge_dagster.lineage.nodes import is_glue_table
from lineage_bridge_dagster.specs.graph_view import NodeContext
from lineage_bridge_dagster.specs.pages.words import (
    listed,
    names,
    plain,
    where,
)
from lineage_bridge_dagster.text import byte_size, duration, first_few

Fact = tuple[str, str]


def first_line(topic: Node, context: NodeContext) -> str:
    """`Kafka topic orders of cluster retail in prod, written by ...`: processes, or what it mirrors."""
    sources = context.view.sources(topic)
    writers = names([source for source in sources if source.node_type != NodeType.KAFKA_TOPIC])
    mirrored = [source for source in sources if source.node_type == NodeType.KAFKA_TOPIC]
    words = f"Kafka topic {plain(topic.label)}{where(topic)}"
    words += f", written by {writers}" if writers else ""
    return words + (f", mirrors {names(mirrored)}{where(mirrored[0])}" if mirrored else "")


def facts(topic: Node, context: NodeContext) -> list[Fact]:
    """Partitions, retention, schema, producers, consumers and tables."""
    view, attributes = context.view, topic.attributes
    readers = view.targets(topic)
    tables = [
        table for reader in readers for table in [reader, *view.targets(reader)] if is_glue_table(table)
    ]
    found = [
        ("Partitions", _partitions(attributes)),
        ("Kept", _kept(attributes)),
        ("Schema", _schema(attributes)),
        ("Written by", listed(view.sources(topic))),
        ("Read by", listed(one for one in readers if one.node_type not in _TABLES)),
        ("Tables", first_few(sorted({plain(table.label) for table in tables}), 10)),
    ]
    return [(name, text) for name, text in found if text]


_TABLES = frozenset({NodeType.TABLEFLOW_TABLE, NodeType.CATALOG_TABLE})


def _partitions(attributes: Mapping[str, Any]) -> str:
    count, copies = attributes.get("partitions"), attributes.get("replication_factor")
    if not count:
        return ""
    return f"{count}, each on {copies} broker{'' if copies == 1 else 's'}" if copies else str(count)


def _kept(attributes: Mapping[str, Any]) -> str:
    """For how long and how much of it; -1 is without limit."""
    configs = attributes.get("configs")
    configs = configs if isinstance(configs, Mapping) else {}
    policy = str(attributes.get("cleanup_policy") or configs.get("cleanup.policy") or "")
    time = _whole(attributes.get("retention_ms", configs.get("retention.ms")))
    bytes_ = _whole(configs.get("retention.bytes"))
    words = []
    if "compact" in policy:
        words.append("the last record of each key")
    if time is not None and policy != "compact":
        words.append("for ever" if time < 0 else duration(time))
    if bytes_ is not None and bytes_ >= 0:
        words.append(f"up to {byte_size(bytes_)} a partition")
    return ", ".join(words) + (f" ({policy})" if policy and words else policy)


def _whole(value: object) -> int | None:
    try:
        return int(str(value))
    except ValueError:
        return None


def _schema(attributes: Mapping[str, Any]) -> str:
    subject = attributes.get("schema_subject")
    if not subject:
        subjects = attributes.get("schema_subjects")
        return first_few([plain(str(one)) for one in subjects], 5) if isinstance(subjects, list) else ""
    version, kind, number = (attributes.get(f"schema_{name}") for name in ("version", "type", "id"))
    words = f"{subject}" + (f" version {version}" if version else "")
    details = ", ".join(str(d) for d in (kind, f"id {number}" if number else "") if d)
    key = attributes.get("key_schema_subject")
    return words + (f" ({details})" if details else "") + (f"; key: {key}" if key else "")
