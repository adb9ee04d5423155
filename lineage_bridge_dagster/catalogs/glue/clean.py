"""Takes all that is ours out of Glue again, and leaves what others own byte for byte.

It needs no discovery: tables that carry our lineage are found by what they carry. Each is written as a push
writes it, bound to the version that was read, so that no other writer's commit is lost.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from lineage_bridge_dagster.catalogs.errors import CallError
from lineage_bridge_dagster.catalogs.glue.glue_table import GlueTable
from lineage_bridge_dagster.catalogs.glue.scan import scan_catalog
from lineage_bridge_dagster.catalogs.glue.table_nodes import pushed_environment
from lineage_bridge_dagster.catalogs.glue.targets import GlueTarget
from lineage_bridge_dagster.catalogs.glue.writer import GlueLineageWriter
from lineage_bridge_dagster.catalogs.table_runs import ProgressCallback, TableRun
from lineage_bridge_dagster.config.settings import PushSettings
from lineage_bridge_dagster.lineage.glue_names import AWS_GLUE, GluePlace
from lineage_bridge_dagster.lineage.ids import glue_table_id
from lineage_bridge_dagster.lineage.model import Node, NodeType
from lineage_bridge_dagster.lineage.push_results import NOT_OURS, REMOVED, PushReport, PushStatus, TableResult
from lineage_bridge_dagster.lineage.times import utc_now

if TYPE_CHECKING:
    from mypy_boto3_glue.client import GlueClient


@dataclass(frozen=True)
class FoundTables:
    """What a clean would work on.

    Attributes:
        tables: the tables that carry our lineage.
        others: the results of what has none, does not exist or could not be read.
    """

    tables: Sequence[tuple[GlueTarget, GlueTable]]
    others: Sequence[TableResult]


class Cleaning:
    """Finds the tables that carry our lineage, then removes it.

    Args:
        client: a Glue client.
        settings: limits, and how a diff shows SQL. Both parts are removed, whatever a push writes.
        clock: unused times of a push.
        sleep: waits between attempts, in seconds.
    """

    def __init__(
        self,
        client: GlueClient,
        settings: PushSettings,
        *,
        clock: Callable[[], datetime] = utc_now,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._settings = settings.model_copy(update={"set_parameters": True, "set_description": True})
        self._writer = GlueLineageWriter(client, self._settings, clock=clock, sleep=sleep)

    def find(self, names: Collection[str] | None = None) -> FoundTables:
        """Find the tables, by `DB.TABLE` or `glue://DB/TABLE`, or every table of the catalog.

        Raises:
            CallError: the databases of the catalog could not be listed.
        """
        return self._every() if names is None else self._named(names)

    def remove(
        self, found: FoundTables, *, dry_run: bool = False, progress: ProgressCallback | None = None
    ) -> PushReport:
        """Remove our lineage. A table that fails does not affect the others; `updated` is removed."""

        def write(target: GlueTarget, table: GlueTable | None) -> TableResult:
            return self._writer.push(
                target, None, complete=True, table=table, dry_run=dry_run, removal_reason=REMOVED
            )

        run = TableRun(self._settings.max_concurrency, progress)
        results = run.finish(found.tables, write, found.others)
        return PushReport(results, dry_run, self._writer.calls)

    def _every(self) -> FoundTables:
        scan = scan_catalog(
            self._writer.reader,
            keep=lambda table: table.carries_lineage,
            max_concurrency=self._settings.max_concurrency,
        )
        if scan.list_error is not None:
            raise scan.list_error
        unread = [
            _failure(f"{database}.*", GluePlace(database, "*"), error)
            for database, error in scan.unread.items()
        ]
        return FoundTables([(_target(table), table) for table in scan.tables], unread)

    def _named(self, names: Collection[str]) -> FoundTables:
        tables: list[tuple[GlueTarget, GlueTable]] = []
        others: list[TableResult] = []
        for name in dict.fromkeys(names):
            place = _place(name)
            if place is None:
                reason, hint = f"{name} is not the name of a table.", "Name tables as DB.TABLE."
                others.append(TableResult(name, "", name, PushStatus.FAILED, reason, hint))
                continue
            try:
                table = self._writer.reader.table(place.database, place.table)
            except CallError as error:
                others.append(_failure(name, place, error))
                continue
            if table is not None and table.carries_lineage:
                tables.append((_target(table), table))
                continue
            status = PushStatus.FAILED if table is None else PushStatus.UNCHANGED
            reason = f"Glue has no table {place.dotted}." if table is None else NOT_OURS
            hint = "`lineage-bridge clean --dry-run` lists those with lineage." if table is None else ""
            others.append(TableResult(name, place.database, place.table, status, reason, hint))
        # A table that is named twice, as DB.TABLE and glue://DB/TABLE, is written once.
        return FoundTables(
            list({target.node.node_id: (target, table) for target, table in tables}.values()), others
        )


def _place(name: str) -> GluePlace | None:
    """The place of `DB.TABLE` or `glue://DB/TABLE`; the first dot ends the database."""
    dotted = name if "/" in name else name.replace(".", "/", 1)
    place = GluePlace.parse(dotted)
    return place.folded if place is not None and place.is_home else None


def _target(table: GlueTable) -> GlueTarget:
    place = table.place.folded
    environment = pushed_environment(table)
    node = Node(
        glue_table_id(environment or "", table.place),
        "aws",
        NodeType.CATALOG_TABLE,
        table.place.qualified_name,
        environment_id=environment,
        catalog_type=AWS_GLUE,
    )
    return GlueTarget(node, place)


def _failure(name: str, place: GluePlace, error: CallError) -> TableResult:
    return TableResult(name, place.database, place.table, PushStatus.FAILED, error.message, error.hint)
