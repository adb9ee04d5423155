"""Reads the tables of a catalog: their schemas, current snapshots and properties."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from lineage_bridge_dagster.catalogs.calls import answers
from lineage_bridge_dagster.catalogs.errors import CallError, NotFoundError
from lineage_bridge_dagster.catalogs.iceberg.snapshots import SnapshotError, SnapshotState
from lineage_bridge_dagster.catalogs.iceberg.table_errors import (
    UnreadableTableError,
    is_catalogs,
    table_errors,
)
from lineage_bridge_dagster.catalogs.plans import TableRevision
from lineage_bridge_dagster.errors import LineageBridgeError

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table

#: Levels of namespaces within each other that are read.
_DEEPEST = 32

#: The levels of a namespace, for a table followed by its name.
Identifier = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class IcebergColumn:
    """A column, with its type as Iceberg writes it."""

    name: str
    type: str
    comment: str = ""


@dataclass(frozen=True, slots=True)
class IcebergTable:
    """A table as its catalog describes it.

    Attributes:
        snapshot_id: The id of the current snapshot; None before the first commit of rows.
        committed_ms: When that was made, in Unix milliseconds.
        rows: As the snapshot counts them; None if it does not.
        left_out: Names of its properties that only our own configuration may set, and that are ignored.
    """

    namespace: tuple[str, ...]
    name: str
    uuid: str
    columns: tuple[IcebergColumn, ...]
    location: str
    properties: Mapping[str, str] = field(repr=False)
    snapshot_id: int | None = None
    committed_ms: int | None = None
    rows: int | None = None
    left_out: tuple[str, ...] = ()

    @property
    def state(self) -> TableRevision:
        """What a push writes; its version is left out."""
        return TableRevision(None, self.properties, uuid=self.uuid)


@dataclass(frozen=True, slots=True)
class TablesRead:
    """The tables of a catalog.

    Attributes:
        errors: One for each namespace that could not be listed.
        failed: The error of each table that could not be loaded.
        listed: Names of tables that were only listed.
        left_out: Names of properties that only our own configuration may set, each line after the catalog or
            the table that sets them.
    """

    tables: tuple[IcebergTable, ...]
    errors: tuple[CallError, ...] = ()
    failed: Mapping[Identifier, CallError] = field(default_factory=dict)
    listed: tuple[Identifier, ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def all_errors(self) -> tuple[CallError, ...]:
        """Those of namespaces, then those of tables."""
        return (*self.errors, *self.failed.values())


def read_tables(
    catalog: Catalog,
    namespaces: Collection[str] = (),
    *,
    nested: bool = True,
    wanted: Callable[[Identifier], bool] = lambda _name: True,
    max_concurrency: int = 8,
) -> TablesRead:
    """Read all tables, or those of these namespaces. A table that is dropped meanwhile is left out.

    Unless namespaces are given, a call lists those of the top level and one more those within each. One or a
    few (by pages) list the tables of each namespace, and one loads each wanted table.

    Args:
        namespaces: Names of namespaces, with dots between levels; by default all.
        nested: Whether namespaces may have others within them.
        wanted: Whether the table of a name is loaded; others are only listed.

    Raises:
        CallError: The namespaces could not be listed.
    """
    names: list[Identifier] = []
    errors: list[CallError] = []
    read = [tuple(each.split(".")) for each in namespaces]
    if not read:
        found = list_namespaces(catalog, nested=nested, max_concurrency=max_concurrency)
        read, errors = found.names, found.errors
    for listed in list_names(catalog, read, max_concurrency=max_concurrency):
        if isinstance(listed, CallError):
            errors.append(listed)
        else:
            names += listed
    asked = [name for name in names if wanted(name)]
    tables: list[IcebergTable] = []
    failed: dict[Identifier, CallError] = {}
    for name, loaded in zip(asked, load_tables(catalog, asked, max_concurrency=max_concurrency), strict=True):
        if isinstance(loaded, IcebergTable):
            tables.append(loaded)
        elif not isinstance(loaded, NotFoundError):
            failed[name] = loaded
    left_out = [(catalog.name, getattr(catalog, "left_out", ()))]
    left_out += [(".".join((catalog.name, *table.namespace, table.name)), table.left_out) for table in tables]
    return TablesRead(
        tuple(tables),
        tuple(errors),
        failed,
        tuple(name for name in names if not wanted(name)),
        tuple(f"{who}: {', '.join(keys)}" for who, keys in left_out if keys),
    )


def list_names(
    catalog: Catalog, namespaces: Collection[Identifier], *, max_concurrency: int = 8
) -> list[list[Identifier] | CallError]:
    """The names of the tables of each namespace, one call for each; an error in place of those of one."""

    def listed(namespace: Identifier) -> list[Identifier]:
        with table_errors("Listing", f"the namespace {'.'.join((catalog.name, *namespace))}"):
            return [tuple(name) for name in catalog.list_tables(namespace)]

    return answers(listed, namespaces, (CallError,), max_concurrency=max_concurrency)


def load_tables(
    catalog: Catalog, names: Collection[Identifier], *, max_concurrency: int = 8
) -> list[IcebergTable | CallError]:
    """Load tables, one call for each; an error is returned in place of a table that could not be loaded."""
    return answers(partial(load_table, catalog), names, (CallError,), max_concurrency=max_concurrency)


@dataclass(frozen=True, slots=True)
class Namespaces:
    """The namespaces of a catalog, and an error for each whose inner ones could not be listed."""

    names: list[Identifier]
    errors: list[CallError]


def list_namespaces(catalog: Catalog, *, nested: bool = True, max_concurrency: int = 8) -> Namespaces:
    """The namespaces of a catalog, each before those within it.

    Raises:
        CallError: Those of the top level could not be listed.
    """
    with table_errors("Listing", f"the catalog {catalog.name}"):
        level: list[Identifier] = [tuple(namespace) for namespace in catalog.list_namespaces()]
    found = Namespaces(list(level), [])
    while nested and level:
        inner = list_inner(catalog, level, max_concurrency=max_concurrency)
        level = inner.names
        found.names.extend(inner.names)
        found.errors.extend(inner.errors)
    return found


def list_inner(
    catalog: Catalog, namespaces: Collection[Identifier], *, max_concurrency: int = 8
) -> Namespaces:
    """The namespaces one level below these, one call for each."""
    inner = partial(_inner, catalog)
    found = answers(inner, namespaces, (CallError,), max_concurrency=max_concurrency)
    return Namespaces(
        [name for each in found if not isinstance(each, CallError) for name in each],
        [each for each in found if isinstance(each, CallError)],
    )


def _inner(catalog: Catalog, namespace: Identifier) -> list[Identifier]:
    where = f"the namespaces within {'.'.join((catalog.name, *namespace))}"
    if len(namespace) == _DEEPEST:
        raise CallError(f"Listing {where} failed: they are nested more than {_DEEPEST} deep.")
    try:
        with table_errors("Listing", where):
            found = [tuple(each) for each in catalog.list_namespaces(namespace)]
    except NotFoundError:
        return []
    except CallError as error:
        if len(namespace) > 1 or type(error) is not CallError:
            raise
        if not is_catalogs(error):
            error.hint = (
                "Not the catalog answered but a proxy, or the catalog not in Iceberg's words. With its "
                "namespaces set, a catalog is not asked for those within each other."
            )
            raise
        # A catalog without levels refuses the question.
        return []
    # One that ignores what it is asked about lists the top level again.
    return [each for each in found if each[:-1] == namespace]


def open_table(catalog: Catalog, name: tuple[str, ...]) -> Table:
    """Load one table as PyIceberg has it.

    Raises:
        CallError: The catalog did not return it.
    """
    from pydantic import ValidationError
    from pyiceberg.exceptions import ValidationError as IcebergValidationError

    where = f"the table {'.'.join((catalog.name, *name))}"
    with table_errors("Loading", where):
        try:
            return catalog.load_table(name)
        except (ValidationError, IcebergValidationError) as error:
            if (reason := _unread(error)) is None:
                raise
            raise UnreadableTableError(
                f"Loading {where} failed: {reason}",
                hint="It uses a feature of Iceberg that PyIceberg cannot read yet.",
            ) from error


def _unread(error: Exception) -> str | None:
    """Which part of a table's metadata cannot be read; None if the answer is not metadata at all."""
    from pydantic import ValidationError

    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors(include_url=False, include_input=False)[0]
    if "metadata" not in first["loc"] or first["type"] == "missing":
        return None
    return str(first["msg"]).removeprefix("Value error, ")


def load_table(catalog: Catalog, name: tuple[str, ...]) -> IcebergTable:
    """Read one table.

    Raises:
        CallError: The catalog did not return it.
    """
    table = open_table(catalog, name)
    snapshot = table.current_snapshot()
    rows = snapshot.summary["total-records"] if snapshot and snapshot.summary else None
    return IcebergTable(
        namespace=name[:-1],
        name=name[-1],
        uuid=str(table.metadata.table_uuid),
        columns=tuple(
            IcebergColumn(column.name, str(column.field_type), column.doc or "")
            for column in table.schema().fields
        ),
        location=table.location(),
        properties=dict(table.properties),
        snapshot_id=snapshot.snapshot_id if snapshot else None,
        committed_ms=snapshot.timestamp_ms if snapshot else None,
        rows=int(rows) if rows is not None else None,
        left_out=getattr(table, "left_out", ()),
    )


def read_states(
    catalog: Catalog, tables: Collection[Identifier]
) -> dict[Identifier, SnapshotState | LineageBridgeError]:
    """Read the state of many tables, one call for each; an error is returned in place of the state."""

    states = answers(partial(table_state, catalog), tables, (CallError, SnapshotError), max_concurrency=8)
    return dict(zip(tables, states, strict=True))


def table_state(catalog: Catalog, name: Identifier) -> SnapshotState:
    """Read the state of one table.

    Raises:
        CallError: The catalog did not return the table.
        SnapshotError: Its metadata is malformed.
    """
    return SnapshotState.parse(json.loads(open_table(catalog, name).metadata.model_dump_json()))
