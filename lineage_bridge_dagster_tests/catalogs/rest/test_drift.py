"""What became of lineage in the properties of an Iceberg table, and who likely took it away."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from lineage_bridge_dagster.catalogs.drift import loss_of
from lineage_bridge_dagster.catalogs.iceberg.table_reading import IcebergTable
from lineage_bridge_dagster.catalogs.plans import TableRevision
from lineage_bridge_dagster.catalogs.rest.properties_plan import PropertiesCommit, plan_properties
from lineage_bridge_dagster.catalogs.rest.rest_catalogs import RestCatalogs
from lineage_bridge_dagster.catalogs.settings.push_settings import PushSettings
from lineage_bridge_dagster.lineage.documents import KEY_SOURCE_TOPICS, LineageDocument
from lineage_bridge_dagster_tests.catalogs.glue.plans import document


def commit(properties: Mapping[str, str], wanted: LineageDocument | None = None) -> PropertiesCommit:
    state = TableRevision(None, properties, uuid="uuid")
    plan = plan_properties(state, wanted or document(), PushSettings(), complete=True, now="")
    assert isinstance(plan, PropertiesCommit)
    return plan


def test_a_loss_is_named_by_what_is_missing() -> None:
    pushed = commit({"owner": "orders-team"}).after.parameters
    assert loss_of(commit({"owner": "orders-team"})) == "wiped"
    assert loss_of(commit({**pushed, KEY_SOURCE_TOPICS: "theirs"})) == "changed"
    assert loss_of(commit(pushed, LineageDocument({KEY_SOURCE_TOPICS: "orders.v2"}))) == "stale"


TABLE = IcebergTable(("sales",), "orders", "uuid-1", (), "s3://b", {}, snapshot_id=1)


@pytest.mark.parametrize(
    ("table", "survived", "writer"),
    [
        (TABLE, False, "a commit of properties alone"),
        (replace(TABLE, snapshot_id=2), False, "CREATE OR REPLACE TABLE"),
        (replace(TABLE, snapshot_id=2), True, "unknown"),
        (replace(TABLE, uuid="uuid-2"), False, "dropped the table and created it again"),
    ],
)
def test_the_likely_writer_follows_from_what_else_changed(
    table: IcebergTable, survived: bool, writer: str
) -> None:
    assert writer in RestCatalogs.likely_writer(table, RestCatalogs.facts_of(TABLE), survived=survived)


def test_nobody_is_named_without_an_earlier_look() -> None:
    assert RestCatalogs.likely_writer(TABLE, {}).startswith("unknown")
