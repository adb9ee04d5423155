"""Checks of the tables, to run from the UI and after each materialization.

The op that pushes a table evaluates them, even if the push failed; they can also run without a push. A run
reads all of its tables once; the other checks read the discovery that the definitions are built from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from dagster import AssetCheckKey, AssetCheckResult, AssetExecutionContext

from lineage_bridge_dagster.assets.check_outcomes import (
    CheckOutcome,
    in_sync,
    schema_matches,
    tableflow_healthy,
)
from lineage_bridge_dagster.assets.freshness import DESCRIPTION, freshness_of_run
from lineage_bridge_dagster.assets.iceberg_outcomes import has_fields
from lineage_bridge_dagster.assets.instance import ComponentInstance
from lineage_bridge_dagster.assets.inventory import Asset
from lineage_bridge_dagster.assets.kinds import Checks
from lineage_bridge_dagster.assets.progress import Progress, by_table
from lineage_bridge_dagster.assets.run_cache import checked_in_run
from lineage_bridge_dagster.assets.settings import Limits
from lineage_bridge_dagster.assets.table_commits import FRESH
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.lineage.nodes import GlueTableNode, IcebergTableNode

IN_SYNC = "lineage_in_sync"
SCHEMA = "schema_matches"
TABLEFLOW = "tableflow_healthy"

#: All tables share these texts, so that ten thousand tables cost no more memory than one.
DESCRIPTIONS = {
    IN_SYNC: "The table has the lineage that a push would write. Reads its catalog, and writes nothing.",
    SCHEMA: "Every field of the topic's value schema has a column of the type that Tableflow maps it to.",
    TABLEFLOW: "Tableflow is running for the topic, no table format is failing, every catalog is synced by a "
    "working integration, and Glue has the table.",
}


#: Those of tables of REST catalogs.
ICEBERG_DESCRIPTIONS = {
    IN_SYNC: DESCRIPTIONS[IN_SYNC],
    SCHEMA: "Every field of the value schema of the topic that a connector copies is a column of the table.",
}


def table_checks(instance: ComponentInstance, limits: Limits, *, iceberg: bool = False) -> Checks:
    """Return the checks of the Glue tables, or of those of REST catalogs; freshness only if there are limits.

    The op that pushes the tables evaluates them: if a table fails, the run would skip a separate op.
    """
    descriptions = ICEBERG_DESCRIPTIONS if iceberg else DESCRIPTIONS

    def evaluate(context: AssetExecutionContext, assets: Sequence[Asset]) -> Iterator[AssetCheckResult]:
        yield from _evaluate(instance, context, assets, limits)

    return Checks({**descriptions, **({FRESH: DESCRIPTION} if limits else {})}, evaluate)


def _evaluate(
    instance: ComponentInstance,
    context: AssetExecutionContext,
    assets: Sequence[Asset],
    limits: Limits,
) -> Iterator[AssetCheckResult]:
    view, discovered_at = instance.inventory.view, instance.inventory.discovery.discovered_at
    pushed = context.job_def.asset_layer.selected_asset_keys

    def sync_outcome(asset: Asset) -> CheckOutcome:
        outcomes = _comparison_of_run(instance.current(context), context, pushed=asset.key in pushed)
        return outcomes.get(asset.node.node_id) or in_sync(None)

    def schema_outcome(asset: Asset) -> CheckOutcome:
        judge = schema_matches if isinstance(asset.node, GlueTableNode) else has_fields
        return judge(asset.node, view)

    outcome_of: dict[str, Callable[[Asset], CheckOutcome]] = {
        TABLEFLOW: lambda asset: tableflow_healthy(asset.node, view),
        SCHEMA: schema_outcome,
        IN_SYNC: sync_outcome,
        FRESH: lambda asset: freshness_of_run(instance, context, limits)[asset.node.node_id],
    }
    for check, outcome in outcome_of.items():
        for asset in assets:
            if AssetCheckKey(asset.key, check) in context.selected_asset_check_keys:
                yield outcome(asset).result(asset.key, check, discovered_at)


def _comparison_of_run(
    instance: ComponentInstance, context: AssetExecutionContext, *, pushed: bool
) -> Mapping[str, CheckOutcome]:
    """Return the run's comparison with the catalogs, which is computed once.

    Tables that the run pushes are compared after the push; tables that it only checks may be compared before.
    """

    def compute() -> Mapping[str, CheckOutcome]:
        selected = context.job_def.asset_layer.selected_asset_keys
        checked = set(checked_in_run(context, instance.inventory.tables, IN_SYNC))
        tables = [
            asset.node.node_id
            for asset in instance.inventory.tables
            if asset.node.node_id in checked and (asset.key in selected) == pushed
        ]
        return compare_with_catalogs(instance, context, tables)

    return instance.cache.get(context.run.run_id, f"comparison {pushed=}", compute)


def compare_with_catalogs(
    instance: ComponentInstance, context: AssetExecutionContext, table_ids: Sequence[str]
) -> Mapping[str, CheckOutcome]:
    """Compare tables in their catalogs with what a push would write, by table id.

    If the settings cannot be read, or Glue cannot be reached, that is every table's outcome, and the run
    continues.
    """
    from lineage_bridge_dagster.catalogs.push import push_tables

    progress = Progress("Comparing tables with their catalogs", len(table_ids))
    try:
        settings, client = instance.push_settings(), instance.glue(context).client()
    except LineageBridgeError as error:
        context.log.warning("The settings of a push cannot be used: %s", error)
        outcome = CheckOutcome(False, f"The table was not compared with Glue: {error.message}", error.hint)
        return dict.fromkeys(table_ids, outcome)
    try:
        report = push_tables(
            instance.inventory.discovery,
            client,
            lambda: instance.spark(context).all_catalogs,
            settings,
            tables=table_ids,
            dry_run=True,
            progress=by_table(progress, context.log.info),
        )
        context.log.info(progress.summary())
    except LineageBridgeError as error:
        context.log.warning("Glue could not be read: %s", error)
        outcome = CheckOutcome(False, f"Glue could not be read: {error.message}", error.hint)
        return dict.fromkeys(table_ids, outcome)
    nodes = instance.inventory.view.graph.nodes
    catalogs = {
        result.table: IcebergTableNode.of(node).catalog
        for result in report.results
        if (node := nodes.get(result.table)) and isinstance(node, IcebergTableNode)
    }
    forms = report.business_context
    return {
        result.table: in_sync(
            result, catalogs.get(result.table, ""), forms.result(result.table) if forms else None
        )
        for result in report.results
    }
