"""The discovery as an asset, with a check of its coverage: a failed scope does not belong to one table."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from dagster import (
    AssetCheckExecutionContext,
    AssetChecksDefinition,
    AssetCheckSpec,
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

from lineage_bridge_dagster.assets.carried_lineage import with_carried
from lineage_bridge_dagster.assets.check_outcomes import CheckOutcome, discovery_complete, evaluation_of
from lineage_bridge_dagster.assets.inventory import Inventory
from lineage_bridge_dagster.dagster_internals.definitions import (
    DATA_VERSION_TAG,
    AssetCheckEvaluationTargetMaterializationData,
)
from lineage_bridge_dagster.lineage.carried import carried_over
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.glue_status import glue_counts
from lineage_bridge_dagster.lineage.graph_digest import graph_digest
from lineage_bridge_dagster.lineage.unknowns import note_text
from lineage_bridge_dagster.specs import keys
from lineage_bridge_dagster.specs.markdown import markdown_table
from lineage_bridge_dagster.specs.metadata import LineageMetadata
from lineage_bridge_dagster.specs.names import AssetNames

CHECK = "discovery_complete"


def discovery_asset(
    names: AssetNames, inventory: Inventory, policy: FreshnessPolicy | None, carried_limit: timedelta | None
) -> tuple[AssetSpec, AssetChecksDefinition]:
    """Define the discovery as an external asset, and the check of its coverage.

    Args:
        names: the names of the component's definitions.
        policy: reports when discoveries stopped, as every refresh materializes the asset.
        carried_limit: age from which carried lineage is an error; None for no limit.
    """
    discovery, key = inventory.discovery, names.discovery_key
    scopes = sorted(discovery.coverage, key=lambda report: report.scope)
    rows = [
        [
            str(report.scope),
            report.status,
            report.count,
            "; ".join([report.reason, *map(note_text, report.notes)]).removeprefix("; "),
        ]
        for report in scopes
    ]
    coverage = markdown_table(["scope", "status", "found", "reason and notes"], rows)
    spec = AssetSpec(
        key,
        group_name="lineage_bridge",
        freshness_policy=policy,
        description=f"The discovery of {discovery.discovered_at}, from which these assets are built. "
        f"The `{names.refresh_job}` job runs a new one.",
        metadata={
            **LineageMetadata(
                discovered_at=discovery.discovered_at,
                coverage=MetadataValue.md(f"{len(scopes)} scopes were queried\n\n{coverage}"),
            )
        },
    )
    check = AssetCheckSpec(
        CHECK,
        asset=key,
        description="Every API was fully read, in every environment and cluster, and no lineage is carried "
        "over from long ago.",
    )
    text = key.to_user_string()
    output, source = keys.op_name(CHECK, text), keys.op_name("in", text)

    @op(name=names.prefixed(CHECK), ins={source: In(Nothing)}, out={output: Out(Nothing, is_required=False)})
    def _check(context: AssetCheckExecutionContext) -> Iterator[Any]:
        at = last_confirmed(context.instance, key, discovery)
        yield _outcome(discovery, at, names, carried_limit).result(key, CHECK, at)

    return spec, AssetChecksDefinition.create(
        keys_by_input_name={source: key},
        node_def=_check,
        check_specs_by_output_name={output: check},
        can_subset=False,
    )


def last_confirmed(instance: DagsterInstance, key: AssetKey, discovery: Discovery) -> str:
    """Return the time of the discovery, or of a later refresh that found nothing new."""
    event = instance.get_latest_materialization_event(key)
    latest = event.asset_materialization if event else None
    if latest is None or (latest.tags or {}).get(DATA_VERSION_TAG) != graph_digest(discovery):
        return discovery.discovered_at
    at = latest.metadata.get("discovered_at")
    return max(discovery.discovered_at, str(at.value)) if at else discovery.discovered_at


def _outcome(
    discovery: Discovery, at: str, names: AssetNames, carried_limit: timedelta | None
) -> CheckOutcome:
    tables = glue_counts(discovery.graph)
    complete = discovery_complete(discovery.coverage, at, names.refresh_job, tables)
    return with_carried(complete, carried_over(discovery), at, carried_limit, names.refresh_job)


def report_discovery_check(
    instance: DagsterInstance, names: AssetNames, discovery: Discovery, carried_limit: timedelta | None
) -> None:
    """Record the check's outcome for a new discovery, without launching a run for it."""
    key, at = names.discovery_key, discovery.discovered_at
    result = _outcome(discovery, at, names, carried_limit).result(key, CHECK, at)
    records = instance.fetch_materializations(key, limit=1).records
    target = (
        AssetCheckEvaluationTargetMaterializationData(
            storage_id=records[0].storage_id, run_id=records[0].run_id, timestamp=records[0].timestamp
        )
        if records
        else None
    )
    instance.report_runless_asset_event(evaluation_of(result, target))
