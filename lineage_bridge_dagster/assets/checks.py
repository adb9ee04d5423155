"""Checks of the Glue tables and of the discovery, to run from the UI and after each materialization.

The checks of a table are evaluated in the op that pushes it, whatever became of the push, and can be run
without it. A run asks Glue once for all of its tables, by pages; the other checks read the discovery that the
definitions were built from.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dagster import (
    AssetCheckEvaluation,
    AssetCheckExecutionContext,
    AssetCheckKey,
    AssetCheckResult,
    AssetChecksDefinition,
    AssetCheckSeverity,
    AssetCheckSpec,
    AssetExecutionContext,
    AssetKey,
    AssetSpec,
    DagsterInstance,
    FreshnessPolicy,
    In,
    MetadataValue,
    Nothing,
    Out,
    op,
)

from lineage_bridge_dagster.assets.check_outcomes import (
    CheckOutcome,
    discovery_complete,
    in_sync,
    schema_matches,
    tableflow_healthy,
)
from lineage_bridge_dagster.assets.freshness import DESCRIPTION, freshness_of_run
from lineage_bridge_dagster.assets.instance import ComponentInstance
from lineage_bridge_dagster.assets.inventory import Asset, Inventory
from lineage_bridge_dagster.assets.kinds import Checks
from lineage_bridge_dagster.assets.progress import Progress, by_table
from lineage_bridge_dagster.assets.run_cache import checked_in_run
from lineage_bridge_dagster.assets.table_commits import FRESH
from lineage_bridge_dagster.config.freshness import Limits
from lineage_bridge_dagster.dagster_internals import (
    DATA_VERSION_TAG,
    AssetCheckEvaluationTargetMaterializationData,
)
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.graph_digest import graph_digest
from lineage_bridge_dagster.specs import keys
from lineage_bridge_dagster.specs.markdown import markdown_table
from lineage_bridge_dagster.specs.names import Names

IN_SYNC = "lineage_in_sync"
SCHEMA = "schema_matches"
TABLEFLOW = "tableflow_healthy"
DISCOVERY = "discovery_complete"

#: The checks of a table. Descriptions are the same text for all, so that ten thousand cost one.
DESCRIPTIONS = {
    IN_SYNC: "What stands in Glue is the lineage that a push would write. Asks Glue, and writes nothing.",
    SCHEMA: "Every field of the topic's value schema is a column of the type that Tableflow gives it.",
    TABLEFLOW: "Tableflow runs for the topic, its formats work, and the table is synced to its catalog.",
}


def table_checks(instance: ComponentInstance, limits: Limits) -> Checks:
    """The checks of the Glue tables, to be evaluated in the op that pushes them: a run in which some table
    fails would skip them in an op of their own. Without limits there is no check of freshness."""

    def evaluate(context: AssetExecutionContext, assets: Sequence[Asset]) -> Iterator[AssetCheckResult]:
        yield from _evaluate(instance, context, assets, limits)

    return Checks({**DESCRIPTIONS, **({FRESH: DESCRIPTION} if limits else {})}, evaluate)


def _evaluate(
    instance: ComponentInstance,
    context: AssetExecutionContext,
    assets: Sequence[Asset],
    limits: Limits,
) -> Iterator[AssetCheckResult]:
    inventory = instance.inventory
    chosen = context.selected_asset_check_keys
    view, at = inventory.view, inventory.discovery.discovered_at
    for name, judge in ((TABLEFLOW, tableflow_healthy), (SCHEMA, schema_matches)):
        for asset in assets:
            if AssetCheckKey(asset.key, name) in chosen:
                yield _result(asset.key, name, judge(asset.node, view), at)
    pushed = context.job_def.asset_layer.selected_asset_keys
    for asset in assets:
        if AssetCheckKey(asset.key, IN_SYNC) in chosen:
            outcomes = _compared(instance, context, asset.key in pushed)
            yield _result(asset.key, IN_SYNC, outcomes.get(asset.node.node_id) or in_sync(None), at)
    for asset in assets:
        if AssetCheckKey(asset.key, FRESH) in chosen:
            judged = freshness_of_run(instance, context, limits)
            yield _result(asset.key, FRESH, judged[asset.node.node_id], at)


def _compared(
    instance: ComponentInstance, context: AssetExecutionContext, pushed: bool
) -> Mapping[str, CheckOutcome]:
    """The run's comparison, made once: of the tables that the run pushes too, which the push precedes, or
    of those that it only checks, which may be looked at before."""

    def work() -> Mapping[str, CheckOutcome]:
        return compare(instance, context, _tables_of_run(context, instance.inventory.tables, pushed))

    return instance.cache.get(
        context.run.run_id, f"comparison of {'pushed' if pushed else 'other'} tables", work
    )


def compare(
    instance: ComponentInstance, context: AssetExecutionContext, table_ids: Sequence[str]
) -> Mapping[str, CheckOutcome]:
    """What stands in Glue against what would be pushed, by table id; a page of Glue tells a hundred.

    Glue that can't be asked at all is each table's outcome, not the end of the run.
    """
    from lineage_bridge_dagster.glue.push import push_tables

    progress = Progress("Comparing tables with Glue", len(table_ids))
    try:
        report = push_tables(
            instance.inventory.discovery,
            instance.glue(context).client(),
            instance.push_settings(),
            tables=table_ids,
            dry_run=True,
            progress=by_table(progress, context.log.info),
        )
        context.log.info(progress.summary())
    except LineageBridgeError as error:
        context.log.warning("Glue could not be asked: %s", error)
        outcome = CheckOutcome(False, f"Glue could not be asked what it holds: {error.message}", error.hint)
        return dict.fromkeys(table_ids, outcome)
    return {result.table: in_sync(result) for result in report.results}


def _tables_of_run(context: AssetExecutionContext, tables: Sequence[Asset], pushed: bool) -> list[str]:
    """The tables that the whole run was asked to compare, not the op alone."""
    selected = context.job_def.asset_layer.selected_asset_keys
    chosen = set(checked_in_run(context, tables, IN_SYNC))
    return [
        asset.node.node_id
        for asset in tables
        if asset.node.node_id in chosen and (asset.key in selected) == pushed
    ]


def discovery_asset(
    names: Names, inventory: Inventory, policy: FreshnessPolicy | None
) -> tuple[AssetSpec, AssetChecksDefinition]:
    """The discovery as one asset, with the check of its coverage: what it could not ask is no one table's.

    Each refresh materializes it, so `policy` tells when discoveries stopped.
    """
    discovery, key = inventory.discovery, names.discovery_key
    scopes = sorted(discovery.coverage, key=lambda report: report.scope)
    rows = [[str(report.scope), report.status, report.count, report.reason] for report in scopes]
    spec = AssetSpec(
        key,
        group_name="lineage_bridge",
        freshness_policy=policy,
        description=f"The discovery that these assets are built from, of {discovery.discovered_at}. "
        f"The `{names.refresh_job}` job makes a new one.",
        metadata={
            "lineage_bridge/discovered_at": discovery.discovered_at,
            "lineage_bridge/coverage": MetadataValue.md(
                f"{len(scopes)} scopes were asked\n\n"
                + markdown_table(["scope", "status", "found", "reason"], rows)
            ),
        },
    )
    check = AssetCheckSpec(
        DISCOVERY, asset=key, description="Every API answered whole, in every environment and cluster."
    )
    text = key.to_user_string()
    output, source = keys.op_name(DISCOVERY, text), keys.op_name("in", text)

    @op(
        name=names.op(DISCOVERY),
        ins={source: In(Nothing)},
        out={output: Out(Nothing, is_required=False)},
    )
    def _check(context: AssetCheckExecutionContext) -> Iterator[Any]:
        at = _last_found(context.instance, key, discovery)
        yield _result(key, DISCOVERY, discovery_complete(discovery.coverage, at, names.refresh_job), at)

    return spec, AssetChecksDefinition.create(
        keys_by_input_name={source: key},
        node_def=_check,
        check_specs_by_output_name={output: check},
        can_subset=False,
    )


def _last_found(instance: DagsterInstance, key: AssetKey, discovery: Discovery) -> str:
    """When this discovery was made, or found again by a refresh that had no need to store it."""
    event = instance.get_latest_materialization_event(key)
    made = event.asset_materialization if event else None
    if made is None or (made.tags or {}).get(DATA_VERSION_TAG) != graph_digest(discovery):
        return discovery.discovered_at
    at = made.metadata.get("discovered_at")
    return max(discovery.discovered_at, str(at.value)) if at else discovery.discovered_at


def report_discovery_check(instance: DagsterInstance, names: Names, discovery: Discovery) -> None:
    """Have the check of the discovery tell of one just made, with no run of its own."""
    key, at = names.discovery_key, discovery.discovered_at
    result = _result(key, DISCOVERY, discovery_complete(discovery.coverage, at, names.refresh_job), at)
    made = instance.fetch_materializations(key, limit=1).records
    target = (
        AssetCheckEvaluationTargetMaterializationData(
            storage_id=made[0].storage_id, run_id=made[0].run_id, timestamp=made[0].timestamp
        )
        if made
        else None
    )
    instance.report_runless_asset_event(
        AssetCheckEvaluation(
            asset_key=key,
            check_name=DISCOVERY,
            passed=result.passed,
            metadata=result.metadata,
            severity=result.severity,
            description=result.description,
            target_materialization_data=target,
        )
    )


def _result(key: AssetKey, name: str, outcome: CheckOutcome, discovered_at: str) -> AssetCheckResult:
    metadata: dict[str, Any] = {"lineage_bridge/discovered_at": discovered_at, **outcome.metadata}
    if outcome.next_step:
        metadata["what to do"] = outcome.next_step
    if outcome.rows:
        metadata["details"] = MetadataValue.md(markdown_table(outcome.header, outcome.rows))
    if outcome.link:
        metadata["console"] = MetadataValue.url(outcome.link)
    step = f" What to do: {outcome.next_step}" if outcome.next_step else ""
    return AssetCheckResult(
        passed=outcome.passed,
        asset_key=key,
        check_name=name,
        severity=AssetCheckSeverity.ERROR if outcome.error else AssetCheckSeverity.WARN,
        description=outcome.summary + step,
        metadata=metadata,
    )
