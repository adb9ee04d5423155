"""The push to one Iceberg table: lineage as its properties, in one commit through its catalog.

What is promised:

- No commit of others is lost. The catalog applies the change to whatever the table is when it commits, and
  the change names properties under our prefix only.
- The table of the commit is the table that was read (`assert-table-uuid`).
- The table has one whole document, never parts of two: a commit replaces all of our properties, and is
  verified by the metadata that it made.

Iceberg has no requirement on properties, so that of two pushes of different lineage at once the later one
stands, without the earlier one's being noticed. The next push puts right what is outdated.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from lineage_bridge_dagster.catalogs.errors import CallError, ConflictError, ThrottledError
from lineage_bridge_dagster.catalogs.iceberg.table_errors import table_errors
from lineage_bridge_dagster.catalogs.lineage_catalog import PushTarget
from lineage_bridge_dagster.catalogs.pace import Pace
from lineage_bridge_dagster.catalogs.plans import Hold, NoChange, Refuse, TableRevision, Wanted
from lineage_bridge_dagster.catalogs.rest.properties_plan import PropertiesCommit, plan_properties
from lineage_bridge_dagster.catalogs.table_push import LineageWriter
from lineage_bridge_dagster.config.settings import PushSettings
from lineage_bridge_dagster.lineage.model import Node
from lineage_bridge_dagster.lineage.times import utc_now

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import CommitTableResponse, Table

A = TypeVar("A")


@dataclass(frozen=True, slots=True)
class IcebergTarget(PushTarget):
    """A table to push to.

    Attributes:
        catalog: The name of its catalog.
    """

    node: Node
    catalog: str
    namespace: tuple[str, ...]
    table: str

    @property
    def identifier(self) -> tuple[str, ...]:
        return (*self.namespace, self.table)

    @property
    def names(self) -> tuple[str, str]:
        return ".".join((self.catalog, *self.namespace)), self.table


@dataclass(frozen=True, slots=True)
class OpenedTable:
    """A table as PyIceberg loaded it."""

    table: Table

    @property
    def state(self) -> TableRevision:
        return _state(self.table)


class IcebergPropertiesWriter(LineageWriter[IcebergTarget, OpenedTable, PropertiesCommit]):
    """Pushes lineage to tables of a catalog. Thread-safe if the catalog is.

    It counts its calls as PyIceberg names them: `LoadTable` and `CommitTable`.

    Args:
        catalog: A catalog opened by PyIceberg.
        settings: What to write, and how often to try.
        clock: The time for `last_synced`.
        sleep: Waits between attempts, in seconds.
        pace: Of its calls; a new one by default.
    """

    def __init__(
        self,
        catalog: Catalog,
        settings: PushSettings,
        *,
        clock: Callable[[], datetime] = utc_now,
        sleep: Callable[[float], None] = time.sleep,
        pace: Pace | None = None,
    ) -> None:
        super().__init__(settings, clock, sleep)
        self._catalog = catalog
        self._pace = pace or Pace()

    def read(self, target: IcebergTarget) -> OpenedTable:
        load = partial(self._catalog.load_table, target.identifier)
        return OpenedTable(self._call("LoadTable", load, "Loading", target))

    def plan(self, table: OpenedTable, wanted: Wanted) -> NoChange | Hold | Refuse | PropertiesCommit:
        return plan_properties(
            table.state, wanted.document, self.settings, complete=wanted.complete, now=wanted.now
        )

    def write(self, target: IcebergTarget, table: OpenedTable, change: PropertiesCommit) -> TableRevision:
        commit = partial(self._commit, table.table, change)
        made = _state(self._call("CommitTable", commit, "Committing to", target))
        if not made.carries(change.after):
            raise ConflictError(f"Another writer of lineage changed {target.dotted} meanwhile.")
        return made

    def _call(self, operation: str, call: Callable[[], A], action: str, target: IcebergTarget) -> A:
        self.count(operation)
        started = self._pace.start()
        try:
            with table_errors(action, f"the table {target.dotted}"):
                answer = call()
        except ThrottledError:
            self._pace.refused(started)
            raise
        except CallError:
            self._pace.served()
            raise
        self._pace.served()
        return answer

    def _commit(self, table: Table, commit: PropertiesCommit) -> CommitTableResponse:
        from pyiceberg.table.update import (
            AssertTableUUID,
            RemovePropertiesUpdate,
            SetPropertiesUpdate,
            TableUpdate,
        )

        updates: list[TableUpdate] = []
        if commit.lineage:
            updates.append(SetPropertiesUpdate(updates=dict(commit.lineage)))
        if commit.removed:
            updates.append(RemovePropertiesUpdate(removals=list(commit.removed)))
        requirement = AssertTableUUID(uuid=table.metadata.table_uuid)
        return self._catalog.commit_table(table, (requirement,), tuple(updates))


def _state(answer: Table | CommitTableResponse) -> TableRevision:
    metadata = answer.metadata
    return TableRevision(answer.metadata_location, dict(metadata.properties), uuid=str(metadata.table_uuid))
