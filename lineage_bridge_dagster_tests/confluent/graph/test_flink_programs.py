"""Whole programs of Confluent's documentation, tutorials and demos, over the schemas that go with them.

Those of `flink_table_columns.jsonl` show what schemas, CREATE TABLE and ALTER TABLE each tell of a topic's
table, by Confluent's pages "CREATE TABLE", "ALTER TABLE" and "Flink SQL examples". In both files, `columns`
are those that `sql` writes into `t`, each with its sources; null where a source is outside Kafka or a row is
generated, so that no column is named. Statements in `done` came before.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lineage_bridge_dagster.confluent.discovery import discover
from lineage_bridge_dagster.lineage import ids
from lineage_bridge_dagster.lineage.columns import flows_of, further_columns_of
from lineage_bridge_dagster.lineage.model import EdgeType
from lineage_bridge_dagster.sql.flink.parser import FlinkSqlParser
from lineage_bridge_dagster_tests.confluent.fake import (
    FakeConfluent,
    flink_path,
    kafka_path,
    listing,
    settings,
    statement,
    topic,
)

pytestmark = pytest.mark.xdist_group("flink")

PROGRAMS = [
    json.loads(line)
    for name in ("flink_programs.jsonl", "flink_table_columns.jsonl")
    for line in Path(__file__).with_name(name).read_text("utf-8").splitlines()
]
TOPICS = (
    *("t", "b", "c", "d", "f", "i", "k", "q", "dl", "ev", "raw_topic", "source_table", "claims", "events"),
    *("clicks", "orders", "customers", "products", "s.customers", "s.orders", "rock", "classical"),
    *("temps", "movie_views", "traveler_locations", "src", "copy"),
)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program["why"])
def test_program_has_the_columns_of_its_source(
    world: FakeConfluent, parser: FlinkSqlParser, program: dict[str, Any]
) -> None:
    world.routes[kafka_path("lkc-a", "/topics")] = listing(*map(topic, TOPICS))
    world.routes["psrc-1.us-east-1.aws.confluent.cloud/schemas"] = program["schemas"]
    world.routes[flink_path("eu-west-1")] = listing()
    world.routes[flink_path("us-east-1")] = listing(
        *(
            statement(f"s{number}", sql, phase, created_at=f"2025-01-0{number}T00:00:00Z")
            for number, (sql, phase) in enumerate(program["done"], 1)
        ),
        statement("job", program["sql"]),
    )
    graph = discover(settings(), transport=world.transport, parser=parser).graph
    job = graph.nodes[ids.flink_job_id("env-1", "aws", "us-east-1", "job")]
    names = {node_id: node.qualified_name for node_id, node in graph.nodes.items()}
    flows = [flow for flow in flows_of(job) if names[flow.column.node_id] == "t"]
    columns = {
        flow.column.name: sorted(f"{names[source.node_id]}.{source.name}" for source, _ in flow.sources)
        for flow in flows
    }
    expected = program["columns"]
    assert list(columns) == list(expected)
    assert columns == {name: columns[name] if of is None else sorted(of) for name, of in expected.items()}
    assert [flow.reason for flow in flows if not flow.complete and expected[flow.column.name]] == []
    if None not in expected.values():
        assert further_columns_of(job) == {}
    made_of = {
        names[dst]: sorted(names[source] for source in edge.inputs or ())
        for (src, dst, kind), edge in graph.edges.items()
        if kind == EdgeType.PRODUCES and src == job.node_id
    }
    assert made_of == {"t": program.get("reads", made_of["t"]), **program.get("dead_letters", {})}
