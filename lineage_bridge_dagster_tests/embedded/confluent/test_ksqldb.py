"""The emulated ksqlDB answers as the engine does."""

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


def asked(call: Caller, text: str, media_type: str = MEDIA_TYPE) -> httpx.Response:
    return call(PATH, "POST", json={"ksql": text}, headers={"Content-Type": media_type})


def test_the_control_plane_names_the_address_of_its_data_plane(call: Caller) -> None:
    (listed,) = call(f"/ksqldbcm/v2/clusters?{paths.ENV}").json()["data"]
    assert listed["status"]["http_endpoint"].endswith(ksqldb_prefix(listed["id"]))
    assert listed["spec"]["kafka_cluster"]["id"] == paths.US


def test_every_statement_of_a_request_has_its_entity(call: Caller) -> None:
    answer = asked(call, "SHOW STREAMS; list tables; SHOW QUERIES; SHOW QUERIES EXTENDED;")
    assert answer.headers["content-type"].startswith(MEDIA_TYPE)
    entities = answer.json()
    assert [e["@type"] for e in entities] == ["streams", "tables", "queries", "query_descriptions"]
    assert {s["type"] for s in entities[0]["streams"]} == {"STREAM"}
    assert {t["type"] for t in entities[1]["tables"]} == {"TABLE"}
    topics = {s["name"]: s["topic"] for s in (*entities[0]["streams"], *entities[1]["tables"])}
    for running, described in zip(entities[2]["queries"], entities[3]["queryDescriptions"], strict=True):
        assert running["id"] == described["id"]
        assert running["sinkKafkaTopics"] == [topics[described["sinks"][0]]]


def test_what_the_engine_says_is_what_the_texts_say() -> None:
    for query in CLUSTER.queries:
        lineage = language.parse_text(query.sql).lineage
        assert lineage.error is None
        assert lineage.reads == tuple((name,) for name in query.sources)
        assert lineage.writes == ((query.sink,),)


def test_a_statement_that_is_not_known_is_refused_with_what_was_answered_before(call: Caller) -> None:
    answer = asked(call, "SHOW STREAMS; DROP STREAM CLICKSTREAM;")
    assert answer.status_code == 400
    body = answer.json()
    assert (body["@type"], body["error_code"]) == ("statement_error", 40001)
    assert [entity["@type"] for entity in body["entities"]] == ["streams"]


@pytest.mark.parametrize("plane", ["confluent_cloud", "kafka"])
def test_keys_of_other_planes_are_refused_in_ksqldbs_shape(call: Caller, plane: str) -> None:
    key = world.api_key(plane, paths.US)
    answer = call.http.post(PATH, json={"ksql": "SHOW STREAMS;"}, auth=(key.key, key.secret))
    assert answer.status_code == 401
    assert (answer.json()["@type"], answer.json()["error_code"]) == ("generic_error", 40100)


def test_other_bodies_and_clusters_are_refused(call: Caller) -> None:
    assert asked(call, "SHOW STREAMS;", "text/plain").status_code == 415
    assert call(PATH, "POST", json=["nonsense"]).status_code == 400
    key = world.api_key("ksqldb", CLUSTER.id)
    other = call.http.post("/ksqldb/lksqlc-none/ksql", json={}, auth=(key.key, key.secret))
    assert other.status_code == 401
