"""What the upkeep of tables did, as a sentence, as metadata and as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.assets.metadata import UpkeepMetadata
from lineage_bridge_dagster.specs.markdown import markdown_table
from lineage_bridge_dagster.text import plural

if TYPE_CHECKING:
    from lineage_bridge_dagster.spark.upkeep import Upkeep

_COLUMNS = (
    "table",
    "data files compacted",
    "into",
    "delete files removed",
    "manifests rewritten",
    "snapshots expired",
    "files removed",
    "orphans removed",
)


def upkeep_sentence(table: str, upkeep: Upkeep | None) -> str:
    """What was done to a table; None if it does not exist."""
    if upkeep is None:
        return f"{table} does not exist yet"
    if upkeep.is_nothing:
        return f"{table} needs nothing"
    return (
        f"{table}: {plural(upkeep.compacted, 'file')} compacted into {upkeep.written}, "
        f"{plural(upkeep.snapshots, 'snapshot')} expired, "
        f"{plural(upkeep.expired + upkeep.orphans, 'file')} removed"
    )


def upkeep_metadata(upkeep: Upkeep) -> dict[str, Any]:
    """What was done to one table."""
    return {
        **UpkeepMetadata(
            files_compacted=upkeep.compacted,
            files_written=upkeep.written,
            delete_files_removed=upkeep.deletes_removed,
            snapshots_expired=upkeep.snapshots,
            files_removed=upkeep.expired,
            orphans_removed=upkeep.orphans,
        )
    }


def upkeep_table(done: Sequence[tuple[str, Upkeep | None]]) -> str:
    """What was done to several tables, in Markdown, without those that needed nothing."""
    rows = [_row(table, upkeep) for table, upkeep in done if upkeep is not None and not upkeep.is_nothing]
    first = f"{len(rows)} of {plural(len(done), 'table')} changed"
    return f"{first}\n\n{markdown_table(list(_COLUMNS), rows)}" if rows else first


def upkeep_totals(done: Sequence[tuple[str, Upkeep | None]]) -> dict[str, int]:
    """What was done to all tables together."""
    kept = [upkeep for _, upkeep in done if upkeep is not None]
    return {
        "tables": len(kept),
        "files_compacted": sum(each.compacted for each in kept),
        "snapshots_expired": sum(each.snapshots for each in kept),
        "files_removed": sum(each.expired + each.orphans for each in kept),
    }


def _row(table: str, upkeep: Upkeep) -> list[object]:
    return [
        table,
        upkeep.compacted,
        upkeep.written,
        upkeep.deletes_removed,
        upkeep.manifests,
        upkeep.snapshots,
        upkeep.expired,
        upkeep.orphans,
    ]
