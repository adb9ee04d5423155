"""Reads the tables of REST catalogs for the sensor: their names, and whole tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from lineage_bridge_dagster.automation.watched_lists import NamedTables
from lineage_bridge_dagster.catalogs.settings.tableflow_catalog import TABLEFLOW
from lineage_bridge_dagster.settings import Settings

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

    from lineage_bridge_dagster.catalogs.errors import CallError
    from lineage_bridge_dagster.catalogs.iceberg.table_reading import IcebergTable, Identifier

#: Namespaces that a call lists, each with a call of its own to the catalog.
NAMESPACES_A_CALL = 10

T = TypeVar("T")


class IcebergClient:
    """Opens each catalog on first use and keeps it until a call fails, as an expired session does.

    Args:
        settings: the catalogs. Tableflow's own are not read: its topics tell of their tables.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings.all_catalogs()
        self._open: dict[str, Catalog] = {}
        #: By catalog: the tables of its namespaces, and the namespace to list next.
        self._listed: dict[str, dict[str, frozenset[str] | None]] = {}
        self._next: dict[str, int] = {}
        #: By catalog: the namespaces found within those that were listed.
        self._inner: dict[str, dict[Identifier, list[Identifier]]] = {}

    def names(self, name: str, tables: Callable[[], NamedTables] | None) -> Iterable[str]:
        """The tables of a catalog that the state has or expects, as `namespace.table`.

        Each call lists some namespaces, and the next call goes on from there. Tables that the state has in
        other namespaces, or in ones that may be nested in them, stay in the list; so do those of a namespace
        that cannot be listed, if another can. A catalog that is no longer configured has no tables.

        Raises:
            LineageBridgeError: no namespace could be listed.
        """
        from lineage_bridge_dagster.discovery.discover import dataset_of

        if name not in self._settings or self._settings[name].type == TABLEFLOW:
            return ()
        settings = self._settings[name]
        known = tables() if tables is not None else NamedTables(frozenset(), ())
        datasets = frozenset(known.missing)
        listed = self._list(name)
        return [
            each for each in known.present if self._is_unlisted(name, each.rpartition(".")[0], listed)
        ] + [
            each
            for found in listed.values()
            for each in found or ()
            if settings.discovers_all or each in known.present or dataset_of(settings, each) in datasets
        ]

    def _is_unlisted(self, name: str, namespace: str, listed: Mapping[str, frozenset[str] | None]) -> bool:
        """Whether it was not the turn of a namespace yet, nor of the one that may have it within."""
        if namespace in listed:
            return listed[namespace] is None
        while namespace and namespace not in listed:
            namespace = namespace.rpartition(".")[0]
        settings = self._settings[name]
        may_nest = settings.nests_namespaces and not settings.namespaces
        return may_nest and namespace in listed and tuple(namespace.split(".")) not in self._inner[name]

    def _list(self, name: str) -> Mapping[str, frozenset[str] | None]:
        """The tables of each namespace as last listed; None for a namespace that was never listed."""
        from lineage_bridge_dagster.catalogs.errors import CallError, NotFoundError
        from lineage_bridge_dagster.catalogs.iceberg.table_reading import (
            list_inner,
            list_names,
            list_namespaces,
        )

        settings = self._settings[name]
        configured = [tuple(each.split(".")) for each in settings.namespaces]
        if not (namespaces := configured):
            namespaces = self._call(name, lambda it: list_namespaces(it, nested=False)).names
            inner = self._inner.setdefault(name, {})
            # The loop extends the list that it walks, so namespaces of any depth are included.
            for each in namespaces:
                namespaces += inner.get(each, ())
        start = self._next.get(name, 0) if len(namespaces) > NAMESPACES_A_CALL else 0
        asked = [*namespaces[start:], *namespaces[:start]][:NAMESPACES_A_CALL]
        self._next[name] = (start + len(asked)) % max(1, len(namespaces))
        before = self._listed.get(name, {})
        listed = {".".join(each): before.get(".".join(each)) for each in namespaces}
        errors: list[CallError] = []
        for namespace, found in zip(asked, self._call(name, lambda it: list_names(it, asked)), strict=True):
            if not isinstance(found, CallError):
                listed[".".join(namespace)] = frozenset(".".join(each) for each in found)
            elif isinstance(found, NotFoundError):
                # A namespace of the configuration that is not there has no tables yet.
                listed[".".join(namespace)] = frozenset()
            else:
                errors.append(found)
        if not configured and settings.nests_namespaces:
            within = self._call(name, lambda it: list_inner(it, asked))
            if not within.errors:
                for each in asked:
                    inner[each] = [found for found in within.names if found[:-1] == each]
                for each in within.names:
                    listed.setdefault(".".join(each), None)
        if errors:
            self._open.pop(name, None)
        if errors and len(errors) == len(asked):
            raise errors[0]
        self._listed[name] = listed
        return listed

    def tables(
        self, name: str, names: Sequence[Identifier]
    ) -> Sequence[tuple[Identifier, IcebergTable | CallError]]:
        """Load tables, one call for each; an error is returned in place of one that could not be loaded.

        Nothing is returned for a catalog that is not configured any more.

        Raises:
            LineageBridgeError: the catalog could not be opened.
        """
        from lineage_bridge_dagster.catalogs.errors import CallError, NotFoundError
        from lineage_bridge_dagster.catalogs.iceberg.table_reading import load_tables

        if name not in self._settings:
            return ()
        found = self._call(name, lambda catalog: load_tables(catalog, names))
        if any(isinstance(each, CallError) and not isinstance(each, NotFoundError) for each in found):
            self._open.pop(name, None)
        return list(zip(names, found, strict=True))

    def _call(self, name: str, call: Callable[[Catalog], T]) -> T:
        from lineage_bridge_dagster.catalogs.iceberg.open_catalog import open_catalog

        if name not in self._open:
            self._open[name] = open_catalog(self._settings, name)
        try:
            return call(self._open[name])
        except Exception:
            self._open.pop(name, None)
            raise
