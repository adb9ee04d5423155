"""Nodes and edges of connectors. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from lineage_bridge_dagster.confluent.connectors import ConnectorLineage, ConnectorRecord, resolve
from lineage_bridge_dagster.confluent.connectors.evidence import with_evidence
from lineage_bridge_dagster.confluent.connectors.java_regex import evaluated
from lineage_bridge_dagster.confluent.connectors.record import ExistingTopics
from lineage_bridge_dagster.confluent.graph.builder import UNKNOWN_INPUTS, Builder, Place, absent_warning
from lineage_bridge_dagster.confluent.offset_cache import OffsetEvidence
from lineage_bridge_dagster.lineage import ids
from lineage_bridge_dagster.lineage.coverage import Scope
from lineage_bridge_dagster.lineage.model import EdgeType, Evidence, NodeType
from lineage_bridge_dagster.lineage.sql_modes import is_sql
from lineage_bridge_dagster.lineage.unknowns import UNKNOWN, Unknown
from lineage_bridge_dagster.lineage.writers import BY_NAME
from lineage_bridge_dagster.redaction.redact import redact_config, redact_text


def add_connectors(
    builder: Builder,
    place: Place,
    connectors: Iterable[ConnectorRecord],
    *,
    topics_failed: bool,
    offsets: Mapping[str, OffsetEvidence] | None = None,
) -> list[str]:
    """Add connectors, with edges to their topics and external datasets.

    Args:
        connectors: As the Connect API lists them.
        topics_failed: Whether listing the cluster's topics failed for another reason than denied access:
            then every connector that derives topics from that list may lack some that it had before.
        offsets: What the offsets of connectors in doubt name, by connector name.

    Returns:
        The names of connectors that may lack topics, because the list of topics is incomplete.
    """
    incomplete: list[str] = []
    topics = ExistingTopics(builder.topics.get(place.key, ()))
    fully_listed = place.key in builder.fully_listed

    def lineages(connector: ConnectorRecord) -> tuple[ConnectorLineage, ConnectorLineage]:
        """The connector's lineage, and what its configuration alone declares."""
        lineage = declared = resolve(connector, topics)
        found = (offsets or {}).get(connector.name, OffsetEvidence())
        if found.names:
            lineage = with_evidence(
                connector,
                declared,
                found.names,
                topics,
                complete=found.complete,
                topics_complete=fully_listed,
            )
        if found.problem:
            lineage = replace(lineage, warnings=(*lineage.warnings, _unread_offsets(found)))
        return lineage, declared

    listed = list(connectors)
    found = evaluated([partial(lineages, connector) for connector in listed])
    for connector, (lineage, declared) in zip(listed, found, strict=True):
        _add(builder, place, connector, lineage, declared)
        data_topics = set(lineage.topics_read) | set(lineage.topics_written)
        data_topics -= {*lineage.dlq_topics, *lineage.report_topics}
        uses_list = lineage.direction == "source" or bool(connector.config.get("topics.regex"))
        if not fully_listed and (not data_topics or (topics_failed and uses_list)):
            incomplete.append(connector.name)
    return incomplete


def _unread_offsets(found: OffsetEvidence) -> str:
    """The warning on a connector whose offsets could not be read, or only in part."""
    used = f"those of {found.asked_at} are used" if found.asked_at else "it is shown as configured"
    return f"its offsets could not all be read, so {used}: {found.problem}"


def _add(
    builder: Builder,
    place: Place,
    connector: ConnectorRecord,
    lineage: ConnectorLineage,
    declared: ConnectorLineage,
) -> None:
    scope = place.scope("connect")
    node_id = ids.connector_id(*place.key, connector.name)
    # What only its offsets tell must not count as gone when they cannot be read.
    by_offsets = {*_names(lineage)} - {*_names(declared)}

    def scope_of(name: str) -> Scope:
        return place.offsets_scope(str(connector.id)) if name in by_offsets else scope

    def resolve_topics(names: Iterable[str]) -> tuple[dict[str, str], list[str]]:
        ids_of = {name: builder.resolve_topic(place.key, name, scope_of(name)) for name in names}
        absent = [name for name, topic_id in ids_of.items() if topic_id is None]
        return {name: topic_id for name, topic_id in ids_of.items() if topic_id is not None}, absent

    read, not_read = resolve_topics(lineage.topics_read)
    # A dead letter queue may be created only at the first bad record, so its absence is normal.
    created_late = {*lineage.dlq_topics, *lineage.report_topics}
    written, not_written = resolve_topics(lineage.topics_written)
    not_written = [name for name in not_written if name not in created_late]
    warnings = list(lineage.warnings)
    if absent := [*not_read, *not_written]:
        warnings.append(absent_warning(absent, place.cluster.label))
    builder.connectors[node_id] = lineage
    builder.add_node(
        node_id,
        NodeType.CONNECTOR,
        connector.name,
        scope,
        attributes={
            "connector_class": connector.config.get("connector.class", ""),
            "connector_type": lineage.direction or connector.type,
            "connector_id": connector.id,
            "family": lineage.family,
            "state": connector.state,
            "config": _config(connector.config),
            "dlq_topics": list(lineage.dlq_topics),
            "internal_topics": list(lineage.internal_topics),
            "absent_topics": sorted(not_written),
            "evidence": f"{Evidence.DECLARED}+{Evidence.OBSERVED}" if lineage.observed else "",
            "warnings": [redact_text(warning) for warning in warnings],
            UNKNOWN: [str(kind) for kind in lineage.unknown],
        },
        url=builder.console.connector(*place.key, connector.name),
        **place.names,
    )
    sources = read | {name: builder.add_dataset(name, scope_of(name)) for name in lineage.datasets_read}
    targets = written | {name: builder.add_dataset(name, scope_of(name)) for name in lineage.datasets_written}
    inputs: dict[str, list[str]] = {}
    for source, target in lineage.pairs:
        inputs.setdefault(target, []).extend([sources[source]] if source in sources else [])
    # Generated data comes from nothing that has a name, so nothing is open.
    is_open = bool(sources) or Unknown.DATASETS in lineage.unknown
    for name, source_id in sources.items():
        seen = name in lineage.observed
        evidence, most = (Evidence.OBSERVED, 1.0) if seen else _evidence(lineage, name)
        sure = 1.0 if seen else min(most, lineage.confidence)
        ends = (source_id, node_id, EdgeType.CONSUMES)
        builder.add_edge(*ends, scope_of(name), confidence=sure, evidence=evidence)
    for name, target_id in targets.items():
        evidence, most = _evidence(lineage, name)
        sure = min(most, lineage.confidence)
        # A dead letter queue or a report takes records of all inputs.
        if is_open and name not in inputs and name not in created_late:
            sure = min(sure, UNKNOWN_INPUTS)
        role = "dlq" if name in lineage.dlq_topics else "report" if name in lineage.report_topics else None
        ends = (node_id, target_id, EdgeType.PRODUCES)
        facts: dict[str, Any] = {"inputs": inputs.get(name), "role": role}
        builder.add_edge(*ends, scope_of(name), confidence=sure, evidence=evidence, **facts)
    for name in lineage.internal_topics:
        if (topic := builder.graph.nodes.get(ids.topic_id(*place.key, name))) is not None:
            attributes = {**topic.attributes, "is_internal": True}
            builder.graph.add_node(replace(topic, attributes=attributes, tags=(*topic.tags, "internal")))


def _evidence(lineage: ConnectorLineage, name: str) -> tuple[Evidence, float]:
    """The evidence for an input or output in a configuration, and the highest confidence that it allows."""
    return (Evidence.INFERRED, BY_NAME) if name in lineage.inferred else (Evidence.DECLARED, 1.0)


def _config(config: Mapping[str, str]) -> dict[str, Any]:
    """A configuration without secrets; its SQL as written, until the discovery is complete."""
    return redact_config(config) | {key: value for key, value in config.items() if is_sql(key, value)}


def _names(lineage: ConnectorLineage) -> Iterator[str]:
    yield from lineage.topics_read
    yield from lineage.topics_written
    yield from lineage.datasets_read
    yield from lineage.datasets_written
