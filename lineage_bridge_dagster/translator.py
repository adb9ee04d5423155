"""A node of the lineage graph becomes an asset: the one place that decides keys, groups, owners and words.

To change any of them, subclass `LineageTranslator`, override `get_asset_spec`, and hand the subclass to the
component (or override the component's own `get_asset_spec`)::

    class Ours(LineageTranslator):
        def get_asset_spec(self, node, context):
            spec = super().get_asset_spec(node, context)
            return spec.replace_attributes(owners=["team:streaming"])

Dependencies are not decided here: they follow the graph, between whatever keys the translator gave.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any

from dagster import AssetKey, AssetSpec, MetadataValue
from dagster._core.definitions.metadata.metadata_value import MarkdownMetadataValue, UrlMetadataValue

from lineage_bridge_dagster import keys
from lineage_bridge_dagster.glue.links import glue_table_url
from lineage_bridge_dagster.lineage.columns import ColumnIndex, flows_of
from lineage_bridge_dagster.lineage.coverage import ScopeReport
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.gaps import Gaps
from lineage_bridge_dagster.lineage.model import EdgeType, Graph, Node, NodeType
from lineage_bridge_dagster.metadata import (
    LineageMetadataSet,
    column_schema,
    column_table,
    markdown_table,
)


class Role(StrEnum):
    """What an asset is to its node. A Glue table's node has two: the table itself and its upstream chain."""

    ITSELF = "itself"
    CHAIN = "chain"


@dataclass(frozen=True)
class GraphView:
    """A discovery, indexed once for all the assets that are made of it."""

    discovery: Discovery
    #: Direct sources and targets of a node, by id, over the edges that carry data.
    upstream: Mapping[str, Sequence[str]]
    downstream: Mapping[str, Sequence[str]]
    #: The schemas of a topic, by the topic's id.
    schemas: Mapping[str, Sequence[str]]

    @classmethod
    def of(cls, discovery: Discovery) -> GraphView:
        graph = discovery.graph
        upstream = graph.upstream_index()
        downstream: dict[str, list[str]] = {}
        for target, sources in upstream.items():
            for source in sources:
                downstream.setdefault(source, []).append(target)
        schemas: dict[str, list[str]] = {}
        for edge in graph.edges.values():
            if edge.edge_type == EdgeType.HAS_SCHEMA and edge.dst_id in graph:
                schemas.setdefault(edge.src_id, []).append(edge.dst_id)
        return cls(discovery, upstream, downstream, schemas)

    @property
    def graph(self) -> Graph:
        return self.discovery.graph

    @cached_property
    def gaps(self) -> Gaps:
        return Gaps(self.discovery.graph, self.discovery.coverage)

    @cached_property
    def columns(self) -> ColumnIndex:
        return ColumnIndex(self.discovery.graph, self.upstream)

    def sources(self, node: Node) -> list[Node]:
        """The nodes that a node's data comes from directly."""
        return [self.graph.nodes[source] for source in self.upstream.get(node.node_id, ())]

    def schemas_of(self, topic: Node) -> list[Node]:
        return [self.graph.nodes[schema] for schema in self.schemas.get(topic.node_id, ())]

    def topics_of(self, table: Node) -> list[Node]:
        """The topics that a catalog table is made of, past its Tableflow table; each once."""
        found: dict[str, Node] = {}
        for near in self.sources(table):
            for origin in [near] if near.node_type == NodeType.KAFKA_TOPIC else self.sources(near):
                if origin.node_type == NodeType.KAFKA_TOPIC:
                    found[origin.node_id] = origin
        return list(found.values())


@dataclass(frozen=True)
class NodeContext:
    """What a translator may look at besides the node."""

    view: GraphView
    role: Role = Role.ITSELF
    #: Sources left out of the asset's dependencies, since they would close a cycle.
    left_out: tuple[Node, ...] = ()
    #: Scopes that the asset's lineage passes through and that did not answer whole.
    incomplete: tuple[ScopeReport, ...] = ()


#: The kinds that the UI shows, by node type. It has no icons for connectors, ksqlDB or Glue.
KINDS: Mapping[str, frozenset[str]] = {
    NodeType.KAFKA_TOPIC: frozenset({"kafka"}),
    NodeType.CONNECTOR: frozenset({"kafka", "connector"}),
    NodeType.FLINK_JOB: frozenset({"flink"}),
    NodeType.KSQLDB_QUERY: frozenset({"kafka", "ksqldb"}),
    NodeType.CATALOG_TABLE: frozenset({"aws", "iceberg"}),
}

_DATASET_KINDS = {
    "postgres": "postgres",
    "mysql": "mysql",
    "sqlserver": "sqlserver",
    "oracle": "oracle",
    "mongodb": "mongodb",
    "s3": "s3",
    "snowflake": "snowflake",
    "bigquery": "bigquery",
    "redshift": "redshift",
    "databricks": "databricks",
}


def is_glue_table(node: Node) -> bool:
    return node.node_type == NodeType.CATALOG_TABLE and node.catalog_type == "AWS_GLUE"


def glue_names(node: Node) -> tuple[str | None, str, str]:
    """`(account and region or None, database, table)` of a Glue table's node.

    Database and table are attributes; where a graph from a file lacks them, its `glue://` name tells them.
    """
    database, table = node.attributes.get("database"), node.attributes.get("table_name")
    path = node.qualified_name.removeprefix("glue://")
    if database and table and path.endswith(f"{database}/{table}"):
        away = path.removesuffix(f"{database}/{table}").rstrip("/")
        return away or None, str(database), str(table)
    if database and table:
        return None, str(database), str(table)
    parts = path.split("/")
    if len(parts) == 3:
        return parts[0], parts[1], parts[2]
    return None, parts[0], "/".join(parts[1:]) or node.label


class LineageTranslator:
    """The default translation."""

    def get_asset_spec(self, node: Node, context: NodeContext) -> AssetSpec:
        """The asset of a node in a role; called once for each asset whenever definitions load.

        A spec must be a function of its arguments alone: definitions load in several processes, and they
        have to agree. Two nodes may get one key here; the second then gets a hash behind it.
        """
        return AssetSpec(
            key=self._key(node, context.role),
            description=_description(node, context),
            group_name=_group(node),
            kinds=_kinds(node, context.role),
            owners=_owners(node),
            tags=_tags(node),
            metadata={
                **_standard(node, context),
                **LineageMetadataSet(
                    node_id=node.node_id,
                    node_type="upstream_chain" if context.role is Role.CHAIN else str(node.node_type),
                    **_loading(node, context),
                    cluster_id=node.cluster_id,
                    cluster=node.cluster_name,
                    environment_id=node.environment_id,
                    environment=node.environment_name,
                    source=UrlMetadataValue(node.url) if node.url else None,
                    console=_console(node),
                    discovered_at=context.view.discovery.discovered_at or None,
                    stale_since=_text(node.attributes.get("stale_since")),
                    incomplete_coverage=_incomplete(context.incomplete),
                    conflict=_conflict(node),
                    cycle=_cycle(context.left_out),
                    details=_details(node) if context.role is Role.ITSELF else None,
                    column_lineage=_columns(node, context),
                ),
            },
        )

    def _key(self, node: Node, role: Role) -> AssetKey:
        attributes = node.attributes
        match node.node_type:
            case NodeType.KAFKA_TOPIC:
                parts = ["kafka", node.cluster_id or "", node.qualified_name]
            case NodeType.CONNECTOR:
                parts = ["connect", node.cluster_id or "", node.qualified_name]
            case NodeType.KSQLDB_QUERY:
                parts = ["ksqldb", node.cluster_id or "", node.qualified_name]
            case NodeType.FLINK_JOB:
                region = str(attributes.get("region") or "")
                parts = ["flink", node.environment_id or "", region, node.qualified_name]
            case NodeType.EXTERNAL_DATASET:
                parts = ["external", node.qualified_name]
            case NodeType.CATALOG_TABLE if is_glue_table(node):
                away, database, table = glue_names(node)
                first = "upstream_chain" if role is Role.CHAIN else "glue"
                parts = [first, *([away] if away else []), database, table]
            case NodeType.CATALOG_TABLE:
                parts = [(node.catalog_type or "catalog").lower(), node.qualified_name]
            case _:
                parts = [str(node.node_type), node.qualified_name]
        return AssetKey(keys.key_parts(*parts))


def _where(node: Node) -> str:
    cluster = node.cluster_name or node.cluster_id
    environment = node.environment_name or node.environment_id
    return "".join((f" of cluster {cluster}" if cluster else "", f" in {environment}" if environment else ""))


def _plain(text: str) -> str:
    """Text in a description's first line, which lists show raw: no line ends."""
    return " ".join(text.split())


def _names(nodes: Sequence[Node], limit: int = 5) -> str:
    labels = sorted(node.label for node in nodes)
    more = f" and {len(labels) - limit} more" if len(labels) > limit else ""
    return _plain(", ".join(labels[:limit]) + more)


def _description(node: Node, context: NodeContext) -> str:
    """First line: plain words that say what it is and where it is from. Below it, Markdown."""
    sources = _names(context.view.sources(node))
    name, where = _plain(node.label), _plain_where(node)
    match node.node_type:
        case NodeType.KAFKA_TOPIC:
            first = f"Kafka topic {name}{where}{_origin(node, context)}"
        case NodeType.CONNECTOR:
            kind = node.attributes.get("connector_class") or "connector"
            first = f"Connector {name} ({kind}){where}" + (f", reads {sources}" if sources else "")
        case NodeType.FLINK_JOB:
            first = f"Flink statement {name}{where}" + (f", reads {sources}" if sources else "")
        case NodeType.KSQLDB_QUERY:
            first = f"ksqlDB query {name}{where}" + (f", reads {sources}" if sources else "")
        case NodeType.EXTERNAL_DATASET:
            first = f"Dataset outside Confluent: {_plain(node.qualified_name)}"
        case NodeType.CATALOG_TABLE if is_glue_table(node):
            _, database, table = glue_names(node)
            topics = _names(context.view.topics_of(node))
            origin = f", from Kafka topic {topics}{where}" if topics else ""
            if context.role is Role.CHAIN:
                first = f"Upstream lineage of the Glue table {database}.{table}{origin}"
            else:
                first = f"Iceberg table {table} in the Glue database {database}{origin}"
        case _:
            first = f"{str(node.node_type).replace('_', ' ')} {name}{where}"
    sql = node.attributes.get("sql")
    if node.node_type in (NodeType.FLINK_JOB, NodeType.KSQLDB_QUERY) and sql:
        error = node.attributes.get("parse_error")
        # What it moves is then known by what was seen of it at run time alone.
        rejected = f"\n\nCould not parse: {_plain(str(error))}" if error else ""
        return f"{first}.{rejected}\n\n{_fenced(str(sql))}"
    return f"{first}."


def _origin(topic: Node, context: NodeContext) -> str:
    """Who writes a topic: processes, or the topic in another cluster that it mirrors."""
    sources = context.view.sources(topic)
    writers = _names([source for source in sources if source.node_type != NodeType.KAFKA_TOPIC])
    mirrored = [source for source in sources if source.node_type == NodeType.KAFKA_TOPIC]
    words = f", written by {writers}" if writers else ""
    if mirrored:
        words += f", mirrors {_names(mirrored)}{_plain_where(mirrored[0])}"
    return words


def _plain_where(node: Node) -> str:
    where = _plain(_where(node))
    return f" {where}" if where else ""


def _fenced(sql: str) -> str:
    """A code block whose fence is longer than any run of backticks within it."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", sql)), default=0))
    return f"{fence}sql\n{sql}\n{fence}"


def _group(node: Node) -> str:
    match node.node_type:
        case NodeType.KAFKA_TOPIC | NodeType.CONNECTOR | NodeType.KSQLDB_QUERY:
            top = {"kafka_topic": "kafka", "connector": "connect", "ksqldb_query": "ksqldb"}[node.node_type]
            return keys.group_name(top, node.cluster_id or "unknown")
        case NodeType.FLINK_JOB:
            return keys.group_name("flink", node.environment_id or "unknown")
        case NodeType.CATALOG_TABLE if is_glue_table(node):
            away, database, _ = glue_names(node)
            return keys.group_name("glue", *([away] if away else []), database)
        case NodeType.EXTERNAL_DATASET:
            return "external"
        case _:
            return keys.group_name("other", str(node.node_type))


def _kinds(node: Node, role: Role) -> set[str]:
    if role is Role.CHAIN:
        return {"pyspark", "iceberg"}
    if node.node_type == NodeType.EXTERNAL_DATASET:
        scheme = re.split(r"[:+]", node.qualified_name, maxsplit=1)[0].lower()
        return {_DATASET_KINDS.get(scheme, "table")}
    if node.node_type == NodeType.CATALOG_TABLE and not is_glue_table(node):
        return {"iceberg"}
    return set(KINDS.get(node.node_type, frozenset()))


def _owners(node: Node) -> list[str]:
    """Owners that the source itself names in Dagster's terms. Glue's `Owner` is most often `hadoop`."""
    named = node.attributes.get("owners") or [node.attributes.get("owner")]
    texts = [text for text in named if isinstance(text, str)]
    return keys.owners(text for text in texts if "@" in text or text.startswith("team:"))


def _tags(node: Node) -> dict[str, str]:
    tags = {"lineage_bridge/node_type": keys.tag_value(str(node.node_type))}
    if node.environment_id:
        tags["lineage_bridge/environment"] = keys.tag_value(node.environment_id)
    if node.cluster_id:
        tags["lineage_bridge/cluster"] = keys.tag_value(node.cluster_id)
    for tag in node.tags:
        tags[f"lineage_bridge/tag.{keys.tag_value(tag)[:50]}"] = ""
    return tags


def _standard(node: Node, context: NodeContext) -> dict[str, Any]:
    """Dagster's own keys: `dagster/table_name`, `dagster/uri`, `dagster/column_schema`."""
    standard: dict[str, Any] = {}
    attributes = node.attributes
    if is_glue_table(node):
        _, database, table = glue_names(node)
        if context.role is Role.CHAIN:
            return standard
        standard["dagster/table_name"] = f"{database}.{table}"
        if attributes.get("storage_location"):
            standard["dagster/uri"] = str(attributes["storage_location"])
    elif node.node_type == NodeType.EXTERNAL_DATASET:
        standard["dagster/uri"] = node.qualified_name
    columns = attributes.get("columns") or attributes.get("schema_fields") or _schema_fields(node, context)
    if isinstance(columns, list) and (schema := column_schema(columns)) is not None:
        standard["dagster/column_schema"] = MetadataValue.table_schema(schema)
    return standard


def _schema_fields(node: Node, context: NodeContext) -> object:
    """The fields of a topic's value schema, which hangs on it by a `has_schema` edge."""
    if node.node_type == NodeType.KAFKA_TOPIC:
        for schema in context.view.schemas_of(node):
            fields = schema.attributes.get("fields")
            if fields and schema.attributes.get("role") != "key":
                return fields
    return None


def _loading(node: Node, context: NodeContext) -> dict[str, str | None]:
    """What the PySpark IO manager needs to load the asset: names and endpoints, no secrets."""
    if is_glue_table(node):
        _, database, table = glue_names(node)
        return {"database": database, "table": table}
    if node.node_type != NodeType.KAFKA_TOPIC:
        return {}
    attributes = node.attributes
    registry = attributes.get("schema_registry_url") or next(
        (
            s.attributes["schema_registry_url"]
            for s in context.view.schemas_of(node)
            if s.attributes.get("schema_registry_url")
        ),
        None,
    )
    bootstrap = attributes.get("bootstrap_endpoint") or attributes.get("bootstrap")
    return {
        "topic": node.qualified_name,
        "bootstrap": _text(bootstrap),
        "schema_registry_url": _text(registry),
    }


def _columns(node: Node, context: NodeContext) -> MarkdownMetadataValue | None:
    """What a Flink statement makes of columns: it is never materialized, so its definition has to say it."""
    if node.node_type != NodeType.FLINK_JOB:
        return None
    graph = context.view.graph
    flows = [flow for flow in flows_of(node) if flow.column.node_id in graph]
    return MarkdownMetadataValue(column_table(graph, flows)) if flows else None


def _text(value: object) -> str | None:
    return str(value) if value else None


def _console(node: Node) -> UrlMetadataValue | None:
    """The table's page in the Glue console."""
    if not is_glue_table(node) or not node.attributes.get("aws_region"):
        return None
    _, database, table = glue_names(node)
    url = glue_table_url(str(node.attributes["aws_region"]), database, table)
    return UrlMetadataValue(url) if url else None


def _incomplete(reports: Sequence[ScopeReport]) -> MarkdownMetadataValue | None:
    if not reports:
        return None
    rows = [[str(r.scope), r.status, r.reason] for r in reports]
    return MarkdownMetadataValue(
        "Part of this lineage could not be asked for; what was known of it is kept.\n\n"
        + markdown_table(["scope", "status", "reason"], rows)
    )


def _conflict(node: Node) -> str | None:
    conflict = node.attributes.get("conflict")
    return f"Nothing is pushed to this table: {conflict}." if conflict else None


def _cycle(left_out: Sequence[Node]) -> MarkdownMetadataValue | None:
    if not left_out:
        return None
    lines = "\n".join(f"- {node.node_type}: `{node.label}`" for node in left_out)
    return MarkdownMetadataValue(
        f"Reads these too, in a cycle. The chain holds them; asset dependencies can't.\n\n{lines}"
    )


#: Attributes that have a place of their own, or are ours and not the source's.
_SHOWN_ELSEWHERE = frozenset(
    {
        "sql",
        "columns",
        "column_lineage",
        "sql_cache",
        "schema_fields",
        "parameters",
        "conflict",
        "scope",
        "stale_since",
        "owners",
        "fields",
    }
)


def _details(node: Node) -> MarkdownMetadataValue | None:
    """The node's plain attributes as a table, so that nothing that is known stays hidden."""
    rows: list[tuple[str, object]] = []
    for name, value in sorted(node.attributes.items()):
        if name in _SHOWN_ELSEWHERE or value in (None, "", [], {}, ()):
            continue
        if isinstance(value, Mapping):
            rows.extend((f"{name}.{inner}", held) for inner, held in sorted(value.items()))
        elif isinstance(value, list | tuple):
            rows.append((name, ", ".join(map(str, value))))
        else:
            rows.append((name, value))
    if not rows:
        return None
    return MarkdownMetadataValue(markdown_table(["attribute", "value"], rows))
