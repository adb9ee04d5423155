"""Discovery of the emulated Confluent: client and emulator must agree on the API documents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from lineage_bridge_dagster.confluent.discovery import discover
from lineage_bridge_dagster.confluent.settings import ConfluentSettings
from lineage_bridge_dagster.embedded import world
from lineage_bridge_dagster.lineage import ids
from lineage_bridge_dagster.lineage.carry import carry_forward
from lineage_bridge_dagster.lineage.chains import chain_of
from lineage_bridge_dagster.lineage.coverage import Status
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.model import EdgeType, Evidence
from lineage_bridge_dagster.lineage.unknowns import note_lines
from lineage_bridge_dagster.settings import Settings
from lineage_bridge_dagster.sql.flink.parser import FlinkSqlParser
from lineage_bridge_dagster_tests.embedded.confluent.emulator import ConfluentEmulator


@pytest.fixture(scope="module")
def emulator() -> Iterator[ConfluentEmulator]:
    with ConfluentEmulator() as started:
        started.seed()
        yield started


@pytest.fixture(scope="module")
def configured(emulator: ConfluentEmulator) -> ConfluentSettings:
    env = {**emulator.env(), "LINEAGE_BRIDGE_CONFLUENT_MAX_ATTEMPTS": "1"}
    return Settings.from_env(env).confluent


@pytest.fixture(scope="module")
def healthy(configured: ConfluentSettings, parser: FlinkSqlParser) -> Discovery:
    return carry_forward(discover(configured, parser=parser), None)


def test_sample_world_is_fully_discovered(healthy: Discovery) -> None:
    assert healthy.coverage.complete, [str(report) for report in healthy.coverage.incomplete]
    assert not [n for n in healthy.graph.nodes.values() if n.attributes.get("observed") is False]
    assert not [n.node_id for n in healthy.graph.nodes.values() if n.attributes.get("parse_error")]


def test_chain_reaches_the_source_database(healthy: Discovery) -> None:
    place = (world.ENVIRONMENT_ID, world.ORDERS_PLATFORM.id)
    hops = chain_of(healthy.graph, ids.tableflow_table_id(*place, "orders.v1")).hops
    names = [hop.node.qualified_name for hop in hops]
    assert names[0] == "orders.v1"
    assert {"enrich-orders", "postgres-shop-cdc"} <= set(names)
    assert names[-1].startswith("postgres://")


def test_each_table_of_one_connector_comes_from_its_own_table_in_the_database(healthy: Discovery) -> None:
    place = (world.ENVIRONMENT_ID, world.ORDERS_PLATFORM.id)
    connector = ids.connector_id(*place, "postgres-shop-cdc")
    tables = {f"shop.public.{name}" for name in ("customers", "orders", "order_items")}
    read = {src for src, dst, _ in healthy.graph.edges if dst == connector}
    assert read == {ids.external_dataset_id(f"postgres://pg-shop.example:5432/{name}") for name in tables}
    for name in tables:
        hops = chain_of(healthy.graph, ids.topic_id(*place, name)).hops
        assert [hop.node.qualified_name for hop in hops] == [
            "postgres-shop-cdc",
            f"postgres://pg-shop.example:5432/{name}",
        ]
    orders = chain_of(healthy.graph, ids.tableflow_table_id(*place, "shop.public.orders")).hops
    sources = [h.node.qualified_name for h in orders if h.node.node_type == "external_dataset"]
    assert sources == ["postgres://pg-shop.example:5432/shop.public.orders"]


def test_sample_world_leaves_nothing_open(healthy: Discovery) -> None:
    assert note_lines(healthy.coverage) == []


@pytest.mark.parametrize(
    "api",
    [
        *("org", "cmk", "fcpm", "srcm", "ksqldbcm", "connect", "tableflow", "kafka", "schema_registry"),
        *("flink", "ksqldb", "*", "connector_offsets"),
    ],
)
@pytest.mark.parametrize("status", [500, 401, 403])
def test_failing_api_loses_nothing(
    emulator: ConfluentEmulator,
    configured: ConfluentSettings,
    parser: FlinkSqlParser,
    healthy: Discovery,
    api: str,
    status: int,
) -> None:
    with emulator.fault(api=api, status=status):
        found = discover(configured, parser=parser)
    assert {report.status for report in found.coverage} & {Status.DENIED, Status.FAILED}
    kept = carry_forward(found, healthy)
    assert set(kept.graph.nodes) == set(healthy.graph.nodes)
    assert set(kept.graph.edges) == set(healthy.graph.edges)
    for node_id, before in healthy.graph.nodes.items():
        fields = before.attributes.get("schema_fields")
        assert kept.graph.nodes[node_id].attributes.get("schema_fields") == fields


def requests_of(emulator: ConfluentEmulator, configured: ConfluentSettings, **more: Any) -> dict[str, int]:
    """The requests of one discovery, by API."""
    with emulator.client() as client:
        client.delete("/emulator/requests").raise_for_status()
        discover(configured, **more)
        counted: dict[str, int] = client.get("/emulator/requests").json()
    counted.pop("emulator", None)
    return counted


def test_offsets_add_one_request_for_each_connector_in_doubt(
    emulator: ConfluentEmulator, configured: ConfluentSettings, parser: FlinkSqlParser
) -> None:
    without = configured.model_copy(update={"connector_offsets": False})
    before = requests_of(emulator, without, parser=parser)
    assert "connector_offsets" not in before
    # Of seven connectors, `inventory-jdbc` alone has an expression as its list of tables.
    assert requests_of(emulator, configured, parser=parser) == {**before, "connector_offsets": 1}
    last = discover(configured, parser=parser)
    assert requests_of(emulator, configured, parser=parser, last=last) == before


def test_emulated_offsets_show_the_table_and_the_topics_that_were_read(healthy: Discovery) -> None:
    place = (world.ENVIRONMENT_ID, world.ORDERS_PLATFORM.id)
    inventory = healthy.graph.nodes[ids.connector_id(*place, "inventory-jdbc")]
    assert inventory.attributes["evidence"] == "declared+observed"
    table = ids.external_dataset_id("postgres://pg-inventory.example:5432/inventory.public.products")
    edge = healthy.graph.edges[table, inventory.node_id, EdgeType.CONSUMES]
    assert edge.attributes["evidence"] == Evidence.OBSERVED


@pytest.mark.parametrize(
    "fault",
    [{"status": 401}, {"status": 404}, {"status": 409}, {"status": 429, "retry_after": 0}, {"garbage": True}],
)
def test_every_failure_of_the_offsets_alone_loses_nothing(
    emulator: ConfluentEmulator,
    configured: ConfluentSettings,
    parser: FlinkSqlParser,
    healthy: Discovery,
    fault: dict[str, Any],
) -> None:
    with emulator.fault(api="connector_offsets", **fault):
        found = carry_forward(discover(configured, parser=parser), healthy)
    assert set(found.graph.nodes) == set(healthy.graph.nodes)
    assert set(found.graph.edges) == set(healthy.graph.edges)
