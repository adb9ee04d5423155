from __future__ import annotations

from lineage_bridge_dagster.lineage.coverage import Coverage, Scope, ScopeReport, Status
from lineage_bridge_dagster.lineage.model import Edge, Graph, Node, scopes_of


def test_node_that_two_scopes_report_remembers_both() -> None:
    graph = Graph()
    graph.add_node(Node("t", "c", "kafka_topic", "t", attributes={"scope": "kafka:e:c", "a": 1}))
    graph.add_node(Node("t", "c", "kafka_topic", "t", attributes={"scope": "flink:e:r", "b": 2}))
    graph.add_node(Node("t", "c", "kafka_topic", "t", attributes={"scope": "connect:e:c"}))

    assert scopes_of(graph.nodes["t"].attributes) == {"kafka:e:c", "flink:e:r", "connect:e:c"}
    assert graph.nodes["t"].attributes["a"] == 1


def test_merging_keeps_what_the_later_node_leaves_empty() -> None:
    graph = Graph([Node("t", "c", "kafka_topic", "t", display_name="T", tags=("a",), first_seen="2")])
    merged = graph.add_node(Node("t", "c", "kafka_topic", "t", tags=("b",), first_seen="1"))

    assert (merged.display_name, merged.tags, merged.first_seen) == ("T", ("a", "b"), "1")


def test_edge_keeps_the_higher_confidence() -> None:
    graph = Graph(edges=[Edge("a", "b", "produces", 0.9), Edge("a", "b", "produces", 0.5)])

    assert graph.edges["a", "b", "produces"].confidence == 0.9


def test_index_names_each_source_once_though_two_kinds_of_edge_lead_from_it() -> None:
    graph = Graph([Node("a", "", "x", "a"), Node("b", "", "x", "b")])
    graph.add_edge(Edge("a", "b", "produces"))
    graph.add_edge(Edge("a", "b", "consumes"))

    assert graph.upstream_index() == {"b": ["a"]}


def test_scope_survives_its_text_form() -> None:
    for scope in (
        Scope("environments"),
        Scope("clusters", "env-1"),
        Scope("glue", "", "us-east-1"),
        Scope("flink", "env-1", "aws.us-east-1"),
    ):
        assert Scope.parse(str(scope)) == scope


def test_complete_answer_above_proves_a_scope_that_was_not_asked_gone() -> None:
    asked = Coverage([ScopeReport(Scope("environments"), Status.COMPLETE)])

    assert asked.proves_absence(Scope("kafka", "env-1", "lkc-1"))
    asked.add(ScopeReport(Scope("clusters", "env-1"), Status.FAILED))
    assert not asked.proves_absence(Scope("kafka", "env-1", "lkc-1"))


def test_of_two_reports_on_a_scope_the_worse_stands() -> None:
    scope = Scope("kafka", "e", "c")
    asked = Coverage([ScopeReport(scope, Status.FAILED, "500"), ScopeReport(scope, Status.COMPLETE)])

    assert asked.get(scope) == ScopeReport(scope, Status.FAILED, "500")
    assert not asked.complete
    assert not Coverage().complete
