"""Checks of the Glue tables and of the discovery, to run from the UI and after each materialization.

The checks of about a hundred tables share one op, of which any subset can be run. A run asks Glue once for
all of its tables, by pages; the other checks read the discovery that the definitions were built from.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dagster import (
    AssetCheckExecutionContext,
    AssetCheckKey,
    AssetCheckResult,
    AssetChecksDefinition,
    AssetCheckSeverity,
    AssetCheckSpec,
    AssetKey,
    AssetSpec,
    In,
    MetadataValue,
    Nothing,
    Out,
    op,
)

from lineage_bridge_dagster import keys
from lineage_bridge_dagster.assets.grouping import Bundle, bundles
from lineage_bridge_dagster.assets.inventory import Asset, Inventory
from lineage_bridge_dagster.assets.once import OncePerRun
from lineage_bridge_dagster.assets.resources import GLUE, Outside
from lineage_bridge_dagster.assets.verdicts import (
    Verdict,
    discovery_complete,
    in_sync,
    schema_matches,
    tableflow_healthy,
)
from lineage_bridge_dagster.automation.names import Names
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.glue.results import TableResult
from lineage_bridge_dagster.metadata import markdown_table

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

_COMPARED: OncePerRun[Mapping[str, Verdict]] = OncePerRun()


def table_checks(prefix: str, inventory: Inventory, outside: Outside) -> list[AssetChecksDefinition]:
    """The checks of all Glue tables, one op to a bundle of tables."""
    return [_definition(bundle, inventory, outside) for bundle in bundles(prefix, inventory.tables)]


def _definition(bundle: Bundle, inventory: Inventory, outside: Outside) -> AssetChecksDefinition:
    # By hand, and by hashed names: the decorator would name the outputs of `o.v1`, `o-v1` and `o_v1` alike.
    text_of = {asset.key: asset.key.to_user_string() for asset in bundle.assets}
    specs = {
        keys.op_name(name, text_of[asset.key]): AssetCheckSpec(name, asset=asset.key, description=description)
        for asset in bundle.assets
        for name, description in DESCRIPTIONS.items()
    }
    inputs = {keys.op_name("in", text): key for key, text in text_of.items()}

    @op(
        name=bundle.name,
        ins={name: In(Nothing) for name in inputs},
        out={name: Out(Nothing, is_required=False) for name in specs},
        required_resource_keys={GLUE},
    )
    def _checks(context: AssetCheckExecutionContext) -> Iterator[Any]:
        yield from _run(context, bundle.assets, inventory, outside)

    made: AssetChecksDefinition = AssetChecksDefinition.create(
        keys_by_input_name=inputs,
        node_def=_checks,
        check_specs_by_output_name=specs,
        can_subset=True,
    )
    return made


def _run(
    context: AssetCheckExecutionContext, assets: Sequence[Asset], inventory: Inventory, outside: Outside
) -> Iterator[AssetCheckResult]:
    chosen = context.selected_asset_check_keys
    view, at = inventory.view, inventory.discovery.discovered_at
    for name, judge in ((TABLEFLOW, tableflow_healthy), (SCHEMA, schema_matches)):
        for asset in assets:
            if AssetCheckKey(asset.key, name) in chosen:
                yield _result(asset.key, name, judge(asset.node, view), at)
    asked = [asset for asset in assets if AssetCheckKey(asset.key, IN_SYNC) in chosen]
    if asked:
        verdicts = _COMPARED.get(
            context.run.run_id,
            lambda: compare(context, inventory, outside, _tables_of_run(context, inventory.tables)),
        )
        for asset in asked:
            verdict = verdicts.get(asset.node.node_id) or in_sync(None)
            yield _result(asset.key, IN_SYNC, verdict, at)


def compare(
    context: AssetCheckExecutionContext, inventory: Inventory, outside: Outside, table_ids: Sequence[str]
) -> Mapping[str, Verdict]:
    """What stands in Glue against what would be pushed, by table id; a page of Glue tells a hundred.

    Glue that can't be asked at all is each table's verdict, not the end of the run.
    """
    from lineage_bridge_dagster.glue.push import push_tables

    def progress(done: int, total: int, _result: TableResult) -> None:
        if done == total or done % 200 == 0:
            context.log.info("%d of %d tables compared with Glue", done, total)

    try:
        report = push_tables(
            inventory.discovery,
            context.op_execution_context.resources.glue.client(),
            outside.settings.push,
            tables=table_ids,
            dry_run=True,
            progress=progress,
        )
    except LineageBridgeError as error:
        context.log.warning("Glue could not be asked: %s", error)
        verdict = Verdict(False, f"Glue could not be asked what it holds: {error.message}", error.hint)
        return dict.fromkeys(table_ids, verdict)
    return {result.table: in_sync(result) for result in report.results}


def _tables_of_run(context: AssetCheckExecutionContext, tables: Sequence[Asset]) -> list[str]:
    """The tables that the whole run was asked to compare, not the op alone."""
    layer = context.job_def.asset_layer
    chosen = {
        key.asset_key for held in layer.data for key in held.assets_def.check_keys if key.name == IN_SYNC
    }
    return [asset.node.node_id for asset in tables if asset.key in chosen]


def discovery_asset(names: Names, inventory: Inventory) -> tuple[AssetSpec, AssetChecksDefinition]:
    """The discovery as one asset, with the check of its coverage: what it could not ask is no one table's."""
    discovery = inventory.discovery
    key = AssetKey(["lineage_bridge", *([names.prefix] if names.prefix else []), "discovery"])
    scopes = sorted(discovery.coverage, key=lambda report: report.scope)
    rows = [[str(report.scope), report.status, report.count, report.reason] for report in scopes]
    spec = AssetSpec(
        key,
        group_name="lineage_bridge",
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
        name=f"{names.prefix}_{DISCOVERY}" if names.prefix else DISCOVERY,
        ins={source: In(Nothing)},
        out={output: Out(Nothing, is_required=False)},
    )
    def _check(_context: AssetCheckExecutionContext) -> Iterator[Any]:
        verdict = discovery_complete(discovery.coverage, discovery.discovered_at, names.refresh_job)
        yield _result(key, DISCOVERY, verdict, discovery.discovered_at)

    return spec, AssetChecksDefinition.create(
        keys_by_input_name={source: key},
        node_def=_check,
        check_specs_by_output_name={output: check},
        can_subset=False,
    )


def _result(key: AssetKey, name: str, verdict: Verdict, discovered_at: str) -> AssetCheckResult:
    metadata: dict[str, Any] = {"lineage_bridge/discovered_at": discovered_at}
    if verdict.next_step:
        metadata["what to do"] = verdict.next_step
    if verdict.rows:
        metadata["details"] = MetadataValue.md(markdown_table(verdict.header, verdict.rows))
    if verdict.link:
        metadata["console"] = MetadataValue.url(verdict.link)
    step = f" What to do: {verdict.next_step}" if verdict.next_step else ""
    return AssetCheckResult(
        passed=verdict.passed,
        asset_key=key,
        check_name=name,
        severity=AssetCheckSeverity.ERROR if verdict.error else AssetCheckSeverity.WARN,
        description=verdict.summary + step,
        metadata=metadata,
    )
