"""Iceberg REST catalogs as catalogs that take lineage: as a table's properties, in one commit.

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
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from lineage_bridge_dagster.catalogs.calls import Pace
from lineage_bridge_dagster.catalogs.errors import CallError, ConflictError, NotFoundError, ThrottledError
from lineage_bridge_dagster.catalogs.iceberg.open_catalog import open_catalog
from lineage_bridge_dagster.catalogs.iceberg.table_errors import table_errors
from lineage_bridge_dagster.catalogs.iceberg.table_reading import (
    IcebergTable,
    Identifier,
    load_table,
    read_tables,
)
from lineage_bridge_dagster.catalogs.lineage_catalog import LineageCatalog, PushTarget, TableRecord
from lineage_bridge_dagster.catalogs.plans import NoWrite, TableRevision, Wanted
from lineage_bridge_dagster.catalogs.rest.enrichment import iceberg_catalogs
from lineage_bridge_dagster.catalogs.rest.properties_plan import PropertiesCommit, plan_properties
from lineage_bridge_dagster.catalogs.rest.tableflow_enrichment import TAKES_NO_PROPERTIES
from lineage_bridge_dagster.catalogs.settings.catalogs import Catalogs
from lineage_bridge_dagster.catalogs.settings.push_settings import PushSettings
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.lineage.ids import iceberg_table_id
from lineage_bridge_dagster.lineage.model import Graph, Node, NodeType
from lineage_bridge_dagster.lineage.nodes import ICEBERG_REST, IcebergTableNode
from lineage_bridge_dagster.lineage.ownership import PushOptions
from lineage_bridge_dagster.lineage.push_results import NOT_OURS, PushStatus, TableResult
from lineage_bridge_dagster.lineage.times import utc_now

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import CommitTableResponse, Table

A = TypeVar("A")

#: Facts that tell writers of a table apart.
_UUID, _SNAPSHOT = "uuid", "snapshot"
_SCHEME = "iceberg://"


@dataclass(frozen=True, slots=True)
class IcebergTarget(PushTarget):
    """A table to push to, in the catalog of this name."""

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


class RestCatalogs(LineageCatalog[IcebergTarget, OpenedTable, PropertiesCommit]):
    """The tables of all configured REST catalogs but the account's own Glue.

    There is no call for several tables: each is read by its push, and what a push would remove is what the
    discovery found. The calls are counted as PyIceberg names them: `LoadTable` and `CommitTable`.

    Args:
        catalogs: Reads the configured catalogs, once, when one is needed. If that fails, so does each table.
        settings: As for every catalog, and so are `clock` and `sleep`.
        pace: Makes the pace of the calls to one catalog.
    """

    def __init__(
        self,
        catalogs: Callable[[], Catalogs],
        settings: PushSettings,
        *,
        clock: Callable[[], datetime] = utc_now,
        sleep: Callable[[float], None] = time.sleep,
        pace: Callable[[], Pace] = Pace,
    ) -> None:
        super().__init__(settings, clock=clock, sleep=sleep)
        self._read_catalogs = catalogs
        self._new_pace = pace
        self._catalogs: Catalogs | None = None
        self._open: dict[str, tuple[Catalog, Pace]] = {}

    def tables(self, graph: Graph) -> Iterable[Node]:
        return graph.of_kind(IcebergTableNode)

    def names_of(self, node: Node) -> Iterator[str]:
        yield from (node.node_id, node.qualified_name, target_of(node).dotted)

    def targets(self, nodes: Iterable[Node]) -> Iterator[IcebergTarget | TableResult]:
        """The targets; results for the tables of a catalog that is read-only, off or cannot be opened."""
        closed: dict[str, tuple[PushStatus, str, str]] = {}
        for node in nodes:
            target = target_of(node)
            if IcebergTableNode.of(node).not_writable == TAKES_NO_PROPERTIES:
                yield target.result(PushStatus.SKIPPED, TAKES_NO_PROPERTIES)
                continue
            name = target.catalog
            if name not in self._open and name not in closed and (reason := self._closed(name)) is not None:
                closed[name] = reason
            yield target.result(*closed[name]) if name in closed else target

    def read(self, target: IcebergTarget) -> OpenedTable:
        load = partial(self.open(target.catalog).load_table, target.identifier)
        return OpenedTable(self._call("LoadTable", load, "Loading", target))

    @staticmethod
    def plan(table: TableRecord, wanted: Wanted, options: PushOptions) -> NoWrite | PropertiesCommit:
        return plan_properties(
            table.state, wanted.document, options, complete=wanted.complete, now=wanted.now
        )

    @staticmethod
    def facts_of(table: IcebergTable) -> dict[str, str]:
        return {_UUID: table.uuid, _SNAPSHOT: str(table.snapshot_id or "")}

    @staticmethod
    def likely_writer(table: IcebergTable, before: Mapping[str, str], *, survived: bool = False) -> str:
        now = RestCatalogs.facts_of(table)
        if not before:
            who = "unknown so far"
        elif now[_UUID] != before.get(_UUID):
            who = "whoever dropped the table and created it again"
        elif now[_SNAPSHOT] == before.get(_SNAPSHOT):
            who = "a commit of properties alone, such as ALTER TABLE ... UNSET TBLPROPERTIES"
        elif survived:
            who = "unknown: data was committed, but the lineage outlived such commits before"
        else:
            who = "a writer that commits data and replaces the properties, such as CREATE OR REPLACE TABLE"
        name = ".".join((*table.namespace, table.name))
        return f"{who}. The log of the catalog's calls, for S3 Tables CloudTrail's of {name}, names it"

    def write(self, target: IcebergTarget, table: OpenedTable, change: PropertiesCommit) -> TableRevision:
        commit = partial(_commit, self.open(target.catalog), table.table, change)
        made = _state(self._call("CommitTable", commit, "Committing to", target))
        if not made.carries(change.after):
            raise ConflictError(f"Another writer of lineage changed {target.dotted} meanwhile.")
        return made

    def has(self, name: str) -> bool:
        """Whether a name is that of a table here: `catalog.namespace.table`, or `iceberg://` and slashes."""
        return next(self._places(name), None) is not None

    def find(self, name: str) -> tuple[IcebergTarget, None] | TableResult:
        reason = f"{name} is not the name of a table."
        for catalog, identifier in self._places(name):
            target = _target(catalog, identifier)
            try:
                table = load_table(self.open(catalog), identifier)
            except NotFoundError as error:
                reason = error.message
                continue
            except LineageBridgeError as error:
                return target.result(PushStatus.FAILED, error.message, error.hint)
            return (target, None) if table.state.lineage else target.result(PushStatus.UNCHANGED, NOT_OURS)
        hint = "`lineage-bridge clean --dry-run` lists those with lineage."
        return TableResult(name, "", name, PushStatus.FAILED, reason, hint)

    def find_all(self) -> Iterator[tuple[IcebergTarget, None] | TableResult]:
        for name in self._writable():
            settings = self._configured()[name]
            try:
                read = read_tables(
                    self.open(name),
                    settings.namespaces,
                    nested=settings.nests_namespaces,
                    max_concurrency=self.settings.max_concurrency,
                )
            except LineageBridgeError as error:
                yield _failure(name, error)
                continue
            for table in read.tables:
                if table.state.lineage:
                    yield _target(name, (*table.namespace, table.name)), None
            for number, failure in enumerate(read.all_errors):
                yield _failure(name, failure, number)

    def open(self, name: str) -> Catalog:
        """A catalog, which is opened once.

        Raises:
            LineageBridgeError: it cannot be opened, or is not configured.
        """
        if name not in self._open:
            self._open[name] = self._new_catalog(name), self._new_pace()
        return self._open[name][0]

    def _new_catalog(self, name: str) -> Catalog:
        return open_catalog(self._configured(), name)

    def _configured(self) -> Catalogs:
        if self._catalogs is None:
            self._catalogs = self._read_catalogs()
        return self._catalogs

    def _closed(self, name: str) -> tuple[PushStatus, str, str] | None:
        """Why nothing is written to a catalog, as the result of its tables; None once it is open."""
        try:
            catalogs = self._configured()
            if catalogs.is_off(name):
                return (
                    PushStatus.SKIPPED,
                    f"the catalog {name} is turned off: nothing is committed to it",
                    "Unset ICEBERG_ENABLED, or set it to true.",
                )
            if catalogs[name].read_only:
                return (
                    PushStatus.SKIPPED,
                    f"the catalog {name} is read-only: the lineage stays in Dagster",
                    "The lineage tables have it, too.",
                )
            self.open(name)
        except LineageBridgeError as error:
            return PushStatus.FAILED, error.message, error.hint
        return None

    def _writable(self) -> list[str]:
        """Catalogs that are read-only are left alone by a clean: nothing is written to them."""
        return [each.name for each in iceberg_catalogs(self._configured()) if not each.read_only]

    def _places(self, name: str) -> Iterator[tuple[str, Identifier]]:
        """The catalog and the identifiers that a name may stand for: a table's name may have dots in it."""
        if name.startswith(_SCHEME):
            catalog, *rest = name.removeprefix(_SCHEME).split("/")
            if catalog in self._writable() and len(rest) == 2:
                yield catalog, (*rest[0].split("."), rest[1])
            return
        catalog, *rest = name.split(".")
        if catalog in self._writable():
            for levels in range(1, len(rest)):
                yield catalog, (*rest[:levels], ".".join(rest[levels:]))

    def _call(self, operation: str, call: Callable[[], A], action: str, target: IcebergTarget) -> A:
        self.count(operation)
        _, pace = self._open[target.catalog]
        started = pace.start()
        try:
            with table_errors(action, f"the table {target.dotted}"):
                answer = call()
        except ThrottledError:
            pace.refused(started)
            raise
        except CallError:
            pace.served()
            raise
        pace.served()
        return answer


def target_of(node: Node) -> IcebergTarget:
    """The table to push to."""
    table = IcebergTableNode.of(node)
    return IcebergTarget(node, table.catalog, table.namespace, table.table_name)


def _target(catalog: str, identifier: Identifier) -> IcebergTarget:
    *levels, table = identifier
    namespace = ".".join(levels)
    node = Node(
        iceberg_table_id("", catalog, namespace, table),
        "iceberg",
        NodeType.CATALOG_TABLE,
        f"{_SCHEME}{catalog}/{namespace}/{table}",
        catalog_type=ICEBERG_REST,
    )
    return IcebergTarget(node, catalog, tuple(levels), table)


def _failure(catalog: str, error: LineageBridgeError, number: int = 0) -> TableResult:
    """A result of its own for each of several failures with a catalog."""
    return TableResult(
        f"{catalog}.*{number or ''}", catalog, "*", PushStatus.FAILED, error.message, error.hint
    )


def _commit(catalog: Catalog, table: Table, change: PropertiesCommit) -> CommitTableResponse:
    from pyiceberg.table.update import (
        AssertTableUUID,
        RemovePropertiesUpdate,
        SetPropertiesUpdate,
        TableUpdate,
    )

    updates: list[TableUpdate] = []
    if change.lineage:
        updates.append(SetPropertiesUpdate(updates=dict(change.lineage)))
    if change.removed:
        updates.append(RemovePropertiesUpdate(removals=list(change.removed)))
    requirement = AssertTableUUID(uuid=table.metadata.table_uuid)
    return catalog.commit_table(table, (requirement,), tuple(updates))


def _state(answer: Table | CommitTableResponse) -> TableRevision:
    metadata = answer.metadata
    return TableRevision(answer.metadata_location, dict(metadata.properties), uuid=str(metadata.table_uuid))
