"""Moves the mark to the end of an extract, and shows the move as a materialization of the mark's asset."""

from __future__ import annotations

from datetime import UTC, datetime

from dagster import AssetExecutionContext, AssetMaterialization, AssetSpec

from lineage_bridge_dagster.collector.assets.instance_marks import InstanceMarks
from lineage_bridge_dagster.collector.assets.metadata import MARK
from lineage_bridge_dagster.collector.assets.source import CollectorSource
from lineage_bridge_dagster.collector.manifests import Manifest
from lineage_bridge_dagster.collector.marks import BEGINNING, FORMAT, Marks


def range_of_day(
    mark: str | None, first: datetime, last: datetime, now: datetime, start: str = ""
) -> tuple[str, str]:
    """The range of the extract of a day, as marks.

    It starts at the mark, so that it covers days that were missed, or at the start of the day if that is
    earlier, so that the extract of a day that was extracted before has the whole day again. It ends with the
    day, or now.

    Args:
        mark: The published mark; without one, everything has changed.
        last: The start of the next day.
        now: The time of the extract.
        start: A start that somebody asked for.

    >>> day = datetime(2026, 11, 22, tzinfo=UTC), datetime(2026, 11, 23, tzinfo=UTC)
    >>> range_of_day("2026-11-20 00:00:00", *day, datetime(2026, 11, 23, 1, tzinfo=UTC))
    ('2026-11-20 00:00:00', '2026-11-23 00:00:00')
    >>> range_of_day("2026-11-22 10:00:00", *day, datetime(2026, 11, 22, 12, tzinfo=UTC))
    ('2026-11-22 00:00:00', '2026-11-22 12:00:00')
    """
    end = min(last, now).astimezone(UTC).strftime(FORMAT)
    return start or min(mark or BEGINNING, first.astimezone(UTC).strftime(FORMAT)), end


def moves(mark: str | None, start: str, end: str) -> bool:
    """Whether an extract of a range moves the mark: forward, and past nothing that was not extracted.

    >>> moves(None, BEGINNING, "2026-11-22 00:00:00")
    True
    >>> moves("2026-11-20 00:00:00", "2026-11-21 00:00:00", "2026-11-22 00:00:00")
    False
    >>> moves("2026-11-22 00:00:00", "2026-11-20 00:00:00", "2026-11-21 00:00:00")
    False
    """
    return start <= (mark or BEGINNING) < end


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
