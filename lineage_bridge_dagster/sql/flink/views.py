"""Views -> the tables behind them, through all the statements known. Pure.

A view is no topic: data flows from the tables behind it. Statements are taken in the order in which they were
made, for a view may be altered, renamed, dropped and made anew, and a statement reads the view that stood
when it was made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from lineage_bridge_dagster.sql.flink.names import NameIndex
from lineage_bridge_dagster.sql.statement import (
    Statement,
    StatementLineage,
    TablePath,
    ViewChange,
    aggregate,
    unique,
)

_Reads = tuple[TablePath, ...]

D = TypeVar("D")
"""What is kept of a view."""


@dataclass(frozen=True, slots=True)
class SourceText:
    """A parsed text and what its names are resolved in.

    Attributes:
        lineage: What was parsed.
        catalog: `sql.current-catalog` of the statement; empty when unknown.
        database: `sql.current-database`, likewise.
    """

    lineage: StatementLineage
    catalog: str = ""
    database: str = ""


@dataclass(frozen=True, slots=True)
class Expansion:
    """What a text reads and writes once views are seen through.

    Paths are canonical: environment id, cluster id, table where the names are known, else as written,
    completed with the current catalog and database. `NameIndex.resolve` takes them as they are.

    Attributes:
        reads: Base tables read, in order of first appearance.
        writes: Tables written; views that are defined are not among them.
        views: Views that were seen through on the way.
        defines: Views that the text creates or alters.
        cycles: Views that lead back to themselves, each cycle beginning with its least name. What lies behind
            their other reads is in `reads` all the same.
    """

    reads: tuple[TablePath, ...]
    writes: tuple[TablePath, ...]
    views: tuple[TablePath, ...] = ()
    defines: tuple[TablePath, ...] = ()
    cycles: tuple[tuple[TablePath, ...], ...] = ()


def expand_views(texts: Iterable[SourceText], index: NameIndex | None = None) -> list[Expansion]:
    """The base tables of every text.

    A view is seen by the statements made after it. One that is read before any known statement made it was
    made by a statement that is gone: the first definition known is taken, unless something writes to that
    name, for then it was a table. A temporary view is seen in its own text alone, and there before a
    permanent one.

    Args:
        texts: In the order in which they were made.
        index: Names of clusters, so that a view named by display name and by id is one view.

    Returns:
        One expansion a text, in the same order.
    """
    names = index or NameIndex(())
    known = [list(_qualified(text, names)) for text in texts]
    flat = [statement for text in known for statement in text]
    written = {path for s in flat if s.view is None for path in s.writes}
    first: dict[TablePath, _Reads] = {}
    for statement in flat:
        view = statement.view
        if view and view.action in ("create", "alter") and not view.temporary and view.path not in written:
            first.setdefault(view.path, view.reads)
    catalog = ViewCatalog(first)
    return [_expand(text, catalog) for text in known]


def qualified_lineage(text: SourceText, index: NameIndex | None = None) -> StatementLineage:
    """The text's lineage with canonical paths, what `USE` and `SET` change for later statements included."""
    return aggregate(list(_qualified(text, index or NameIndex(()))))


def _qualified(text: SourceText, names: NameIndex) -> Iterator[Statement]:
    """The statements with canonical paths, `USE` and `SET` between them followed."""
    catalog, database = text.catalog, text.database
    for statement in text.lineage.statements:

        def canonical(path: TablePath, c: str = catalog, d: str = database) -> TablePath:
            return names.canonical(path, c, d)

        yield replace(
            statement,
            reads=unique(map(canonical, statement.reads)),
            writes=unique(map(canonical, statement.writes)),
            searches=unique(map(canonical, statement.searches)),
            view=qualified_view(statement.view, canonical),
        )
        if statement.session is not None:
            if statement.session.catalog is not None:
                catalog = statement.session.catalog
            if statement.session.database is not None:
                database = statement.session.database


def qualified_view(view: ViewChange | None, canonical: Callable[[TablePath], TablePath]) -> ViewChange | None:
    """The change with canonical paths."""
    if view is None:
        return None
    path = canonical(view.path)
    return ViewChange(
        action=view.action,
        path=path,
        reads=unique(map(canonical, view.reads)),
        temporary=view.temporary,
        if_not_exists=view.if_not_exists,
        # A rename stays in its catalog and database, whatever the new name says (Flink's
        # Catalog.renameTable).
        new_path=(*path[:-1], view.new_path[-1]) if view.new_path else (),
    )


@dataclass(slots=True)
class ViewCatalog(Generic[D]):
    """The views that stand, as statements come by.

    Attributes:
        first: The first known definition of each view.
        standing: Permanent views, now.
        changed: Names that a statement has made, altered or dropped by now.
        temporary: Temporary views of the text at hand.
    """

    first: dict[TablePath, D]
    standing: dict[TablePath, D] = field(default_factory=dict)
    changed: set[TablePath] = field(default_factory=set)
    temporary: dict[TablePath, D] = field(default_factory=dict)

    def definition(self, path: TablePath) -> D | None:
        """The definition of the view of that name; None when the name is no view's."""
        for views in (self.temporary, self.standing):
            if path in views:
                return views[path]
        return None if path in self.changed else self.first.get(path)

    def apply(self, view: ViewChange, definition: D) -> None:
        """Takes in what a statement does to a view.

        Args:
            view: The change, its paths canonical.
            definition: Of the view that is created or altered.
        """
        temporary = view.temporary or (view.action != "create" and view.path in self.temporary)
        views = self.temporary if temporary else self.standing
        if view.action == "create":
            if not (view.if_not_exists and view.path in views):
                views[view.path] = definition
        elif view.action == "alter":
            views[view.path] = definition
        elif view.action == "rename":
            moved = views.pop(view.path, None) or self.definition(view.path)
            if moved is not None:
                views[view.new_path] = moved
        else:
            views.pop(view.path, None)
        if not temporary:
            self.changed.add(view.path)
            if view.new_path:
                self.changed.add(view.new_path)


def _expand(statements: list[Statement], catalog: ViewCatalog[_Reads]) -> Expansion:
    catalog.temporary = {}
    reads: list[TablePath] = []
    views: list[TablePath] = []
    cycles: list[tuple[TablePath, ...]] = []
    for statement in statements:
        _see_through(statement.reads, catalog, reads, views, cycles)
        if statement.view is not None:
            catalog.apply(statement.view, statement.view.reads)
    return Expansion(
        reads=unique(reads),
        writes=unique(path for s in statements if s.view is None for path in s.writes),
        views=unique(views),
        defines=unique(s.view.path for s in statements if s.view and s.view.action in ("create", "alter")),
        cycles=tuple(dict.fromkeys(cycles)),
    )


def _see_through(
    paths: _Reads,
    catalog: ViewCatalog[_Reads],
    reads: list[TablePath],
    views: list[TablePath],
    cycles: list[tuple[TablePath, ...]],
) -> None:
    """Follows each path to its base tables; with a stack of its own, for generated views nest deeply."""
    done: set[TablePath] = set()
    trail: list[TablePath] = []
    on_trail: set[TablePath] = set()
    work: list[Iterator[TablePath]] = [iter(paths)]
    while work:
        path = next(work[-1], None)
        if path is None:
            work.pop()
            if trail:
                on_trail.discard(trail.pop())
            continue
        if path in on_trail:
            cycles.append(_from_least(trail[trail.index(path) :]))
            continue
        if path in done:
            continue
        done.add(path)
        definition = catalog.definition(path)
        if definition is None:
            reads.append(path)
        else:
            views.append(path)
            trail.append(path)
            on_trail.add(path)
            work.append(iter(definition))


def _from_least(cycle: list[TablePath]) -> tuple[TablePath, ...]:
    least = cycle.index(min(cycle))
    return (*cycle[least:], *cycle[:least])
