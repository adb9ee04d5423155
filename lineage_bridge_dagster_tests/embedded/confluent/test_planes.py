"""A key opens its own plane and place, and no other."""

from __future__ import annotations

import pytest

from lineage_bridge_dagster.embedded import world
from lineage_bridge_dagster.embedded.confluent import planes
from lineage_bridge_dagster_tests.embedded.confluent import paths
from lineage_bridge_dagster_tests.embedded.confluent.conftest import Caller

#: One path of each plane and place.
ONE_EACH = (
    f"/cmk/v2/clusters?{paths.ENV}",
    f"{paths.CONNECT}/{paths.US}/connectors",
    paths.TOPICS_US,
    f"{paths.KAFKA_US}/topics",
    f"{paths.KAFKA_EU}/topics",
    f"{paths.REGISTRY}/subjects",
    f"{paths.FLINK_US}/statements",
    f"{paths.FLINK_EU}/statements",
)


@pytest.mark.parametrize("path", ONE_EACH)
@pytest.mark.parametrize("key", world.API_KEYS, ids=lambda key: f"{key.plane}-{key.place}")
def test_a_key_opens_its_own_plane_and_place_alone(call: Caller, path: str, key: world.ApiKey) -> None:
    wanted = planes.target(path.partition("?")[0])
    own = key.plane in wanted.planes and key.place in ("", wanted.place)
    answer = call.http.get(path, auth=(key.key, key.secret))
    assert answer.status_code == (200 if own else 401), answer.text


def test_flink_and_tableflow_take_a_cloud_key_too(call: Caller) -> None:
    cloud = world.api_key("confluent_cloud")
    for path in (f"{paths.FLINK_EU}/statements", paths.TOPICS_EU):
        assert call.http.get(path, auth=(cloud.key, cloud.secret)).status_code == 200


@pytest.mark.parametrize("header", ["", "Basic", "Basic !!!", "Bearer abc", "Basic Tk9LRVk6"])
def test_what_is_no_key_is_refused_and_not_repeated(call: Caller, header: str) -> None:
    answer = call.http.get("/org/v2/environments", headers={"Authorization": header})
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"].startswith("Basic")
    assert "errors" in answer.json()


def test_each_plane_refuses_in_its_own_shape(call: Caller) -> None:
    def refused(path: str) -> dict[str, object]:
        body: dict[str, object] = call.http.get(path, auth=("NOBODY", "nothing")).json()
        return body

    assert set(refused("/org/v2/environments")) == {"errors"}
    assert set(refused(f"{paths.CONNECT}/{paths.US}/connectors")) == {"error"}
    assert set(refused(f"{paths.KAFKA_US}/topics")) == {"error_code", "message"}
    assert set(refused(f"{paths.REGISTRY}/subjects")) == {"error_code", "message"}


def test_a_wrong_secret_is_refused_and_told_to_nobody(call: Caller) -> None:
    key = world.api_key("confluent_cloud")
    answer = call.http.get("/org/v2/environments", auth=(key.key, "wrong-" + key.secret))
    assert answer.status_code == 401
    assert key.secret not in answer.text


def test_data_planes_are_where_the_control_plane_says(call: Caller) -> None:
    clusters = call(f"/cmk/v2/clusters?{paths.ENV}").json()["data"]
    for cluster in clusters:
        endpoint = cluster["spec"]["http_endpoint"]
        path = endpoint.removeprefix(str(call.http.base_url).rstrip("/"))
        assert call(f"{path}/kafka/v3/clusters/{cluster['id']}/topics").status_code == 200
    assert {cluster["spec"]["region"] for cluster in clusters} == {"us-east-1", "eu-west-1"}
    regions = call("/fcpm/v2/regions").json()["data"]
    assert len({region["http_endpoint"] for region in regions}) == 2
    registry = call(f"/srcm/v3/clusters?{paths.ENV}").json()["data"][0]["spec"]["http_endpoint"]
    assert registry.endswith(paths.REGISTRY)


def test_one_clusters_endpoint_does_not_answer_for_another(call: Caller) -> None:
    path = f"{planes.kafka_prefix(paths.US)}/kafka/v3/clusters/{paths.EU}/topics"
    assert call(path).status_code == 404
