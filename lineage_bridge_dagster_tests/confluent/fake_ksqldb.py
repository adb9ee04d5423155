"""A ksqlDB cluster of the fake Confluent: its address, and the entities of its responses."""

from __future__ import annotations

from typing import Any

from lineage_bridge_dagster.lineage import ids
from lineage_bridge_dagster.lineage.coverage import Scope

KSQL = "/ksqldbcm/v2/clusters"
HOST = "pksqlc-1.us-east-1.aws.glb.confluent.cloud"
CONTENTS = f"{HOST}/ksql"
SCOPE = Scope("ksqldb", "env-1", "lksqlc-1")
LISTED = Scope("ksqldb_clusters", "env-1")
QUERY = ids.ksqldb_query_id("env-1", "lksqlc-1", "CSAS_ENRICHED_3")
ORDERS, ENRICHED, TOTALS = (ids.topic_id("env-1", "lkc-a", name) for name in ("orders", "enriched", "totals"))
SQL = "CREATE STREAM ENRICHED WITH (KAFKA_TOPIC='enriched') AS SELECT * FROM ORDERS EMIT CHANGES;"

Json = Any


def ksql_cluster(identifier: str = "lksqlc-1", kafka: str = "lkc-a", **status: Json) -> Json:
    return {
        "id": identifier,
        "spec": {"display_name": "streams", "kafka_cluster": {"id": kafka}},
        "status": {
            "http_endpoint": f"https://{HOST}",
            "phase": "PROVISIONED",
            "is_paused": False,
            "topic_prefix": "pksqlc-1",
            **status,
        },
    }


def source(name: str, topic_name: str, kind: str = "STREAM") -> Json:
    return {"type": kind, "name": name, "topic": topic_name, "keyFormat": "KAFKA", "valueFormat": "AVRO"}


def described(name: str, sources: list[str], sinks: list[str], sql: str = SQL, **more: Json) -> Json:
    return {
        "id": name,
        "statementText": sql,
        "sources": sources,
        "sinks": sinks,
        "queryType": "PERSISTENT",
        "state": "RUNNING",
        **more,
    }


def running(name: str, sinks: list[str], topics: list[str], sql: str = SQL, **more: Json) -> Json:
    return {
        "id": name,
        "queryString": sql,
        "sinks": sinks,
        "sinkKafkaTopics": topics,
        "queryType": "PERSISTENT",
        "state": "RUNNING",
        **more,
    }


def column(name: str, place: str | None = None, type: str = "STRING", **more: Json) -> Json:
    """A field of DESCRIBE; `place` is KEY or HEADER."""
    schema = {"type": type, "fields": None, "memberSchema": None, **more}
    return {"name": name, "schema": schema, **({"type": place} if place else {})}


def description(name: str, *columns: Json, window: str | None = None) -> Json:
    """A stream or table of DESCRIBE."""
    return {"name": name, "windowType": window, "fields": list(columns), "type": "STREAM"}


def contents(
    descriptions: list[Json] | None = None,
    queries: list[Json] | None = None,
    streams: list[Json] | None = None,
    tables: list[Json] | None = None,
    columns: list[Json] | None = None,
) -> list[Json]:
    """A `/ksql` response to all statements."""
    if descriptions is None:
        descriptions = [described("CSAS_ENRICHED_3", ["ORDERS"], ["ENRICHED"])]
    if streams is None:
        streams = [source("ORDERS", "orders"), source("ENRICHED", "enriched")]
    return [
        {"@type": "streams", "statementText": "SHOW STREAMS;", "warnings": [], "streams": streams},
        {"@type": "tables", "statementText": "SHOW TABLES;", "warnings": [], "tables": tables or []},
        {"@type": "queries", "statementText": "SHOW QUERIES;", "warnings": [], "queries": queries or []},
        {"@type": "query_descriptions", "statementText": "", "queryDescriptions": descriptions},
        {"@type": "source_descriptions", "sourceDescriptions": columns or []},
    ]
