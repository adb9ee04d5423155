"""Topics with Tableflow on and no table in Glue, by a whole discovery of the emulated Confluent and Glue."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from mypy_boto3_glue.client import GlueClient

from lineage_bridge_dagster.assets.check_outcomes import CheckOutcome, tableflow_healthy
from lineage_bridge_dagster.assets.inventory import Asset, build_inventory
from lineage_bridge_dagster.catalogs.settings.push_settings import PushSettings
from lineage_bridge_dagster.discovery import discover as discovery
from lineage_bridge_dagster.embedded import world
from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster.lineage import ids
from lineage_bridge_dagster.lineage.carry import carry_forward
from lineage_bridge_dagster.lineage.chains import chain_of
from lineage_bridge_dagster.lineage.coverage import Scope
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.glue_names import GluePlace
from lineage_bridge_dagster.lineage.glue_status import GlueStatus, glue_counts
from lineage_bridge_dagster.lineage.graph_digest import graph_digest
from lineage_bridge_dagster.settings import Settings
from lineage_bridge_dagster.specs.translator import LineageTranslator
from lineage_bridge_dagster.sql.flink.parser import FlinkSqlParser
from lineage_bridge_dagster_tests.catalogs.glue.runs import push_to_glue
from lineage_bridge_dagster_tests.embedded.confluent.emulator import ConfluentEmulator

US = world.ORDERS_PLATFORM
TOPIC = "orders.v1"
TABLEFLOW, INTEGRATION = f"tableflow/{US.id}/{TOPIC}", f"integrations/{US.id}"
TABLE = ids.glue_table_id(world.ENVIRONMENT_ID, GluePlace(US.database, TOPIC))
KEY = ["glue", US.database, TOPIC]
REGION = world.GLUE_REGION


@pytest.fixture(scope="module")
def emulator() -> Iterator[ConfluentEmulator]:
    with ConfluentEmulator() as started:
        started.seed()
        with started.client() as client:
            for entry in client.get("/emulator/tableflow").json():
                url = f"/emulator/tableflow/{entry['cluster']}/{entry['topic']}/status"
                client.put(url, json={"phase": "RUNNING"}).raise_for_status()
        yield started


@pytest.fixture(scope="module")
def aws() -> Iterator[StrictAws]:
    with StrictAws() as server:
        yield server


@pytest.fixture
def client(aws: StrictAws, emulator: ConfluentEmulator) -> Iterator[GlueClient]:
    """A client of a Glue with every table of Tableflow's but that of `TOPIC`."""
    made: GlueClient = aws.client("glue", REGION)
    with emulator.client() as emulated:
        for entry in emulated.get("/emulator/tableflow").json():
            create(made, entry["glue_database"], entry["glue_table"])
    made.delete_table(DatabaseName=US.database, Name=TOPIC)
    yield made
    aws.clear_faults()


def create(glue: GlueClient, database: str, table: str) -> None:
    if database not in [each["Name"] for each in glue.get_databases()["DatabaseList"]]:
        glue.create_database(DatabaseInput={"Name": database})
    if table not in [each["Name"] for each in glue.get_tables(DatabaseName=database)["TableList"]]:
        glue.create_table(
            DatabaseName=database, TableInput={"Name": table, "Parameters": {"table_type": "ICEBERG"}}
        )


class Run:
    """Runs discoveries on top of one another."""

    def __init__(self, emulator: ConfluentEmulator, client: GlueClient, parser: FlinkSqlParser) -> None:
        env = {
            **emulator.env(),
            "LINEAGE_BRIDGE_CONFLUENT_MAX_ATTEMPTS": "1",
            "LINEAGE_BRIDGE_AWS_REGION": REGION,
        }
        self.settings = Settings.from_env(env)
        self.client, self.parser = client, parser
        self.last: Discovery | None = None

    def __call__(self) -> Discovery:
        self.last = discovery.discover(self.settings, self.last, glue_client=self.client, parser=self.parser)
        return self.last


@pytest.fixture
def run(emulator: ConfluentEmulator, client: GlueClient, parser: FlinkSqlParser) -> Run:
    return Run(emulator, client, parser)


def assets(found: Discovery) -> tuple[Asset, Asset]:
    """The assets of the topic and of its table."""
    inventory = build_inventory(found, LineageTranslator().get_asset_spec)
    (table,) = [asset for asset in inventory.tables if asset.node.node_id == TABLE]
    topic_id = ids.topic_id(world.ENVIRONMENT_ID, US.id, TOPIC)
    (topic,) = [asset for asset in inventory.topics if asset.node.node_id == topic_id]
    return topic, table


def health(found: Discovery) -> CheckOutcome:
    view = build_inventory(found, LineageTranslator().get_asset_spec).view
    return tableflow_healthy(found.graph.nodes[TABLE], view)


@pytest.mark.parametrize(
    ("overrides", "kind", "because"),
    [
        pytest.param(
            {
                TABLEFLOW: {
                    "phase": "FAILED",
                    "error_message": "The bucket denies access.",
                    "sync_status": "FAILED",
                }
            },
            "tableflow_failed",
            "Tableflow failed: The bucket denies access",
            id="Tableflow failed",
        ),
        pytest.param(
            {TABLEFLOW: {"sync_status": "FAILED", "sync_error_message": "Denied: glue:CreateTable"}},
            "sync_failed",
            "its sync to Glue failed: Denied: glue:CreateTable",
            id="sync failed",
        ),
        pytest.param(
            {
                INTEGRATION: {"phase": "FAILED", "error_message": "The role is gone."},
                TABLEFLOW: {"sync_status": "DISCONNECTED"},
            },
            "integration_failed",
            f"the catalog integration {US.name}-glue ({US.integration_id}) failed: The role is gone",
            id="integration failed",
        ),
        pytest.param(
            {INTEGRATION: {"suspended": True}, TABLEFLOW: {"sync_status": "PENDING"}},
            "integration_suspended",
            f"the catalog integration {US.name}-glue ({US.integration_id}) is suspended",
            id="integration suspended",
        ),
        pytest.param(
            {TABLEFLOW: {"bucket_region": "eu-central-1"}},
            "other_region",
            "its bucket is in eu-central-1, and Glue is read in us-east-1",
            id="other region",
        ),
        pytest.param(
            {TABLEFLOW: {"phase": "PENDING", "sync_status": "PENDING"}},
            "not_synced_yet",
            "it has not been synced to Glue yet",
            id="not yet",
        ),
        pytest.param(
            {TABLEFLOW: {"storage_kind": "Managed"}},
            "storage_unsupported",
            "it is in Confluent's managed storage",
            id="managed storage",
        ),
        pytest.param(
            {},
            "not_in_database",
            f"Tableflow reports it as synced, but the Glue database {US.database} has no table {TOPIC}",
            id="unexplained",
        ),
    ],
)
def test_topic_without_a_table_is_shown_everywhere(
    emulator: ConfluentEmulator, run: Run, overrides: dict[str, Any], kind: str, because: str
) -> None:
    with ExitStack() as stack:
        for place, state in overrides.items():
            stack.enter_context(emulator.override(place, **state))
        found = run()
    assert found.coverage.complete
    node = found.graph.nodes[TABLE]
    assert (node.attributes["glue_status"], node.attributes["glue_absence"]) == ("missing", kind)
    assert glue_counts(found.graph).missing == {kind: 1}

    hops = [hop.node.qualified_name for hop in chain_of(found.graph, TABLE).hops]
    assert hops[1] == TOPIC
    assert hops[-1].startswith("postgres://")

    topic, table = assets(found)
    assert table.key.path == KEY
    assert f"Tableflow is enabled; no table in Glue: {because}" in (topic.spec.description or "")
    said = f"Tableflow is enabled, but Glue has no such table in {REGION}, because {because}"
    assert said in (table.spec.description or "")

    outcome = health(found)
    assert outcome.error
    assert outcome.summary.startswith(said)
    assert outcome.next_step

    report = push_to_glue(found, run.client, PushSettings())
    assert (report.counts["skipped"], report.counts["failed"]) == (1, 0)


def test_database_that_is_not_visible_is_named(aws: StrictAws, run: Run, client: GlueClient) -> None:
    for table in client.get_tables(DatabaseName=US.database)["TableList"]:
        client.delete_table(DatabaseName=US.database, Name=table["Name"])
    client.delete_database(Name=US.database)
    found = run()
    assert found.coverage.complete
    assert f"the Glue database {US.database} does not exist in {REGION} or is not visible" in (
        health(found).summary
    )
    assert glue_counts(found.graph).missing.keys() == {"database_not_visible", "storage_unsupported"}


def test_database_that_may_not_be_read_makes_its_tables_unknown(aws: StrictAws, run: Run) -> None:
    aws.fail("GetTables", "AccessDeniedException", times=None, matching=f'"{US.database}"')
    aws.fail("GetTable", "AccessDeniedException", times=None, matching=f'"{US.database}"')
    found = run()
    assert found.coverage.get(Scope("glue", "", REGION)) in found.coverage.incomplete
    outcome = health(found)
    assert not outcome.passed
    assert not outcome.error
    assert f"whether Glue has the table in {REGION} is unknown, because" in outcome.summary
    assert "glue:GetTable" in outcome.summary + outcome.next_step


def test_topic_without_a_catalog_integration_has_no_table_and_says_so(
    emulator: ConfluentEmulator, run: Run
) -> None:
    with emulator.override(INTEGRATION, absent=True):
        found = run()
    assert TABLE not in found.graph
    source = found.graph.nodes[ids.tableflow_table_id(world.ENVIRONMENT_ID, US.id, TOPIC)]
    assert source.attributes["glue_status"] == GlueStatus.NOT_CONFIGURED
    inventory = build_inventory(found, LineageTranslator().get_asset_spec)
    (topic,) = [
        a for a in inventory.topics if a.node.node_id == ids.topic_id(world.ENVIRONMENT_ID, US.id, TOPIC)
    ]
    text = f"no sync to Glue is set up: no catalog integration with AWS Glue is set up for {US.name}"
    assert text in (topic.spec.description or "")


def test_table_that_comes_has_the_same_key_and_changes_the_state(run: Run, client: GlueClient) -> None:
    before = run()
    assert graph_digest(run()) == graph_digest(before)
    create(client, US.database, TOPIC)
    found = run()
    assert graph_digest(found) != graph_digest(before)
    assert assets(found)[1].key.path == KEY
    assert not glue_counts(found.graph).absent
    assert push_to_glue(found, client, PushSettings()).result(TABLE).status == "updated"  # type: ignore[union-attr]


def test_outage_of_the_integrations_keeps_what_is_known(
    emulator: ConfluentEmulator, run: Run, client: GlueClient
) -> None:
    create(client, US.database, TOPIC)
    last = run()
    path = "/tableflow/v1/catalog-integrations"
    with emulator.fault(api="tableflow", path=path, status=500):
        found = run()
    assert set(found.graph.nodes) == set(last.graph.nodes)
    assert set(found.graph.edges) == set(last.graph.edges)
    assert carry_forward(found, None).graph.nodes[TABLE].attributes["glue_status"] == "found"
