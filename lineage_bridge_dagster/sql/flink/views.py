"""Views -> the tables behind them, through all known statements. Pure.

A view is not a topic: data flows from the tables behind it. Statements are taken in the order of their
creation, since a view can be altered, renamed, dropped and created again, and a statement reads the view as
it was when the statement was created.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, Self, TypeVar

from lineage_bridge_dagster.sql.flink.names import NameIndex, resolve_statements
from lineage_bridge_dagster.sql.flink.tree import ParsedText
from lineage_bridge_dagster.sql.statement import SqlStatement, TablePath, TableSink, ViewChange, unique

_Reads = tuple[TablePath, ...]

D = TypeVar("D")
"""A view's definition: what the catalog keeps of it."""


@dataclass(frozen=True, slots=True)
class ViewExpansion:
    """Tables that a text reads and writes once its views are expanded.

    Paths are canonical: environment id, cluster id, table where the names are known, else as written,
    completed with the current catalog and database. `NameIndex.resolve` takes them as they are.

    Attributes:
        reads: Base tables read or searched, in order of first appearance.
        writes: Tables written, without the views that are defined.
        views: Views that were expanded.
        defines: Views that the text creates or alters.
        cycles: Views that read themselves, each cycle starting with its least name. The tables behind their
            other reads are in `reads` regardless.
        sinks: The tables written, each with the base tables that it is made of.
    """

    reads: tuple[TablePath, ...]
    writes: tuple[TablePath, ...]
    views: tuple[TablePath, ...] = ()
    defines: tuple[TablePath, ...] = ()
    cycles: tuple[tuple[TablePath, ...], ...] = ()
    sinks: tuple[TableSink, ...] = ()


def expand_views(texts: Iterable[ParsedText], index: NameIndex | None = None) -> list[ViewExpansion]:
    """The base tables that each text reads and writes.

    A temporary view is visible in its own text only, and there takes precedence over a permanent one.

    Args:
        texts: In the order of their creation.
        index: Names of clusters, so that a view named by display name and by id is one view.

    Returns:
        One expansion per text, in the same order.
    """
    index = index or NameIndex()
    return expand_resolved([[r.statement for r in resolve_statements(text, index)] for text in texts])


def expand_resolved(resolved: Sequence[list[SqlStatement]]) -> list[ViewExpansion]:
    """As `expand_views`, of the statements of each text, whose paths are canonical."""
    catalog = ViewCatalog.of((s, s.view.reads if s.view else None) for text in resolved for s in text)
    return [_expand(text, catalog) for text in resolved]


@dataclass(slots=True)
class ViewCatalog(Generic[D]):
    """The views that exist, while statements are applied one after another.

    Attributes:
        first: The first known definition of each view.
        permanent: Permanent views that exist now.
        changed: Names that a statement has created, altered or dropped so far.
        temporary: Temporary views of the current text.
    """

    first: dict[TablePath, D]
    permanent: dict[TablePath, D] = field(default_factory=dict)
    changed: set[TablePath] = field(default_factory=set)
    temporary: dict[TablePath, D] = field(default_factory=dict)

    @classmethod
    def of(cls, statements: Iterable[tuple[SqlStatement, D | None]]) -> Self:
        """Prepare a catalog from all statements, before any of them is applied.

        The statement that created a view may be gone. A view that is read before any known statement creates
        it therefore has its first known definition, unless a statement writes to that name: then it was a
        table.

        Args:
            statements: With canonical paths, each with the definition of the view that it creates or alters.
        """
        known = list(statements)
        tables = {path for statement, _ in known if statement.view is None for path in statement.writes}
        first: dict[TablePath, D] = {}
        for statement, definition in known:
            view = statement.view
            if definition is None or view is None or not view.defines or view.temporary:
                continue
            if view.path not in tables:
                first.setdefault(view.path, definition)
        return cls(first)

    def definition(self, path: TablePath) -> D | None:
        """The current definition of a view; None when no view has that name."""
        for views in (self.temporary, self.permanent):
            if path in views:
                return views[path]
        return None if path in self.changed else self.first.get(path)

    def apply(self, view: ViewChange, definition: D) -> None:
        """Apply a statement's change.

        Args:
            view: The change, with canonical paths.
            definition: Definition of the view that is created or altered.
        """
        temporary = view.temporary or (view.action != "create" and view.path in self.temporary)
        views = self.temporary if temporary else self.permanent
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


def _expand(statements: list[SqlStatement], catalog: ViewCatalog[_Reads]) -> ViewExpansion:
    catalog.temporary = {}
    reads: list[TablePath] = []
    views: list[TablePath] = []
    cycles: list[tuple[TablePath, ...]] = []
    made_of: dict[TablePath, list[TablePath]] = {}
    for statement in statements:
        base: list[TablePath] = []
        _follow(statement.sources, catalog, base, views, cycles)
        reads += base
        for sink in statement.sinks if statement.view is None else ():
            own = base
            if sink.reads != statement.sources:
                _follow(sink.reads, catalog, own := [], [], [])
            made_of.setdefault(sink.path, []).extend(own)
        if statement.view is not None:
            catalog.apply(statement.view, statement.view.reads)
    return ViewExpansion(
        reads=unique(reads),
        writes=tuple(made_of),
        views=unique(views),
        defines=unique(s.view.path for s in statements if s.view and s.view.defines),
        cycles=tuple(dict.fromkeys(cycles)),
        sinks=tuple(TableSink(path, unique(own)) for path, own in made_of.items()),
    )


def _follow(
    paths: _Reads,
    catalog: ViewCatalog[_Reads],
    reads: list[TablePath],
    views: list[TablePath],
    cycles: list[tuple[TablePath, ...]],
) -> None:
    """Follow paths to their base tables, with an explicit stack: generated views nest deeply."""
    visited: set[TablePath] = set()
    trail: list[TablePath] = []
    on_trail: set[TablePath] = set()
    stack: list[Iterator[TablePath]] = [iter(paths)]
    while stack:
        path = next(stack[-1], None)
        if path is None:
            stack.pop()
            if trail:
                on_trail.discard(trail.pop())
            continue
        if path in on_trail:
            cycles.append(_from_least(trail[trail.index(path) :]))
            continue
        if path in visited:
            continue
        visited.add(path)
        definition = catalog.definition(path)
        if definition is None:
            reads.append(path)
        else:
            views.append(path)
            trail.append(path)
            on_trail.add(path)
            stack.append(iter(definition))


def _from_least(cycle: list[TablePath]) -> tuple[TablePath, ...]:
    start = cycle.index(min(cycle))
    return (*cycle[start:], *cycle[:start])
