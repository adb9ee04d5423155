"""What nodes of every kind have, and how a node gets its class.

A node is the record of its kind: a `TopicNode`, a `GlueTableNode`. It holds the JSON that it was read from,
and its fields read that. So a node of a user's file is written as it was read, attributes that no field
declares are kept, and a field that is absent or of another type is empty.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform

from lineage_bridge_dagster.lineage.nodes.attribute import Declared, Holds, attribute, declares_fields
from lineage_bridge_dagster.lineage.nodes.values import Field, read_text, read_texts


class NodeType(StrEnum):
    """Kinds of node. A graph from a file may hold others, which are kept and shown."""

    KAFKA_TOPIC = "kafka_topic"
    CONNECTOR = "connector"
    FLINK_JOB = "flink_job"
    KSQLDB_QUERY = "ksqldb_query"
    EXTERNAL_DATASET = "external_dataset"
    EXTERNAL_JOB = "external_job"
    TABLEFLOW_TABLE = "tableflow_table"
    SCHEMA = "schema"
    CATALOG_TABLE = "catalog_table"
    CONSUMER_GROUP = "consumer_group"


N = TypeVar("N", bound="Node")


@declares_fields
class OfEveryKind(Declared):
    """The fields that a node of any kind may have."""

    __slots__ = ()

    #: The scope that reported the node, and all of them if there are several: see `coverage` and `scopes_of`.
    scope: str = attribute(carried=False, in_details=False)
    scopes: Sequence[str] = attribute(carried=False)
    #: ISO 8601 time when the node was last seen, if it is carried over because its scope could not be read.
    stale_since: str = attribute(carried=False, in_details=False)
    #: On a node that was found, but not by every scope that reported it before: the names of the fields that
    #: are carried over.
    stale_attributes: Sequence[str] = attribute(carried=False)
    warnings: Sequence[str] = attribute(carried=False)
    #: The kinds of what is unknown about a process or a schema: see `unknowns`.
    unknown: Sequence[str] = attribute(carried=False, in_details=False)
    #: Emails and teams.
    owners: Sequence[str] = attribute(in_details=False)
    cloud: str = attribute()
    #: The cloud provider's region; a Glue table's is `aws_region`.
    region: str = attribute()

    # A hop of a chain shows these of any node, for a file may hold kinds of its own.

    #: The fields of a topic's value schema.
    schema_fields: Sequence[Field] = attribute(in_details=False)

    #: The text of a Flink statement or ksqlDB query.
    sql: str = attribute(holds=Holds.STATEMENT, in_details=False, also=("query",))
    #: What the parser said of the text, if it did not accept it.
    parse_error: str = attribute(holds=Holds.PARSER_MESSAGE)
    connector_class: str = attribute(also=("connector.class",), in_details=False)
    #: `inferred` on a topic if only its name indicates who writes it: see `writers`.
    writer: str = attribute(carried=False)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, init=False)
class Node(OfEveryKind):
    """One node, with the fields of `lineage_graph.json`.

    `Node(...)` makes the record of the kind that `node_type` and `catalog_type` name; a class of a kind takes
    its fields as keywords: `TopicNode(node_id=..., qualified_name="orders", partitions=6)`.
    `dataclasses.replace` takes them too, and removes one that it is given an empty value for. Only what
    discovery may hide, or what no field declares, is read from `attributes`.

    Attributes:
        attributes: The JSON of the fields, and all else that a file had there.
    """

    node_id: str
    system: str = ""
    node_type: str = ""
    qualified_name: str
    display_name: str = ""
    environment_id: str | None = None
    environment_name: str | None = None
    cluster_id: str | None = None
    cluster_name: str | None = None
    catalog_type: str | None = None
    attributes: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    tags: tuple[str, ...] = ()
    url: str | None = None
    first_seen: str | None = None
    last_seen: str | None = None

    #: What a class of a kind stands for: a node type, a catalog type and a system.
    kind: ClassVar[tuple[str, str | None, str]] = ("", None, "")

    def __new__(cls, *values: Any, **fields: Any) -> Self:
        if cls is not Node:
            return object.__new__(cls)
        given = dict(zip(cls.__slots__, values, strict=False)) | fields
        return object.__new__(node_class(given.get("node_type"), given.get("catalog_type")))  # type: ignore[return-value]

    def __init__(
        self,
        node_id: str,
        system: str | None = None,
        node_type: str | None = None,
        qualified_name: str = "",
        display_name: str = "",
        environment_id: str | None = None,
        environment_name: str | None = None,
        cluster_id: str | None = None,
        cluster_name: str | None = None,
        catalog_type: str | None = None,
        attributes: Mapping[str, Any] | None = None,
        tags: tuple[str, ...] = (),
        url: str | None = None,
        first_seen: str | None = None,
        last_seen: str | None = None,
        **fields: Any,
    ) -> None:
        own_type, own_catalog, own_system = self.kind
        _fill(
            self,
            node_id,
            own_system if system is None else system,
            own_type if node_type is None else node_type,
            qualified_name,
            display_name,
            environment_id,
            environment_name,
            cluster_id,
            cluster_name,
            catalog_type or own_catalog,
            self._with(attributes or {}, fields) if fields else {} if attributes is None else attributes,
            tags,
            url,
            first_seen,
            last_seen,
        )

    @classmethod
    def _with(cls, attributes: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
        """The attributes with these values of fields."""
        changed = dict(attributes)
        for name, value in fields.items():
            field = cls.declared.get(name)
            if field is None:
                raise TypeError(f"{cls.__name__} has no field {name}")
            field.put(changed, value)
        return changed

    @property
    def label(self) -> str:
        """The name to show: the display name, else the qualified name."""
        return self.display_name or self.qualified_name

    @classmethod
    def of(cls, node: Node) -> Self:
        """Adapter: read the node as this class."""
        return node if isinstance(node, cls) else _filled(cls, node)

    @property
    def node(self) -> Node:
        """Adapter: the node itself."""
        kind = node_class(self.node_type, self.catalog_type)
        return self if type(self) is kind else _filled(kind, self)

    def text(self, name: str) -> str:
        return read_text(self.attributes.get(name))

    def texts(self, name: str) -> tuple[str, ...]:
        return read_texts(self.attributes.get(name))

    def with_attributes(self, **attributes: Any) -> Self:
        """Return a copy with these attributes added or replaced."""
        return self.changed(attributes={**self.attributes, **attributes})

    def changed(self, **values: Any) -> Self:
        """Return a copy of the same class with other values of what a node of every kind has.

        As `dataclasses.replace`, without the fields of a kind, in a quarter of the time.
        """
        copy = _filled(type(self), self)
        for name, value in values.items():
            _SETTERS[name](copy, value)
        return copy

    @property
    def extra(self) -> dict[str, Any]:
        """The attributes that no field of the kind declares, or whose values are not what it declares."""
        return {
            name: value
            for name, value in self.attributes.items()
            if (field := self.declared.get(name)) is None or not field.fits(value)
        }


def _filled(cls: type[N], node: Node) -> N:
    filled = object.__new__(cls)
    for get, put in _MOVED:
        put(filled, get(node))
    return filled


def _fill(node: Node, *values: Any) -> None:
    for put, value in zip(_PUT, values, strict=True):
        put(node, value)


_SLOTS = [vars(Node)[field.name] for field in dataclasses.fields(Node)]
_PUT = tuple(slot.__set__ for slot in _SLOTS)
_MOVED = tuple((slot.__get__, slot.__set__) for slot in _SLOTS)
_SETTERS = {slot.__name__: slot.__set__ for slot in _SLOTS}

_CLASSES: dict[tuple[str | None, str | None], type[Node]] = {}


def node_class(node_type: str | None, catalog_type: str | None) -> type[Node]:
    """The class of the nodes of a type; for a catalog table, of its kind of catalog."""
    known = _CLASSES.get((node_type, catalog_type))
    if known is None:
        known = _CLASSES.get((node_type, None), OtherNode)
    return known


def every_kind() -> tuple[type[Node], ...]:
    """The classes of all kinds that are declared so far, and that of the others."""
    return (*_CLASSES.values(), OtherNode)


def loaded_node(*values: Any) -> Node:
    """The record of a node, from its fields in their order: what a graph of a million nodes is built with."""
    node = object.__new__(node_class(values[2], values[9]))
    for put, value in zip(_PUT, values, strict=True):
        put(node, value)
    return node


@dataclass_transform(kw_only_default=True, frozen_default=True)
def kind(
    node_type: NodeType, catalog_type: str | None = None, *, system: str = "confluent"
) -> Callable[[type[N]], type[N]]:
    """Declare the class of the nodes of a type, or of a type and catalog, and the system of new ones."""

    def register(cls: type[N]) -> type[N]:
        declares_fields(cls)
        cls.kind = (str(node_type), catalog_type, system)
        _CLASSES[node_type, catalog_type] = cls
        return cls

    return register


@declares_fields
class OtherNode(Node):
    """A node of a kind that we do not know, from a user's file."""

    __slots__ = ()
