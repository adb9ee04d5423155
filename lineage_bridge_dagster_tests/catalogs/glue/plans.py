"""Documents and plans for one table."""

from __future__ import annotations

from typing import Any

from lineage_bridge_dagster.catalogs.glue.fields import READ_ONLY_FIELDS
from lineage_bridge_dagster.catalogs.glue.glue_table import GlueTable
from lineage_bridge_dagster.catalogs.glue.update_plan import TableUpdate, plan_update
from lineage_bridge_dagster.catalogs.settings.push_settings import PushSettings
from lineage_bridge_dagster.lineage.chains import chain_of
from lineage_bridge_dagster.lineage.documents import LineageDocument, render
from lineage_bridge_dagster.lineage.model import Graph
from lineage_bridge_dagster_tests.catalogs.glue.graphs import add_table

PLANNED_AT = "2026-04-30T12:34:56.789Z"
LATER = "2026-05-01T00:00:00.000Z"
#: Write the parameters and the description.
ALL = PushSettings()


def document(options: PushSettings = ALL, **graph_options: Any) -> LineageDocument:
    """The lineage of `orders.v1`; the further options are those of `add_table`."""
    graph = Graph()
    table = add_table(graph, "orders.v1", **graph_options)
    return render(chain_of(graph, table.node_id), options)


def update(
    table: GlueTable, wanted: LineageDocument | None, options: PushSettings = ALL, *, complete: bool = True
) -> TableUpdate:
    """The plan for a table, which must be an update."""
    plan = plan_update(table, wanted, options, complete=complete, now=PLANNED_AT)
    assert isinstance(plan, TableUpdate), plan
    return plan


def after(plan: TableUpdate) -> GlueTable:
    """The table as Glue returns it after the update."""
    raw = {key: value for key, value in plan.table.raw.items() if key in READ_ONLY_FIELDS}
    return GlueTable.from_raw({**raw, **plan.table_input, "VersionId": "8"}, plan.table.database)
