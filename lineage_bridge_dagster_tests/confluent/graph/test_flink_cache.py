from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lineage_bridge_dagster.confluent.discovery import discover
from lineage_bridge_dagster.confluent.graph.flink_columns import FlinkCache
from lineage_bridge_dagster.lineage import ids
from lineage_bridge_dagster.lineage.carry import carry_forward
from lineage_bridge_dagster.lineage.columns import COLUMN_LINEAGE, flows_of
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.graph_digest import graph_digest
from lineage_bridge_dagster.lineage.graph_json import dumps, loads
from lineage_bridge_dagster.lineage.model import Graph
from lineage_bridge_dagster.sql.flink import parse_cache
from lineage_bridge_dagster.sql.flink.parser import FlinkSqlParser
from lineage_bridge_dagster_tests.confluent.fake import (
    FakeConfluent,
    avro,
    flink_path,
    listing,
    settings,
    statement,
)

VIEW = statement(
    "v",
    "CREATE VIEW v AS SELECT UPPER(customer) AS c, id FROM orders",
    "COMPLETED",
    created_at="2025-01-01T00:00:00Z",
)
INSERT = statement("x", "INSERT INTO enriched (who, key_id) SELECT c, id FROM v")
STAR = statement("y", "INSERT INTO enriched SELECT * FROM orders")
SCHEMAS = "psrc-1.us-east-1.aws.confluent.cloud/schemas"


class Counting:
    """A parser that records the texts it gets."""

    def __init__(self, parser: FlinkSqlParser) -> None:
        self._parser = parser
        self.texts: list[str] = []

    def parse_trees(self, texts: Any) -> Any:
        self.texts += texts
        return self._parser.parse_trees(texts)


@pytest.fixture
def counting(parser: FlinkSqlParser) -> Counting:
    return Counting(parser)


def run(world: FakeConfluent, counting: Counting, last: Discovery | None = None) -> Discovery:
    counting.texts.clear()
    stored = loads(dumps(last, with_caches=True)) if last else None
    found = discover(settings(), transport=world.transport, parser=counting, last=stored)  # type: ignore[arg-type]
    return carry_forward(found, last)


def cache_of(discovery: Discovery) -> dict[str, Any]:
    return dict(discovery.caches[FlinkCache.NAME])


def same(a: Graph, b: Graph) -> bool:
    return {k: n.attributes for k, n in a.nodes.items()} == {
        k: n.attributes for k, n in b.nodes.items()
    } and a.edges.keys() == b.edges.keys()


def test_unchanged_statements_are_not_parsed_again(world: FakeConfluent, counting: Counting) -> None:
    world.routes[SCHEMAS] = [avro("orders-value", "id", "customer"), avro("enriched-value", "a", "b")]
    world.routes[flink_path("us-east-1")] = listing(VIEW, INSERT, STAR)
    first = run(world, counting)
    assert len(counting.texts) == 4
    second = run(world, counting, first)
    assert counting.texts == []
    assert same(first.graph, second.graph)
    third = run(world, counting, second)
    assert counting.texts == []
    assert same(first.graph, third.graph)


def test_new_statement_is_parsed_with_the_views_it_may_read(world: FakeConfluent, counting: Counting) -> None:
    world.routes[flink_path("us-east-1")] = listing(VIEW, INSERT)
    first = run(world, counting)
    new = statement("z", "INSERT INTO enriched (z) SELECT c FROM v")
    world.routes[flink_path("us-east-1")] = listing(VIEW, INSERT, new)
    second = run(world, counting, first)
    assert sorted(counting.texts) == sorted([new["spec"]["statement"], VIEW["spec"]["statement"]])
    assert same(second.graph, run(world, counting).graph)


@pytest.mark.parametrize(
    ("statements", "schemas"),
    [
        # The view reads another column; the fields are reordered; there is no schema; the view is gone.
        (
            [
                {
                    **VIEW,
                    "spec": {**VIEW["spec"], "statement": "CREATE VIEW v AS SELECT id AS c, id FROM orders"},
                },
                INSERT,
                STAR,
            ],
            None,
        ),
        ([VIEW, INSERT, STAR], [avro("orders-value", "customer", "id"), avro("enriched-value", "a", "b")]),
        ([VIEW, INSERT, STAR], []),
        ([INSERT, STAR], None),
    ],
)
def test_columns_are_derived_again_when_their_input_changes(
    world: FakeConfluent, counting: Counting, statements: list[dict[str, Any]], schemas: Any
) -> None:
    world.routes[SCHEMAS] = [avro("orders-value", "id", "customer"), avro("enriched-value", "a", "b")]
    world.routes[flink_path("us-east-1")] = listing(VIEW, INSERT, STAR)
    first = run(world, counting)
    world.routes[flink_path("us-east-1")] = listing(*statements)
    if schemas is not None:
        world.routes[SCHEMAS] = schemas
    assert same(run(world, counting, first).graph, run(world, counting).graph)


def test_another_parser_version_parses_everything(world: FakeConfluent, counting: Counting) -> None:
    first = run(world, counting)
    first.caches = {FlinkCache.NAME: {**cache_of(first), "version": f"{parse_cache.VERSION} older"}}
    run(world, counting, first)
    assert len(counting.texts) == 2


def test_cache_holds_no_sql_text(world: FakeConfluent, counting: Counting) -> None:
    secret = statement("s", "INSERT INTO enriched (a) SELECT customer FROM orders WHERE id = 'hunter2'")
    world.routes[flink_path("us-east-1")] = listing(secret)
    found = run(world, counting)
    assert cache_of(found)["entries"]
    assert "hunter2" not in repr(found.caches)


def test_cache_drops_statements_that_are_gone(world: FakeConfluent, counting: Counting) -> None:
    world.routes[flink_path("us-east-1")] = listing(VIEW, INSERT, STAR)
    first = run(world, counting)
    world.routes[flink_path("us-east-1")] = listing(STAR)
    second = run(world, counting, first)
    assert len(cache_of(first)["entries"]) - len(cache_of(second)["entries"]) == 2


@pytest.mark.parametrize(
    "broken",
    [
        None,
        7,
        {"version": parse_cache.VERSION, "entries": {"x": 1}, "columns": 3},
        {"version": parse_cache.VERSION, "entries": 5, "columns": {"x": 1, "y": [2, 3], "z": []}},
    ],
)
def test_malformed_cache_counts_as_empty(world: FakeConfluent, counting: Counting, broken: Any) -> None:
    first = run(world, counting)
    fresh = loads(dumps(first))
    first.caches = {FlinkCache.NAME: broken}
    assert same(run(world, counting, first).graph, fresh.graph)


def test_digest_and_export_exclude_the_cache(world: FakeConfluent, counting: Counting) -> None:
    found = run(world, counting)
    bare = replace(found, caches={})
    assert found.caches
    assert graph_digest(found) == graph_digest(bare)
    assert dumps(found) == dumps(bare)


@pytest.mark.parametrize(
    ("schemas", "left"),
    [
        ([avro("orders-value", "id", "customer"), avro("enriched-value", "c", "d")], ["key", "c", "d"]),
        # The schema is really gone.
        ([], []),
    ],
)
def test_registry_failure_loses_no_columns(
    world: FakeConfluent, counting: Counting, schemas: Any, left: list[str]
) -> None:
    world.routes[SCHEMAS] = [avro("orders-value", "id", "customer"), avro("enriched-value", "a", "b")]
    world.routes[flink_path("us-east-1")] = listing(STAR)
    first = run(world, counting)
    job = first.graph.nodes[ids.flink_job_id("env-1", "aws", "us-east-1", "y")]
    del world.routes[SCHEMAS]
    found = first
    for _ in range(2):
        found = run(world, counting, found)
        attributes = found.graph.nodes[job.node_id].attributes
        assert attributes[COLUMN_LINEAGE] == job.attributes[COLUMN_LINEAGE]
        assert attributes["stale_attributes"] == [COLUMN_LINEAGE]
    world.routes[SCHEMAS] = schemas
    found = run(world, counting, found)
    known = found.graph.nodes[job.node_id]
    assert "stale_attributes" not in known.attributes
    assert [flow.column.name for flow in flows_of(known)] == left
