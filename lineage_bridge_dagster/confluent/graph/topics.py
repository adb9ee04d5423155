"""Nodes and edges of topics, their settings and schemas, mirrors and consumer groups. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from lineage_bridge_dagster.confluent.api.kafka_rest import ConsumerGroup, KafkaTopic, Mirror, TopicSetting
from lineage_bridge_dagster.confluent.api.org import Environment
from lineage_bridge_dagster.confluent.api.schema_registry import Schema
from lineage_bridge_dagster.confluent.graph.builder import Builder, Place, cluster_attributes, without_empty
from lineage_bridge_dagster.confluent.graph.schema_fields import (
    column_types,
    columns_of,
    exceeds_limits,
    fields_of,
)
from lineage_bridge_dagster.confluent.graph.subjects import (
    SubjectIndex,
    SubjectMatch,
    names_no_topic,
    role_of,
    split_context,
)
from lineage_bridge_dagster.lineage import ids
from lineage_bridge_dagster.lineage.columns import KEY_COLUMNS
from lineage_bridge_dagster.lineage.coverage import Scope
from lineage_bridge_dagster.lineage.model import EdgeType, Evidence, NodeType
from lineage_bridge_dagster.lineage.nodes import TopicNode
from lineage_bridge_dagster.lineage.unknowns import UNKNOWN, Unknown

#: Settings that are recorded even at their default; others only if overridden.
_ALWAYS_RECORDED = frozenset({"cleanup.policy", "retention.ms", "retention.bytes"})


def configs_by_topic(configs: Iterable[TopicSetting]) -> dict[str, dict[str, str]]:
    """Map each topic to its recorded settings, without sensitive ones."""
    found: dict[str, dict[str, str]] = {}
    for config in configs:
        if config.is_sensitive or (config.is_default and config.name not in _ALWAYS_RECORDED):
            continue
        found.setdefault(config.topic_name, {})[config.name] = config.value
    return found


def add_topics(
    builder: Builder, place: Place, topics: Iterable[KafkaTopic], configs: Mapping[str, Mapping[str, str]]
) -> None:
    """Add every topic of a cluster. Internal ones are marked, and removed at the end if unused."""
    for topic in topics:
        settings = dict(configs.get(topic.topic_name, {}))
        builder.add_node(
            ids.topic_id(*place.key, topic.topic_name),
            NodeType.KAFKA_TOPIC,
            topic.topic_name,
            place.scope("kafka"),
            attributes={
                "partitions": topic.partitions_count,
                "replication_factor": topic.replication_factor,
                "configs": settings,
                "retention_ms": _number(settings.get("retention.ms")),
                "cleanup_policy": settings.get("cleanup.policy"),
                "is_internal": topic.is_internal,
                **cluster_attributes(place),
            },
            tags=("internal",) if topic.is_internal else (),
            url=builder.console.topic(*place.key, topic.topic_name),
            **place.names,
        )


def add_schemas(builder: Builder, environment: Environment, schemas: Iterable[Schema]) -> None:
    """Add the latest schema of every subject, and index them."""
    index = builder.subjects[environment.id] = SubjectIndex()
    for schema in schemas:
        index.add(schema)
        context, _ = split_context(schema.subject)
        builder.add_node(
            ids.schema_id(environment.id, schema.subject),
            NodeType.SCHEMA,
            schema.subject,
            Scope("schema_registry", environment.id),
            attributes={
                "subject": schema.subject,
                "context": context,
                "version": schema.version,
                "schema_id": schema.id,
                "schema_type": schema.schema_type,
                "fields": fields_of(schema),
                "role": role_of(schema.subject),
                "references": [without_empty(one.model_dump()) for one in schema.references],
                "definition": schema.text,
                "registry_compatibility": schema.registry_compatibility,
                **({UNKNOWN: [Unknown.SCHEMA]} if exceeds_limits(schema) else {}),
            },
            environment_id=environment.id,
            environment_name=environment.label,
            url=builder.console.subject(environment.id, schema.subject),
        )


def add_topic_schemas(builder: Builder, environment: Environment) -> None:
    """Add `has_schema` edges, and the value schema's fields as attributes, to an environment's topics."""
    index = builder.subjects[environment.id]
    scope = Scope("schema_registry", environment.id)
    topics = [
        node for node in builder.graph.of_type(NodeType.KAFKA_TOPIC) if node.environment_id == environment.id
    ]
    for topic in topics:
        configs = TopicNode.of(topic).configs
        conventions = builder.conventions.get(topic.node_id)
        matches = index.schemas_of(topic.qualified_name, configs, conventions)
        if matches:
            builder.schemas[topic.node_id] = matches
        for match in matches:
            builder.add_edge(
                topic.node_id,
                ids.schema_id(environment.id, match.schema.subject),
                EdgeType.HAS_SCHEMA,
                scope,
                confidence=match.confidence,
                role=match.role,
            )
        attributes = _schema_attributes(builder, environment, matches)
        if not attributes and index.by_subject and names_no_topic(configs):
            # A reader of the topic may name the subject itself.
            attributes = _registry(next(iter(index.by_subject.values())))
        builder.graph.nodes[topic.node_id] = topic.with_attributes(**attributes)


def _schema_attributes(
    builder: Builder, environment: Environment, matches: Sequence[SubjectMatch]
) -> dict[str, object]:
    values = [match.schema for match in matches if match.role == "value" and match.certain]
    keys = [match.schema for match in matches if match.role == "key" and match.certain]
    attributes: dict[str, object] = {}
    # A topic with several record types has no single list of fields.
    if len(values) == 1:
        schema = values[0]
        node = builder.graph.nodes.get(ids.schema_id(environment.id, schema.subject))
        # Shared with the schema's node: a graph has many of them.
        fields = fields_of(schema) if node is None else node.attributes.get("fields", [])
        columns = columns_of(schema)
        attributes = {
            "schema_fields": fields,
            # Only where they add to the fields.
            "schema_columns": columns if columns != fields else [],
            "column_types": column_types(schema),
            "schema_id": schema.id,
            "schema_version": schema.version,
            "schema_subject": schema.subject,
            "schema_type": schema.schema_type,
        }
    elif values:
        attributes = {"schema_subjects": sorted(schema.subject for schema in values)}
    if keys:
        attributes["key_schema_subject"] = keys[0].subject
        if len(keys) == 1:
            # A key that is not a record is one column, which Flink names `key`.
            attributes[KEY_COLUMNS] = [field["name"] for field in fields_of(keys[0])] or ["key"]
    if values or keys:
        # Readers of the topic need its registry for the writers' schemas.
        attributes |= _registry((values or keys)[0])
    return without_empty(attributes)


def _registry(schema: Schema) -> dict[str, object]:
    address = {"schema_registry_id": schema.registry_id, "schema_registry_url": schema.registry_url}
    return without_empty(address)


def add_mirrors(
    builder: Builder, place: Place, mirrors: Iterable[Mirror], sources: Mapping[str, str]
) -> list[str]:
    """Add edges from source topics to their mirrors in this cluster.

    Args:
        sources: the source cluster of each link, which is unknown if it belongs to another organization.

    Returns:
        A line for each mirror whose source is unknown.
    """
    environments = {cluster: environment for environment, cluster in builder.places}
    scope = place.scope("mirrors")
    unresolved: list[str] = []
    for mirror in mirrors:
        mirror_id = builder.resolve_topic(place.key, mirror.mirror_topic_name, scope, exists=True)
        cluster = sources.get(mirror.link_name, "")
        environment = environments.get(cluster)
        if environment is None or mirror_id is None:
            unresolved.append(
                f"the source of mirror topic {mirror.mirror_topic_name} (link {mirror.link_name}) is in "
                f"{cluster or 'a cluster that the link does not name'}, which is not a known cluster"
            )
            continue
        source_id = builder.resolve_topic(
            (environment, cluster), mirror.source_topic_name, scope, exists=True
        )
        if source_id is not None:
            builder.add_edge(
                source_id,
                mirror_id,
                EdgeType.TRANSFORMS,
                scope,
                link=mirror.link_name,
                mirror_status=mirror.mirror_status,
            )
    return unresolved


def add_consumer_groups(
    builder: Builder, place: Place, groups: Iterable[ConsumerGroup], topics_of: Mapping[str, Iterable[str]]
) -> None:
    """Add consumer groups, with edges from the topics of those whose lags the cluster reports."""
    scope = place.scope("consumer_groups")
    for group in groups:
        name = group.consumer_group_id
        node_id = ids.consumer_group_id(*place.key, name)
        builder.add_node(
            node_id,
            NodeType.CONSUMER_GROUP,
            name,
            scope,
            attributes={"state": group.state, "type": group.type, "is_simple": group.is_simple},
            **place.names,
        )
        found, _ = builder.resolve_topics(place.key, sorted(set(topics_of.get(name, ()))), scope)
        for topic_id in found.values():
            builder.add_edge(topic_id, node_id, EdgeType.CONSUMES, scope, evidence=Evidence.OBSERVED)


def remove_unused_internal_topics(builder: Builder) -> None:
    """Remove internal topics that no data flows to or from."""
    graph = builder.graph
    internal = {
        node.node_id for node in graph.of_type(NodeType.KAFKA_TOPIC) if TopicNode.of(node).is_internal
    }
    used = {
        end
        for edge in graph.edges.values()
        if edge.edge_type != EdgeType.HAS_SCHEMA
        for end in (edge.src_id, edge.dst_id)
    }
    unused = internal - used
    for node_id in unused:
        del graph.nodes[node_id]
    for key in [key for key in graph.edges if key[0] in unused]:
        del graph.edges[key]


def _number(text: str | None) -> int | None:
    try:
        return int(text) if text else None
    except ValueError:
        return None
