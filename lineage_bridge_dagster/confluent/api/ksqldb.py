"""ksqlDB clusters (`ksqldbcm/v2`), and the streams, tables and queries of each.

One request reads all contents of a cluster: a read-only text of six statements.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import AliasPath, Field

from lineage_bridge_dagster.confluent.api.access import Access
from lineage_bridge_dagster.confluent.api.errors import (
    ConfluentError,
    MalformedResponse,
    PartialResponse,
    RequestRejected,
    Unreachable,
)
from lineage_bridge_dagster.confluent.api.records import ApiRecord, parse_records
from lineage_bridge_dagster.confluent.api.session import ConfluentSession

R = TypeVar("R", bound=ApiRecord)

MEDIA_TYPE = "application/vnd.ksql.v1+json"
_LISTS = "SHOW STREAMS; SHOW TABLES; SHOW QUERIES; SHOW QUERIES EXTENDED;"
#: Only `SHOW QUERIES` lists the topics written, only `... EXTENDED` the sources, only DESCRIBE the columns.
STATEMENTS = f"{_LISTS} DESCRIBE STREAMS; DESCRIBE TABLES;"


class KsqlCluster(ApiRecord):
    """`ksqldbcm/v2` Cluster. It processes the topics of one Kafka cluster.

    `topic_prefix` starts the names of topics that ksqlDB itself creates; see `is_internal`.
    """

    list_path = "/ksqldbcm/v2/clusters"

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
        """Whether a topic is ksqlDB's own: command topic, changelog, repartition topic, processing log.

        The prefix alone does not decide: a sink without a `KAFKA_TOPIC` of its own has it too.
        """
        prefix = self.topic_prefix
        return bool(prefix) and (
            topic == f"{prefix}-processing-log" or topic.startswith(f"_confluent-ksql-{prefix}")
        )


class KsqlSource(ApiRecord):
    """A stream or table of `SHOW STREAMS` or `SHOW TABLES`, with its topic."""

    name: str
    topic: str
    type: str = ""


class ColumnSchema(ApiRecord):
    """The type of a column or a field: `SchemaInfo`. `member` is an array's item or a map's value."""

    type: str = ""
    fields: tuple[SourceColumn, ...] = ()
    member: ColumnSchema | None = Field(None, validation_alias="memberSchema")


class SourceColumn(ApiRecord):
    """A column of a stream or table, or a field of a struct: `FieldInfo`.

    `place` is `KEY` or `HEADER`, empty for a value column.
    """

    name: str
    column: ColumnSchema | None = Field(None, validation_alias="schema")
    place: str = Field("", validation_alias="type")


class SourceDescription(ApiRecord):
    """A stream or table of DESCRIBE, with its columns in order. `window_type` is that of its key."""

    name: str
    columns: tuple[SourceColumn, ...] = Field((), validation_alias="fields")
    window_type: str = Field("", validation_alias="windowType")


class RunningQuery(ApiRecord):
    """A query of `SHOW QUERIES` (`@type: queries`)."""

    id: str
    statement: str = Field("", validation_alias="queryString", repr=False)
    query_type: str = Field("", validation_alias="queryType")
    state: str = ""
    sinks: tuple[str, ...] = ()
    sink_topics: tuple[str, ...] = Field((), validation_alias="sinkKafkaTopics")


class QueryDescription(ApiRecord):
    """A query of `SHOW QUERIES EXTENDED` (`@type: query_descriptions`), which names its sources."""

    id: str
    statement: str = Field("", validation_alias="statementText", repr=False)
    query_type: str = Field("", validation_alias="queryType")
    state: str = ""
    sources: tuple[str, ...] = ()
    sinks: tuple[str, ...] = ()
    consumer_group: str = Field("", validation_alias="consumerGroupId")


@dataclass(frozen=True, slots=True)
class KsqlQuery:
    """A query, merged from both lists.

    Attributes:
        described: whether the engine lists its sources; otherwise they must be parsed from its text.
        sinks: streams and tables that it writes.
        sink_topics: the topics that it writes, if the engine lists them.
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
        """Whether it runs on its own; push and pull queries end with their client."""
        kind = self.query_type.upper()
        return kind == "PERSISTENT" or (not kind and bool(self.sinks or self.sink_topics))


@dataclass(frozen=True, slots=True)
class KsqlContents:
    """Contents of one ksqlDB cluster; `problem` is the first part of the response that could not be read.

    `descriptions` is empty if the engine does not know how to describe all streams and tables.
    """

    sources: tuple[KsqlSource, ...] = ()
    queries: tuple[KsqlQuery, ...] = ()
    descriptions: tuple[SourceDescription, ...] = ()
    problem: ConfluentError | None = None


def ksqldb_contents(session: ConfluentSession, environment: str, cluster: KsqlCluster) -> KsqlContents:
    """Read streams, tables and queries; malformed ones are left out and reported in `problem`.

    Raises:
        Unreachable: the cluster is paused or has no address.
        ConfluentError: the request failed.
    """
    access = Access("ksqldb", (cluster.id, environment))
    if cluster.is_paused:
        raise Unreachable(
            f"{access.name} is paused; its queries are unavailable until it is resumed.",
            hint="Its page in Confluent's console gives the reason; delete it if it is not needed.",
        )
    if not cluster.http_endpoint:
        raise Unreachable(
            f"{access.name} has no address yet (phase {cluster.phase or 'unknown'}).",
            hint="Discover again once it is PROVISIONED.",
        )
    url = session.data_url(cluster.http_endpoint, "/ksql", field="status.http_endpoint")

    def run(statements: str) -> Any:
        body = {"ksql": statements, "streamsProperties": {}}
        return session.post_query(url, access, body, media_type=MEDIA_TYPE)

    try:
        return contents_of(run(STATEMENTS), access.name)
    except RequestRejected:
        # An engine older than DESCRIBE STREAMS rejects the whole text.
        return contents_of(run(_LISTS), access.name, describes=False)


def contents_of(response: Any, where: str, *, describes: bool = True) -> KsqlContents:
    """Parse the entities of a `/ksql` response.

    Args:
        describes: whether DESCRIBE is among the statements that it answers.

    Raises:
        MalformedResponse: it is not a list of entities.
    """
    if not isinstance(response, list) or not all(isinstance(entity, dict) for entity in response):
        raise MalformedResponse(
            f"{where}: /ksql did not return a list of entities.",
            hint="Check that the address is ksqlDB's, not a proxy's or a login page's.",
        )
    reader = _EntityReader(response, where)
    sources = (*reader.read(KsqlSource, "streams"), *reader.read(KsqlSource, "tables"))
    running = {query.id: query for query in reader.read(RunningQuery, "queries")}
    described = {
        query.id: query
        for query in reader.read(QueryDescription, "query_descriptions", items="queryDescriptions")
    }
    queries = tuple(
        _query(name, running.get(name), described.get(name)) for name in sorted({*running, *described})
    )
    descriptions: list[SourceDescription] = []
    if describes:
        descriptions = reader.read(SourceDescription, "source_descriptions", items="sourceDescriptions")
    return KsqlContents(sources, queries, tuple(descriptions), reader.problem)


class _EntityReader:
    """Reads entities from a response, and records the first problem in it."""

    def __init__(self, entities: list[dict[str, Any]], where: str) -> None:
        self._entities = entities
        self._where = where
        self.problem: ConfluentError | None = None
        for entity in entities:
            if str(entity.get("@type", "")).endswith("_error"):
                detail = " ".join(str(entity.get("message", "")).split())[:300]
                self._note(
                    RequestRejected(
                        f"{where}: a statement was rejected: {detail}",
                        hint="Its version may not know the statement; the other results are used.",
                    )
                )

    def read(self, record: type[R], kind: str, *, items: str = "") -> list[R]:
        """Parse the items of all entities of a kind; `items` names their list if the kind does not."""
        key = items or kind
        lists = [entity.get(key) for entity in self._entities if entity.get("@type") == kind]
        if not lists or not all(isinstance(values, list) for values in lists):
            self._note(
                MalformedResponse(
                    f"{self._where}: the /ksql response lacks `{key}`.",
                    hint="The API may have changed: update, or report it.",
                )
            )
        found = [item for values in lists if isinstance(values, list) for item in values]
        try:
            return parse_records(record, found, f"{self._where}: {key}")
        except PartialResponse as partial:
            self._note(partial.cause)
            return list(partial.items)
        except MalformedResponse as error:
            self._note(error)
            return []

    def _note(self, problem: ConfluentError) -> None:
        self.problem = self.problem or problem


def _query(name: str, running: RunningQuery | None, described: QueryDescription | None) -> KsqlQuery:
    """Merge a query's entries in the two lists."""
    run = running or RunningQuery(id=name)
    description = described or QueryDescription(id=name)
    return KsqlQuery(
        id=name,
        statement=description.statement or run.statement,
        query_type=run.query_type or description.query_type,
        state=run.state or description.state,
        described=bool(description.sources),
        sources=description.sources,
        sinks=description.sinks or run.sinks,
        sink_topics=run.sink_topics,
        consumer_group=description.consumer_group,
    )
