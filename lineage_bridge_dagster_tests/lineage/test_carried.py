"""How long what is carried over has been unread, by scope, over several discoveries."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from lineage_bridge_dagster.lineage.carried import Carried, carried_over
from lineage_bridge_dagster.lineage.carry import STALE_SINCE, carry_forward
from lineage_bridge_dagster.lineage.coverage import Coverage, Scope, ScopeReport, Status
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.model import Graph, scopes_of
from lineage_bridge_dagster.lineage.times import iso
from lineage_bridge_dagster_tests.lineage.graphs import (
    CLUSTERS,
    CONNECT,
    ENVIRONMENTS,
    FLINK,
    TABLEFLOW,
    coverage,
    shop,
)

START = datetime(2026, 1, 5, tzinfo=UTC)


def day(number: int) -> str:
    return iso(START + timedelta(days=number))


def found(number: int, *unread: Scope, status: Status = Status.PARTIAL) -> Discovery:
    """The shop as discovered on a day on which these scopes could not be read."""
    texts = set(map(str, unread))
    nodes = [node for node in shop().nodes.values() if not scopes_of(node.attributes) & texts]
    ids = {node.node_id for node in nodes}
    edges = [
        edge
        for edge in shop().edges.values()
        if not scopes_of(edge.attributes) & texts and {edge.src_id, edge.dst_id} <= ids
    ]
    return Discovery(Graph(nodes, edges), coverage(**{each.api: status for each in unread}), day(number))


def over_days(*unread: tuple[Scope, ...]) -> Discovery:
    """The result of one discovery a day; on each day these scopes could not be read."""
    last: Discovery | None = None
    for number, scopes in enumerate(unread):
        last = carry_forward(found(number, *scopes), last)
    assert last is not None
    return last


def test_complete_discovery_carries_nothing() -> None:
    assert carried_over(over_days((), ())) == []


def test_each_scope_carries_since_its_own_last_success() -> None:
    last = over_days((), (), (CONNECT,), (CONNECT,), (CONNECT, FLINK))

    assert carried_over(last) == [
        Carried(CONNECT, day(1), nodes=2, edges=2, reason="no"),
        Carried(FLINK, day(3), nodes=1, edges=2, reason="no"),
    ]
    assert [each.age(last.discovered_at) for each in carried_over(last)] == [
        timedelta(days=3),
        timedelta(days=1),
    ]


def test_reading_the_scope_once_starts_over() -> None:
    last = over_days((), (CONNECT,), (CONNECT,), (), (CONNECT,))

    assert [(each.scope, each.since) for each in carried_over(last)] == [(CONNECT, day(3))]


def test_scope_that_was_not_requested_counts_for_the_list_that_failed_above_it() -> None:
    failed = Coverage(
        [ScopeReport(ENVIRONMENTS, Status.COMPLETE), ScopeReport(CLUSTERS, Status.DENIED, "Grant it")]
    )
    last = carry_forward(Discovery(Graph(), failed, day(1)), over_days(()))

    by_scope = {each.scope: each for each in carried_over(last)}
    assert by_scope[CLUSTERS].reason == "Grant it"
    assert by_scope[CLUSTERS].since == day(0)
    assert not {CONNECT, TABLEFLOW} & by_scope.keys()


def test_confirmed_discovery_was_seen_when_it_was_confirmed() -> None:
    stored = over_days(())
    # A refresh on day 30 found the same, so that the nodes' own times stayed those of day 0.
    confirmed = Discovery(stored.graph, stored.coverage, day(30))
    failed = carry_forward(found(31, CONNECT), confirmed)

    assert [each.since for each in carried_over(failed)] == [day(30)]
    node = failed.graph.nodes["debezium"]
    assert (node.attributes[STALE_SINCE], node.last_seen) == (day(30), day(30))


def test_time_that_cannot_be_parsed_has_no_age() -> None:
    assert Carried(CONNECT, "last week").age(day(0)) is None
    assert Carried(CONNECT, day(0)).age("") is None
