from __future__ import annotations

from typing import Any

import pytest

from lineage_bridge_dagster.lineage import ids
from lineage_bridge_dagster.lineage.coverage import Note, Scope, Status
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.model import Evidence
from lineage_bridge_dagster.lineage.unknowns import unknowns_of
from lineage_bridge_dagster.lineage.upstream import UpstreamIndex
from lineage_bridge_dagster_tests.confluent.discovered import (
    COUNT,
    ENRICH,
    ORDERS_A,
    ORDERS_B,
    A,
    Run,
    edges,
    node,
    reason,
    status,
)
from lineage_bridge_dagster_tests.confluent.fake import (
    FakeConfluent,
    failure,
    flink_path,
    kafka_path,
    listing,
    statement,
    topic,
)


def flink(run: Run, world: FakeConfluent, *statements: dict[str, Any]) -> Discovery:
    world.routes[flink_path("us-east-1")] = listing(*statements)
    return run()


def job(name: str) -> str:
    return ids.flink_job_id("env-1", "aws", "us-east-1", name)


def test_each_region_gets_one_request(run: Run, world: FakeConfluent) -> None:
    run()
    assert len(world.requests_to("/statements")) == 2
    assert not world.requests_to("ap-south-1")


def test_attributes(run: Run) -> None:
    attributes = node(run(), COUNT).attributes
    assert attributes["phase"] == "DEGRADED"
    assert (attributes["cloud"], attributes["region"]) == ("aws", "eu-west-1")
    assert (attributes["compute_pool_id"], attributes["principal"]) == ("lfcp-1", "sa-1")
    assert attributes["sql"].startswith("INSERT INTO totals")
    assert attributes["evidence"] == "parsed"


def test_names_resolve_across_clusters(run: Run, world: FakeConfluent) -> None:
    found = flink(
        run, world, statement("x", "INSERT INTO enriched SELECT id FROM `prod`.`analytics`.`orders`")
    )
    assert (ORDERS_B, job("x")) in edges(found)
    assert (ORDERS_A, job("x")) not in edges(found)


def test_statement_that_reads_what_it_writes_has_both_edges(run: Run, world: FakeConfluent) -> None:
    found = flink(run, world, statement("x", "INSERT INTO orders SELECT id FROM orders"))
    assert {(ORDERS_A, job("x")), (job("x"), ORDERS_A)} <= edges(found)


@pytest.mark.parametrize(
    ("phase", "offsets", "there", "edged"),
    [
        ("RUNNING", {}, True, True),
        ("PENDING", {}, True, True),
        ("DEGRADED", {}, True, True),
        ("SOMETHING_NEW", {}, True, True),
        ("COMPLETED", {}, True, True),
        ("STOPPED", {}, True, True),
        ("FAILED", {}, True, False),
        ("FAILED", {"orders": "partition:0,offset:100"}, True, True),
        ("DELETING", {}, False, False),
    ],
)
def test_phase_decides_about_node_and_edges(
    run: Run, world: FakeConfluent, phase: str, offsets: dict[str, str], there: bool, edged: bool
) -> None:
    sql = "INSERT INTO enriched SELECT id FROM orders"
    found = flink(run, world, statement("x", sql, phase, latest_offsets=offsets))
    assert (job("x") in found.graph) is there
    assert ((ORDERS_A, job("x")) in edges(found)) is edged
    if there:
        assert node(found, job("x")).attributes["phase"] == phase


@pytest.mark.parametrize(
    "sql", ["SELECT * FROM orders", "CREATE VIEW v AS SELECT id FROM orders", "SHOW TABLES", "SET 'a' = 'b'"]
)
def test_completed_statement_that_writes_nothing_is_not_a_job(
    run: Run, world: FakeConfluent, sql: str
) -> None:
    found = flink(run, world, statement("x", sql, "COMPLETED"))
    assert job("x") not in found.graph


def test_running_select_is_a_job(run: Run, world: FakeConfluent) -> None:
    found = flink(run, world, statement("x", "SELECT * FROM orders"))
    assert (ORDERS_A, job("x")) in edges(found)


def test_views_are_expanded_except_failed_ones(run: Run, world: FakeConfluent) -> None:
    found = flink(
        run,
        world,
        statement(
            "v1", "CREATE VIEW v AS SELECT id FROM orders", "COMPLETED", created_at="2026-01-01T00:00:00Z"
        ),
        statement("v2", "CREATE VIEW v AS SELECT id FROM other", "FAILED", created_at="2026-01-02T00:00:00Z"),
        statement("x", "INSERT INTO enriched SELECT id FROM v", created_at="2026-01-03T00:00:00Z"),
    )
    assert (ORDERS_A, job("x")) in edges(found)
    assert "warnings" not in node(found, job("x")).attributes


def test_unresolvable_name_is_a_warning_not_a_node(run: Run, world: FakeConfluent) -> None:
    found = flink(
        run,
        world,
        statement("x", "INSERT INTO enriched SELECT id FROM `nowhere`.`db`.`t` UNION SELECT id FROM gone"),
    )
    warnings = " ".join(node(found, job("x")).attributes["warnings"])
    assert "nowhere" in warnings
    assert "gone" in warnings
    assert ids.topic_id(*A, "gone") not in found.graph


def test_offsets_reveal_topics_that_the_text_does_not(run: Run, world: FakeConfluent) -> None:
    offsets = {"orders": "partition:0,offset:100", "not-a-topic": "partition:0,offset:1"}
    found = flink(
        run,
        world,
        statement("x", "INSERT INTO enriched SELECT id FROM lost_view", latest_offsets=offsets),
        statement("y", "INSERT INTO THIS IS NO SQL", latest_offsets=offsets),
    )
    for name in ("x", "y"):
        assert (ORDERS_A, job(name)) in edges(found)
        assert "observed" in node(found, job(name)).attributes["evidence"]
    assert node(found, job("y")).attributes["parse_error"]


def test_unparsable_statement_does_not_affect_others(run: Run, world: FakeConfluent) -> None:
    found = flink(
        run,
        world,
        statement("bad", "INSERT INTO ((("),
        statement("good", "INSERT INTO enriched SELECT id FROM orders"),
        statement("ctas", "CREATE TABLE totals2 AS SELECT id FROM orders", "COMPLETED"),
    )
    assert (ORDERS_A, job("good")) in edges(found)
    assert node(found, job("bad")).attributes["parse_error"]
    region = Scope.parse(str(node(found, job("bad")).attributes["scope"]))
    report = found.coverage.get(region)
    assert report is not None
    # The list was fully read, so the scope is complete; unparsed statements are counted.
    assert report.status is Status.COMPLETE
    assert report.notes == (Note("sql", ("bad",)),)


@pytest.fixture
def clicks(world: FakeConfluent) -> str:
    """The id of one more topic beside `orders` and `enriched`."""
    names = ("orders", "enriched", "clicks")
    world.routes[kafka_path("lkc-a", "/topics")] = listing(*(topic(name) for name in names))
    return ids.topic_id(*A, "clicks")


def made_of(found: Discovery, name: str) -> dict[str, list[str] | None]:
    """The topics that each topic written by a statement is made of, None if unknown, all by name."""
    written = [e for e in found.graph.edges.values() if e.src_id == job(name) and e.edge_type == "produces"]
    assert all((e.confidence < 1) is (e.inputs is None) for e in written)
    assert ("inputs" in unknowns_of(node(found, job(name)))) is any(e.inputs is None for e in written)
    names = {node_id: node.qualified_name for node_id, node in found.graph.nodes.items()}
    return {names[e.dst_id]: None if e.inputs is None else [names[i] for i in e.inputs] for e in written}


@pytest.mark.parametrize(
    "text", ["EXECUTE STATEMENT SET BEGIN {}; END;", "BEGIN STATEMENT SET; {}; END;", "{};"]
)
def test_each_sink_of_several_inserts_is_made_of_its_own_topics(
    run: Run, world: FakeConfluent, clicks: str, text: str
) -> None:
    inserts = "INSERT INTO enriched SELECT id FROM orders; INSERT INTO orders SELECT id FROM clicks"
    found = flink(run, world, statement("x", text.format(inserts)))
    assert made_of(found, "x") == {"enriched": ["orders"], "orders": ["clicks"]}
    assert list(UpstreamIndex.of(found.graph).distances(ORDERS_A)) == [job("x"), clicks]


@pytest.mark.usefixtures("clicks")
def test_sinks_are_made_of_the_topics_behind_views(run: Run, world: FakeConfluent) -> None:
    found = flink(
        run,
        world,
        statement(
            "v", "CREATE VIEW v AS SELECT id FROM orders", "COMPLETED", created_at="2026-01-01T00:00:00Z"
        ),
        statement(
            "x",
            "EXECUTE STATEMENT SET BEGIN INSERT INTO enriched SELECT id FROM v; "
            "INSERT INTO orders SELECT id FROM clicks UNION SELECT id FROM gone; END;",
            created_at="2026-01-02T00:00:00Z",
        ),
    )
    assert made_of(found, "x") == {"enriched": ["orders"], "orders": ["clicks"]}


@pytest.mark.usefixtures("clicks")
def test_sink_of_constants_is_made_of_nothing(run: Run, world: FakeConfluent) -> None:
    found = flink(
        run,
        world,
        statement("x", "INSERT INTO enriched VALUES (1); INSERT INTO orders SELECT id FROM clicks"),
        statement("ctas", "CREATE TABLE enriched AS SELECT id FROM orders"),
    )
    assert made_of(found, "x") == {"enriched": [], "orders": ["clicks"]}
    assert made_of(found, "ctas") == {"enriched": ["orders"]}


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        # One sink has a name that is not a topic, so that is where the topics come from that the text lacks.
        (
            "INSERT INTO enriched SELECT id FROM lost_view; INSERT INTO orders SELECT id FROM orders",
            {"enriched": ["clicks"], "orders": ["orders"]},
        ),
        ("INSERT INTO enriched SELECT id FROM orders", {"enriched": ["clicks", "orders"]}),
        # Several may be made of them, or none.
        (
            "INSERT INTO enriched SELECT id FROM lost_view; INSERT INTO orders SELECT id FROM lost_view",
            {"enriched": None, "orders": None},
        ),
        (
            "INSERT INTO enriched SELECT id FROM orders; INSERT INTO orders SELECT id FROM orders",
            {"enriched": None, "orders": None},
        ),
        # What could not be parsed may read them.
        ("INSERT INTO enriched SELECT id FROM orders; SELECT FROM (((", {"enriched": ["orders"]}),
        ("INSERT INTO enriched SELECT id FROM lost_view; SELECT FROM (((", {"enriched": None}),
    ],
)
def test_topics_that_only_offsets_reveal_belong_to_the_sinks_that_may_read_them(
    run: Run, world: FakeConfluent, clicks: str, sql: str, expected: dict[str, list[str] | None]
) -> None:
    offsets = {"clicks": "partition:0,offset:100"}
    found = flink(run, world, statement("x", sql, latest_offsets=offsets))
    assert made_of(found, "x") == expected
    assert (clicks, job("x")) in edges(found)


def test_circular_views_are_reported(run: Run, world: FakeConfluent) -> None:
    found = flink(
        run,
        world,
        statement("one", "CREATE VIEW v1 AS SELECT id FROM v2", "COMPLETED"),
        statement("two", "CREATE VIEW v2 AS SELECT id FROM v1", "COMPLETED"),
        statement("reader", "INSERT INTO enriched SELECT v1.id FROM v1 JOIN orders ON v1.id = orders.id"),
    )
    (warning,) = [
        each for each in node(found, job("reader")).attributes["warnings"] if "read each other" in each
    ]
    assert "`v1`" in warning
    assert "`v2`" in warning
    assert (ORDERS_A, job("reader")) in edges(found)


def test_every_edge_has_evidence(run: Run) -> None:
    found = run()
    known = {str(evidence) for evidence in Evidence}
    assert all(edge.attributes["evidence"] in known for edge in found.graph.edges.values())
    by_kind = {(edge.edge_type, edge.attributes["evidence"]) for edge in found.graph.edges.values()}
    assert {("consumes", "parsed"), ("produces", "declared"), ("materializes", "declared")} <= by_kind
    assert found.coverage.complete


def test_materialized_table_is_a_job_and_its_create_statement_is_not(run: Run, world: FakeConfluent) -> None:
    world.routes[flink_path("us-east-1", "materialized-tables")] = listing(
        {
            "name": "big-orders",
            "spec": {"kafka_cluster_id": "lkc-a", "query": "SELECT id FROM orders", "principal": "sa-2"},
            "status": {"phase": "RUNNING", "version": 1},
        }
    )
    found = flink(
        run,
        world,
        statement(
            "maker",
            "CREATE MATERIALIZED TABLE `big-orders` AS SELECT id FROM orders",
            "COMPLETED",
            affected_resource={
                "kind": "MATERIALIZED_TABLE",
                "database_id": "lkc-a",
                "resource_name": "big-orders",
            },
        ),
    )
    big_orders = job("big-orders")
    assert {(ORDERS_A, big_orders), (big_orders, ids.topic_id(*A, "big-orders"))} <= edges(found)
    assert made_of(found, "big-orders") == {"big-orders": ["orders"]}
    assert job("maker") not in found.graph


def test_failing_region_leaves_the_other(run: Run, world: FakeConfluent) -> None:
    world.routes[flink_path("eu-west-1")] = failure(500)
    found = run()
    assert status(found, "flink", "env-1", "aws.eu-west-1") is Status.FAILED
    assert status(found, "flink", "env-1", "aws.us-east-1") is Status.COMPLETE
    assert ENRICH in found.graph


def test_flink_needs_the_organization_and_reports_its_failure(run: Run, world: FakeConfluent) -> None:
    world.routes["/org/v2/organizations"] = failure(403)
    found = run()
    assert status(found, "flink", "env-1", "aws.us-east-1") is Status.DENIED
    assert "/org/v2/organizations" in reason(found, "flink", "env-1", "aws.us-east-1")
