"""Tables: materializing one pushes its upstream lineage into its catalog."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from dagster import AssetExecutionContext, DataVersion, Failure, MaterializeResult, MetadataValue

from lineage_bridge_dagster.assets.chains import chain_digest, chain_for, chain_metadata
from lineage_bridge_dagster.assets.column_lineage import column_metadata
from lineage_bridge_dagster.assets.failures import failure_of, readable_failures
from lineage_bridge_dagster.assets.instance import ComponentInstance
from lineage_bridge_dagster.assets.inventory import Asset, Inventory
from lineage_bridge_dagster.assets.kinds import AssetKind, Checks
from lineage_bridge_dagster.assets.lineage_events import state_text
from lineage_bridge_dagster.assets.metadata import PushMetadata
from lineage_bridge_dagster.assets.progress import Progress, by_table
from lineage_bridge_dagster.assets.run_cache import selected_in_run
from lineage_bridge_dagster.assets.run_reports import PushRunReport, push_report, reported
from lineage_bridge_dagster.assets.table_commits import Commits, commit_metadata, commits_of_run
from lineage_bridge_dagster.catalogs.settings.push_settings import PushSettings
from lineage_bridge_dagster.lineage.catalog_tables import name_of
from lineage_bridge_dagster.lineage.chains import Chain
from lineage_bridge_dagster.lineage.documents import render
from lineage_bridge_dagster.lineage.model import Node
from lineage_bridge_dagster.lineage.nodes import GlueTableNode, IcebergTableNode
from lineage_bridge_dagster.lineage.push_results import PushReport, PushStatus, TableResult
from lineage_bridge_dagster.lineage.sql_policy import shown_description, shown_parameters
from lineage_bridge_dagster.lineage.text import shorten
from lineage_bridge_dagster.openlineage.emission import EmissionReport
from lineage_bridge_dagster.specs.markdown import fenced, markdown_table
from lineage_bridge_dagster.text import counted, first_few, plural

#: Outcomes after which the table has the wanted lineage.
GOOD = frozenset({PushStatus.UPDATED, PushStatus.UNCHANGED})

#: Skipped tables that a step's log names.
_MAX_SKIPPED = 20

#: Size limit of the tree in the UI; the limit of a description in Glue is 2,048 bytes.
_TREE_BYTES = 16_384
#: Characters per line of the tree: one long line would widen the UI's table of metadata.
_TREE_WIDTH = 110
#: Characters per value in a diff; the table of all parameters shows longer values.
_DIFF_WIDTH = 64


def table_assets(
    instance: ComponentInstance, checks: Checks | None, iceberg_checks: Checks | None
) -> list[AssetKind]:
    """The tables of Glue and those of REST catalogs, which differ in their checks."""
    names, tables = instance.names, instance.inventory.tables
    kinds = (
        ("glue_tables", [asset for asset in tables if isinstance(asset.node, GlueTableNode)], checks),
        (
            "iceberg_tables",
            [asset for asset in tables if not isinstance(asset.node, GlueTableNode)],
            iceberg_checks,
        ),
    )
    return [
        AssetKind(
            name,
            assets,
            # Spark only for the configuration of the catalogs, and Confluent for the freshness check.
            frozenset({names.confluent, names.glue, names.spark}),
            partial(materialize_tables, instance),
            own_checks,
        )
        for name, assets, own_checks in kinds
    ]


def wanted_version(chain: Chain, settings: PushSettings) -> str:
    """Return the data version of a table with this chain; it changes with the chain and the settings.

    So it does with the table's identity: one that was dropped and created again has no lineage. A table in
    which nothing can be written has another version than after a push.
    """
    text = f"{chain_digest(chain, settings.sql)}:{settings.set_parameters}:{settings.set_description}"
    text += ":business_context" if settings.business_context else ""
    for attribute in ("create_time", "table_uuid", "not_writable"):
        if value := chain.table.text(attribute):
            text += f":{value}"
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def materialize_tables(
    instance: ComponentInstance, context: AssetExecutionContext, assets: Sequence[Asset]
) -> Iterator[MaterializeResult[Any]]:
    """Report what the push did to these tables, and fail at the end if any failed.

    The first step of a run pushes all of the run's tables, whatever their catalogs: Glue's databases are
    listed once, and the limit on how many tables may lose their lineage at once applies to all together.
    A table of a read-only catalog is materialized all the same: its lineage stays here.

    Raises:
        Failure: some tables failed; the error names them. The others are materialized nevertheless.
    """
    with readable_failures():
        instance = instance.current(context)
        inventory = instance.inventory
        settings = instance.push_settings()
        report = instance.cache.get(
            context.run.run_id,
            "push",
            lambda: _push(instance, context, settings, selected_in_run(context, inventory.tables)),
        )
        events = instance.cache.get(
            context.run.run_id,
            "openlineage",
            lambda: instance.events.send(
                context.instance, inventory.discovery, context.log, selected_in_run(context, inventory.tables)
            ),
        )
    results = {result.table: result for result in report.results}
    commits = commits_of_run(instance, context)
    outcomes: Counter[str] = Counter()
    failed: list[TableResult] = []
    held: list[TableResult] = []
    skipped: list[TableResult] = []
    for asset in assets:
        result = results.get(asset.node.node_id) or _gone(asset)
        outcomes[str(result.status)] += 1
        if is_in_sync(result, asset.node):
            chain = chain_for(inventory, asset.node.node_id)
            yield MaterializeResult(
                asset_key=asset.key,
                data_version=DataVersion(wanted_version(chain, settings)),
                metadata=table_metadata(inventory, report, result, chain, settings, commits, events),
            )
        elif result.status is PushStatus.SKIPPED:
            # There is nothing to write to, or it is turned off: the asset's check tells, and the run goes on.
            skipped.append(result)
        elif result.ok:
            # Held back to protect known lineage: nothing was written, and the asset stays as it was.
            held.append(result)
        else:
            failed.append(result)
    counts = counted(outcomes)
    context.log.info("This step's %s: %s", plural(len(assets), "table"), counts)
    if held:
        names = first_few(sorted(result.name for result in held), 20)
        context.log.warning("Held back: %s. The first one: %s", names, held[0].reason)
    for result in skipped[:_MAX_SKIPPED]:
        context.log.warning("Skipped %s: %s %s", result.name, result.reason, result.hint)
    if len(skipped) > _MAX_SKIPPED:
        more = plural(len(skipped) - _MAX_SKIPPED, "more table")
        context.log.warning("Skipped %s; see their checks", more)
    if failed:
        raise push_failure(failed, counts)


def _gone(asset: Asset) -> TableResult:
    """Return the result of a table that a newer discovery than the one of its run does not have."""
    place = name_of(asset.node)
    reason = "a newer discovery than this run was planned with has no such table"
    return TableResult(asset.node.node_id, place.database, place.table, PushStatus.SKIPPED, reason)


def is_in_sync(result: TableResult, table: Node) -> bool:
    """Whether a table has the wanted lineage, or is not writable, so that its lineage stays in Dagster."""
    stays_here = result.status is PushStatus.SKIPPED and IcebergTableNode.of(table).not_writable
    return result.status in GOOD or bool(stays_here)


def _push(
    instance: ComponentInstance,
    context: AssetExecutionContext,
    settings: PushSettings,
    table_ids: Collection[str],
) -> PushReport:
    from lineage_bridge_dagster.catalogs.push import push_tables

    progress = Progress("Pushing tables", len(table_ids))
    with reported(context.instance, context.run, instance.names.prefix, PushRunReport()) as measured:
        report = push_tables(
            instance.inventory.discovery,
            instance.glue(context).client(),
            lambda: instance.spark(context).all_catalogs,
            settings,
            tables=table_ids,
            progress=by_table(progress, context.log.info),
        )
        every = len(table_ids) == len(instance.inventory.tables)
        measured.report = push_report(report, every_table=every)
    context.log.info(progress.summary())
    return report


def push_failure(failed: Sequence[TableResult], counts: str) -> Failure:
    """Return one failure that names all tables that were not pushed, with the reasons as metadata."""
    ordered = sorted(failed, key=lambda result: result.name)
    return failure_of(
        f"{plural(len(ordered), 'table')} not pushed",
        [[result.name, result.status, result.reason, result.hint] for result in ordered],
        columns=["table", "outcome", "reason", "what to do"],
        metadata_key="tables",
        names=[f"{result.name} ({result.status})" for result in ordered],
        metadata={"counts": counts},
    )


def table_metadata(
    inventory: Inventory,
    report: PushReport,
    result: TableResult,
    chain: Chain,
    settings: PushSettings,
    commits: Commits,
    events: EmissionReport | None,
) -> dict[str, Any]:
    """Return the metadata of a table after a push: the push, events, the last commit and the columns."""
    return {
        **_push_metadata(result, chain, settings),
        **PushMetadata(
            openlineage=state_text(events, [hop.node.node_id for hop in chain.hops]),
            business_context=_forms_text(report, result.table),
        ),
        **commit_metadata(commits.get(result.table)),
        **column_metadata(inventory, inventory.view.graph.nodes[result.table]),
    }


def _forms_text(report: PushReport, table: str) -> str | None:
    """Return what became of a table's forms in Glue's business context; None if it takes none."""
    forms = report.business_context and report.business_context.result(table)
    return forms.outcome if forms else None


def observation_metadata(report: PushReport, result: TableResult) -> dict[str, Any]:
    """Return the metadata of a table that a push did not materialize: the outcome and what would change."""
    changes = [line for line in result.diff if line[:1] in ("+", "-")]
    return {
        **PushMetadata(
            outcome=str(result.status),
            reason=result.reason or None,
            next_step=result.hint or None,
            diff=MetadataValue.md(
                f"{plural(len(changes), 'line')} would change\n\n{fenced(chr(10).join(result.diff), 'diff')}"
            )
            if changes
            else None,
            result=MetadataValue.json(_result(result)),
            business_context=_forms_text(report, result.table),
        )
    }


def _result(result: TableResult) -> dict[str, Any]:
    """Return what a push did to one table for programs; the parameters are in other metadata."""
    left_out = ("parameters_before", "parameters_after", "table")
    return {name: value for name, value in result.to_json().items() if name not in left_out}


def _push_metadata(result: TableResult, chain: Chain, settings: PushSettings) -> dict[str, Any]:
    """Return what a push did to one table: outcome, versions, parameters before and after, and the chain.

    Only the chain is known of a table that the push did not read.
    """
    sql = settings.sql
    in_glue, was_read = isinstance(chain.table, GlueTableNode), result.status is not PushStatus.SKIPPED
    description = shown_description(result.description_after, sql)
    in_description = f"In Glue\n\n{fenced(description)}" if description else "None."
    return {
        **PushMetadata(
            outcome=str(result.status),
            reason=result.reason or None,
            next_step=result.hint or None,
            conflicts=result.conflicts or None,
            diff=MetadataValue.md(parameter_diff(result.before, result.after, sql)) if was_read else None,
            description_tree=MetadataValue.md(_tree(chain, settings)),
            glue_description=MetadataValue.md(in_description) if in_glue else None,
            parameters=MetadataValue.md(_parameters(result.after, sql)) if was_read else None,
            table_version_before=result.version_before,
            table_version_after=result.version_after,
            result=MetadataValue.json(_result(result)),
        ),
        **chain_metadata(chain, sql),
    }


def _parameters(parameters: Mapping[str, str], sql: str) -> str:
    """Return all parameters of a table, also those of other tools, with likely secrets redacted."""
    rows = sorted(shown_parameters(parameters, sql).items())
    return f"{len(rows)} parameters\n\n{markdown_table(['parameter', 'value'], rows)}"


def parameter_diff(before: Mapping[str, str], after: Mapping[str, str], sql: str = "redacted") -> str:
    """Return the changed parameters, one row each, below a plain first line with their number.

    Likely secrets are redacted, and SQL is shown as the setting tells, also that of an earlier push.
    """
    added = sorted(after.keys() - before.keys())
    removed = sorted(before.keys() - after.keys())
    changed = sorted(key for key in before.keys() & after.keys() if before[key] != after[key])
    if not (added or removed or changed):
        return f"No parameter changed; there are {len(after)}."
    before, after = shown_parameters(before, sql), shown_parameters(after, sql)
    kept = len(after) - len(added) - len(changed)
    first = f"{len(added)} parameters added, {len(changed)} changed, {len(removed)} removed, {kept} untouched"
    rows: list[tuple[str, ...]] = [
        *(("+", key, "", shorten(after[key], _DIFF_WIDTH)) for key in added),
        *(("~", key, shorten(before[key], _DIFF_WIDTH), shorten(after[key], _DIFF_WIDTH)) for key in changed),
        *(("-", key, shorten(before[key], _DIFF_WIDTH), "") for key in removed),
    ]
    header = ["", "parameter", "before", "after"]
    if not (changed or removed):
        # The first push of a table only adds parameters: leave out the column that would be empty.
        header, rows = ["", "parameter", "value"], [(sign, key, value) for sign, key, _, value in rows]
    return f"{first}\n\n{markdown_table(header, rows)}"


def _tree(chain: Chain, settings: PushSettings) -> str:
    """Return the description's block, cut at a higher limit than Glue's."""
    block = render(chain, settings).block(_TREE_BYTES, "")
    lines = [
        shorten(line, _TREE_WIDTH)
        for line in (block or "").splitlines()
        if not line.startswith("Last synced:")
    ]
    first = (
        "Upstream lineage as in the description"
        if isinstance(chain.table, GlueTableNode)
        else "Upstream lineage"
    )
    return f"{first}\n\n{fenced(chr(10).join(lines))}"
