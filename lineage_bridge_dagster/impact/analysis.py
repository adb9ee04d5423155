"""A world and changes -> their impact. Pure, but for the JVM that parses SQL."""

from __future__ import annotations

from collections.abc import Sequence

from lineage_bridge_dagster.impact.change import Change
from lineage_bridge_dagster.impact.report import Impact, ImpactGap
from lineage_bridge_dagster.impact.world import World


def impact(world: World, changes: Sequence[Change]) -> Impact:
    """Find what changes do to every node of a world, all together.

    Args:
        world: What exists before.
        changes: In the order in which they are made.

    Returns:
        The effects, and a gap for whatever could not be judged. It never raises on what a world says.
    """
    everywhere = f"{len(world.topics)} topics"
    gaps = (ImpactGap(None, f"{type(change).__name__} is not judged for {everywhere}") for change in changes)
    return Impact(tuple(changes), (), tuple(gaps))
