"""ksqlDB's answers as frozen records: its clusters (`ksqldbcm/v2`) and what its engine says of itself."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import AliasPath, Field

from lineage_bridge_dagster.confluent.api.errors import ConfluentError
from lineage_bridge_dagster.confluent.api.records import Record


class KsqlCluster(Record):
    """`ksqldbcm/v2` Cluster. It works on the topics of one Kafka cluster.

    `topic_prefix` begins the names of topics that it makes itself; see `is_internal`.
    """

    id: str
    display_name: str = Field("", validation_alias=AliasPath("spec", "display_name"))
    kafka_cluster_id: str = Field(validation_alias=AliasPath("spec", "kafka_cluster", "id"))
    http_endpoint: str = Field("", validation_alias=AliasPath("status", "http_endpoint"))
    phase: str = Field("", validation_alias=AliasPath("status", "phase"))
    is_paused: bool = Field(default=False, validation_alias=AliasPath("status", "is_paused"))
    topic_prefix: str = Field("", validation_alias=AliasPath("status", "topic_prefix"))

    @property
    def label(self) -> str:
        return self.display_name or self.id

    def is_internal(self, topic: str) -> bool:
        """Whether a topic is its bookkeeping: command topic, changelogs, repartitions, processing log.

        The prefix alone says nothing: a sink without a `KAFKA_TOPIC` of its own has it too.
        """
        prefix = self.topic_prefix
        return bool(prefix) and (
            topic == f"{prefix}-processing-log" or topic.startswith(f"_confluent-ksql-{prefix}")
        )


class KsqlSource(Record):
    """A stream or a table of `SHOW STREAMS` and `SHOW TABLES`: its name, and the topic behind it."""

    name: str
    topic: str
    type: str = ""


class RunningQuery(Record):
    """A query of `SHOW QUERIES` (`@type: queries`)."""

    id: str
    statement: str = Field("", validation_alias="queryString", repr=False)
    query_type: str = Field("", validation_alias="queryType")
    state: str = ""
    sinks: tuple[str, ...] = ()
    sink_topics: tuple[str, ...] = Field((), validation_alias="sinkKafkaTopics")


class QueryDescription(Record):
    """A query of `SHOW QUERIES EXTENDED` (`@type: query_descriptions`): its sources, by the engine."""

    id: str
    statement: str = Field("", validation_alias="statementText", repr=False)
    query_type: str = Field("", validation_alias="queryType")
    state: str = ""
    sources: tuple[str, ...] = ()
    sinks: tuple[str, ...] = ()
    consumer_group: str = Field("", validation_alias="consumerGroupId")


@dataclass(frozen=True, slots=True)
class KsqlQuery:
    """A query as both lists tell it together.

    Attributes:
        described: whether the engine said what it reads; else only its text can.
        sinks: streams and tables that it writes.
        sink_topics: the topics that it writes, when the engine names them outright.
    """

    id: str
    statement: str
    query_type: str
    state: str
    described: bool
    sources: tuple[str, ...] = ()
    sinks: tuple[str, ...] = ()
    sink_topics: tuple[str, ...] = ()
    consumer_group: str = ""

    @property
    def is_persistent(self) -> bool:
        """Whether it runs on its own; push and pull queries live as long as who asked them."""
        kind = self.query_type.upper()
        return kind == "PERSISTENT" or (not kind and bool(self.sinks or self.sink_topics))


@dataclass(frozen=True, slots=True)
class KsqlContents:
    """What one ksqlDB cluster holds; `problem` is what of its answer could not be read."""

    sources: tuple[KsqlSource, ...] = ()
    queries: tuple[KsqlQuery, ...] = ()
    problem: ConfluentError | None = None
