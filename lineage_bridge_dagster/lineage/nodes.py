"""Typed views of a node's attributes, by kind of node.

Attributes are open JSON, from discovery or a user's file: an attribute that is missing or of the wrong type
reads as absent (an empty text or list, None for a number), and nothing here raises.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, NamedTuple, Self, TypeVar

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


class CatalogIntegrationState(NamedTuple):
    """A catalog integration of a Kafka cluster: `type` as in `AWS_GLUE`, `phase` as in `CONNECTED`.

    `syncs_topic` means that Tableflow reports a sync of this topic by it.
    """

    id: str
    name: str
    type: str
    phase: str
    error: str
    suspended: bool
    syncs_topic: bool

    @property
    def label(self) -> str:
        return f"{self.name} ({self.id})" if self.name else self.id


class ErrorHandling(NamedTuple):
    """What becomes of a record that cannot be a row: `SUSPEND`, `SKIP`, or `LOG` to the topic `target`."""

    mode: str = ""
    target: str = ""


def is_glue_table(node: Node) -> bool:
    return node.node_type == NodeType.CATALOG_TABLE and node.catalog_type == AWS_GLUE


#: The `catalog_type` of tables of REST catalogs, S3 Tables among them.
ICEBERG_REST = "ICEBERG_REST"


def is_iceberg_rest_table(node: Node) -> bool:
    return node.node_type == NodeType.CATALOG_TABLE and node.catalog_type == ICEBERG_REST


def iceberg_rest_tables(graph: Graph) -> Iterator[Node]:
    """The tables of REST catalogs other than the account's own Glue."""
    return (node for node in graph.of_type(NodeType.CATALOG_TABLE) if is_iceberg_rest_table(node))


def glue_tables(graph: Graph) -> Iterator[Node]:
    """The tables of the AWS Glue catalog."""
    return (node for node in graph.of_type(NodeType.CATALOG_TABLE) if is_glue_table(node))


T = TypeVar("T")


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: object) -> tuple[str, ...]:
    """A list of texts; a single text counts as a list of one."""
    if isinstance(value, str):
        return (value,) if value else ()
    return tuple(item for item in _list(value) if isinstance(item, str))


def _number(value: object) -> int | None:
    """An integer, or a text that holds one, as Kafka's settings do."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return int(value)
    except (ValueError, OverflowError):
        return None


def _flag(value: object) -> bool:
    return value is True


def _switch(value: object) -> bool | None:
    """On or off; None if it is not told."""
    return value if isinstance(value, bool) else None


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _mappings(value: object) -> list[Mapping[str, Any]]:
    return [item for item in _list(value) if isinstance(item, Mapping)]


def _list(value: object) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else ()


def _shown(value: object) -> str:
    """A text as it is; anything else, such as a nested type, as compact JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def _fields(value: object) -> list[Field]:
    """A list of `{name, type, comment}`, without entries that have no name.

    LineageBridge calls the comment of a schema's field its `description`.
    """
    found = []
    for item in _list(value):
        # An exact type is checked faster than an interface, and a large graph has millions of fields.
        if type(item) is not dict and not isinstance(item, Mapping):
            continue
        read = item.get
        if (name := read("name")) in (None, ""):
            continue
        kind, comment = read("type"), read("comment")
        if comment is None or comment == "":
            comment = read("description")
        found.append(
            Field(
                name if type(name) is str else _shown(name),
                kind if type(kind) is str else _shown(kind),
                comment if type(comment) is str else _shown(comment),
            )
        )
    return found


def _catalog_syncs(value: object) -> list[CatalogSync]:
    return [
        CatalogSync(_shown(item.get("type")), _shown(item.get("status")), _shown(item.get("error")))
        for item in _mappings(value)
    ]


def _catalog_integrations(value: object) -> list[CatalogIntegrationState]:
    return [
        CatalogIntegrationState(
            id=_shown(item.get("id")),
            name=_shown(item.get("name")),
            type=_shown(item.get("type")),
            phase=_shown(item.get("phase")),
            error=_shown(item.get("error")),
            suspended=_flag(item.get("suspended")),
            syncs_topic=_flag(item.get("syncs_topic")),
        )
        for item in _mappings(value)
    ]


def _format_errors(value: object) -> list[FormatError]:
    return [FormatError(_shown(item.get("format")), _shown(item.get("error"))) for item in _mappings(value)]


def _error_handling(value: object) -> ErrorHandling:
    """A mode with its topic; a text is a mode alone."""
    fields = {"mode": value} if isinstance(value, str) else _mapping(value)
    return ErrorHandling(_text(fields.get("mode")), _text(fields.get("target")))


class Attribute(Generic[T]):
    """A node attribute, by default of the name it is assigned to, read through a converter that accepts any
    value."""

    def __init__(self, read: Callable[[object], T], name: str = "") -> None:
        self._read = read
        self._name = name

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = self._name or name

    def __get__(self, view: NodeView, owner: type) -> T:
        return self._read(view.node.attributes.get(self._name))


@dataclass(frozen=True, slots=True)
class NodeView:
    """Typed access to the attributes that several kinds of node have. The node's kind is not checked."""

    node: Node

    @classmethod
    def of(cls, node: Node) -> Self:
        return cls(node)

    def text(self, name: str) -> str:
        return _text(self.node.attributes.get(name))

    def texts(self, name: str) -> tuple[str, ...]:
        return _texts(self.node.attributes.get(name))

    #: When the node was last seen, if it was carried over from the last good state.
    stale_since = Attribute(_text)
    #: The topics that claim the same Glue table, as a sentence, on a Tableflow or Glue table.
    conflict = Attribute(_text)
    warnings = Attribute(_texts)
    #: The kinds of what is unknown about a connector: see `unknowns`, which covers every process.
    unknown = Attribute(_texts)
    cloud = Attribute(_text)
    #: The cloud provider's region; a Glue table's is `GlueTableNode.aws_region`.
    region = Attribute(_text)
    # A hop shows these of any kind of node: a graph from a file may hold kinds of its own.

    #: The text of a Flink statement or ksqlDB query.
    sql = Attribute(_text)
    connector_class = Attribute(_text)
    #: The fields of a topic's value schema.
    schema_fields = Attribute(_fields)
    #: `inferred` on a topic if only its name indicates who writes it: see `writers`.
    writer = Attribute(_text)


class TopicNode(NodeView):
    """A Kafka topic. Its `configs` hold the broker's settings as texts, by Kafka's names."""

    __slots__ = ()

    partitions = Attribute(_number)
    replication_factor = Attribute(_number)
    configs = Attribute(_mapping)

    @property
    def retention_ms(self) -> int | None:
        """Milliseconds; -1 is unlimited."""
        own = _number(self.node.attributes.get("retention_ms"))
        return own if own is not None else _number(self.configs.get("retention.ms"))

    @property
    def retention_bytes(self) -> int | None:
        """Bytes per partition; -1 is unlimited."""
        return _number(self.configs.get("retention.bytes"))

    @property
    def cleanup_policy(self) -> str:
        return self.text("cleanup_policy") or str(self.configs.get("cleanup.policy") or "")

    is_internal = Attribute(_flag)

    @property
    def bootstrap(self) -> str:
        """The bootstrap servers of the topic's cluster."""
        return self.text("bootstrap_endpoint") or self.text("bootstrap")

    #: The value schema's fields with nested ones and comments; empty if it has neither.
    schema_columns = Attribute(_fields)
    #: Field of the value schema -> the type of its column, where that of the field does not tell it.
    column_types = Attribute(_mapping)
    schema_id = Attribute(_number)
    schema_version = Attribute(_number)
    #: `AVRO`, `JSON` or `PROTOBUF`.
    schema_type = Attribute(_text)
    schema_subject = Attribute(_text)
    #: The value schemas' subjects of a topic with several record types.
    schema_subjects = Attribute(_texts)
    key_schema_subject = Attribute(_text)
    #: The names of the key's columns, if the key has a schema.
    key_columns = Attribute(_texts)
    schema_registry_id = Attribute(_text)
    schema_registry_url = Attribute(_text)


class SchemaNode(NodeView):
    """The latest schema of a subject."""

    __slots__ = ()

    fields = Attribute(_fields)
    #: `key` or `value`.
    role = Attribute(_text)
    schema_registry_url = Attribute(_text)


class ConnectorNode(NodeView):
    """A connector."""

    __slots__ = ()

    #: Topics that it should write and that do not exist; without those created only when they are needed.
    absent_topics = Attribute(_texts)


class StatementNode(NodeView):
    """A Flink statement, a materialized table or a ksqlDB query."""

    __slots__ = ()

    parse_error = Attribute(_text)

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

    #: The storage location that Tableflow reports.
    table_path = Attribute(_text)
    #: The catalogs that the table is synced to or integrated with, such as `AWS_GLUE`.
    catalog_types = Attribute(_texts)
    catalog_sync = Attribute(_catalog_syncs)
    #: The catalog integrations of the cluster, whether or not they sync this topic.
    integrations = Attribute(_catalog_integrations, "catalog_integrations")

    @property
    def integrations_read(self) -> bool | None:
        """Whether the cluster's catalog integrations could be read; None in a graph that does not tell."""
        value = self.node.attributes.get("catalog_integrations_read")
        return value if isinstance(value, bool) else None

    def last_sync(self, integration: str) -> str:
        """When an integration synced its catalog last, as ISO 8601; empty if that is unknown or never."""
        return _text(_mapping(self.node.attributes.get("catalog_last_sync")).get(integration))

    phase = Attribute(_text)
    error = Attribute(_text)
    write_mode = Attribute(_text)
    suspended = Attribute(_flag)
    failing_table_formats = Attribute(_format_errors)
    table_formats = Attribute(_texts)
    #: `Managed`, `ByobAws` or `AzureDataLakeStorageGen2`; the fields after it are of the last two.
    storage_kind = Attribute(_text)
    bucket_name = Attribute(_text)
    storage_account_name = Attribute(_text)
    container_name = Attribute(_text)
    provider_integration_id = Attribute(_text)
    #: What becomes of a record that cannot be a row.
    error_handling = Attribute(_error_handling)
    #: Milliseconds that snapshots are kept; rows have `data_retention_ms`.
    retention_ms = Attribute(_number)
    data_retention_ms = Attribute(_number)
    enable_compaction = Attribute(_switch)
    enable_partitioning = Attribute(_switch)
    metadata_column_naming_scheme = Attribute(_text)


class GlueTableNode(NodeView):
    """A table of the AWS Glue catalog."""

    __slots__ = ()

    @property
    def place(self) -> GluePlace | None:
        """Where Glue holds the table, from the attributes, else from the qualified name.

        The attributes do not name an account: a qualified name of another account or region does.
        None if neither gives both database and table.
        """
        qualified_name = self.node.qualified_name
        parsed = GluePlace.parse(qualified_name)
        database, table = self.text("database"), self.text("table_name")
        if not (database and table):
            return parsed
        named = GluePlace(database, table)
        if parsed is None or qualified_name == named.qualified_name:
            return named
        return replace(named, away=parsed.away)

    @property
    def home_place(self) -> GluePlace | None:
        """`place` in lower case, to call Glue with; None if it is unknown or of another account or region.

        A table of the same name in the home account is a different one.
        """
        place = self.place
        return place.folded if place and place.is_home else None

    @property
    def shown_place(self) -> GluePlace:
        """`place`; if that is unknown, a substitute for keys and pages that need a name."""
        if (place := self.place) is not None:
            return place
        database, _, table = self.node.qualified_name.removeprefix("glue://").partition("/")
        return GluePlace(database, table or self.node.label)

    aws_region = Attribute(_text)
    owner = Attribute(_text)
    columns = Attribute(_fields)
    partition_keys = Attribute(_fields)
    storage_location = Attribute(_text)
    parameters = Attribute(_mapping)
