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
