"""What is to change: one record for each kind of change. A Terraform plan is a list of them.

The records and `change_of_json` are stable: commands and the reader of Terraform plans build on them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lineage_bridge_dagster.confluent.given_documents import given_schema, settings_of
from lineage_bridge_dagster.impact.world import NodeKind, NodeRef
from lineage_bridge_dagster.lineage.json_record import JsonRecord
from lineage_bridge_dagster.schemas.schemas import AVRO

_KINDS = ("schema", "drop", "statement", "connector")
#: What a change can drop.
DROPS = (*NodeKind, "column", "subject", "tableflow")


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """A schema is registered as the next version of a subject.

    Attributes:
        subject: The subject, by TopicNameStrategy `{topic}-key` or `{topic}-value`.
        type: `AVRO`, `JSON` or `PROTOBUF`.
        references: The schemas that it imports, as in `RegisteredSchema`.
        replaces: Whether the latest version is deleted before (Terraform: another format).
    """

    subject: str
    text: str
    type: str = AVRO
    references: tuple[tuple[str, str], ...] = ()
    replaces: bool = False


@dataclass(frozen=True, slots=True)
class CompatibilityChange:
    """A subject gets another compatibility mode; None: back to the default."""

    subject: str
    mode: str | None


@dataclass(frozen=True, slots=True)
class SubjectDrop:
    """A subject is deleted, or its latest version.

    Attributes:
        for_good: Whether its schemas are gone, so that nobody decodes records that have them; else readers
            still find them by their ids.
    """

    subject: str
    for_good: bool = False


@dataclass(frozen=True, slots=True)
class DropNode:
    """A node is deleted: a topic, a statement, a connector, a Glue table, a view or an outside dataset."""

    node: NodeRef


@dataclass(frozen=True, slots=True)
class DropColumn:
    """A column of an outside dataset, or of a Glue table, is dropped."""

    node: NodeRef
    column: str


@dataclass(frozen=True, slots=True)
class StatementChange:
    """A Flink statement is submitted; one of its name is replaced and starts without its state.

    With unchanged SQL that is also a replacement: Terraform replaces a statement when its endpoint changes.

    Attributes:
        is_new: Whether none of its name is known to exist.
    """

    name: str
    sql: str
    is_new: bool = False


@dataclass(frozen=True, slots=True)
class StatementStop:
    """A running statement stops but keeps its state (Terraform: `stopped = true`)."""

    name: str


@dataclass(frozen=True, slots=True)
class ConnectorChange:
    """A connector is created or gets another configuration, which is given whole.

    Attributes:
        type: `source` or `sink`; empty: as before, else by its class.
        is_new: Whether none of its name is known to exist.
    """

    name: str
    config: Mapping[str, str] = field(hash=False)
    type: str = ""
    is_new: bool = False


@dataclass(frozen=True, slots=True)
class ConnectorPause:
    """A connector is paused (Terraform: `status = "PAUSED"`)."""

    name: str


@dataclass(frozen=True, slots=True)
class TopicChange:
    """A topic is created, configured, or deleted and created again.

    Attributes:
        config: Its whole configuration to come: `partitions`, `cleanup.policy`, `retention.ms`, ...
        recreated: Whether its records are deleted, as if fewer partitions are asked for.
        is_new: Whether none of its name is known to exist.
    """

    name: str
    config: Mapping[str, Any] = field(default_factory=dict, hash=False)
    recreated: bool = False
    is_new: bool = False


@dataclass(frozen=True, slots=True)
class TableflowChange:
    """Tableflow is enabled for a topic, configured, or replaced with a new table.

    Attributes:
        mode: `APPEND` or `UPSERT`; None: unchanged.
        on_error: `SUSPEND`, `SKIP` or `LOG`; None: unchanged.
        suspended: Whether it no longer writes.
        recreated: Whether the table is deleted and created again.
    """

    topic: str
    mode: str | None = None
    on_error: str | None = None
    suspended: bool = False
    recreated: bool = False


@dataclass(frozen=True, slots=True)
class TableflowDrop:
    """Tableflow is disabled for a topic."""

    topic: str


@dataclass(frozen=True, slots=True)
class MirrorStop:
    """A mirror topic no longer follows its source (Terraform: destroyed, paused, failed over or promoted)."""

    topic: str


Change = (
    SchemaChange
    | CompatibilityChange
    | SubjectDrop
    | DropNode
    | DropColumn
    | StatementChange
    | StatementStop
    | ConnectorChange
    | ConnectorPause
    | TopicChange
    | TableflowChange
    | TableflowDrop
    | MirrorStop
)


def change_of_json(document: object, name: str = "the change") -> Change:
    """Read a change as commands take it; a Terraform plan is read elsewhere.

    Args:
        document: An object with `kind` and, for a kind of `schema`, `subject`, `type`, `schema`; of `drop`,
            `what` and `name`, or `of` and `column` for a column; of `statement`, `name`, `sql`; of
            `connector`, `name`, `config`.
        name: What errors call it.

    Raises:
        LineageBridgeError: It has another shape, or names no kind of change.
    """
    record = JsonRecord(document, "", name)
    match record.choice("kind", _KINDS):
        case "schema":
            schema = given_schema(record)
            return SchemaChange(record.required("subject"), schema.text, schema.type, schema.references)
        case "drop":
            return _drop(record)
        case "statement":
            return StatementChange(record.required("name"), record.required("sql"))
        case _:
            config = settings_of(record.required_mapping("config"), name)
            return ConnectorChange(record.required("name"), config, record.text("type") or "")


def _drop(record: JsonRecord) -> Change:
    match record.choice("what", DROPS):
        case "column" if "of" in record:
            return DropColumn(NodeRef.parse(record.required("of")), record.required("column"))
        case "column":
            dataset, _, column = record.required("name").rpartition(".")
            return DropColumn(NodeRef(NodeKind.DATASET, dataset), column)
        case "subject":
            return SubjectDrop(record.required("name"))
        case "tableflow":
            return TableflowDrop(record.required("name"))
        case kind:
            return DropNode(NodeRef(NodeKind(kind), record.required("name")))
