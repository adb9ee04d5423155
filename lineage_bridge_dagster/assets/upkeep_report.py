"""The upkeep of several tables in a run, and what it did: as a sentence, as metadata and as a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dagster import DagsterLogManager, MetadataValue, Output

from lineage_bridge_dagster.assets.failures import failure_of
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


@dataclass
class UpkeepRun:
    """The upkeep of tables one after the other, of which one that fails stops no other.

    Attributes:
        what: what a table is called, in the singular.
        tables: how many there are.
    """

    log: DagsterLogManager
    what: str
    tables: int
    _done: list[tuple[str, Upkeep | None]] = field(default_factory=list)
    _failed: list[list[str]] = field(default_factory=list)

    def attempt(self, table: str, keep: Callable[[], Upkeep | None]) -> Upkeep | None:
        """Look after a table; None if it does not exist, or if that failed."""
        # Imported here: definitions load without PySpark.
        from lineage_bridge_dagster.spark.failures import readable
        from lineage_bridge_dagster.spark.java_errors import is_jvm_gone

        upkeep = None
        try:
            upkeep = keep()
        except Exception as error:
            if is_jvm_gone(error):
                raise
            told = readable(error)
            self._failed.append([table, told.message, told.hint])
            text = f"{table} failed: {told.message}"
        else:
            self._done.append((table, upkeep))
            text = upkeep_sentence(table, upkeep)
        number = len(self._done) + len(self._failed)
        self.log.info("%s of %s: %s", number, plural(self.tables, self.what), text)
        return upkeep

    def output(self, **metadata: Any) -> Output[dict[str, int]]:
        """What was done in all tables.

        Raises:
            Failure: some failed, which the next run of the schedule tries again.
        """
        if self._failed:
            raise failure_of(
                f"{len(self._failed)} of {plural(self.tables, self.what)} not looked after",
                self._failed,
                columns=["table", "reason", "what to do"],
                metadata_key="failed",
            )
        tables = MetadataValue.md(upkeep_table(self._done))
        return Output(upkeep_totals(self._done), metadata={"tables": tables, **metadata})


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
