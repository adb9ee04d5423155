from __future__ import annotations

import json
from typing import Any

import pytest

from lineage_bridge_dagster.confluent.discovery import discover
from lineage_bridge_dagster.confluent.graph import flink_columns
from lineage_bridge_dagster.lineage import columns as columns_of_graphs
from lineage_bridge_dagster.lineage import ids
from lineage_bridge_dagster.lineage.chains import chain_of, to_json
from lineage_bridge_dagster.lineage.columns import COLUMN_LINEAGE, flows_of, further_columns_of
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.graph_json import dumps, loads
from lineage_bridge_dagster.lineage.model import Graph
from lineage_bridge_dagster.sql.flink.parser import FlinkSqlParser
from lineage_bridge_dagster_tests.confluent.fake import (
    FakeConfluent,
    avro,
    flink_path,
    listing,
    settings,
    statement,
)
from lineage_bridge_dagster_tests.lineage.graphs import render

ORDERS, ENRICHED = ids.topic_id("env-1", "lkc-a", "orders"), ids.topic_id("env-1", "lkc-a", "enriched")
SCHEMAS = "psrc-1.us-east-1.aws.confluent.cloud/schemas"


def run(world: FakeConfluent, parser: FlinkSqlParser, *statements: dict[str, Any]) -> Discovery:
    if statements:
        world.routes[flink_path("us-east-1")] = listing(*statements)
    return discover(settings(), transport=world.transport, parser=parser)


def job(name: str) -> str:
    return ids.flink_job_id("env-1", "aws", "us-east-1", name)


def columns(found: Discovery, name: str) -> dict[str, set[tuple[str, str, str]]]:
    """Map each column of `enriched` to its sources: (topic, column, how)."""
    return {
        flow.column.name: {(source.node_id, source.name, how) for source, how in flow.sources}
        for flow in flows_of(found.graph.nodes[job(name)])
        if flow.column.node_id == ENRICHED
    }


def test_star_is_expanded_with_the_registrys_schemas(world: FakeConfluent, parser: FlinkSqlParser) -> None:
    world.routes[SCHEMAS] = [
        avro("orders-value", "id", "customer"),
        avro("enriched-value", "order_id", "who"),
    ]
    found = run(world, parser)
    # Neither topic has a key schema, nor a CREATE TABLE: Flink shows the key as a column of bytes.
    assert columns(found, "enrich") == {
        "key": {(ORDERS, "key", "identity")},
        "order_id": {(ORDERS, "id", "identity")},
        "who": {(ORDERS, "customer", "identity")},
    }


def test_columns_by_position_need_the_targets_schema(world: FakeConfluent, parser: FlinkSqlParser) -> None:
    found = run(world, parser)
    assert columns(found, "enrich") == {}
    assert set(further_columns_of(found.graph.nodes[job("enrich")])) == {ENRICHED}
    assert "warnings" not in found.graph.nodes[job("enrich")].attributes


def test_open_columns_are_kept_with_the_reason(world: FakeConfluent, parser: FlinkSqlParser) -> None:
    sql = (
        "INSERT INTO enriched (id, word) "
        "SELECT id, w FROM orders, LATERAL TABLE(split_words(customer)) AS s (w)"
    )
    found = run(world, parser, statement("x", sql))
    flows = {flow.column.name: flow for flow in flows_of(found.graph.nodes[job("x")])}
    assert (flows["id"].complete, flows["id"].reason) == (True, "")
    assert (flows["word"].complete, flows["word"].sources) == (False, ())
    assert "split_words are not declared" in flows["word"].reason


def test_key_columns_come_first(world: FakeConfluent, parser: FlinkSqlParser) -> None:
    world.routes[SCHEMAS] = [
        avro("orders-value", "id", "customer"),
        avro("enriched-key", "k"),
        avro("enriched-value", "v"),
    ]
    found = run(world, parser, statement("x", "INSERT INTO enriched SELECT id, customer FROM orders"))
    assert columns(found, "x") == {"k": {(ORDERS, "id", "identity")}, "v": {(ORDERS, "customer", "identity")}}


def test_json_schema_gives_no_positions(world: FakeConfluent, parser: FlinkSqlParser) -> None:
    schema = json.dumps({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}})
    world.routes[SCHEMAS] = [
        avro("orders-value", "id", "customer"),
        {"subject": "enriched-value", "version": 1, "id": 7, "schemaType": "JSON", "schema": schema},
    ]
    found = run(
        world,
        parser,
        statement("x", "INSERT INTO enriched SELECT id, customer FROM orders"),
        statement("y", "INSERT INTO enriched (b, a) SELECT id, customer FROM orders"),
    )
    assert columns(found, "x") == {}
    assert columns(found, "y") == {"b": {(ORDERS, "id", "identity")}, "a": {(ORDERS, "customer", "identity")}}


def test_columns_are_traced_through_views_and_expressions(
    world: FakeConfluent, parser: FlinkSqlParser
) -> None:
    found = run(
        world,
        parser,
        statement(
            "v",
            "CREATE VIEW v AS SELECT UPPER(customer) AS c, id FROM orders",
            "COMPLETED",
            created_at="2025-01-01T00:00:00Z",
        ),
        statement("x", "INSERT INTO enriched (who, n) SELECT c, COUNT(id) FROM v GROUP BY c"),
    )
    assert columns(found, "x") == {
        "who": {(ORDERS, "customer", "expression")},
        "n": {(ORDERS, "id", "aggregate")},
    }


def test_materialized_table_has_its_querys_columns(world: FakeConfluent, parser: FlinkSqlParser) -> None:
    world.routes[flink_path("us-east-1", "materialized-tables")] = listing(
        {
            "name": "big",
            "spec": {"kafka_cluster_id": "lkc-a", "query": "SELECT id AS big_id FROM orders"},
            "status": {"phase": "RUNNING", "version": 1},
        }
    )
    (flow,) = flows_of(run(world, parser).graph.nodes[job("big")])
    assert flow.column == (ids.topic_id("env-1", "lkc-a", "big"), "big_id")
    assert [source for source, _ in flow.sources] == [(ORDERS, "id")]


def test_failed_and_invalid_statements_have_no_columns(world: FakeConfluent, parser: FlinkSqlParser) -> None:
    sql = "INSERT INTO enriched (who) SELECT customer FROM orders"
    found = run(
        world,
        parser,
        statement("failed", sql, "FAILED"),
        statement("bad", "INSERT INTO ((("),
        statement("good", sql),
    )
    assert columns(found, "failed") == columns(found, "bad") == {}
    assert columns(found, "good") == {"who": {(ORDERS, "customer", "identity")}}


def test_failure_leaves_table_lineage_intact(
    world: FakeConfluent, parser: FlinkSqlParser, monkeypatch: pytest.MonkeyPatch
) -> None:
    complete = run(world, parser)

    def fail(*_args: object, **_kwargs: object) -> None:
        raise ValueError("INSERT INTO t VALUES ('hunter2')")

    monkeypatch.setattr(flink_columns, "derive_columns", fail)
    found = run(world, parser)
    assert found.graph.edges.keys() == complete.graph.edges.keys()
    assert found.coverage.complete
    (warning,) = found.graph.nodes[job("enrich")].attributes["warnings"]
    assert "ValueError" in warning
    assert "hunter2" not in dumps(found)


def test_exceeding_the_tree_limit_loses_only_columns(
    world: FakeConfluent, parser: FlinkSqlParser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flink_columns, "MAX_TREE_NODES", 5)
    found = run(world, parser, statement("x", "INSERT INTO enriched (who) SELECT customer FROM orders"))
    assert columns(found, "x") == {}
    assert (ORDERS, job("x"), "consumes") in found.graph.edges


def test_wide_statement_is_truncated_with_a_warning(
    world: FakeConfluent, parser: FlinkSqlParser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columns_of_graphs, "MAX_ENTRIES", 4)
    sql = "INSERT INTO enriched (a, b, c) SELECT id, customer, id FROM orders"
    found = run(world, parser, statement("x", sql))
    assert set(columns(found, "x")) == {"a", "b"}
    (warning,) = found.graph.nodes[job("x")].attributes["warnings"]
    assert warning.startswith("1 more of its columns")


def test_column_lineage_is_stored_but_not_pushed(world: FakeConfluent, parser: FlinkSqlParser) -> None:
    found = run(world, parser, statement("x", "INSERT INTO enriched (who) SELECT customer FROM orders"))
    assert columns(loads(dumps(found)), "x") == {"who": {(ORDERS, "customer", "identity")}}
    bare = Graph(
        (
            node.with_attributes(**{COLUMN_LINEAGE: None}) if COLUMN_LINEAGE in node.attributes else node
            for node in found.graph.nodes.values()
        ),
        found.graph.edges.values(),
    )
    assert any(COLUMN_LINEAGE in node.attributes for node in found.graph.nodes.values())
    chain, without = (chain_of(graph, ENRICHED) for graph in (found.graph, bare))
    assert [hop.node.node_id for hop in chain.hops] == [job("x"), ORDERS]
    assert to_json(chain) == to_json(without)
    assert render(chain).parameters == render(without).parameters
    assert render(chain).block(2048, "") == render(without).block(2048, "")
