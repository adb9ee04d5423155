"""Registered schemas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lineage_bridge_dagster.lineage.nodes.attribute import Api, Holds, attribute
from lineage_bridge_dagster.lineage.nodes.node import Node, NodeType, kind
from lineage_bridge_dagster.lineage.nodes.values import Field


@kind(NodeType.SCHEMA)
class SchemaNode(Node):
    """The latest schema of a subject."""

    __slots__ = ()

    subject: str = attribute(Api.SCHEMA_REGISTRY)
    #: The registry's context; empty for the default one.
    context: str = attribute(Api.SCHEMA_REGISTRY)
    version: int | None = attribute(Api.SCHEMA_REGISTRY)
    schema_id: int | None = attribute(Api.SCHEMA_REGISTRY)
    #: `AVRO`, `JSON` or `PROTOBUF`.
    schema_type: str = attribute(Api.SCHEMA_REGISTRY)
    fields: Sequence[Field] = attribute(Api.SCHEMA_REGISTRY, in_details=False)
    #: `key` or `value`.
    role: str = attribute(Api.SCHEMA_REGISTRY)
    #: The schemas that it refers to, each with `name`, `subject` and `version`.
    references: Any = attribute(Api.SCHEMA_REGISTRY)
    #: The text of the schema; in a stored discovery without documentation and secrets.
    definition: str = attribute(Api.SCHEMA_REGISTRY, holds=Holds.SCHEMA, in_details=False)
    #: The level of subjects without one of their own, such as `BACKWARD`; empty if it is not known.
    registry_compatibility: str = attribute(Api.SCHEMA_REGISTRY)
    schema_registry_url: str = attribute(Api.SCHEMA_REGISTRY)
