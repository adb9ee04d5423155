"""Checks of the Glue tables, to run from the UI and after each materialization.

The op that pushes a table evaluates them, even if the push failed; they can also run without a push. A run
lists all of its tables in Glue once; the other checks read the discovery that the definitions are built from.
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
from lineage_bridge_dagster.assets.instance import ComponentInstance
from lineage_bridge_dagster.assets.inventory import Asset
from lineage_bridge_dagster.assets.kinds import Checks
from lineage_bridge_dagster.assets.progress import Progress, by_table
from lineage_bridge_dagster.assets.run_cache import checked_in_run
from lineage_bridge_dagster.assets.table_commits import FRESH
from lineage_bridge_dagster.config.freshness import Limits
from lineage_bridge_dagster.errors import LineageBridgeError

IN_SYNC = "lineage_in_sync"
SCHEMA = "schema_matches"
TABLEFLOW = "tableflow_healthy"

#: All tables share these texts, so that ten thousand tables cost no more memory than one.
DESCRIPTIONS = {
    IN_SYNC: "Glue has the lineage that a push would write. Reads Glue, and writes nothing.",
    SCHEMA: "Every field of the topic's value schema has a column of the type that Tableflow maps it to.",
    TABLEFLOW: "Tableflow is running for the topic, no table format is failing, every catalog is synced by a "
    "working integration, and Glue has the table.",
}


def table_checks(instance: ComponentInstance, limits: Limits) -> Checks:
    """Return the checks of the Glue tables; the freshness check only if there are limits.

    The op that pushes the tables evaluates them: if a table fails, the run would skip a separate op.
    """

    def evaluate(context: AssetExecutionContext, assets: Sequence[Asset]) -> Iterator[AssetCheckResult]:
        yield from _evaluate(instance, context, assets, limits)

    return Checks({**DESCRIPTIONS, **({FRESH: DESCRIPTION} if limits else {})}, evaluate)


def _evaluate(
    instance: ComponentInstance,
    context: AssetExecutionContext,
    assets: Sequence[Asset],
    limits: Limits,
) -> Iterator[AssetCheckResult]:
    view, discovered_at = instance.inventory.view, instance.inventory.discovery.discovered_at
    pushed = context.job_def.asset_layer.selected_asset_keys

    def sync_outcome(asset: Asset) -> CheckOutcome:
        outcomes = _comparison_of_run(instance, context, pushed=asset.key in pushed)
        return outcomes.get(asset.node.node_id) or in_sync(None)

    outcome_of: dict[str, Callable[[Asset], CheckOutcome]] = {
        TABLEFLOW: lambda asset: tableflow_healthy(asset.node, view),
        SCHEMA: lambda asset: schema_matches(asset.node, view),
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
    """Return the run's comparison with Glue, which is computed once.

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
        return compare_with_glue(instance, context, tables)

    return instance.cache.get(context.run.run_id, f"comparison {pushed=}", compute)


def compare_with_glue(
    instance: ComponentInstance, context: AssetExecutionContext, table_ids: Sequence[str]
) -> Mapping[str, CheckOutcome]:
    """Compare tables in Glue with what a push would write, by table id.

    If the settings cannot be read, or Glue cannot be reached, that is every table's outcome, and the run
    continues.
    """
    from lineage_bridge_dagster.glue.push import push_tables

    progress = Progress("Comparing tables with Glue", len(table_ids))
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
    return {result.table: in_sync(result) for result in report.results}
