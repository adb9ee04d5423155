"""A state is read line by line, and anything else as a whole: with the same result, and the same errors."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.graph_json import OtherFormError, dump, dumps, load, loads, read_lines
from lineage_bridge_dagster.lineage.graph_records import edge_record, node_record
from lineage_bridge_dagster.lineage.model import Edge, Graph, Node
from lineage_bridge_dagster_tests.lineage.graphs import same, shop, shop_discovery
from lineage_bridge_dagster_tests.lineage.test_equal_values import JSON

STATE = replace(shop_discovery(), caches={"sql": {"mode": "redacted"}})

_TEXT = st.sampled_from([None, "", "a", "ö\ud800", "b\u2028\x85", 7])
_ENTRIES = st.fixed_dictionaries(
    {"attributes": st.none() | st.dictionaries(st.sampled_from(["a", "sql_cache"]), JSON, max_size=2)},
    optional={
        "system": _TEXT,
        "first_seen": _TEXT,
        "url": _TEXT,
        "tags": st.sampled_from([None, [], ["x"], [1]]),
        "confidence": st.sampled_from([None, 0, 1, 0.5, 1.0, 2.0, True]),
    },
)


def result(read: Any, given: Any, **name: str) -> object:
    """What is read, each value with its type; or the message."""
    try:
        discovery = read(given, **name)
    except ConfigurationError as error:
        return str(error)
    entries = [
        *map(node_record, discovery.graph.nodes.values()),
        *map(edge_record, discovery.graph.edges.values()),
    ]
    return json.dumps(entries), str(list(discovery.coverage)), discovery.discovered_at, discovery.caches


def agree(path: Path, text: str) -> object:
    path.write_text(text, encoding="utf-8", newline="")
    found = result(load, path)
    assert found == result(loads, text, name=str(path))
    return found


def lines_of(nodes: list[Any], edges: list[Any]) -> str:
    """A document as it is stored."""
    first, second = (",\n".join(map(json.dumps, listed)) for listed in (nodes, edges))
    return f'{{\n"nodes": [\n{first}\n],\n"edges": [\n{second}\n]\n}}\n'


@settings(max_examples=60)
@given(st.lists(_ENTRIES, min_size=1, max_size=4), st.lists(_ENTRIES, min_size=1, max_size=4))
def test_records_of_any_kind_read_the_same_by_lines_and_as_a_whole(
    tmp_path_factory: pytest.TempPathFactory, nodes: list[dict[str, Any]], edges: list[dict[str, Any]]
) -> None:
    for number, node in enumerate(nodes):
        node |= {"node_id": f"n{number % 3}", "node_type": "kafka_topic", "qualified_name": "orders"}
    for number, edge in enumerate(edges):
        edge |= {"src_id": f"n{number}", "dst_id": "n1", "edge_type": "produces"}
    agree(tmp_path_factory.getbasetemp() / "graph.json", lines_of(nodes, edges))


def test_state_is_read_by_lines(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    for state in (STATE, Discovery(shop()), Discovery(Graph()), replace(STATE, graph=Graph())):
        dump(state, path, with_caches=True)
        found = read_lines(path)
        assert same(found, state)
        assert found.caches == state.caches


def test_text_that_is_cut_or_changed_anywhere_reads_as_it_does_as_a_whole(tmp_path: Path) -> None:
    lines = dumps(STATE, with_caches=True).splitlines(keepends=True)
    one = tmp_path / "one.json"
    # A line of each kind, and its neighbours.
    kinds = [place for place, line in enumerate(lines) if line[:5] != lines[place - 1][:5]]
    near = {place + by for place in kinds for by in (-1, 0, 1)}
    for place in sorted(near & {*range(len(lines))}):
        line = lines[place]
        cut, stripped = line[: len(line) // 2], line.rstrip("\n,")
        for other in ("", line * 2, stripped + "\n", stripped + ",\n", cut, " \n" + line):
            agree(one, "".join([*lines[:place], other, *lines[place + 1 :]]))
    agree(one, "".join(lines) + " ")
    agree(one, "".join(lines) + "x")
    agree(one, json.dumps(json.loads("".join(lines)), indent=2))


def test_other_forms_are_told_at_once(tmp_path: Path) -> None:
    path = tmp_path / "graph.json"
    path.write_text(json.dumps(json.loads(dumps(STATE)), indent=2))
    with pytest.raises(OtherFormError):
        read_lines(path)


def test_edges_have_the_ids_of_nodes_and_equal_values_are_one(tmp_path: Path) -> None:
    fields = [{"name": "id", "type": "long"}]
    nodes = [
        Node(
            i,
            "confluent",
            "kafka_topic",
            i,
            i,
            "env-1",
            attributes={"scope": "kafka:env-1", "fields": fields},
        )
        for i in ("topic-a", "topic-b")
    ]
    edge = Edge("topic-a", "topic-b", "transforms", attributes={"scope": "flink:env-1"})
    dump(Discovery(Graph(nodes, [edge, replace(edge, edge_type="produces")])), tmp_path / "state.json")
    graph = load(tmp_path / "state.json").graph
    a, b = graph.nodes.values()
    first, second = graph.edges.values()
    assert first.src_id is a.node_id
    assert first.dst_id is b.node_id
    assert first.attributes is second.attributes
    assert a.attributes["fields"] is b.attributes["fields"]
    for name in ("system", "node_type", "environment_id"):
        assert getattr(a, name) is getattr(b, name)
    assert a.qualified_name is a.display_name


def test_pipe_is_read_once(tmp_path: Path) -> None:
    import os
    import threading

    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=('{"nodes": [], "edges": []}',))
    writer.start()
    assert len(load(path).graph) == 0
    writer.join()
