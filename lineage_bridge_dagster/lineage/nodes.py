"""Typed views of a node's attributes, by kind of node.

Attributes are open JSON, from discovery or a user's file: an attribute that is missing or of the wrong type
reads as absent (an empty text or list, None for a number), and nothing here raises.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

from lineage_bridge_dagster.lineage.glue_names import AWS_GLUE, GluePlace, glue_table_name
from lineage_bridge_dagster.lineage.model import Graph, Node, NodeType


class Field(NamedTuple):
    """A field of a schema or a column of a table."""

    name: str
    type: str = ""
    comment: str = ""


class FormatError(NamedTuple):
    """A table format that Tableflow fails to write, such as `ICEBERG`."""

    format: str
    error: str


class CatalogSync(NamedTuple):
    """State of Tableflow's sync to one catalog: `type` as in `AWS_GLUE`, `status` as in `SYNCED`."""

    type: str
    status: str
    error: str


def is_glue_table(node: Node) -> bool:
    return node.node_type == NodeType.CATALOG_TABLE and node.catalog_type == AWS_GLUE


def glue_tables(graph: Graph) -> Iterator[Node]:
    """The tables of the AWS Glue catalog."""
    return (node for node in graph.of_type(NodeType.CATALOG_TABLE) if is_glue_table(node))


@dataclass(frozen=True, slots=True)
class NodeView:
    """Typed access to the attributes of a node. The kind of the node is not checked."""

    node: Node

    @classmethod
    def of(cls, node: Node) -> Self:
        return cls(node)

    def text(self, name: str) -> str:
        value = self.node.attributes.get(name)
        return value if isinstance(value, str) else ""

    def number(self, name: str) -> int | None:
        return _number(self.node.attributes.get(name))

    def flag(self, name: str) -> bool:
        return self.node.attributes.get(name) is True

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts; a single text counts as a list of one."""
        value = self.node.attributes.get(name)
        if isinstance(value, str):
            return (value,) if value else ()
        return tuple(item for item in _list(value) if isinstance(item, str))

    def mapping(self, name: str) -> Mapping[str, Any]:
        value = self.node.attributes.get(name)
        return value if isinstance(value, Mapping) else {}

    def mappings(self, name: str) -> list[Mapping[str, Any]]:
        return [item for item in _list(self.node.attributes.get(name)) if isinstance(item, Mapping)]

    def fields(self, name: str) -> list[Field]:
        """A list of `{name, type, comment}`; without entries that have no name."""
        return [
            Field(_text(item["name"]), _text(item.get("type")), _text(item.get("comment")))
            for item in self.mappings(name)
            if item.get("name") not in (None, "")
        ]

    @property
    def stale_since(self) -> str:
        """When the node was last seen, if it was carried over from the last good state."""
        return self.text("stale_since")

    @property
    def conflict(self) -> str:
        """The topics that claim the same Glue table, as a sentence, on a Tableflow or Glue table."""
        return self.text("conflict")

    @property
    def warnings(self) -> tuple[str, ...]:
        return self.texts("warnings")

    @property
    def cloud(self) -> str:
        return self.text("cloud")

    @property
    def region(self) -> str:
        """The cloud provider's region; a Glue table's is `GlueTableNode.aws_region`."""
        return self.text("region")

    # A hop shows these three of any kind of node: a graph from a file may hold kinds of its own.

    @property
    def sql(self) -> str:
        """The text of a Flink statement or ksqlDB query."""
        return self.text("sql")

    @property
    def connector_class(self) -> str:
        return self.text("connector_class")

    @property
    def schema_fields(self) -> list[Field]:
        """The fields of a topic's value schema."""
        return self.fields("schema_fields")


class TopicNode(NodeView):
    """A Kafka topic. Its `configs` hold the broker's settings as texts, by Kafka's names."""

    __slots__ = ()

    @property
    def partitions(self) -> int | None:
        return self.number("partitions")

    @property
    def replication_factor(self) -> int | None:
        return self.number("replication_factor")

    @property
    def configs(self) -> Mapping[str, Any]:
        return self.mapping("configs")

    @property
    def retention_ms(self) -> int | None:
        """Milliseconds; -1 is unlimited."""
        own = self.number("retention_ms")
        return own if own is not None else _number(self.configs.get("retention.ms"))

    @property
    def retention_bytes(self) -> int | None:
        """Bytes per partition; -1 is unlimited."""
        return _number(self.configs.get("retention.bytes"))

    @property
    def cleanup_policy(self) -> str:
        return self.text("cleanup_policy") or str(self.configs.get("cleanup.policy") or "")

    @property
    def is_internal(self) -> bool:
        return self.flag("is_internal")

    @property
    def bootstrap(self) -> str:
        """The bootstrap servers of the topic's cluster."""
        return self.text("bootstrap_endpoint") or self.text("bootstrap")

    @property
    def schema_columns(self) -> list[Field]:
        """The value schema's fields with nested ones and comments; empty if it has neither."""
        return self.fields("schema_columns")

    @property
    def schema_id(self) -> int | None:
        return self.number("schema_id")

    @property
    def schema_version(self) -> int | None:
        return self.number("schema_version")

    @property
    def schema_type(self) -> str:
        """`AVRO`, `JSON` or `PROTOBUF`."""
        return self.text("schema_type")

    @property
    def schema_subject(self) -> str:
        return self.text("schema_subject")

    @property
    def schema_subjects(self) -> tuple[str, ...]:
        """The value schemas' subjects of a topic with several record types."""
        return self.texts("schema_subjects")

    @property
    def key_schema_subject(self) -> str:
        return self.text("key_schema_subject")

    @property
    def key_columns(self) -> tuple[str, ...]:
        """The names of the key's columns, if the key has a schema."""
        return self.texts("key_columns")

    @property
    def schema_registry_url(self) -> str:
        return self.text("schema_registry_url")


class SchemaNode(NodeView):
    """The latest schema of a subject."""

    __slots__ = ()

    @property
    def role(self) -> str:
        """`key` or `value`."""
        return self.text("role")

    @property
    def schema_registry_url(self) -> str:
        return self.text("schema_registry_url")


class StatementNode(NodeView):
    """A Flink statement, a materialized table or a ksqlDB query."""

    __slots__ = ()

    @property
    def parse_error(self) -> str:
        return self.text("parse_error")

    @property
    def formatted_sql(self) -> str:
        return self.text("formatted_sql") or self.sql


class TableflowNode(NodeView):
    """A topic's Tableflow table."""

    __slots__ = ()

    @property
    def topic(self) -> str:
        """The topic; without the attribute, the qualified name `{cluster}.{topic}` without its cluster."""
        return self.text("topic") or self.node.qualified_name.removeprefix(f"{self.node.cluster_id}.")

    @property
    def expected_place(self) -> GluePlace | None:
        """Where Tableflow should put the table in Glue, in lower case; None without a known database.

        Discovery sets `glue_database`: the integration's custom database, else the cluster's id. Where it
        did not (integrations unknown or ambiguous) the cluster's id is not assumed: a database of that name
        may hold a table from before a custom database was configured.
        """
        database = self.text("glue_database")
        table = glue_table_name(self.text("glue_table") or self.topic)
        return GluePlace(database.lower(), table) if database and table else None

    @property
    def table_path(self) -> str:
        """The storage location that Tableflow reports."""
        return self.text("table_path")

    @property
    def catalog_types(self) -> tuple[str, ...]:
        """The catalogs that the table is synced to or integrated with, such as `AWS_GLUE`."""
        return self.texts("catalog_types")

    @property
    def catalog_sync(self) -> list[CatalogSync]:
        return [
            CatalogSync(_text(item.get("type")), _text(item.get("status")), _text(item.get("error")))
            for item in self.mappings("catalog_sync")
        ]

    @property
    def phase(self) -> str:
        return self.text("phase")

    @property
    def error(self) -> str:
        return self.text("error")

    @property
    def write_mode(self) -> str:
        return self.text("write_mode")

    @property
    def suspended(self) -> bool:
        return self.flag("suspended")

    @property
    def failing_table_formats(self) -> list[FormatError]:
        return [
            FormatError(_text(item.get("format")), _text(item.get("error")))
            for item in self.mappings("failing_table_formats")
        ]


class GlueTableNode(NodeView):
    """A table of the AWS Glue catalog."""

    __slots__ = ()

    @property
    def place(self) -> GluePlace | None:
        """Where Glue holds the table, from the attributes, else from the qualified name.

        The attributes do not name an account: a qualified name of another account or region does.
        None when neither gives both database and table.
        """
        qualified_name = self.node.qualified_name
        parsed = GluePlace.parse(qualified_name)
        database, table = self.text("database"), self.text("table_name")
        if not (database and table):
            return parsed
        named = GluePlace(database, table)
        return (
            named
            if parsed is None or qualified_name == named.qualified_name
            else replace(named, away=parsed.away)
        )

    @property
    def home_place(self) -> GluePlace | None:
        """`place` in lower case, to call Glue with; None if it is unknown or of another account or region.

        A table of the same name in the home account is a different one.
        """
        place = self.place
        return place.folded if place and place.is_home else None

    @property
    def shown_place(self) -> GluePlace:
        """`place`; when that is unknown, a stand-in for keys and pages that need a name."""
        if (place := self.place) is not None:
            return place
        database, _, table = self.node.qualified_name.removeprefix("glue://").partition("/")
        return GluePlace(database, table or self.node.label)

    @property
    def aws_region(self) -> str:
        return self.text("aws_region")

    @property
    def owner(self) -> str:
        return self.text("owner")

    @property
    def columns(self) -> list[Field]:
        return self.fields("columns")

    @property
    def partition_keys(self) -> list[Field]:
        return self.fields("partition_keys")

    @property
    def storage_location(self) -> str:
        return self.text("storage_location")

    @property
    def parameters(self) -> Mapping[str, Any]:
        return self.mapping("parameters")


def _list(value: object) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else ()


def _text(value: object) -> str:
    """A text as it is; anything else, such as a nested type, as compact JSON."""
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def _number(value: object) -> int | None:
    """An integer, or a text that holds one, as Kafka's settings do."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return int(value)
    except (ValueError, OverflowError):
        return None
