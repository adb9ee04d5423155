"""What a sweep reads: databases of Glue, page by page, and tables of REST catalogs, some at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from lineage_bridge_dagster.automation.loaded import LoadedTable
from lineage_bridge_dagster.catalogs.drift import Comparison
from lineage_bridge_dagster.text import plural

if TYPE_CHECKING:
    from lineage_bridge_dagster.catalogs.errors import CallError
    from lineage_bridge_dagster.catalogs.glue.glue_table import GlueTable
    from lineage_bridge_dagster.catalogs.iceberg.table_reading import IcebergTable, Identifier

#: Tables of a REST catalog that count as a page: each takes a call of its own.
TABLES_A_PAGE = 25


#: Reads a page of a Glue database: its tables, and the token of the next page; None after the last.
PageReader = Callable[[str, str | None], tuple[Sequence["GlueTable"], str | None]]

#: Loads tables of a REST catalog, with an error in place of each table that could not be loaded.
TablesReader = Callable[
    [str, Sequence["Identifier"]], Sequence[tuple["Identifier", "IcebergTable | CallError"]]
]


class SweptPage(NamedTuple):
    """Our tables of a page.

    Attributes:
        token: of the next page; empty after the last.
        note: what could not be read.
    """

    compared: list[tuple[LoadedTable, Comparison]]
    token: str
    note: str = ""


@dataclass(frozen=True)
class SweptDatabase:
    """A database of Glue, which is read as a whole.

    Attributes:
        tables: ours, by name in lower case.
    """

    name: str
    tables: dict[str, LoadedTable]
    reader: PageReader

    @property
    def title(self) -> str:
        return f"database {self.name}"

    def read(self, token: str) -> SweptPage:
        """Read a page, the first one for an empty token; raises if it could not be read."""
        found, following = self.reader(self.name, token or None)
        compared = [
            (self.tables[name], self.tables[name].compare(table))
            for table in found
            if (name := table.name.lower()) in self.tables
        ]
        return SweptPage(compared, following or "")


@dataclass(frozen=True)
class SweptCatalog:
    """A REST catalog, of which only our tables are read. A token is the name of the last table.

    Attributes:
        tables: ours, by name.
    """

    catalog: str
    tables: dict[Identifier, LoadedTable]
    reader: TablesReader

    @property
    def name(self) -> str:
        # No database of Glue has a colon in its name.
        return f"catalog:{self.catalog}"

    @property
    def title(self) -> str:
        return f"catalog {self.catalog}"

    def read(self, token: str) -> SweptPage:
        from lineage_bridge_dagster.catalogs.errors import CallError, NotFoundError

        names = sorted((name for name in self.tables if ".".join(name) > token), key=".".join)
        asked = names[:TABLES_A_PAGE]
        compared: list[tuple[LoadedTable, Comparison]] = []
        errors: list[CallError] = []
        for name, table in self.reader(self.catalog, asked) if asked else ():
            if not isinstance(table, CallError):
                compared.append((self.tables[name], self.tables[name].compare(table)))
            elif not isinstance(table, NotFoundError):
                errors.append(table)
        if errors and not compared:
            raise errors[0]
        note = f"{plural(len(errors), 'table')} of {self.title} not read: {errors[0]}" if errors else ""
        return SweptPage(compared, ".".join(asked[-1]) if len(names) > len(asked) else "", note)


#: What is swept, in the order of the names; messages call it by its title.
SweepSource = SweptDatabase | SweptCatalog


def sources_of(
    tables: Iterable[LoadedTable], read_page: PageReader | None, read_tables: TablesReader | None
) -> list[SweepSource]:
    """The databases and catalogs of these tables that there is a reader for, by name."""
    databases: dict[str, dict[str, LoadedTable]] = {}
    catalogs: dict[str, dict[Identifier, LoadedTable]] = {}
    for table in tables:
        if table.place is not None:
            databases.setdefault(table.place.database, {})[table.place.table] = table
        elif table.iceberg is not None:
            catalogs.setdefault(table.iceberg.catalog, {})[table.iceberg.name] = table
    found: list[SweepSource] = []
    if read_page is not None:
        found += [SweptDatabase(name, ours, read_page) for name, ours in databases.items()]
    if read_tables is not None:
        found += [SweptCatalog(name, ours, read_tables) for name, ours in catalogs.items()]
    return sorted(found, key=lambda source: source.name)
