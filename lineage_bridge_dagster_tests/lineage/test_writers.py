"""The order of evidence on who writes a topic."""

from __future__ import annotations

import pytest

from lineage_bridge_dagster.lineage.model import Edge, Graph
from lineage_bridge_dagster.lineage.writers import settle_writers
from lineage_bridge_dagster_tests.lineage.graphs import edge, node

INFERRED = {"evidence": "inferred"}


def graph(*others: Edge, claims: int = 1, dataset: str = "", **topic: object) -> Graph:
    """A topic that connectors claim by its name, each made of a dataset of its own or of a given one."""
    made = Graph([node("topic", "kafka_topic", "shop.public.orders", **topic)])
    for number in range(claims):
        source, connector = dataset or f"db{number}", f"c{number}"
        made.add_node(node(source, "external_dataset"))
        made.add_node(node(connector, "connector"))
        made.add_edge(edge(source, connector, "consumes", **INFERRED))
        made.add_edge(edge(connector, "topic", "produces", inputs=[source], **INFERRED))
    for other in others:
        made.add_node(node(other.src_id, other.src_id.rpartition("-")[0]))
        made.add_edge(other)
    return made


def settled(found: Graph) -> tuple[set[str], str]:
    """The writers that are left, and what the topic says of them."""
    settle_writers(found)
    writers = {src for src, dst, _ in found.edges if dst == "topic"}
    return writers, found.nodes["topic"].writer


@pytest.mark.parametrize(
    ("kind", "how"),
    [
        ("flink_job", "produces"),
        ("ksqldb_query", "produces"),
        ("connector", "produces"),
        ("tableflow_table", "produces"),
        ("kafka_topic", "transforms"),
        ("a_kind_of_its_own", "produces"),
    ],
)
@pytest.mark.parametrize("evidence", ["declared", "parsed", "engine", "observed", None])
def test_whatever_is_known_to_write_a_topic_excludes_a_claim_by_name(
    kind: str, how: str, evidence: str | None
) -> None:
    known = edge(f"{kind}-1", "topic", how, **({"evidence": evidence} if evidence else {}))
    found = graph(known, claims=2)
    assert settled(found) == ({f"{kind}-1"}, "")
    assert not {"db0", "db1"} & {*found.nodes}
    assert all("others write them" in str(found.nodes[c].warnings) for c in ("c0", "c1"))


def test_claims_stand_if_they_agree_on_the_dataset() -> None:
    assert settled(graph()) == ({"c0"}, "inferred")
    assert settled(graph(claims=2, dataset="db")) == ({"c0", "c1"}, "inferred")
    assert settled(graph(claims=2)) == (set(), "")


def test_topic_for_bookkeeping_has_no_writer_by_its_name() -> None:
    assert settled(graph(is_internal=True)) == (set(), "")


def test_settling_twice_changes_nothing() -> None:
    for found in (graph(), graph(claims=2), graph(edge("flink_job-1", "topic", "produces"))):
        settle_writers(found)
        nodes, edges = dict(found.nodes), dict(found.edges)
        settle_writers(found)
        assert (found.nodes, found.edges) == (nodes, edges)


def test_mark_goes_with_the_claim() -> None:
    found = graph(edge("flink_job-1", "topic", "produces"), writer="inferred")
    assert settled(found)[1] == ""
    assert settled(graph(claims=0, writer="inferred")) == (set(), "")


def test_dataset_that_another_edge_names_stays() -> None:
    found = graph(edge("flink_job-1", "topic", "produces"))
    found.add_node(node("sink", "connector"))
    found.add_edge(edge("sink", "db0", "produces"))
    settle_writers(found)
    assert ("sink", "db0", "produces") in found.edges
    assert ("db0", "c0", "consumes") not in found.edges


def test_dataset_of_a_topic_that_is_still_claimed_stays() -> None:
    found = graph(edge("flink_job-1", "topic", "produces"))
    found.add_node(node("other", "kafka_topic"))
    found.add_edge(edge("c0", "other", "produces", inputs=["db0"], **INFERRED))
    settle_writers(found)
    assert ("db0", "c0", "consumes") in found.edges
    assert found.nodes["other"].writer == "inferred"
