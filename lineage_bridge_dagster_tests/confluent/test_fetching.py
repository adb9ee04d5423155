from __future__ import annotations

import copy
from typing import Any

import httpx
import pytest

from lineage_bridge_dagster.confluent.discovery import discover
from lineage_bridge_dagster.lineage.carry import carry_forward
from lineage_bridge_dagster.lineage.coverage import Scope, Status
from lineage_bridge_dagster.sql.flink.parser import FlinkSqlParser
from lineage_bridge_dagster_tests.confluent.discovered import ORDERS_A, A, B, Run, status
from lineage_bridge_dagster_tests.confluent.fake import (
    FakeConfluent,
    Responder,
    cluster,
    connect_path,
    environment,
    failure,
    flink_path,
    garbage,
    glue_integration,
    kafka_path,
    listing,
    pool,
    settings,
    statement,
    timeout,
)


def test_progress_lines_are_readable(world: FakeConfluent, parser: FlinkSqlParser) -> None:
    lines: list[str] = []
    discover(settings(), transport=world.transport, parser=parser, progress=lines.append)
    assert "Environments: 1" in lines
    assert "Topics of orders: 3" in lines
    assert "Flink statements of prod in aws.eu-west-1: 1" in lines


def test_number_of_requests_is_as_documented(world: FakeConfluent, parser: FlinkSqlParser) -> None:
    lines: list[str] = []
    discover(settings(), transport=world.transport, parser=parser, progress=lines.append)
    environments, clusters, registries, regions = 1, 2, 1, 2
    assert lines[-1].endswith(f", {len(world.requests)} requests")
    assert len(world.requests) == 3 + 4 * environments + 7 * clusters + 2 * registries + 2 * regions
    assert len(world.requests_to("/ksqldbcm/")) == environments
    assert len(world.requests_to("/schemas")) == registries
    assert len(world.requests_to("/topics")) == 2 * clusters
    assert len(world.requests_to("/mirrors")) == clusters


#: Path that fails -> the scopes that become incomplete.
INCOMPLETE_SCOPES = {
    "/org/v2/environments": {("environments",)},
    "/org/v2/organizations": {("flink", "env-1", "aws.us-east-1"), ("flink", "env-1", "aws.eu-west-1")},
    "/cmk/v2/clusters": {("clusters", "env-1")},
    "/fcpm/v2/compute-pools": {("compute_pools", "env-1")},
    "/fcpm/v2/regions": set(),
    "/srcm/v3/clusters": {("schema_registry", "env-1")},
    "psrc-1.us-east-1.aws.confluent.cloud/schemas": {("schema_registry", "env-1")},
    "psrc-1.us-east-1.aws.confluent.cloud/config": {("schema_registry", "env-1")},
    kafka_path("lkc-a", "/topics"): {("kafka", *A)},
    kafka_path("lkc-a", "/topics/-/configs"): {("kafka", *A)},
    kafka_path("lkc-a", "/links/-/mirrors"): {("mirrors", *A)},
    kafka_path("lkc-a", "/consumer-groups"): {("consumer_groups", *A)},
    connect_path("lkc-a"): {("connect", *A)},
    "/tableflow/v1/tableflow-topics": {("tableflow", *A), ("tableflow", *B)},
    "/tableflow/v1/catalog-integrations": {("catalog_integrations", *A), ("catalog_integrations", *B)},
    flink_path("us-east-1"): {("flink", "env-1", "aws.us-east-1")},
    flink_path("us-east-1", "materialized-tables"): {("flink", "env-1", "aws.us-east-1")},
}


MATERIALIZED = {"name": "totals", "spec": {"kafka_cluster_id": "lkc-b", "query": "SELECT * FROM orders"}}

FAILURES = {
    "401": failure(401),
    "403": failure(403),
    "429": failure(429),
    "500": failure(500),
    "timeout": timeout,
    "garbage": garbage,
}


@pytest.mark.parametrize(
    ("path", "respond"),
    [
        pytest.param(path, respond, id=f"{path}-{name}")
        for path in INCOMPLETE_SCOPES
        for name, respond in FAILURES.items()
        # Denied settings lose no lineage.
        if not (name == "403" and path.endswith(("/-/configs", "/config")))
    ],
)
def test_one_failing_api_loses_nothing(run: Run, world: FakeConfluent, path: str, respond: Responder) -> None:
    last = carry_forward(run(), None)
    world.routes[path] = respond
    found = run()
    incomplete = {report.scope for report in found.coverage.incomplete}
    assert incomplete >= {Scope(*scope) for scope in INCOMPLETE_SCOPES[path]}
    for report in found.coverage.incomplete:
        assert report.reason
    kept = carry_forward(found, last)
    assert set(kept.graph.nodes) == set(last.graph.nodes)
    assert set(kept.graph.edges) == set(last.graph.edges)
    for node_id, before in last.graph.nodes.items():
        missing = set(before.attributes) - set(kept.graph.nodes[node_id].attributes)
        # Names cannot be resolved while the clusters are unknown; their edges are carried over.
        assert missing <= {"evidence"}, (node_id, missing)


@pytest.mark.parametrize(
    ("path", "item", "field"),
    [
        ("/org/v2/environments", environment(), "display_name"),
        ("/cmk/v2/clusters", cluster("lkc-a", "orders"), "spec.display_name"),
        ("/fcpm/v2/compute-pools", pool("lfcp-1", "us-east-1"), "spec.region"),
        ("/tableflow/v1/catalog-integrations", glue_integration(), "spec.config.kind"),
        (flink_path("us-east-1"), statement("enrich", ""), "spec.statement"),
        (flink_path("us-east-1", "materialized-tables"), MATERIALIZED, "spec.query"),
    ],
)
@pytest.mark.parametrize("whole", [False, True], ids=["field", "object"])
def test_a_record_that_lacks_what_lineage_depends_on_loses_nothing(
    run: Run, world: FakeConfluent, path: str, item: Any, field: str, whole: bool
) -> None:
    world.routes[flink_path("us-east-1", "materialized-tables")] = listing(MATERIALIZED)
    last = carry_forward(run(), None)
    *above, name = field.split(".")
    lacking = copy.deepcopy(item)
    within = lacking
    for part in above[:-1] if whole else above:
        within = within[part]
    within[above[-1] if whole and above else name] = None
    world.routes[path] = listing(lacking)
    found = run()
    assert any(f"field `{(above or [name])[0]}" in report.reason for report in found.coverage.incomplete)
    kept = carry_forward(found, last)
    assert set(kept.graph.nodes) == set(last.graph.nodes)
    assert set(kept.graph.edges) == set(last.graph.edges)


@pytest.mark.parametrize("respond", [failure(401), timeout], ids=["401", "timeout"])
def test_unreachable_cluster_gets_one_request(run: Run, world: FakeConfluent, respond: Responder) -> None:
    world.routes[kafka_path("lkc-a", "/topics")] = respond
    found = run()
    assert len(world.requests_to("/clusters/lkc-a/")) == len(world.requests_to("lkc-a/connectors")) + 1
    for api in ("kafka", "mirrors", "consumer_groups"):
        assert status(found, api, *A) in (Status.DENIED, Status.FAILED)


def test_parser_does_not_start_without_sql(world: FakeConfluent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FlinkSqlParser, "__init__", None)
    for region in ("us-east-1", "eu-west-1"):
        world.routes[flink_path(region)] = listing()
    found = discover(settings(), transport=world.transport)
    assert found.coverage.complete


def test_partially_read_list_is_used_and_reported(run: Run, world: FakeConfluent) -> None:
    def respond(request: httpx.Request) -> httpx.Response:
        if "page_token" in request.url.params:
            return failure(500)(request)
        page = listing(cluster("lkc-a", "orders"), following="/cmk/v2/clusters?page_token=2")
        return httpx.Response(200, json=page)

    world.routes["/cmk/v2/clusters"] = respond
    found = run()
    assert status(found, "clusters", "env-1") is Status.PARTIAL
    assert found.coverage.get(Scope("clusters", "env-1")).count == 1  # type: ignore[union-attr]
    assert ORDERS_A in found.graph
