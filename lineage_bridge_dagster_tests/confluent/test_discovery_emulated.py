"""Discovery of the emulated Confluent: client and emulator must agree on the API documents."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lineage_bridge_dagster.config.settings import ConfluentSettings, Settings
from lineage_bridge_dagster.confluent.discovery import discover
from lineage_bridge_dagster.embedded import world
from lineage_bridge_dagster.embedded.confluent.server import ConfluentEmulator
from lineage_bridge_dagster.lineage import ids
from lineage_bridge_dagster.lineage.carry import carry_forward
from lineage_bridge_dagster.lineage.chains import chain_of
from lineage_bridge_dagster.lineage.coverage import Status
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.sql.flink.parser import FlinkSqlParser


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


@pytest.mark.parametrize(
    "api",
    [
        *("org", "cmk", "fcpm", "srcm", "ksqldbcm", "connect", "tableflow", "kafka", "schema_registry"),
        *("flink", "ksqldb", "*"),
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
    assert {report.status for report in found.coverage.incomplete} & {Status.DENIED, Status.FAILED}
    kept = carry_forward(found, healthy)
    assert set(kept.graph.nodes) == set(healthy.graph.nodes)
    assert set(kept.graph.edges) == set(healthy.graph.edges)
    for node_id, before in healthy.graph.nodes.items():
        fields = before.attributes.get("schema_fields")
        assert kept.graph.nodes[node_id].attributes.get("schema_fields") == fields
