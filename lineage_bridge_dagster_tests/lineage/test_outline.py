"""The tree of a description: everything stands below what feeds it, once in full."""

from __future__ import annotations

import random
import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage_bridge_dagster.lineage.chains import Chain, chain_of
from lineage_bridge_dagster.lineage.model import Graph
from lineage_bridge_dagster.lineage.outline import Outline
from lineage_bridge_dagster.lineage.text import MAX_DESCRIPTION_BYTES
from lineage_bridge_dagster.lineage.upstream import node_of
from lineage_bridge_dagster_tests.lineage.graphs import copier, edge, graphs_with_inputs, node, render
from lineage_bridge_dagster_tests.work import steps_of

_KINDS = {
    "db": "external_dataset",
    "cdc": "connector",
    "job": "flink_job",
    "tf": "tableflow_table",
    "table": "catalog_table",
}


def flow(*paths: str, **inputs: list[str]) -> Graph:
    """A graph of paths such as `db1 cdc1 orders`; a node's kind follows from its name, others are topics.

    Args:
        paths: Each node feeds the next one.
        inputs: By output, what its process makes it of.
    """
    graph = Graph()
    for path in paths:
        names = path.split()
        for name in names:
            kind = (
                "catalog_table" if name == "table" else _KINDS.get(name.rstrip("0123456789"), "kafka_topic")
            )
            graph.add_node(node(name, kind, **({"sql": f"SELECT {name}"} if kind == "flink_job" else {})))
        for source, target in pairwise(names):
            kind = "produces" if graph.nodes[source].node_type in ("connector", "flink_job") else "consumes"
            named = {"inputs": inputs[target]} if kind == "produces" and target in inputs else {}
            graph.add_edge(edge(source, target, kind, **named))
    return graph


def drawn(graph: Graph, budget: int = MAX_DESCRIPTION_BYTES) -> list[str]:
    """The lines between the first one and the table, without kinds."""
    block = render(chain_of(graph, "table")).block(budget, "2026-04-30T12:34:56.789Z")
    assert block is not None
    lines = block.splitlines()
    table = next(i for i, line in enumerate(lines) if line.startswith("  → "))
    return [re.sub(r"- \w+: ", "- ", line) for line in lines[1:table]]


CASES = {
    "databases of two connectors": (
        flow("db1 cdc1 orders job", "db2 cdc2 users job", "job joined tf table"),
        """
- db1
  - cdc1
    - orders
      - job [SQL: SELECT job]
        - joined
          - tf
- db2
  - cdc2
    - users
      - job""",
    ),
    "a source that is nearer": (
        flow("db1 cdc1 raw job1 clean job2", "lookup job2", "job2 out table"),
        """
- db1
  - cdc1
    - raw
      - job1 [SQL: SELECT job1]
        - clean
          - job2 [SQL: SELECT job2]
            - out
- lookup
  - job2""",
    ),
    "a source that feeds several": (
        flow("db1 cdc1", "cdc1 a job", "cdc1 b job", "job out table"),
        """
- db1
  - cdc1
    - a
      - job [SQL: SELECT job]
        - out
    - b
      - job""",
    ),
    "a source that also feeds the table itself": (
        flow("raw job clean table", "raw table"),
        """
- raw
  - job [SQL: SELECT job]
    - clean""",
    ),
    "outputs with inputs of their own": (
        flow("db1 cdc", "db2 cdc", "cdc a job", "cdc b job", "job out table", a=["db1"], b=["db2"]),
        """
- db1
  - cdc
    - a
      - job [SQL: SELECT job]
        - out
- db2
  - cdc
    - b
      - job""",
    ),
    "two outputs of the same input, and a third": (
        flow(
            *("db1 cdc", "db2 cdc", "cdc a job", "cdc b job", "cdc c job", "job out table"),
            a=["db1"],
            b=["db1"],
            c=["db2"],
        ),
        """
- db1
  - cdc
    - a
      - job [SQL: SELECT job]
        - out
    - b
      - job
- db2
  - cdc
    - c
      - job""",
    ),
    "an output of unknown inputs beside a restricted one": (
        flow("db1 cdc", "db2 cdc", "cdc a job", "cdc b job", "job out table", a=["db1"]),
        """
- db1
  - cdc
    - a
      - job [SQL: SELECT job]
        - out
    - b
      - job
- db2
  - cdc""",
    ),
    "an output of nothing that is known": (
        flow("db1 cdc", "cdc a table", a=[]),
        """
- cdc
  - a""",
    ),
    "a statement that reads what it writes": (
        flow("orders job totals table", "totals job"),
        """
- orders
  - job [SQL: SELECT job]
    - totals
      - job""",
    ),
    "mirrors of each other": (
        flow("db cdc east west east", "west table"),
        """
- db
  - cdc
    - east
      - west
        - east""",
    ),
    "a cycle that nothing feeds": (
        flow("a job b a", "b table"),
        """
- a
  - job [SQL: SELECT job]
    - b
      - a""",
    ),
    "a cycle that another one feeds": (
        flow("a b a", "b c d c", "d table"),
        """
- a
  - b
    - a
    - c
      - d
        - c""",
    ),
    "a cycle that nothing feeds, and a source of what it feeds": (
        flow("a b a", "b c table", "db cdc c"),
        """
- a
  - b
    - a
    - c
- db
  - cdc
    - c""",
    ),
    "cycles that nothing feeds, and a source of the cycle that they feed": (
        flow("a b a", "b d", "c c1 c", "c1 d", "s d e d", "d table"),
        """
- a
  - b
    - a
    - d
      - e
        - d
- c
  - c1
    - c
    - d
- s
  - d""",
    ),
    "a topic that is its own mirror": (flow("a a table"), "\n- a"),
    "the table in a cycle": (flow("a table b a"), "\n- b\n  - a"),
}


@pytest.mark.parametrize("case", CASES)
def test_each_hop_stands_below_what_feeds_it(case: str) -> None:
    graph, expected = CASES[case]

    assert "\n" + "\n".join(drawn(graph)) == expected


def test_repetitions_go_before_hops_do() -> None:
    graph = flow(*(f"db{i:02} cdc{i:02} topic{i:02} job" for i in range(18)), "job out table")
    lines = drawn(graph, 1500)

    assert len(lines) == 3 * 18 + 2
    assert sum(line.endswith("- job") for line in lines) == 1


def test_a_gap_stands_below_what_feeds_it_and_the_number_of_all_hops_left_out_is_right() -> None:
    graph = flow(*(f"db{i:02} cdc{i:02} topic{i:02} job" for i in range(60)), "job out table")
    lines = drawn(graph, 1000)
    left_out = sum(int(number) for line in lines for number in re.findall(r"\.\.\. (\d+) more", line))

    assert lines[:4] == ["- db00", "  - ... 2 more", "    - job", "      - out"]
    assert lines[4].startswith("- db")
    assert lines[-1].startswith("- ... ")
    assert left_out + sum("..." not in line for line in lines) == 3 * 60 + 2


def test_the_gaps_of_a_process_with_ports_lead_to_their_own_outputs() -> None:
    graph = copier("a", "b", a=["a_db"], b=["b_db"])
    for name in ("a", "b"):
        graph.add_edge(edge(name, "joined", "consumes"))
    graph.add_node(node("joined", "catalog_table"))
    chain = chain_of(graph, "joined")
    hops = [hop.node.node_id for hop in chain.hops]
    outline = Outline.of([(hop.node.node_id, hop.distance) for hop in chain.hops], chain.sources)

    rows = [
        (row.depth, row.left_out if row.hop is None else hops[row.hop])
        for row in outline.rows({hops.index("connector")}, repeats=False)
    ]

    assert rows == [(0, "a_db"), (1, 1), (2, "a"), (0, "b_db"), (1, 0), (2, "b")]


def edges_of(chain: Chain) -> set[tuple[str, str]]:
    return {(node_of(source), node_of(place)) for place in chain.sources for source in chain.sources[place]}


@settings(max_examples=150)
@given(graphs_with_inputs(), st.randoms(), st.integers(0, 9), st.booleans())
def test_any_tree_is_true_whole_and_the_same_whatever_the_order_of_the_graph(
    graph: Graph, order: random.Random, count: int, repeats: bool
) -> None:
    chain = chain_of(graph, "n0")
    hops = [hop.node.node_id for hop in chain.hops]
    dropped = frozenset(order.sample(range(len(hops)), min(count, len(hops))))

    def outline(chain: Chain) -> Outline:
        return Outline.of([(hop.node.node_id, hop.distance) for hop in chain.hops], chain.sources)

    rows = list(outline(chain).rows(dropped, repeats=repeats and not dropped))
    shown = [row.hop for row in rows if row.hop is not None and row.first]
    path: list[str | None] = []
    for row in rows:
        name = None if row.hop is None else hops[row.hop]
        del path[row.depth :]
        if path and path[-1] is not None and name is not None:
            assert (path[-1], name) in edges_of(chain)
        path.append(name)
    assert sorted(shown) == [i for i in range(len(hops)) if i not in dropped]
    assert sum(row.left_out for row in rows) == len(dropped)

    edges = list(graph.edges.values())
    order.shuffle(edges)
    again = chain_of(Graph(graph.nodes.values(), edges), "n0")
    assert list(outline(again).rows(dropped, repeats=repeats and not dropped)) == rows


@pytest.mark.parametrize("shape", ["wide", "deep", "ladder", "ports"])
def test_the_work_for_a_block_is_in_proportion_to_its_chain(shape: str) -> None:
    def chain(size: int) -> Chain:
        numbers = range(size)
        if shape == "wide":
            return chain_of(flow(*(f"db{i} cdc{i} t{i} job" for i in numbers), "job out table"), "table")
        if shape == "deep":
            return chain_of(flow(" ".join([*(f"t{i}" for i in numbers), "table"])), "table")
        if shape == "ladder":
            rungs = [f"{a}{i} {b}{i + 1}" for i in numbers for a in "lr" for b in "lr"]
            return chain_of(flow(*rungs, f"l{size} table", f"r{size} table"), "table")
        outputs = {f"t{i}": [f"db{i}"] for i in numbers}
        return chain_of(flow(*(f"db{i} cdc t{i} job" for i in numbers), "job out table", **outputs), "table")

    def work(size: int) -> int:
        document = render(chain(size))
        return steps_of(lambda: document.block(MAX_DESCRIPTION_BYTES, "now"))

    assert work(2000) < 2.5 * work(1000)


def test_chain_of_unknown_structure_is_a_list() -> None:
    known = chain_of(flow("db cdc orders table"), "table")
    block = render(Chain(known.table, known.hops)).block(MAX_DESCRIPTION_BYTES, "now")

    assert block is not None
    assert block.splitlines()[1:4] == ["- external_dataset: db", "- connector: cdc", "- topic: orders"]
