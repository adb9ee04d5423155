from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.lineage.chains import chain_of
from lineage_bridge_dagster.lineage.graph_json import dumps, load, loads
from lineage_bridge_dagster.lineage.model import Node
from lineage_bridge_dagster_tests.lineage.graphs import MINIMAL_NODE, shop_discovery


def test_cache_on_the_nodes_of_an_older_state_is_dropped() -> None:
    node = {**MINIMAL_NODE, "attributes": {"sql": "SELECT 1", "sql_cache": {"version": "1"}}}

    assert loads(json.dumps({"nodes": [node], "edges": []})).graph.nodes["n"].attributes == {
        "sql": "SELECT 1"
    }


def test_field_names_follow_the_contract() -> None:
    document = json.loads(dumps(shop_discovery()))

    assert list(document["nodes"][0]) == [
        "node_id",
        "system",
        "node_type",
        "qualified_name",
        "display_name",
        "environment_id",
        "environment_name",
        "cluster_id",
        "cluster_name",
        "catalog_type",
        "attributes",
        "tags",
        "url",
        "first_seen",
        "last_seen",
    ]
    assert list(document["edges"][0]) == [
        "src_id",
        "dst_id",
        "edge_type",
        "confidence",
        "attributes",
        "first_seen",
        "last_seen",
    ]
    glue = [
        n for n in document["nodes"] if n["node_type"] == "catalog_table" and n["catalog_type"] == "AWS_GLUE"
    ]
    assert len(glue) == 1


def test_minimal_record_gets_defaults() -> None:
    graph = loads(json.dumps({"nodes": [MINIMAL_NODE], "edges": []})).graph

    assert graph.nodes["n"] == Node("n", "", "kafka_topic", "orders")


def test_unknown_kinds_are_kept_and_unknown_fields_ignored() -> None:
    document = {
        "version": 7,
        "nodes": [
            {**MINIMAL_NODE, "node_type": "dashboard", "colour": "red"},
            {
                **MINIMAL_NODE,
                "node_id": "t",
                "node_type": "catalog_table",
                "display_name": None,
                "tags": None,
            },
        ],
        "edges": [
            {"src_id": "n", "dst_id": "t", "edge_type": "inspires", "weight": 3},
            {"src_id": "unknown", "dst_id": "t", "edge_type": "produces", "confidence": 1},
        ],
    }
    graph = loads(json.dumps(document)).graph

    assert graph.nodes["n"].node_type == "dashboard"
    assert len(graph.edges) == 2
    assert chain_of(graph, "t").hops == ()


def test_ids_are_opaque() -> None:
    odd = "not:an/id of ours  ü"
    graph = loads(json.dumps({"nodes": [{**MINIMAL_NODE, "node_id": odd}], "edges": []})).graph

    assert odd in graph


@pytest.mark.parametrize(
    ("document", "location", "hint"),
    [
        ([], "a list", "extract"),
        ({}, "nodes is missing", "list"),
        ({"nodes": {}, "edges": []}, "nodes is an object", "list"),
        ({"nodes": []}, "edges is missing", "list"),
        ({"nodes": [MINIMAL_NODE, 5], "edges": []}, "nodes[1] is a number", "object"),
        ({"nodes": [{"node_type": "x"}], "edges": []}, "nodes[0].node_id is missing", '"node_id"'),
        ({"nodes": [{**MINIMAL_NODE, "node_id": ""}], "edges": []}, "nodes[0].node_id", '"node_id"'),
        (
            {"nodes": [{**MINIMAL_NODE, "node_id": 3}], "edges": []},
            "nodes[0].node_id is a number '3'",
            '"node_id"',
        ),
        (
            {"nodes": [{**MINIMAL_NODE, "attributes": "x"}], "edges": []},
            "nodes[0].attributes",
            '"attributes"',
        ),
        ({"nodes": [{**MINIMAL_NODE, "tags": ["a", 1]}], "edges": []}, "nodes[0].tags", '"tags"'),
        ({"nodes": [{**MINIMAL_NODE, "url": True}], "edges": []}, "nodes[0].url is a boolean", '"url"'),
        (
            {"nodes": [], "edges": [{"src_id": "a", "edge_type": "x"}]},
            "edges[0].dst_id is missing",
            '"dst_id"',
        ),
        (
            {"nodes": [], "edges": [{"src_id": "a", "dst_id": "b", "edge_type": "x", "confidence": 2}]},
            "edges[0].confidence",
            '"confidence"',
        ),
        ({"nodes": [], "edges": [], "coverage": {}}, "coverage is an object", "list"),
        (
            {"nodes": [], "edges": [], "coverage": [{"scope": "kafka:e:c", "status": "fine"}]},
            "coverage[0].status",
            "complete",
        ),
        (
            {
                "nodes": [],
                "edges": [],
                "coverage": [
                    {"scope": "connect:e:c", "status": "complete", "notes": [{"kind": "sql", "names": "a"}]}
                ],
            },
            "coverage[0].notes[0].names is a string",
            '["..."]',
        ),
    ],
)
def test_error_locates_a_malformed_record(tmp_path: Path, document: Any, location: str, hint: str) -> None:
    path = tmp_path / "graph.json"
    path.write_text(json.dumps(document))

    with pytest.raises(ConfigurationError) as caught:
        load(path)

    assert str(path) in caught.value.message
    assert location in caught.value.message
    assert hint in caught.value.hint
