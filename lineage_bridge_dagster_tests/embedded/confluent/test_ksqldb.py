"""ksqlDB: cluster list, statements and errors."""

from __future__ import annotations

import httpx
import pytest

from lineage_bridge_dagster.embedded import world
from lineage_bridge_dagster.embedded.confluent.planes import ksqldb_prefix
from lineage_bridge_dagster.sql.ksql import parser as language
from lineage_bridge_dagster_tests.embedded.confluent import paths
from lineage_bridge_dagster_tests.embedded.confluent.conftest import Caller

CLUSTER = world.KSQLDB_CLUSTERS[0]
PATH = f"{ksqldb_prefix(CLUSTER.id)}/ksql"
MEDIA_TYPE = "application/vnd.ksql.v1+json"


def execute(call: Caller, text: str, media_type: str = MEDIA_TYPE) -> httpx.Response:
    return call(PATH, "POST", json={"ksql": text}, headers={"Content-Type": media_type})


def test_control_plane_lists_the_endpoint_of_the_data_plane(call: Caller) -> None:
    (cluster,) = call(f"/ksqldbcm/v2/clusters?{paths.ENV}").json()["data"]
    assert cluster["status"]["http_endpoint"].endswith(ksqldb_prefix(cluster["id"]))
    assert cluster["spec"]["kafka_cluster"]["id"] == paths.US


def test_each_statement_of_a_request_returns_an_entity(call: Caller) -> None:
    response = execute(call, "SHOW STREAMS; list tables; SHOW QUERIES; SHOW QUERIES EXTENDED;")
    assert response.headers["content-type"].startswith(MEDIA_TYPE)
    entities = response.json()
    assert [e["@type"] for e in entities] == ["streams", "tables", "queries", "query_descriptions"]
    assert {s["type"] for s in entities[0]["streams"]} == {"STREAM"}
    assert {t["type"] for t in entities[1]["tables"]} == {"TABLE"}
    topics = {s["name"]: s["topic"] for s in (*entities[0]["streams"], *entities[1]["tables"])}
    for running, described in zip(entities[2]["queries"], entities[3]["queryDescriptions"], strict=True):
        assert running["id"] == described["id"]
        assert running["sinkKafkaTopics"] == [topics[described["sinks"][0]]]


def test_streams_and_tables_are_described_with_their_columns(call: Caller) -> None:
    streams, tables = execute(call, "DESCRIBE STREAMS; describe tables;").json()
    assert {entity["@type"] for entity in (streams, tables)} == {"source_descriptions"}
    described = {d["name"]: d for d in (*streams["sourceDescriptions"], *tables["sourceDescriptions"])}
    assert described.keys() == {source.name for source in CLUSTER.sources}
    page = next(f for f in described["CLICKSTREAM"]["fields"] if f["name"] == "PAGE")
    assert (page["schema"]["type"], [f["name"] for f in page["schema"]["fields"]]) == (
        "STRUCT",
        ["PATH", "REFERRER"],
    )
    key, *values = described["ORDER_STATUS"]["fields"]
    assert (key["name"], key["type"]) == ("ID", "KEY")
    assert [(f["name"], f["schema"]["type"]) for f in values][-1] == ("CHANGED_AT", "TIMESTAMP")


def test_sources_and_sinks_match_the_sql() -> None:
    for query in CLUSTER.queries:
        lineage = language.parse_text(query.sql).lineage
        assert lineage.error is None
        assert lineage.reads == tuple((name,) for name in query.sources)
        assert lineage.writes == ((query.sink,),)


def test_unsupported_statement_is_rejected_with_the_entities_before_it(call: Caller) -> None:
    response = execute(call, "SHOW STREAMS; DROP STREAM CLICKSTREAM;")
    assert response.status_code == 400
    body = response.json()
    assert (body["@type"], body["error_code"]) == ("statement_error", 40001)
    assert [entity["@type"] for entity in body["entities"]] == ["streams"]


@pytest.mark.parametrize("plane", ["confluent_cloud", "kafka"])
def test_keys_of_other_planes_are_rejected_in_ksqldbs_error_shape(call: Caller, plane: str) -> None:
    key = world.api_key(plane, paths.US)
    response = call.http.post(PATH, json={"ksql": "SHOW STREAMS;"}, auth=(key.key, key.secret))
    assert response.status_code == 401
    assert (response.json()["@type"], response.json()["error_code"]) == ("generic_error", 40100)


def test_invalid_bodies_and_unknown_clusters_are_rejected(call: Caller) -> None:
    assert execute(call, "SHOW STREAMS;", "text/plain").status_code == 415
    assert call(PATH, "POST", json=["nonsense"]).status_code == 400
    key = world.api_key("ksqldb", CLUSTER.id)
    unknown = call.http.post("/ksqldb/lksqlc-none/ksql", json={}, auth=(key.key, key.secret))
    assert unknown.status_code == 401
