from __future__ import annotations

import random
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage_bridge_dagster.lineage.carry import STALE_ATTRIBUTES, STALE_SINCE, carry_forward
from lineage_bridge_dagster.lineage.chains import chain_of
from lineage_bridge_dagster.lineage.coverage import Coverage, Scope, ScopeReport, Status
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.graph_json import dumps
from lineage_bridge_dagster.lineage.model import Edge, Graph, Node, scopes_of
from lineage_bridge_dagster_tests.lineage.graphs import (
    CONNECT,
    ENVIRONMENTS,
    FLINK,
    GLUE,
    KAFKA,
    TABLEFLOW,
    coverage,
    edge,
    node,
    render,
    shop,
)

MONDAY, TUESDAY, WEDNESDAY, THURSDAY = (f"2026-01-0{day}T00:00:00.000Z" for day in (5, 6, 7, 8))


def without(graph: Graph, *scopes: Scope, nodes: Iterable[str] = ()) -> Graph:
    """The graph as a discovery finds it that could not read these scopes."""
    unread = set(map(str, scopes))
    nodes_left = [
        n for n in graph.nodes.values() if not scopes_of(n.attributes) & unread and n.node_id not in nodes
    ]
    ids = {n.node_id for n in nodes_left}
    edges = [
        e
        for e in graph.edges.values()
        if not scopes_of(e.attributes) & unread and e.src_id in ids and e.dst_id in ids
    ]
    return Graph(nodes_left, edges)


def last() -> Discovery:
    return carry_forward(Discovery(shop(), coverage(), MONDAY), None)


def test_first_discovery_gets_its_times() -> None:
    first = last()

    assert first.graph.nodes.keys() == shop().nodes.keys()
    assert {n.first_seen for n in first.graph.nodes.values()} == {MONDAY}
    assert {e.last_seen for e in first.graph.edges.values()} == {MONDAY}


@pytest.mark.parametrize("scope", [KAFKA, CONNECT, FLINK, TABLEFLOW, GLUE])
@pytest.mark.parametrize("status", [Status.FAILED, Status.DENIED, Status.PARTIAL])
def test_one_failing_api_loses_nothing(scope: Scope, status: Status) -> None:
    seen = Discovery(without(shop(), scope), coverage(**{scope.api: status}), TUESDAY)

    carried = carry_forward(seen, last())

    assert carried.graph.nodes.keys() == shop().nodes.keys()
    assert carried.graph.edges.keys() == shop().edges.keys()
    before, after = chain_of(shop(), "table"), chain_of(carried.graph, "table", coverage=carried.coverage)
    assert not after.complete
    # An outage must not rewrite a single table.
    assert render(after) == render(before)


def test_everything_failing_at_once_loses_nothing() -> None:
    seen = Discovery(Graph(), Coverage([ScopeReport(ENVIRONMENTS, Status.FAILED)]), TUESDAY)

    carried = carry_forward(seen, last())

    assert carried.graph.nodes.keys() == shop().nodes.keys()
    assert carried.graph.edges.keys() == shop().edges.keys()


def test_tableflow_failure_keeps_the_glue_table_although_glue_was_read() -> None:
    # Tableflow determines which Glue tables are looked for, so reading all of Glue proves nothing here.
    seen = Discovery(without(shop(), TABLEFLOW, nodes=["table"]), coverage(tableflow=Status.FAILED), TUESDAY)

    carried = carry_forward(seen, last())

    assert carried.graph.nodes["table"].attributes[STALE_SINCE] == MONDAY
    assert ("tableflow", "table", "materializes") in carried.graph.edges


def test_stale_since_stays_the_same_through_repeated_failures() -> None:
    failed = coverage(connect=Status.FAILED)
    tuesday = carry_forward(Discovery(without(shop(), CONNECT), failed, TUESDAY), last())
    wednesday = carry_forward(Discovery(without(shop(), CONNECT), failed, WEDNESDAY), tuesday)

    assert wednesday.graph.nodes["debezium"].attributes[STALE_SINCE] == MONDAY
    assert wednesday.graph.nodes["debezium"].last_seen == MONDAY
    assert wednesday.graph.edges["debezium", "raw", "produces"].attributes[STALE_SINCE] == MONDAY
    assert STALE_SINCE not in wednesday.graph.nodes["job"].attributes


def test_node_seen_again_is_not_stale_and_keeps_first_seen() -> None:
    tuesday = carry_forward(
        Discovery(without(shop(), CONNECT), coverage(connect=Status.FAILED), TUESDAY), last()
    )
    wednesday = carry_forward(Discovery(shop(), coverage(), WEDNESDAY), tuesday)
    debezium = wednesday.graph.nodes["debezium"]

    assert STALE_SINCE not in debezium.attributes
    assert (debezium.first_seen, debezium.last_seen) == (MONDAY, WEDNESDAY)
    assert STALE_SINCE not in wednesday.graph.edges["debezium", "raw", "produces"].attributes


def test_node_missing_from_a_fully_read_scope_is_dropped() -> None:
    seen = Discovery(without(shop(), CONNECT), coverage(), TUESDAY)

    carried = carry_forward(seen, last())

    assert carried.graph.nodes.keys().isdisjoint({"debezium", "db"})
    assert ("debezium", "raw", "produces") not in carried.graph.edges


def test_deleted_connector_is_dropped_although_listing_topics_failed() -> None:
    seen = Discovery(without(shop(), CONNECT, KAFKA), coverage(kafka=Status.FAILED), TUESDAY)

    carried = carry_forward(seen, last())

    assert "debezium" not in carried.graph
    assert "raw" in carried.graph


def test_glue_table_is_dropped_only_if_glue_was_read() -> None:
    gone = without(shop(), nodes=["table"])

    assert "table" not in carry_forward(Discovery(gone, coverage(), TUESDAY), last()).graph
    failed = carry_forward(Discovery(gone, coverage(glue=Status.FAILED), TUESDAY), last()).graph
    assert failed.nodes["table"].attributes[STALE_SINCE] == MONDAY


def test_topic_reported_by_two_scopes_is_kept_until_both_were_read() -> None:
    both = shop()
    both.add_node(node("raw", "kafka_topic", "shop.public.orders", FLINK))
    monday = carry_forward(Discovery(both, coverage(), MONDAY), None)
    # Kafka fails while Flink still names the topic; then Flink no longer does, and Kafka still fails.
    only_flink = without(shop(), KAFKA)
    only_flink.add_node(node("raw", "kafka_topic", "shop.public.orders", FLINK))
    failed = coverage(kafka=Status.FAILED)
    tuesday = carry_forward(Discovery(only_flink, failed, TUESDAY), monday)
    wednesday = carry_forward(Discovery(without(shop(), KAFKA), failed, WEDNESDAY), tuesday)
    thursday = carry_forward(Discovery(without(shop(), KAFKA), coverage(), THURSDAY), wednesday)

    assert STALE_SINCE not in tuesday.graph.nodes["raw"].attributes
    assert wednesday.graph.nodes["raw"].attributes[STALE_SINCE] == TUESDAY
    assert "raw" not in thursday.graph


def test_topic_keeps_its_fields_if_only_its_registry_failed() -> None:
    seen = shop()
    seen.nodes["raw"] = node("raw", "kafka_topic", "shop.public.orders", KAFKA)

    failed = carry_forward(Discovery(seen, coverage(schema_registry=Status.FAILED), TUESDAY), last())
    topic = failed.graph.nodes["raw"]

    assert topic.attributes["schema_fields"] == shop().nodes["raw"].attributes["schema_fields"]
    assert topic.attributes[STALE_ATTRIBUTES] == ["schema_fields"]
    assert STALE_SINCE not in topic.attributes
    # Once the registry is read, it has no such schema any more.
    read = carry_forward(Discovery(seen, coverage(), WEDNESDAY), failed).graph.nodes["raw"]
    assert "schema_fields" not in read.attributes
    assert STALE_ATTRIBUTES not in read.attributes


def test_unrelated_failure_keeps_no_outdated_attribute() -> None:
    before = shop()
    before.nodes["table"] = before.nodes["table"].with_attributes(conflict="orders and Orders")
    monday = carry_forward(Discovery(before, coverage(), MONDAY), None)

    tuesday = carry_forward(Discovery(shop(), coverage(connect=Status.FAILED), TUESDAY), monday)

    assert "conflict" not in tuesday.graph.nodes["table"].attributes


def test_environment_excluded_by_a_narrower_filter_is_dropped() -> None:
    # The list of environments was fully read; nothing below the excluded one was.
    read = Coverage([ScopeReport(ENVIRONMENTS, Status.COMPLETE), ScopeReport(GLUE, Status.COMPLETE)])

    assert len(carry_forward(Discovery(Graph(), read, TUESDAY), last()).graph) == 0


def test_node_without_a_scope_is_dropped_only_if_every_scope_was_read() -> None:
    bare = Discovery(Graph([Node("x", "s", "kafka_topic", "x")]), Coverage(), MONDAY)

    assert "x" in carry_forward(Discovery(Graph(), coverage(glue=Status.FAILED), TUESDAY), bare).graph
    assert "x" not in carry_forward(Discovery(Graph(), coverage(), TUESDAY), bare).graph
    # An empty coverage proves nothing.
    assert "x" in carry_forward(Discovery(Graph(), Coverage(), TUESDAY), bare).graph


def statement_set(*reads: str, **outputs: list[str] | None) -> Graph:
    """A Flink statement that reads topics and writes the outputs, each with its inputs if they are known."""
    graph = Graph([node("job", "flink_job", "job", FLINK)])
    for topic in {*reads, *outputs}:
        graph.add_node(node(topic, "kafka_topic", topic, KAFKA))
    for topic in reads:
        graph.add_edge(edge(topic, "job", "consumes", FLINK))
    for topic, inputs in outputs.items():
        named = {} if inputs is None else {"inputs": inputs}
        graph.add_edge(edge("job", topic, "produces", FLINK, **named))
    return graph


def carried_inputs(before: Graph, now: Graph, read: Coverage) -> dict[str, tuple[str, ...] | None]:
    """The inputs of each output of the statement after two discoveries."""
    monday = carry_forward(Discovery(before, coverage(), MONDAY), None)
    carried = carry_forward(Discovery(now, read, TUESDAY), monday)
    return {e.dst_id: e.inputs for e in carried.graph.edges.values() if e.edge_type == "produces"}


#: A discovery in which the topic `lost` is unknown, so that the statement has no edge from it.
_LOST = {"before": statement_set("a", "b", "lost", x=["a", "lost"], y=["b"])}
_LOST["now"] = statement_set("a", "b", x=["a"], y=["b"])


def test_output_keeps_an_input_whose_edge_is_carried_over() -> None:
    found = carried_inputs(**_LOST, read=coverage(kafka=Status.FAILED))

    assert found == {"x": ("a", "lost"), "y": ("b",)}


def test_output_loses_an_input_whose_edge_is_proved_gone() -> None:
    assert carried_inputs(**_LOST, read=coverage()) == {"x": ("a",), "y": ("b",)}


def test_output_keeps_its_input_through_repeated_failures_and_until_it_is_gone() -> None:
    failed = coverage(kafka=Status.FAILED)
    at = carry_forward(Discovery(_LOST["before"], coverage(), MONDAY), None)
    for day in (TUESDAY, WEDNESDAY):
        at = carry_forward(Discovery(_LOST["now"], failed, day), at)
        assert at.graph.edges["job", "x", "produces"].inputs == ("a", "lost")
    at = carry_forward(Discovery(_LOST["now"], coverage(), THURSDAY), at)
    assert at.graph.edges["job", "x", "produces"].inputs == ("a",)


def test_every_output_keeps_a_carried_input_if_it_was_unknown_which_is_made_of_it() -> None:
    before = statement_set("a", "b", "lost", x=None, y=None)

    found = carried_inputs(before, _LOST["now"], coverage(kafka=Status.FAILED))

    assert found == {"x": ("a", "lost"), "y": ("b", "lost")}


def test_output_whose_inputs_are_unknown_now_stays_so() -> None:
    now = statement_set("a", "b", x=None, y=["b"])

    found = carried_inputs(_LOST["before"], now, coverage(kafka=Status.FAILED))

    assert found == {"x": None, "y": ("b",)}


def test_stale_edge_keeps_its_own_inputs() -> None:
    now = without(_LOST["before"], FLINK)

    found = carried_inputs(_LOST["before"], now, coverage(flink=Status.FAILED))

    assert found == {"x": ("a", "lost"), "y": ("b",)}


def test_arguments_are_not_changed() -> None:
    seen, before = Discovery(without(shop(), FLINK), coverage(flink=Status.FAILED), TUESDAY), last()
    texts = dumps(seen), dumps(before)

    carry_forward(seen, before)

    assert (dumps(seen), dumps(before)) == texts


_SCOPES = [Scope(api, "env-abc123", "lkc-abc123") for api in ("kafka", "connect", "tableflow")]


@st.composite
def discoveries(draw: st.DrawFn, when: str) -> Discovery:
    ids = draw(st.sets(st.sampled_from("abcdef")))
    graph = Graph(node(i, "kafka_topic", i, draw(st.sampled_from(_SCOPES))) for i in sorted(ids))
    ends = st.sampled_from(sorted(ids)) if ids else st.nothing()
    for src, dst in draw(st.lists(st.tuples(ends, ends), max_size=8)) if ids else []:
        graph.add_edge(edge(src, dst, "transforms", draw(st.sampled_from(_SCOPES))))
    read = Coverage(ScopeReport(scope, draw(st.sampled_from(Status))) for scope in _SCOPES)
    return Discovery(graph, read, when)


@settings(max_examples=300)
@given(discoveries(MONDAY), discoveries(TUESDAY))
def test_nothing_seen_is_lost_and_nothing_is_dropped_without_proof(before: Discovery, now: Discovery) -> None:
    monday = carry_forward(before, None)
    carried = carry_forward(now, monday)

    assert now.graph.nodes.keys() <= carried.graph.nodes.keys()
    assert now.graph.edges.keys() <= carried.graph.edges.keys()
    for node_id, known in monday.graph.nodes.items():
        scope = Scope.parse(known.attributes["scope"])
        if not now.coverage.proves_absence(scope):
            assert node_id in carried.graph
    for key, known_edge in monday.graph.edges.items():
        if not now.coverage.proves_absence(Scope.parse(known_edge.attributes["scope"])):
            assert key in carried.graph.edges
    for src, dst, _ in carried.graph.edges:
        assert {src, dst} <= carried.graph.nodes.keys()
    for node_id, found in carried.graph.nodes.items():
        assert (STALE_SINCE in found.attributes) == (node_id not in now.graph)


@settings(max_examples=100)
@given(discoveries(MONDAY), discoveries(TUESDAY))
def test_carrying_forward_is_idempotent(before: Discovery, now: Discovery) -> None:
    once = carry_forward(now, carry_forward(before, None))

    assert dumps(carry_forward(once, once)).replace(" ", "").count(STALE_SINCE) <= dumps(once).count(
        STALE_SINCE
    )
    assert carry_forward(now, once).graph.nodes.keys() == once.graph.nodes.keys()
    assert carry_forward(now, once).graph.edges.keys() == once.graph.edges.keys()


def test_large_graph_is_carried_over_completely() -> None:
    rng = random.Random(1)  # noqa: S311 - reproducible, not secret
    names = [f"n{i}" for i in range(30_000)]
    graph = Graph(node(n, "kafka_topic", n, KAFKA) for n in names)
    for name in names:
        graph.add_edge(Edge(name, rng.choice(names), "transforms", attributes={"scope": str(FLINK)}))
    before = Discovery(graph, coverage(), MONDAY)

    carried = carry_forward(Discovery(Graph(), coverage(kafka=Status.FAILED), TUESDAY), before)

    assert len(carried.graph) == len(names)
