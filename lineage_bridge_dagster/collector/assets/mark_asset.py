"""Moves the mark to the end of an extract, and shows the move as a materialization of the mark's asset."""

from __future__ import annotations

from dagster import AssetExecutionContext, AssetMaterialization, AssetSpec

from lineage_bridge_dagster.collector.assets.days import moves
from lineage_bridge_dagster.collector.assets.instance_marks import InstanceMarks
from lineage_bridge_dagster.collector.assets.metadata import MARK
from lineage_bridge_dagster.collector.assets.source import CollectorSource
from lineage_bridge_dagster.collector.manifests import Manifest
from lineage_bridge_dagster.collector.marks import Marks


def mark_asset(source: CollectorSource) -> AssetSpec:
    """The asset that stands for the mark; moves of the mark materialize it."""
    return AssetSpec(
        source.mark,
        deps=[source.landing if source.lands else source.manifest],
        group_name=source.group(),
        description="Up to when changes were extracted"
        + (" and uploaded" if source.lands else "")
        + ", in UTC. The next extract starts there.",
    )


def move_mark(
    source: CollectorSource, context: AssetExecutionContext, marks: Marks, manifest: Manifest
) -> tuple[str, str]:
    """Move the mark to the end of an extract whose files have arrived, unless it is further already.

    It also stays where something between it and the start of the extract was not extracted, as after somebody
    set the mark back.

    Returns:
        The mark before and after, each empty without one.
    """
    before = marks.read()
    if not moves(before, manifest.start, manifest.end):
        why = "it is further already" if before and before >= manifest.end else "the extract starts after it"
        context.log.info(f"The mark stays at {before or 'the beginning'}: {why}.")
        return before or "", before or ""
    after = marks.publish(manifest.end)
    if not isinstance(marks, InstanceMarks):
        context.instance.report_runless_asset_event(AssetMaterialization(source.mark, metadata={MARK: after}))
    context.log.info(f"The mark is {after} (UTC), in {marks.location}")
    return before or "", after
