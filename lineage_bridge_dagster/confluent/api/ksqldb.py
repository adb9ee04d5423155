"""ksqlDB: its clusters (`ksqldbcm/v2`), and what the engine of each says of its streams, tables and queries.

All of a cluster's contents are one request: a read-only text of four statements.
"""

from __future__ import annotations

from typing import Any, TypeVar

from lineage_bridge_dagster.confluent.api.errors import (
    ConfluentError,
    MalformedAnswer,
    PartialAnswer,
    RequestRefused,
    Unreachable,
)
from lineage_bridge_dagster.confluent.api.http_errors import Access
from lineage_bridge_dagster.confluent.api.ksqldb_records import (
    KsqlCluster,
    KsqlContents,
    KsqlQuery,
    KsqlSource,
    QueryDescription,
    RunningQuery,
)
from lineage_bridge_dagster.confluent.api.listing import list_records
from lineage_bridge_dagster.confluent.api.records import Record, read_all
from lineage_bridge_dagster.confluent.api.session import ConfluentSession

R = TypeVar("R", bound=Record)

MEDIA_TYPE = "application/vnd.ksql.v1+json"
#: `SHOW QUERIES` alone tells the topics written, `... EXTENDED` alone the sources.
STATEMENTS = "SHOW STREAMS; SHOW TABLES; SHOW QUERIES; SHOW QUERIES EXTENDED;"


class KsqldbClient:
    """Asks ksqlDB; each method raises `ConfluentError`."""

    def __init__(self, session: ConfluentSession) -> None:
        self._session = session

    def clusters(self, environment: str) -> list[KsqlCluster]:
        url = self._session.control_url("/ksqldbcm/v2/clusters")
        access = Access("confluent_cloud", (environment,))
        return list_records(self._session, KsqlCluster, url, access, {"environment": environment})

    def contents(self, environment: str, cluster: KsqlCluster) -> KsqlContents:
        """Streams, tables and queries; what of them is malformed is left out and said in `problem`.

        Raises:
            Unreachable: it is paused or has no address, so nobody answers there.
            ConfluentError: there is no answer.
        """
        access = Access("ksqldb", (cluster.id, environment))
        if cluster.is_paused:
            raise Unreachable(
                f"{access.name} is paused, and tells nothing of its queries until it is resumed.",
                hint="See its page in Confluent's console for why; delete it if it is not needed.",
            )
        if not cluster.http_endpoint:
            raise Unreachable(
                f"{access.name} has no address yet (phase {cluster.phase or 'unknown'}).",
                hint="Discover again once it is PROVISIONED.",
            )
        url = self._session.data_url(cluster.http_endpoint, "/ksql", field="status.http_endpoint")
        body = {"ksql": STATEMENTS, "streamsProperties": {}}
        answer = self._session.post_query(url, access, body, repeatable=True, media_type=MEDIA_TYPE)
        return contents_of(answer, access.name)


def contents_of(answer: Any, where: str) -> KsqlContents:
    """The entities of an answer as records.

    Raises:
        MalformedAnswer: it is no list of entities.
    """
    if not isinstance(answer, list) or not all(isinstance(entity, dict) for entity in answer):
        raise MalformedAnswer(
            f"{where}: /ksql answered no list of entities.",
            hint="Check that its address is ksqlDB's and no proxy or login page stands before it.",
        )
    reader = _Reader(answer, where)
    sources = (*reader.read(KsqlSource, "streams"), *reader.read(KsqlSource, "tables"))
    running = {query.id: query for query in reader.read(RunningQuery, "queries")}
    described = {
        query.id: query
        for query in reader.read(QueryDescription, "query_descriptions", items="queryDescriptions")
    }
    queries = tuple(
        _query(name, running.get(name), described.get(name)) for name in sorted({*running, *described})
    )
    return KsqlContents(sources, queries, reader.problem)


class _Reader:
    """Takes entities out of an answer, and keeps the first thing that is wrong with it."""

    def __init__(self, entities: list[dict[str, Any]], where: str) -> None:
        self._entities = entities
        self._where = where
        self.problem: ConfluentError | None = None
        for entity in entities:
            if str(entity.get("@type", "")).endswith("_error"):
                detail = " ".join(str(entity.get("message", "")).split())[:300]
                self._note(
                    RequestRefused(
                        f"{where}: a statement was refused: {detail}",
                        hint="Its version may not know the statement; what it did tell is used.",
                    )
                )

    def read(self, record: type[R], kind: str, *, items: str = "") -> list[R]:
        """All records of entities of a kind; their list is called like the kind unless told."""
        key = items or kind
        lists = [entity.get(key) for entity in self._entities if entity.get("@type") == kind]
        if not lists or not all(isinstance(one, list) for one in lists):
            self._note(
                MalformedAnswer(
                    f"{self._where}: /ksql answered without `{key}`.",
                    hint="Its API may have changed; update, or report it.",
                )
            )
        found = [item for one in lists if isinstance(one, list) for item in one]
        try:
            return read_all(record, found, f"{self._where}: {key}")
        except PartialAnswer as partial:
            self._note(partial.cause)
            return list(partial.items)
        except MalformedAnswer as error:
            self._note(error)
            return []

    def _note(self, problem: ConfluentError) -> None:
        self.problem = self.problem or problem


def _query(name: str, running: RunningQuery | None, described: QueryDescription | None) -> KsqlQuery:
    """One query of what the two lists say of it, the fuller one first."""
    run = running or RunningQuery(id=name)
    told = described or QueryDescription(id=name)
    return KsqlQuery(
        id=name,
        statement=told.statement or run.statement,
        query_type=run.query_type or told.query_type,
        state=run.state or told.state,
        described=bool(told.sources),
        sources=told.sources,
        sinks=told.sinks or run.sinks,
        sink_topics=run.sink_topics,
        consumer_group=told.consumer_group,
    )
