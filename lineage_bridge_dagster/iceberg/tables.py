"""Reads the tables of a catalog: their schemas, current snapshots and properties."""

from __future__ import annotations

from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lineage_bridge_dagster.iceberg.table_errors import TableError, TableNotFoundError, translate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table

#: The levels of a namespace, for a table followed by its name.
Identifier = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Column:
    """A column, with its type as Iceberg writes it."""

    name: str
    type: str
    comment: str = ""


@dataclass(frozen=True, slots=True)
class IcebergTable:
    """A table as its catalog describes it.

    Attributes:
        namespace: Its levels.
        location: The folder of the table.
        snapshot_id: Of the current snapshot; None before the first commit of rows.
        committed_ms: When that was made, in Unix milliseconds.
        rows: That the snapshot counts; None if it does not.
    """

    namespace: tuple[str, ...]
    name: str
    uuid: str
    columns: tuple[Column, ...]
    location: str
    properties: Mapping[str, str] = field(repr=False)
    snapshot_id: int | None = None
    committed_ms: int | None = None
    rows: int | None = None


@dataclass(frozen=True, slots=True)
class TablesRead:
    """The tables of a catalog, and an error for each namespace or table that could not be read."""

    tables: tuple[IcebergTable, ...]
    errors: tuple[TableError, ...] = ()
    #: Names of tables that were only listed.
    listed: tuple[Identifier, ...] = ()


def read_tables(
    catalog: Catalog,
    namespaces: Collection[str] = (),
    *,
    wanted: Callable[[Identifier], bool] = lambda _name: True,
    max_concurrency: int = 8,
) -> TablesRead:
    """Read all tables, or those of these namespaces. A table that is dropped meanwhile is left out.

    A call lists the namespaces unless they are given, one or a few (by pages) list each namespace, and one
    loads each wanted table.

    Args:
        catalog: The catalog.
        namespaces: Names of namespaces, with dots between levels; by default those of the top level.
        wanted: Whether the table of a name is loaded; others are only listed.
        max_concurrency: Calls at once.

    Raises:
        TableError: The namespaces could not be listed.
    """
    read = [tuple(each.split(".")) for each in namespaces] or list_namespaces(catalog)
    names: list[Identifier] = []
    errors: list[TableError] = []
    for listed in list_names(catalog, read, max_concurrency=max_concurrency):
        if isinstance(listed, TableError):
            errors.append(listed)
        else:
            names += listed
    tables: list[IcebergTable] = []
    for found in load_tables(catalog, list(filter(wanted, names)), max_concurrency=max_concurrency):
        if isinstance(found, IcebergTable):
            tables.append(found)
        elif not isinstance(found, TableNotFoundError):
            errors.append(found)
    return TablesRead(tuple(tables), tuple(errors), tuple(name for name in names if not wanted(name)))


def list_names(
    catalog: Catalog, namespaces: Collection[Identifier], *, max_concurrency: int = 8
) -> list[list[Identifier] | TableError]:
    """The names of the tables of each namespace, one call for each; an error in place of those of one."""

    def listed(namespace: Identifier) -> list[Identifier] | TableError:
        try:
            return [tuple(name) for name in catalog.list_tables(namespace)]
        except Exception as error:
            where = f"the namespace {'.'.join((catalog.name, *namespace))}"
            return translate(error, action="Listing", where=where)

    with ThreadPoolExecutor(max_concurrency, thread_name_prefix="iceberg-names") as pool:
        return list(pool.map(listed, namespaces))


def load_tables(
    catalog: Catalog, names: Collection[Identifier], *, max_concurrency: int = 8
) -> list[IcebergTable | TableError]:
    """Load tables, one call for each; an error is returned in place of a table that could not be loaded."""
    with ThreadPoolExecutor(max_concurrency, thread_name_prefix="iceberg-tables") as pool:
        return list(pool.map(lambda name: _load(catalog, name), names))


def list_namespaces(catalog: Catalog) -> list[Identifier]:
    """The namespaces of the top level.

    Raises:
        TableError: They could not be listed.
    """
    try:
        return [tuple(namespace) for namespace in catalog.list_namespaces()]
    except Exception as error:
        raise translate(error, action="Listing", where=f"the catalog {catalog.name}") from error


def _load(catalog: Catalog, name: tuple[str, ...]) -> IcebergTable | TableError:
    try:
        return load_table(catalog, name)
    except TableError as error:
        return error


def open_table(catalog: Catalog, name: tuple[str, ...]) -> Table:
    """Load one table as PyIceberg has it.

    Raises:
        TableError: The catalog did not return it.
    """
    try:
        return catalog.load_table(name)
    except Exception as error:
        where = f"the table {'.'.join((catalog.name, *name))}"
        raise translate(error, action="Loading", where=where) from error


def load_table(catalog: Catalog, name: tuple[str, ...]) -> IcebergTable:
    """Read one table.

    Raises:
        TableError: The catalog did not return it.
    """
    table = open_table(catalog, name)
    snapshot = table.current_snapshot()
    rows = snapshot.summary["total-records"] if snapshot and snapshot.summary else None
    return IcebergTable(
        namespace=name[:-1],
        name=name[-1],
        uuid=str(table.metadata.table_uuid),
        columns=tuple(
            Column(column.name, str(column.field_type), column.doc or "") for column in table.schema().fields
        ),
        location=table.location(),
        properties=dict(table.properties),
        snapshot_id=snapshot.snapshot_id if snapshot else None,
        committed_ms=snapshot.timestamp_ms if snapshot else None,
        rows=int(rows) if rows is not None else None,
    )
