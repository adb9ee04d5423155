"""Connectors' offsets in a discovery: what is asked, what a failure leaves, and what is never lost."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import httpx
import pytest

from lineage_bridge_dagster.confluent.discovery import discover
from lineage_bridge_dagster.confluent.offset_cache import MAX_AGE
from lineage_bridge_dagster.lineage import ids
from lineage_bridge_dagster.lineage.carry import STALE_SINCE, carry_forward
from lineage_bridge_dagster.lineage.chains import chain_of
from lineage_bridge_dagster.lineage.coverage import CONNECTOR_OFFSETS, Status
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.model import EdgeType, Evidence
from lineage_bridge_dagster.sql.flink.parser import FlinkSqlParser
from lineage_bridge_dagster_tests.confluent.discovered import NOW, A, edges, node, reason, status
from lineage_bridge_dagster_tests.confluent.fake import (
    FakeConfluent,
    Responder,
    by_cluster,
    connect_path,
    connector,
    failure,
    garbage,
    in_sequence,
    kafka_path,
    listing,
    offsets,
    offsets_path,
    settings,
    tableflow_topic,
    timeout,
    topic,
)

Discover = Callable[..., Discovery]

CONFIG = {
    "connector.class": "PostgresSource",
    "connection.host": "pg.example",
    "connection.port": "5432",
    "db.name": "inv",
    "topic.prefix": "inv-",
    "mode": "timestamp",
}
PG = ids.connector_id(*A, "pg")
STOCK_TOPIC, REPORT_TOPIC = ids.topic_id(*A, "inv-stock"), ids.topic_id(*A, "inv-report")
#: What the offsets name, and what the name of the topic alone suggests.
SEEN = ids.external_dataset_id("postgres://pg.example:5432/inv.warehouse.stock")
GUESSED = ids.external_dataset_id("postgres://pg.example:5432/inv.public.stock")
SCOPE = (CONNECTOR_OFFSETS, A[0], f"{A[1]}/lcc-pg")
PATH = offsets_path("lkc-a", "pg")
STOCK = {"partition": {"protocol": "1", "table": "inv.warehouse.stock"}, "offset": {"timestamp": 1}}

#: A failure of one request; each response repeats, so that the retries fail too.
FAILURES: dict[str, Responder] = {
    "401": failure(401),
    "403": failure(403),
    "409": failure(409),
    "429": failure(429, {"Retry-After": "0"}),
    "500": failure(500),
    "timeout": timeout,
    "garbage": garbage,
    "other shape": lambda _request: httpx.Response(200, json={"offsets": 7}),
    "half a page": lambda _request: httpx.Response(200, json=offsets({"partition": "cut"})),
}
each_failure = pytest.mark.parametrize("respond", FAILURES.values(), ids=FAILURES)


@pytest.fixture
def world(world: FakeConfluent) -> FakeConfluent:
    """The small world, with a connector in doubt, and a topic that only has the name of one of its tables."""
    world.routes[connect_path("lkc-a")].update(connector("pg", "source", CONFIG))
    world.routes[kafka_path("lkc-a", "/topics")] = listing(
        *map(topic, ("orders", "enriched", "inv-stock", "inv-report"))
    )
    world.routes[PATH] = offsets(STOCK)
    return world


@pytest.fixture
def run(world: FakeConfluent, parser: FlinkSqlParser) -> Discover:
    """Discovers the world after the last discovery, `passed` later than that."""

    def discovered(
        last: Discovery | None = None, passed: timedelta = timedelta(), **changes: Any
    ) -> Discovery:
        found = discover(
            settings(**{"max_attempts": 1, **changes}),
            transport=world.transport,
            parser=parser,
            last=last,
            clock=lambda: NOW + passed,
        )
        return carry_forward(found, last)

    return discovered


def warnings(found: Discovery) -> str:
    return " ".join(node(found, PG).attributes.get("warnings", ()))


def lineage(found: Discovery) -> set[tuple[str, str]]:
    """The edges of the connector in doubt."""
    return {edge for edge in edges(found) if PG in edge}


def test_tables_of_the_offsets_are_the_connectors_sources(run: Discover) -> None:
    found = run()
    assert lineage(found) == {(SEEN, PG), (PG, STOCK_TOPIC)}
    edge = found.graph.edges[SEEN, PG, EdgeType.CONSUMES]
    assert edge.attributes["evidence"] == Evidence.OBSERVED
    assert node(found, PG).attributes["evidence"] == "declared+observed"
    assert "inv-report" in warnings(found)
    assert found.coverage.complete


def test_only_connectors_in_doubt_are_asked_once_an_hour(run: Discover, world: FakeConfluent) -> None:
    first = run()
    assert [request.url.path for request in world.requests_to("/offsets")] == [PATH]
    second = run(first, MAX_AGE)
    assert len(world.requests_to("/offsets")) == 1
    assert lineage(second) == lineage(first)
    third = run(second, MAX_AGE + timedelta(seconds=1))
    assert len(world.requests_to("/offsets")) == 2
    assert lineage(third) == lineage(first)


def test_new_topic_that_the_configuration_matches_is_asked_about_at_once(
    run: Discover, world: FakeConfluent
) -> None:
    first = run()
    names = ("orders", "enriched", "inv-stock", "inv-report", "inv-new")
    world.routes[kafka_path("lkc-a", "/topics")] = listing(*map(topic, names))
    new = {"partition": {"protocol": "1", "table": "inv.public.new"}, "offset": {}}
    world.routes[PATH] = offsets(STOCK, new)
    assert (PG, ids.topic_id(*A, "inv-new")) in lineage(run(first))


def test_setting_turns_the_requests_off(run: Discover, world: FakeConfluent) -> None:
    first = run()
    found = run(first, connector_offsets=False)
    assert len(world.requests_to("/offsets")) == 1
    assert lineage(found) == {
        (GUESSED, PG),
        (ids.external_dataset_id("postgres://pg.example:5432/inv.public.report"), PG),
        (PG, STOCK_TOPIC),
        (PG, REPORT_TOPIC),
    }
    assert "connector_offsets" not in found.caches
    assert "evidence" not in node(found, PG).attributes


def test_requests_are_counted_apart(world: FakeConfluent, parser: FlinkSqlParser) -> None:
    lines: list[str] = []
    discover(settings(), transport=world.transport, parser=parser, progress=lines.append)
    assert lines[-1].endswith(f", {len(world.requests)} requests, 1 of them for connector offsets")
    asked = len(world.requests)
    discover(
        settings(connector_offsets=False), transport=world.transport, parser=parser, progress=lines.append
    )
    assert lines[-1].endswith(f", {asked - 1} requests")


@each_failure
def test_failure_leaves_what_the_last_answer_told(
    run: Discover, world: FakeConfluent, respond: Responder
) -> None:
    first = run()
    world.routes[PATH] = respond
    found = run(first, timedelta(days=1))
    assert lineage(found) == lineage(first)
    assert STALE_SINCE not in found.graph.edges[SEEN, PG, EdgeType.CONSUMES].attributes
    assert f"those of {first.discovered_at} are used" in warnings(found)
    again = run(found, timedelta(days=2))
    assert lineage(again) == lineage(first)
    world.routes[PATH] = offsets(STOCK)
    healed = run(again, timedelta(days=3))
    assert lineage(healed) == lineage(first)
    assert "could not" not in warnings(healed)


@each_failure
def test_failure_without_a_cached_answer_takes_no_known_edge_away(
    run: Discover, world: FakeConfluent, respond: Responder
) -> None:
    first = run()
    first.caches = {}
    world.routes[PATH] = respond
    found = run(first, timedelta(days=1))
    assert lineage(found) >= lineage(first)
    assert found.graph.edges[SEEN, PG, EdgeType.CONSUMES].attributes[STALE_SINCE] == first.discovered_at
    assert SEEN in found.graph
    world.routes[PATH] = offsets(STOCK)
    assert lineage(run(found, timedelta(days=2))) == lineage(first)


@each_failure
def test_failure_is_said_on_the_connector_and_its_configuration_is_used(
    run: Discover, world: FakeConfluent, respond: Responder
) -> None:
    world.routes[PATH] = respond
    found = run()
    assert {(GUESSED, PG), (PG, STOCK_TOPIC)} <= lineage(found)
    assert "could not all be read, so it is shown as configured" in warnings(found)
    assert status(found, *SCOPE) in (Status.DENIED, Status.FAILED, Status.PARTIAL)
    assert reason(found, *SCOPE)
    assert status(found, "connect", *A) is Status.COMPLETE


@each_failure
def test_failure_holds_no_push_back(run: Discover, world: FakeConfluent, respond: Responder) -> None:
    world.routes["/tableflow/v1/tableflow-topics"] = by_cluster(
        {"lkc-a": listing(tableflow_topic("inv-stock"))}
    )
    world.routes[PATH] = respond
    found = run()
    table = ids.tableflow_table_id(*A, "inv-stock")
    chain = chain_of(found.graph, table, coverage=found.coverage)
    assert GUESSED in {hop.node.node_id for hop in chain.hops}
    assert chain.complete
    assert found.coverage.covers_all_table_sources


def test_lasting_lack_of_a_right_leaves_the_discovery_complete(run: Discover, world: FakeConfluent) -> None:
    world.routes[PATH] = failure(403)
    found = run()
    assert status(found, *SCOPE) is Status.DENIED
    assert found.coverage.complete


def test_outage_is_in_the_coverage(run: Discover, world: FakeConfluent) -> None:
    world.routes[PATH] = failure(503)
    found = run()
    assert [str(report.scope) for report in found.coverage.incomplete] == [":".join(SCOPE)]


def test_connector_without_offsets_is_no_failure(run: Discover, world: FakeConfluent) -> None:
    del world.routes[PATH]
    found = run()
    assert found.coverage.complete
    assert status(found, *SCOPE) is None
    assert (GUESSED, PG) in lineage(found)
    assert "offsets" not in warnings(found)
    run(found)
    assert len(world.requests_to("/offsets")) == 1


def test_missing_offsets_do_not_unsay_earlier_ones(run: Discover, world: FakeConfluent) -> None:
    first = run()
    del world.routes[PATH]
    assert lineage(run(first, timedelta(days=1))) == lineage(first)


def test_empty_offsets_do(run: Discover, world: FakeConfluent) -> None:
    first = run()
    world.routes[PATH] = offsets()
    found = run(first, timedelta(days=1))
    assert (SEEN, PG) not in lineage(found)
    assert SEEN not in found.graph
    assert (GUESSED, PG) in lineage(found)


def test_part_of_the_offsets_is_added_to_what_is_known(run: Discover, world: FakeConfluent) -> None:
    first = run()
    report = {"partition": {"table": "inv.public.report"}, "offset": {}}
    world.routes[PATH] = offsets(report, {"partition": "cut"})
    found = run(first, timedelta(days=1))
    assert lineage(found) > lineage(first)
    assert (PG, REPORT_TOPIC) in lineage(found)
    assert status(found, *SCOPE) is Status.PARTIAL
    assert len(world.requests_to("/offsets")) == 2
    run(found, timedelta(days=1))
    assert len(world.requests_to("/offsets")) == 3


def with_connectors(world: FakeConfluent, *names: str) -> None:
    for name in names:
        world.routes[connect_path("lkc-a")].update(connector(name, "source", CONFIG))


def test_outage_is_asked_about_only_once_for_each_cluster(run: Discover, world: FakeConfluent) -> None:
    names = ("p1", "p2", "p3", "p4")
    with_connectors(world, *names)
    for name in (*names, "pg"):
        world.routes[offsets_path("lkc-a", name)] = failure(503)
    found = run(max_concurrency=1)
    # Two threads serve one slot in flight.
    assert len(world.requests_to("/offsets")) <= 2
    scopes = {report.scope.place for report in found.coverage if report.scope.api == CONNECTOR_OFFSETS}
    assert scopes == {f"lkc-a/lcc-{name}" for name in (*names, "pg")}


def test_denied_connector_does_not_keep_others_from_being_asked(run: Discover, world: FakeConfluent) -> None:
    with_connectors(world, "p1")
    world.routes[offsets_path("lkc-a", "p1")] = failure(403)
    found = run(max_concurrency=1)
    assert (SEEN, PG) in lineage(found)


def test_rate_limit_is_waited_for(run: Discover, world: FakeConfluent) -> None:
    limited = failure(429, {"Retry-After": "0"})
    world.routes[PATH] = in_sequence(limited, offsets(STOCK))
    found = run(max_attempts=2)
    assert (SEEN, PG) in lineage(found)
    assert found.coverage.complete


def test_evidence_outlives_an_outage_of_the_list_of_connectors(run: Discover, world: FakeConfluent) -> None:
    first = run()
    healthy = world.routes[connect_path("lkc-a")]
    world.routes[connect_path("lkc-a")] = failure(500)
    during = run(first, timedelta(days=1))
    assert lineage(during) == lineage(first)
    assert SEEN in during.graph
    world.routes[connect_path("lkc-a")] = healthy
    world.routes[PATH] = failure(500)
    assert lineage(run(during, timedelta(days=2))) == lineage(first)


def test_deleted_connector_takes_what_only_its_offsets_told_with_it(
    run: Discover, world: FakeConfluent
) -> None:
    first = run()
    world.routes[connect_path("lkc-a")] = {}
    found = run(first)
    assert PG not in found.graph
    assert SEEN not in found.graph
    assert found.caches["connector_offsets"]["entries"] == {}


def test_cache_holds_names_and_no_configuration(run: Discover) -> None:
    (entry,) = run().caches["connector_offsets"]["entries"].values()
    assert set(entry) == {"question", "asked_at", "names", "complete"}
    assert entry["names"] == ["inv.warehouse.stock"]
