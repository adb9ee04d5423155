"""What exists before a change: topics with their schemas, and everything that reads or writes them.

The records and `World.of_json` are stable: commands and outputs build on them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple, Self

from lineage_bridge_dagster.confluent.connectors.record import ConnectorRecord
from lineage_bridge_dagster.confluent.given_documents import given_schema, settings_of
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.lineage.json_record import JsonRecord
from lineage_bridge_dagster.schemas.schemas import RegisteredSchema, SubjectSchemas

BACKWARD = "BACKWARD"
"""The compatibility mode of a subject without one of its own: the default of Schema Registry."""

RUNNING = "RUNNING"


class NodeKind(StrEnum):
    """Kinds of nodes that a change can affect."""

    TOPIC = "topic"
    STATEMENT = "statement"
    CONNECTOR = "connector"
    GLUE = "glue"
    VIEW = "view"
    DATASET = "dataset"
    JOB = "job"


class NodeRef(NamedTuple):
    """A node by its kind and name, such as `topic : orders`.

    Attributes:
        name: A topic's, statement's or connector's name; `{database}.{table}` of a Glue table or a view; an
            outside dataset as the OpenLineage spec names it; `{namespace}/{name}` of an outside job.
        node_id: Its id in a stored discovery, where names of different clusters may be equal; else empty.
    """

    kind: NodeKind
    name: str
    node_id: str = ""

    def __str__(self) -> str:
        return f"{self.kind} : {self.name}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read the text form.

        Raises:
            LineageBridgeError: It is not a `<kind> : <name>`.
        """
        kind, separator, name = text.partition(" : ")
        if not separator or kind not in frozenset(NodeKind) or not name:
            raise LineageBridgeError(
                f"{text!r} is not a node.", hint=f"Write `<kind> : <name>`; kinds: {', '.join(NodeKind)}."
            )
        return cls(NodeKind(kind), name)


@dataclass(frozen=True, slots=True)
class SqlJob:
    """A Flink statement, created under the latest schemas of its world.

    Attributes:
        phase: `RUNNING`, or `COMPLETED` for a DDL statement of the past, as the API shows it.
    """

    name: str
    sql: str
    phase: str = RUNNING

    @property
    def is_running(self) -> bool:
        """Whether it still processes records; a phase that is unknown counts as running."""
        return self.phase not in ("COMPLETED", "STOPPED", "FAILED", "DELETED")


@dataclass(frozen=True, slots=True)
class TableflowTable:
    """A topic's Iceberg table in Glue, which Tableflow writes.

    Attributes:
        mode: `APPEND` or `UPSERT`.
        on_error: What Tableflow does with a record that it cannot write: `SUSPEND` (its default), `SKIP` or
            `LOG`.
        name: The table's name if it is not `{database}.{topic}`, as in a stored discovery.
    """

    topic: str
    mode: str = "APPEND"
    database: str = ""
    on_error: str = "SUSPEND"
    name: str = ""

    @property
    def ref(self) -> NodeRef:
        return NodeRef(NodeKind.GLUE, self.name or f"{self.database}.{self.topic}")


@dataclass(frozen=True, slots=True)
class AthenaView:
    """A view in Athena: its name, and the query that it stores."""

    database: str
    name: str
    sql: str

    @property
    def ref(self) -> NodeRef:
        return NodeRef(NodeKind.VIEW, f"{self.database}.{self.name}")


@dataclass(frozen=True)
class World:
    """Everything that a change may affect, in one environment and one cluster.

    Attributes:
        topics: Names of topics, in order.
        topic_configs: Topic -> its settings: `partitions`, `cleanup.policy`, `retention.ms`, ...
        schemas: Subject (TopicNameStrategy) -> all its versions, oldest first.
        compatibility: Subject -> its compatibility mode; see `compatibility_of`.
        statements: Name -> statement, in the order of creation.
        connectors: Name -> connector.
        tableflow: Tables that Tableflow writes.
        owners: Text form of a node -> whom to tell.
        columns: Topic -> its columns in order, for a topic whose schemas are not known.
        environment: Name or id of the environment, which may qualify tables in SQL.
        cluster: Name or id of the cluster, likewise.
    """

    topics: tuple[str, ...] = ()
    topic_configs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    schemas: Mapping[str, SubjectSchemas] = field(default_factory=dict)
    compatibility: Mapping[str, str] = field(default_factory=dict)
    statements: Mapping[str, SqlJob] = field(default_factory=dict)
    connectors: Mapping[str, ConnectorRecord] = field(default_factory=dict)
    tableflow: tuple[TableflowTable, ...] = ()
    views: tuple[AthenaView, ...] = ()
    owners: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)
    environment: str = ""
    cluster: str = ""

    def compatibility_of(self, subject: str) -> str:
        """The mode under which a new version of a subject is checked."""
        return self.compatibility.get(subject, BACKWARD)

    def subject(self, name: str) -> SubjectSchemas:
        """A subject's schemas; none if it does not exist."""
        return self.schemas.get(name) or SubjectSchemas(name)

    @classmethod
    def of_json(cls, document: object, name: str = "the world") -> Self:
        """Read a world as commands take it.

        Args:
            document: An object with any of `environment`, `cluster`, `topics` (names), `topic_configs`,
                `schemas` (`subject`, `type`, `version`, `schema`, `references`), `compatibility` (subject ->
                mode), `statements` (`name`, `sql`, `phase`), `connectors` (`name`, `type`, `config`),
                `tableflow` (`topic`, `mode`, `database`), `views` (`database`, `name`, `sql`) and `owners`
                (`<kind> : <name>` -> owner).
            name: What errors call it.

        Raises:
            ConfigurationError: It has another shape; the message says where.
        """
        record = JsonRecord(document, "", name)
        configs = JsonRecord(record.mapping("topic_configs"), "topic_configs", name)
        schemas: dict[str, list[RegisteredSchema]] = {}
        for number, each in enumerate(record.records("schemas"), start=1):
            schemas.setdefault(each.required("subject"), []).append(given_schema(each, number))
        statements = (
            SqlJob(each.required("name"), each.required("sql"), each.text("phase") or RUNNING)
            for each in record.records("statements")
        )
        connectors = (
            ConnectorRecord(
                each.required("name"),
                each.text("type") or "",
                each.text("id"),
                settings_of(
                    each.required_mapping("config"), f"{name}: the connector {each.required('name')}"
                ),
            )
            for each in record.records("connectors")
        )
        return cls(
            topics=record.texts("topics"),
            topic_configs={topic: configs.mapping(topic) for topic in record.mapping("topic_configs")},
            schemas={
                subject: SubjectSchemas(subject, tuple(sorted(found, key=lambda schema: schema.version)))
                for subject, found in schemas.items()
            },
            compatibility=record.texts_by_name("compatibility"),
            statements={each.name: each for each in statements},
            connectors={each.name: each for each in connectors},
            tableflow=tuple(
                TableflowTable(
                    each.required("topic"),
                    (each.text("mode") or "APPEND").upper(),
                    each.text("database") or "",
                    (each.text("on_error") or "SUSPEND").upper(),
                )
                for each in record.records("tableflow")
            ),
            views=tuple(
                AthenaView(each.required("database"), each.required("name"), each.required("sql"))
                for each in record.records("views")
            ),
            owners=record.texts_by_name("owners"),
            environment=record.text("environment") or "",
            cluster=record.text("cluster") or "",
        )
