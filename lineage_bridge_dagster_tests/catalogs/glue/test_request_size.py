"""Requests that Glue would reject as a whole: shortened to fit, or refused before anything is sent."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lineage_bridge_dagster.catalogs.settings.push_settings import PushSettings
from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster.embedded.aws.application import MAX_GLUE_REQUEST_BYTES
from lineage_bridge_dagster.lineage.documents import KEY_UPSTREAM_CHAIN, KEY_UPSTREAM_TRUNCATED
from lineage_bridge_dagster.lineage.model import Edge, EdgeType, Graph, Node, NodeType
from lineage_bridge_dagster.lineage.push_results import PushStatus
from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog, GlueClient
from lineage_bridge_dagster_tests.catalogs.glue.graphs import add_table
from lineage_bridge_dagster_tests.catalogs.glue.runs import push

#: The bytes of a column in a request but for its comment, about.
_COLUMN_BYTES = 200


def wide(columns: int, comment: int) -> dict[str, Any]:
    """The storage of a table with this many columns as Iceberg's writers describe them."""
    field = {"iceberg.field.current": "true", "iceberg.field.optional": "true"}
    return {
        "Location": "s3://bucket/orders",
        "Columns": [
            {
                "Name": f"threat_indicator_file_elf_header_{number:04d}",
                "Type": "string",
                "Comment": "x" * comment,
                "Parameters": {**field, "iceberg.field.id": str(number)},
            }
            for number in range(columns)
        ],
    }


def upstream(statements: int, letter: str = "x") -> Graph:
    """A table below this many statements, of 1,000 such letters of SQL each."""
    graph = Graph()
    table = add_table(graph, "orders.v1")
    for number in range(statements):
        sql = "EXECUTE STATEMENT SET -- " + letter * 1_000
        job = graph.add_node(
            Node(f"job{number}", "confluent", NodeType.FLINK_JOB, f"job-{number}", attributes={"sql": sql})
        )
        graph.add_edge(Edge(job.node_id, table.node_id, EdgeType.PRODUCES))
    return graph


def hops(catalog: Catalog) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(catalog.parameters("orders.v1")[KEY_UPSTREAM_CHAIN])
    return found


def test_a_table_of_1500_columns_gets_its_whole_lineage(client: GlueClient, catalog: Catalog) -> None:
    catalog.create("orders.v1", StorageDescriptor=wide(1_500, comment=0))
    assert push(client, upstream(40)).counts["updated"] == 1
    assert sum("sql" in hop for hop in hops(catalog)) == 40
    assert len(catalog.table("orders.v1")["StorageDescriptor"]["Columns"]) == 1_500


@pytest.mark.parametrize("letter", ["x", "注", "🦆"])
def test_a_chain_is_shortened_to_the_room_that_the_columns_leave(
    client: GlueClient, catalog: Catalog, aws: StrictAws, letter: str
) -> None:
    """A letter of four bytes takes twelve in a request."""
    columns = (MAX_GLUE_REQUEST_BYTES - 60_000) // (_COLUMN_BYTES + 200)
    catalog.create("orders.v1", StorageDescriptor=wide(columns, comment=200))
    lineage = upstream(60, letter)
    (result,) = push(client, lineage).results
    assert result.status is PushStatus.UPDATED, result.reason
    parameters = catalog.parameters("orders.v1")
    assert parameters[KEY_UPSTREAM_TRUNCATED] == "true"
    assert sum("sql" in hop for hop in hops(catalog)) < 60
    aws.clear_faults()
    assert push(client, lineage).counts["unchanged"] == 1
    assert aws.calls["UpdateTable"] == 0


def test_a_table_without_room_is_refused_before_anything_is_sent(
    client: GlueClient, catalog: Catalog, aws: StrictAws
) -> None:
    limit = 200_000
    catalog.create("orders.v1", StorageDescriptor=wide(1_500, comment=100))
    catalog.create("small")
    lineage = upstream(3)
    add_table(lineage, "small")
    aws.clear_faults()
    report = push(client, lineage, settings={"max_request_bytes": limit})
    assert report.counts["updated"] == 1
    assert aws.calls["UpdateTable"] == 1
    (refused,) = report.failed
    assert refused.status is PushStatus.REFUSED
    assert f"{limit:,}" in refused.reason
    assert "LINEAGE_BRIDGE_PUSH_MAX_REQUEST_BYTES" in refused.hint
    assert push(client, lineage, settings={"max_request_bytes": 500_000}).failed == ()


def test_lineage_that_is_there_stays_in_sync_after_the_table_grew(
    client: GlueClient, catalog: Catalog, aws: StrictAws
) -> None:
    """Glue took the table as it is, so a request of that size is no reason to refuse it."""
    catalog.create("orders.v1", StorageDescriptor=wide(1_000, comment=0))
    lineage = upstream(3)
    push(client, lineage)
    catalog.edit("orders.v1", StorageDescriptor=wide(1_500, comment=50))
    report = push(client, lineage, settings={"max_request_bytes": 100_000})
    assert report.counts["unchanged"] == 1


def test_the_default_is_within_what_the_strict_glue_takes() -> None:
    assert PushSettings().max_request_bytes < MAX_GLUE_REQUEST_BYTES
