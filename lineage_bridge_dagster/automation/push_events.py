"""The events of a push job: what its run tells about each table, in the UI and over GraphQL."""

from __future__ import annotations

from collections.abc import Iterator

from dagster import AssetMaterialization, AssetObservation, OpExecutionContext

from lineage_bridge_dagster.assets.chains import chain_for
from lineage_bridge_dagster.assets.instance import ComponentInstance
from lineage_bridge_dagster.assets.table_commits import last_commits
from lineage_bridge_dagster.assets.tables import (
    is_in_sync,
    observation_metadata,
    table_metadata,
    wanted_version,
)
from lineage_bridge_dagster.automation.data_versions import CONFIGURED_VERSION_TAG, pushed_versions
from lineage_bridge_dagster.catalogs.settings.push_settings import PushSettings
from lineage_bridge_dagster.dagster_internals.definitions import DATA_VERSION_TAG
from lineage_bridge_dagster.lineage.push_results import PushReport, PushStatus
from lineage_bridge_dagster.openlineage.emission import EmissionReport
from lineage_bridge_dagster.specs.markdown import markdown_table
from lineage_bridge_dagster.text import plural


def push_events(
    instance: ComponentInstance,
    context: OpExecutionContext,
    report: PushReport,
    settings: PushSettings,
    configured: PushSettings,
    *,
    events: EmissionReport | None,
    named: bool,
) -> Iterator[AssetMaterialization | AssetObservation]:
    """Yield the event of each table: a materialization if the push changed it, else an observation.

    An op has to yield them: Dagster drops what an op that fails has only logged.

    Args:
        settings: what the push wrote.
        configured: the component's settings.
        events: what became of the events of OpenLineage.
        named: whether the run names its tables. Otherwise those that are in sync get no observation: an
            hourly push of ten thousand tables would log as many.
    """
    materialized: set[str] = set()
    if not report.dry_run:
        for table, event in _materializations(instance, context, report, settings, configured, events):
            materialized.add(table)
            yield event
    key_of = instance.inventory.key_of
    for result in report.results:
        if result.table in materialized or result.table not in key_of:
            continue
        in_sync = is_in_sync(result, instance.inventory.view.graph.nodes[result.table])
        if named or (result.status is PushStatus.UPDATED if in_sync else True):
            yield AssetObservation(
                key_of[result.table],
                description="A dry run: nothing was written." if report.dry_run else None,
                metadata=observation_metadata(report, result),
            )


def _materializations(
    instance: ComponentInstance,
    context: OpExecutionContext,
    report: PushReport,
    settings: PushSettings,
    configured: PushSettings,
    events: EmissionReport | None,
) -> Iterator[tuple[str, AssetMaterialization]]:
    """Yield those of tables that the push changed, or whose asset does not show their current lineage yet.

    An event for any other table would carry no information, and make its check results look outdated. After
    a push with options of its own, the event tells the sensor that this table is not to be pushed again.
    """
    inventory = instance.inventory
    nodes = inventory.view.graph.nodes
    good = [
        result
        for result in report.results
        if result.table in inventory.key_of and is_in_sync(result, nodes[result.table])
    ]
    chains = {result.table: chain_for(inventory, result.table) for result in good}
    wanted = {table: wanted_version(chain, configured) for table, chain in chains.items()}
    forms = report.business_context or PushReport()
    shown = pushed_versions(context.instance, [inventory.key_of[result.table] for result in good])
    changed = [
        result
        for result in good
        if any(each and each.status is PushStatus.UPDATED for each in (result, forms.result(result.table)))
        or shown[inventory.key_of[result.table]] != wanted[result.table]
    ]
    commits = last_commits(instance, context, [nodes[result.table] for result in changed])
    for result in changed:
        chain = chains[result.table]
        tags = {DATA_VERSION_TAG: wanted_version(chain, settings)}
        if tags[DATA_VERSION_TAG] != wanted[result.table]:
            tags[CONFIGURED_VERSION_TAG] = wanted[result.table]
        event = AssetMaterialization(
            inventory.key_of[result.table],
            metadata=table_metadata(inventory, report, result, chain, settings, commits, events),
            tags=tags,
        )
        yield result.table, event


def report_markdown(report: PushReport) -> str:
    """The outcome of each table, below a plain first line with their number."""
    rows = [[result.name, str(result.status), result.reason] for result in report.results]
    first = plural(len(rows), "table") + (", nothing written (dry run)" if report.dry_run else "")
    return f"{first}\n\n{markdown_table(['table', 'outcome', 'reason'], sorted(rows))}"
