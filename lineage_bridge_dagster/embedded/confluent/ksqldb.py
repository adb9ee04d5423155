"""ksqlDB: `ksqldbcm/v2` of the control plane, and `POST {http_endpoint}/ksql` of each cluster.

The supported statements are SHOW (or LIST) STREAMS, TABLES and QUERIES [EXTENDED], and DESCRIBE STREAMS and
TABLES.
"""

from __future__ import annotations

import json
import re
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from lineage_bridge_dagster.embedded import world
from lineage_bridge_dagster.embedded.confluent.answers import (
    ApiError,
    EmulatorContext,
    Json,
    base_url,
    cluster_reference,
    crn,
    environment_crn,
    environment_reference,
    page,
    require_environment,
    resource,
)
from lineage_bridge_dagster.embedded.confluent.planes import ksqldb_prefix

MEDIA_TYPE = "application/vnd.ksql.v1+json"
_ACCEPTED = frozenset({MEDIA_TYPE, "application/json"})
_DESCRIBE = re.compile(r"DESCRIBE\s+(STREAMS|TABLES)", re.IGNORECASE)
_SHOW = re.compile(r"(?:SHOW|LIST)\s+(STREAMS|TABLES|QUERIES)(\s+EXTENDED)?", re.IGNORECASE)
_SQL_TYPES = {
    "record": "STRUCT",
    "array": "ARRAY",
    "map": "MAP",
    "long": "BIGINT",
    "int": "INTEGER",
    "double": "DOUBLE",
    "boolean": "BOOLEAN",
    "bytes": "BYTES",
    "timestamp-millis": "TIMESTAMP",
}
#: ksqlDB's error codes.
_BAD_REQUEST, _BAD_STATEMENT = 40000, 40001


class Ksqldb:
    """The control plane's list of ksqlDB clusters, and the data plane of each."""

    def __init__(self, context: EmulatorContext) -> None:
        self.context = context

    @property
    def routes(self) -> list[Route]:
        return [
            Route("/ksqldbcm/v2/clusters", self.clusters),
            Route("/ksqldb/{id}/ksql", self.ksql, methods=["POST"]),
        ]

    def clusters(self, request: Request) -> Response:
        require_environment(request)
        items = [_cluster(base_url(request), cluster) for cluster in world.KSQLDB_CLUSTERS]
        return page(request, self.context, items, api_version="ksqldbcm/v2", kind="ClusterList")

    async def ksql(self, request: Request) -> Response:
        cluster = _find(request)
        media_type = request.headers.get("content-type", "").partition(";")[0].strip()
        if media_type not in _ACCEPTED:
            raise ApiError(415, f"HTTP 415 Unsupported Media Type: {media_type}", code=41500)
        try:
            body = json.loads(await request.body())
            text = body["ksql"]
        except (ValueError, KeyError, TypeError) as error:
            raise ApiError(400, "The body is not a ksqlDB request.", code=_BAD_REQUEST) from error
        entities: list[Json] = []
        for statement in (part.strip() for part in str(text).split(";")):
            if not statement:
                continue
            entity = _entity(cluster, statement)
            if entity is None:
                rejection = {
                    "@type": "statement_error",
                    "error_code": _BAD_STATEMENT,
                    "message": "Only SHOW and DESCRIBE of all streams, tables or queries are supported.",
                    "statementText": f"{statement};",
                    "entities": entities,
                }
                return JSONResponse(rejection, 400, media_type=MEDIA_TYPE)
            entities.append({**entity, "statementText": f"{statement};", "warnings": []})
        return JSONResponse(entities, media_type=MEDIA_TYPE)


def _find(request: Request) -> world.KsqldbCluster:
    """Return the ksqlDB cluster in the path.

    Raises:
        ApiError: 404 if it does not exist.
    """
    for cluster in world.KSQLDB_CLUSTERS:
        if cluster.id == request.path_params["id"]:
            return cluster
    raise ApiError(404, f"ksqlDB cluster {request.path_params['id']} not found.")


def _cluster(base: str, cluster: world.KsqldbCluster) -> Json:
    account = cluster.principal
    spec = {
        "display_name": cluster.name,
        "use_detailed_processing_log": True,
        "csu": 1,
        "kafka_cluster": cluster_reference(base, cluster.kafka.id),
        "credential_identity": {
            "id": account,
            "related": f"{base}/iam/v2/service-accounts/{account}",
            "resource_name": crn(f"service-account={account}"),
        },
        "environment": environment_reference(base),
    }
    status = {
        "http_endpoint": base + ksqldb_prefix(cluster.id),
        "phase": "PROVISIONED",
        "is_paused": False,
        "storage": 125,
        "topic_prefix": cluster.topic_prefix,
    }
    name = environment_crn(f"kafka={cluster.kafka.id}", f"ksql={cluster.id}")
    return resource(base, "ksqldbcm/v2/clusters", "Cluster", cluster.id, name, spec=spec, status=status)


def _entity(cluster: world.KsqldbCluster, statement: str) -> Json | None:
    """Return the response entity of a statement, or None if it is not supported."""
    if match := _DESCRIBE.fullmatch(statement):
        described = [source for source in cluster.sources if f"{source.kind}S" == match[1].upper()]
        descriptions = [_described(cluster, source) for source in described]
        return {"@type": "source_descriptions", "sourceDescriptions": descriptions}
    match = _SHOW.fullmatch(statement)
    if match is None:
        return None
    kind, extended = match[1].upper(), bool(match[2])
    if kind == "QUERIES":
        if extended:
            descriptions = [_description(cluster, query) for query in cluster.queries]
            return {"@type": "query_descriptions", "queryDescriptions": descriptions}
        return {"@type": "queries", "queries": [_running(cluster, query) for query in cluster.queries]}
    if extended:
        return None
    sources = [_source(source) for source in cluster.sources if f"{source.kind}S" == kind]
    return {"@type": kind.lower(), kind.lower(): sources}


def _source(source: world.SampleKsqlSource) -> Json:
    return {
        "type": source.kind,
        "name": source.name,
        "topic": source.topic,
        "keyFormat": "KAFKA",
        "valueFormat": source.value_format,
        "isWindowed": False,
    }


def _described(cluster: world.KsqldbCluster, source: world.SampleKsqlSource) -> Json:
    schema = world.topic(cluster.kafka.id, source.topic).schema or {}
    fields = [_field(field["name"], field["type"]) for field in schema.get("fields", ())]
    key = [{**_field(source.key, "string"), "type": "KEY"}] if source.key else []
    return {
        "name": source.name,
        "windowType": None,
        "readQueries": [],
        "writeQueries": [_running(cluster, query) for query in cluster.queries if query.sink == source.name],
        "fields": key + fields,
        "type": source.kind,
        "timestamp": "",
        "statistics": "",
        "errorStats": "",
        "extended": False,
        "keyFormat": "KAFKA",
        "valueFormat": source.value_format,
        "topic": source.topic,
        "partitions": 0,
        "replication": 0,
        "statement": "",
        "queryOffsetSummaries": [],
        "sourceConstraints": [],
    }


def _field(name: str, avro: Any) -> Json:
    return {"name": name.upper(), "schema": _sql_type(avro)}


def _sql_type(avro: Any) -> Json:
    if isinstance(avro, list):
        return _sql_type(next(one for one in avro if one != "null"))
    kind = str(avro.get("logicalType", avro["type"]) if isinstance(avro, dict) else avro)
    sql: Json = {"type": _SQL_TYPES.get(kind, "STRING"), "fields": None, "memberSchema": None}
    if kind == "record":
        sql["fields"] = [_field(field["name"], field["type"]) for field in avro["fields"]]
    elif kind in ("array", "map"):
        sql["memberSchema"] = _sql_type(avro["items" if kind == "array" else "values"])
    return sql


def _running(cluster: world.KsqldbCluster, query: world.SampleKsqlQuery) -> Json:
    topics = {source.name: source.topic for source in cluster.sources}
    return {
        "id": query.id,
        "queryString": query.sql,
        "sinks": [query.sink],
        "sinkKafkaTopics": [topics[query.sink]],
        "queryType": "PERSISTENT",
        "state": query.state,
        "statusCount": {query.state: 1},
    }


def _description(cluster: world.KsqldbCluster, query: world.SampleKsqlQuery) -> Json:
    return {
        "id": query.id,
        "statementText": query.sql,
        "windowType": None,
        "fields": [],
        "sources": list(query.sources),
        "sinks": [query.sink],
        "topology": "",
        "executionPlan": "",
        "overriddenProperties": {},
        "ksqlHostQueryStatus": {"ksqldb-0:8088": query.state},
        "queryType": "PERSISTENT",
        "queryErrors": [],
        "tasksMetadata": [],
        "state": query.state,
        "consumerGroupId": f"_confluent-ksql-{cluster.topic_prefix}query_{query.id}",
    }
