"""The running stack's REST catalogs: the S3 Tables bucket that a connector writes, and Tableflow's own."""

from __future__ import annotations

import json

import pytest

from lineage_bridge_dagster.catalogs.glue.client import glue_client
from lineage_bridge_dagster.catalogs.iceberg.open_catalog import open_catalog
from lineage_bridge_dagster.catalogs.push import push_tables
from lineage_bridge_dagster.discovery.discover import discover
from lineage_bridge_dagster.embedded import world
from lineage_bridge_dagster.embedded.arrived import Arrived
from lineage_bridge_dagster.embedded.iceberg_sinks import OFFSETS
from lineage_bridge_dagster.lineage.documents import KEY_SOURCE_CONNECTORS, KEY_SOURCE_TOPICS
from lineage_bridge_dagster_tests.dagster_ui import eventually
from lineage_bridge_dagster_tests.live import LiveStack

pytestmark = [pytest.mark.stack, pytest.mark.xdist_group("stack"), pytest.mark.timeout(900)]

TABLE = ("sales", "open_orders")
TOPIC = "orders.open"
DOTTED = ".".join(("s3tables", *TABLE))


def _rows(stack: LiveStack) -> int:
    """Rows of the table up to the offsets in its snapshot; 0 while it does not exist."""
    table = Arrived(stack.stack).s3_table(*TABLE)
    snapshot = table.current_snapshot() if table else None
    if table is None or snapshot is None or snapshot.summary is None:
        return 0
    count = int(table.scan().count())
    assert count == sum(json.loads(snapshot.summary[OFFSETS] or "{}").values())
    return count


def test_a_connectors_records_are_rows_of_the_table_bucket_each_once(live_stack: LiveStack) -> None:
    topic = world.topic(world.ORDERS_PLATFORM.id, TOPIC)
    eventually(lambda: _rows(live_stack) >= topic.records or None, 720, f"the records of {TOPIC}", 2)
    before = _rows(live_stack)
    world.produce(live_stack.stack.home, TOPIC, 5)
    eventually(lambda: _rows(live_stack) == before + 5 or None, 300, f"five more rows of {DOTTED}", 2)
    table = Arrived(live_stack.stack).s3_table(*TABLE)
    assert table is not None
    assert topic.schema is not None
    assert table.schema().column_names == [*(field["name"] for field in topic.schema["fields"]), "_topic"]


def test_a_push_writes_the_lineage_of_the_bucket_and_keeps_properties_of_others(
    live_stack: LiveStack,
) -> None:
    arrived = Arrived(live_stack.stack)
    eventually(lambda: _rows(live_stack) or None, 720, f"the table {DOTTED}", 2)
    table = arrived.s3_table(*TABLE)
    assert table is not None
    with table.transaction() as transaction:
        transaction.set_properties({"team": "orders", "lineage": "theirs"})
    settings = live_stack.settings
    found = discover(settings)
    report = push_tables(
        found, glue_client(settings.aws), settings.all_catalogs, settings.push, tables=[DOTTED]
    )
    assert not report.failed, report.failed
    properties = arrived.tables()[DOTTED].parameters
    assert properties[KEY_SOURCE_TOPICS].split(",")[0] == TOPIC
    assert properties[KEY_SOURCE_CONNECTORS].split(",")[0] == "lakehouse-iceberg"
    assert {"team": "orders", "lineage": "theirs"}.items() <= properties.items()
    # The connector goes on writing.
    before = _rows(live_stack)
    world.produce(live_stack.stack.home, TOPIC, 3)
    eventually(lambda: _rows(live_stack) == before + 3 or None, 300, f"three more rows of {DOTTED}", 2)
    assert arrived.tables()[DOTTED].parameters[KEY_SOURCE_TOPICS] == properties[KEY_SOURCE_TOPICS]


def test_tables_in_confluents_own_storage_are_in_tableflows_catalog_and_not_in_glue(
    live_stack: LiveStack,
) -> None:
    arrived = Arrived(live_stack.stack)
    wanted = {f"{topic.cluster}.{topic.name}": topic.records for topic in world.TOPICS if topic.managed}
    rows = eventually(
        lambda: found if (found := arrived.managed_rows()).keys() == wanted.keys() else None,
        420,
        "the tables in Confluent's own storage",
        2,
    )
    assert rows == wanted
    catalog = open_catalog(live_stack.settings.all_catalogs(), "tableflow")
    assert {cluster.id for cluster in world.CLUSTERS} <= {name[0] for name in catalog.list_namespaces()}
    glue = glue_client(live_stack.settings.aws)
    databases = [database["Name"] for database in glue.get_databases()["DatabaseList"]]
    in_glue = {
        table["Name"] for name in databases for table in glue.get_tables(DatabaseName=name)["TableList"]
    }
    assert in_glue.isdisjoint(topic.name.lower() for topic in world.TOPICS if topic.managed)
