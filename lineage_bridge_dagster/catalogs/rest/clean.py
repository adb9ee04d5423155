"""Takes our properties out of the tables of REST catalogs again, and leaves all others as they are.

It needs no discovery: tables that carry our lineage are found by what they carry.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from lineage_bridge_dagster.catalogs.errors import CallError, NotFoundError
from lineage_bridge_dagster.catalogs.iceberg.open_catalog import open_catalog
from lineage_bridge_dagster.catalogs.iceberg.table_reading import (
    IcebergTable,
    Identifier,
    load_table,
    read_tables,
)
from lineage_bridge_dagster.catalogs.rest.enrichment import iceberg_catalogs
from lineage_bridge_dagster.catalogs.rest.iceberg_properties import IcebergPropertiesWriter, IcebergTarget
from lineage_bridge_dagster.catalogs.table_runs import ProgressCallback, TableRun
from lineage_bridge_dagster.config.catalogs import Catalogs
from lineage_bridge_dagster.config.settings import PushSettings
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.lineage.documents import PREFIX
from lineage_bridge_dagster.lineage.ids import iceberg_table_id
from lineage_bridge_dagster.lineage.model import Node, NodeType
from lineage_bridge_dagster.lineage.nodes import ICEBERG_REST
from lineage_bridge_dagster.lineage.push_results import (
    NOT_OURS,
    REMOVED,
    PushReport,
    PushStatus,
    TableResult,
)
from lineage_bridge_dagster.lineage.times import utc_now

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

_SCHEME = "iceberg://"


@dataclass(slots=True)
class FoundProperties:
    """What a clean would work on.

    Attributes:
        tables: The tables that carry our lineage, by catalog.
        others: The results of what has none, does not exist or could not be read.
    """

    tables: dict[str, list[IcebergTarget]] = field(default_factory=dict)
    others: list[TableResult] = field(default_factory=list)


class IcebergCleaning:
    """Finds the tables of REST catalogs that carry our lineage, then removes it.

    Args:
        catalogs: All catalogs; those that are read-only are left alone, for nothing is written to them.
        settings: Limits, owner, and how a diff shows SQL. Properties are removed, whatever a push writes.
        clock: Unused times of a push.
        sleep: Waits between attempts, in seconds.
    """

    def __init__(
        self,
        catalogs: Catalogs,
        settings: PushSettings,
        *,
        clock: Callable[[], datetime] = utc_now,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._catalogs = catalogs
        self._settings = settings.model_copy(update={"set_parameters": True})
        self._clock = clock
        self._sleep = sleep
        self._names = [each.name for each in iceberg_catalogs(catalogs) if not each.read_only]
        self._open: dict[str, Catalog] = {}

    def has(self, name: str) -> bool:
        """Whether a name is that of a table here: `catalog.namespace.table`, or `iceberg://` and slashes."""
        return next(self._places(name), None) is not None

    def find(self, names: Collection[str] | None = None) -> FoundProperties:
        """Find the tables of these names, or all that carry our lineage; nothing is raised for a catalog."""
        found = FoundProperties()
        if names is not None:
            for name in dict.fromkeys(names):
                self._find_one(name, found)
            return found
        for name in self._names:
            try:
                read = read_tables(
                    self._catalog(name),
                    self._catalogs[name].namespaces,
                    nested=self._catalogs[name].nests_namespaces,
                    max_concurrency=self._settings.max_concurrency,
                )
            except LineageBridgeError as error:
                found.others.append(_failure(name, error))
                continue
            for table in read.tables:
                if _is_ours(table):
                    found.tables.setdefault(name, []).append(_target(name, (*table.namespace, table.name)))
            found.others += [_failure(name, error, number) for number, error in enumerate(read.all_errors)]
        return found

    def remove(
        self, found: FoundProperties, *, dry_run: bool = False, progress: ProgressCallback | None = None
    ) -> PushReport:
        """Remove our lineage. A table that fails does not affect the others; `updated` is removed."""
        writers = {
            name: IcebergPropertiesWriter(
                self._open[name], self._settings, clock=self._clock, sleep=self._sleep
            )
            for name in found.tables
        }

        def write(target: IcebergTarget, _record: None) -> TableResult:
            writer = writers[target.catalog]
            return writer.push(target, None, complete=True, dry_run=dry_run, removal_reason=REMOVED)

        targets = [(target, None) for some in found.tables.values() for target in some]
        run = TableRun(self._settings.max_concurrency, progress)
        results = run.finish(targets, write, found.others)
        calls = sum((Counter(writer.calls) for writer in writers.values()), Counter[str]())
        return PushReport(results, dry_run, dict(calls))

    def _catalog(self, name: str) -> Catalog:
        if name not in self._open:
            self._open[name] = open_catalog(self._catalogs, name)
        return self._open[name]

    def _places(self, name: str) -> Iterator[tuple[str, Identifier]]:
        """The catalog and the identifiers that a name may stand for: a table's name may have dots in it."""
        if name.startswith(_SCHEME):
            catalog, *rest = name.removeprefix(_SCHEME).split("/")
            if catalog in self._names and len(rest) == 2:
                yield catalog, (*rest[0].split("."), rest[1])
            return
        catalog, *rest = name.split(".")
        if catalog in self._names:
            for levels in range(1, len(rest)):
                yield catalog, (*rest[:levels], ".".join(rest[levels:]))

    def _find_one(self, name: str, found: FoundProperties) -> None:
        missing: CallError | None = None
        for catalog, identifier in self._places(name):
            target = _target(catalog, identifier)
            try:
                table = load_table(self._catalog(catalog), identifier)
            except NotFoundError as error:
                missing = error
                continue
            except LineageBridgeError as error:
                found.others.append(target.result(PushStatus.FAILED, error.message, error.hint))
                return
            if _is_ours(table):
                if target not in found.tables.setdefault(catalog, []):
                    found.tables[catalog].append(target)
            else:
                found.others.append(target.result(PushStatus.UNCHANGED, NOT_OURS))
            return
        reason = missing.message if missing else f"{name} is not the name of a table."
        hint = "`lineage-bridge clean --dry-run` lists those with lineage."
        found.others.append(TableResult(name, "", name, PushStatus.FAILED, reason, hint))


def _is_ours(table: IcebergTable) -> bool:
    return any(key.startswith(PREFIX) for key in table.properties)


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
