"""API keys are valid only for their plane and resource; data planes have their own endpoints."""

from __future__ import annotations

import pytest

from lineage_bridge_dagster.embedded import world
from lineage_bridge_dagster.embedded.confluent import planes
from lineage_bridge_dagster_tests.embedded.confluent import paths
from lineage_bridge_dagster_tests.embedded.confluent.conftest import Caller

#: One path of each plane and resource.
PATHS = (
    f"/cmk/v2/clusters?{paths.ENV}",
    f"{paths.CONNECT}/{paths.US}/connectors",
    paths.TOPICS_US,
    f"{paths.KAFKA_US}/topics",
    f"{paths.KAFKA_EU}/topics",
    f"{paths.REGISTRY}/schemas",
    f"{paths.FLINK_US}/statements",
    f"{paths.FLINK_EU}/statements",
)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("key", world.API_KEYS, ids=lambda key: f"{key.plane}-{key.place}")
def test_key_is_valid_only_for_its_plane_and_resource(call: Caller, path: str, key: world.ApiKey) -> None:
    target = planes.target(path.partition("?")[0])
    accepted = key.plane in target.planes and key.place in ("", target.place)
    response = call.http.get(path, auth=(key.key, key.secret))
    assert response.status_code == (200 if accepted else 401), response.text


def test_flink_and_tableflow_also_accept_a_cloud_key(call: Caller) -> None:
    cloud = world.api_key("confluent_cloud")
    for path in (f"{paths.FLINK_EU}/statements", paths.TOPICS_EU):
        assert call.http.get(path, auth=(cloud.key, cloud.secret)).status_code == 200


@pytest.mark.parametrize("header", ["", "Basic", "Basic !!!", "Bearer abc", "Basic Tk9LRVk6"])
def test_invalid_authorization_header_is_rejected(call: Caller, header: str) -> None:
    response = call.http.get("/org/v2/environments", headers={"Authorization": header})
    assert response.status_code == 401
    assert response.headers["WWW-Authenticate"].startswith("Basic")
    assert "errors" in response.json()


def test_each_plane_has_its_own_error_shape(call: Caller) -> None:
    def unauthorized(path: str) -> dict[str, object]:
        body: dict[str, object] = call.http.get(path, auth=("NOBODY", "nothing")).json()
        return body

    assert set(unauthorized("/org/v2/environments")) == {"errors"}
    assert set(unauthorized(f"{paths.CONNECT}/{paths.US}/connectors")) == {"error"}
    assert set(unauthorized(f"{paths.KAFKA_US}/topics")) == {"error_code", "message"}
    assert set(unauthorized(f"{paths.REGISTRY}/schemas")) == {"error_code", "message"}


def test_wrong_secret_is_rejected_without_revealing_the_key(call: Caller) -> None:
    key = world.api_key("confluent_cloud")
    response = call.http.get("/org/v2/environments", auth=(key.key, "wrong-" + key.secret))
    assert response.status_code == 401
    assert key.secret not in response.text


def test_control_plane_lists_the_endpoints_of_the_data_planes(call: Caller) -> None:
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


def test_endpoint_of_one_cluster_does_not_serve_another(call: Caller) -> None:
    path = f"{planes.kafka_prefix(paths.US)}/kafka/v3/clusters/{paths.EU}/topics"
    assert call(path).status_code == 404
