"""Reads the tables of REST catalogs for the sensor: their names, and whole tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

from lineage_bridge_dagster.automation.watched_lists import NamedTables
from lineage_bridge_dagster.config.settings import Settings
from lineage_bridge_dagster.config.tableflow_catalog import TABLEFLOW

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

    from lineage_bridge_dagster.iceberg.table_errors import TableError
    from lineage_bridge_dagster.iceberg.tables import IcebergTable, Identifier

T = TypeVar("T")


class IcebergClient:
    """Opens each catalog on first use and keeps it until a call fails, as an expired session does.

    Args:
        settings: the catalogs. Tableflow's own are not read: its topics tell of their tables.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings.all_catalogs()
        self._open: dict[str, Catalog] = {}

    def names(self, name: str, tables: Callable[[], NamedTables] | None) -> Iterable[str]:
        """The tables of a catalog that the state has or expects, as `namespace.table`.

        A catalog that is not configured any more has none.

        Raises:
            LineageBridgeError: a namespace could not be listed.
        """
        from lineage_bridge_dagster.discovery import dataset_of
        from lineage_bridge_dagster.iceberg.table_errors import TableNotFoundError
        from lineage_bridge_dagster.iceberg.tables import list_names

        if name not in self._settings or self._settings[name].type == TABLEFLOW:
            return ()
        settings = self._settings[name]
        found, errors = self._call(name, lambda catalog: list_names(catalog, settings.namespaces))
        for error in errors:
            # A namespace of the configuration that is not there has no tables yet.
            if not isinstance(error, TableNotFoundError):
                del self._open[name]
                raise error
        known = tables() if tables is not None else NamedTables(frozenset(), ())
        datasets = frozenset(known.missing)
        dotted = (".".join(each) for each in found)
        return [each for each in dotted if each in known.present or dataset_of(settings, each) in datasets]

    def tables(
        self, name: str, names: Sequence[Identifier]
    ) -> Sequence[tuple[Identifier, IcebergTable | TableError]]:
        """Load tables, one call for each; an error is returned in place of one that could not be loaded.

        Nothing is returned for a catalog that is not configured any more.

        Raises:
            LineageBridgeError: the catalog could not be opened.
        """
        from lineage_bridge_dagster.iceberg.table_errors import TableError, TableNotFoundError
        from lineage_bridge_dagster.iceberg.tables import load_tables

        if name not in self._settings:
            return ()
        found = self._call(name, lambda catalog: load_tables(catalog, names))
        if any(isinstance(each, TableError) and not isinstance(each, TableNotFoundError) for each in found):
            del self._open[name]
        return list(zip(names, found, strict=True))

    def _call(self, name: str, call: Callable[[Catalog], T]) -> T:
        from lineage_bridge_dagster.iceberg.catalogs import open_catalog

        if name not in self._open:
            self._open[name] = open_catalog(self._settings, name)
        try:
            return call(self._open[name])
        except Exception:
            del self._open[name]
            raise
