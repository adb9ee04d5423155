"""Table names in SQL -> topics. Pure.

On Confluent a catalog is an environment, a database a Kafka cluster and a table a topic. Catalogs and
databases are named by id or by display name (Confluent Cloud, "Flink SQL objects": metadata mapping). Display
names need not be unique; an ambiguous one resolves to nothing, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from lineage_bridge_dagster.sql.flink.tree import ParsedText, Tree
from lineage_bridge_dagster.sql.statement import (
    SqlStatement,
    TableChange,
    TablePath,
    TableSink,
    TextLineage,
    ViewChange,
    unique,
)


@dataclass(frozen=True, slots=True)
class ClusterName:
    """Ids and display names of a Kafka cluster and its environment."""

    environment_id: str
    environment_name: str
    cluster_id: str
    cluster_name: str


class TopicRef(NamedTuple):
    """A topic by ids; its name keeps the case and dots that it has in the SQL."""

    environment_id: str
    cluster_id: str
    topic: str

    @property
    def key(self) -> tuple[str, str]:
        """Ids of the environment and the cluster."""
        return (self.environment_id, self.cluster_id)


class Resolution(NamedTuple):
    """The topic that a name resolves to, or the reason why it resolves to none."""

    ref: TopicRef | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ResolvedStatement:
    """A statement whose paths are canonical.

    Attributes:
        tree: Its syntax tree, with names as written; None when it was rejected or is not available.
        canonical: Name as written in this statement -> canonical path.
    """

    statement: SqlStatement
    tree: Tree | None
    canonical: Callable[[TablePath], TablePath]


class NameIndex:
    """Finds the cluster that a catalog and a database name."""

    def __init__(self, clusters: Iterable[ClusterName] = ()) -> None:
        self._clusters = tuple(dict.fromkeys(clusters))
        self._environments = _Names((c.environment_id, c.environment_name) for c in self._clusters)
        self._clusters_in = {
            environment: _Names(
                (c.cluster_id, c.cluster_name) for c in self._clusters if c.environment_id == environment
            )
            for environment in {c.environment_id for c in self._clusters}
        }
        self._environment_of = {c.cluster_id: c.environment_id for c in self._clusters}
        self._canonical: dict[tuple[TablePath, str, str], TablePath] = {}

    def resolve(self, path: TablePath, catalog: str = "", database: str = "") -> TopicRef | None:
        """The topic that a name resolves to; None when it is unknown or ambiguous (see `explain`).

        Args:
            path: The name as written; a part in backticks is one part, even with dots in it.
            catalog: The current catalog, by id or name; empty when unknown.
            database: The current database, likewise.
        """
        return self.explain(path, catalog, database).ref

    def explain(self, path: TablePath, catalog: str = "", database: str = "") -> Resolution:
        """As `resolve`, with the reason why a name resolves to no topic."""
        if not 1 <= len(path) <= 3:
            return Resolution(None, f"{quoted(path)} has {len(path)} parts; a table's name has one to three")
        if len(path) == 3:
            catalog = path[0]
        if len(path) >= 2:
            database = path[-2]
        if not database:
            return Resolution(None, f"{quoted(path)} names no database, and the statement has no current one")
        if not catalog:
            # A cluster's id is globally unique; its display name is not.
            environment = self._environment_of.get(database, "")
            if not environment:
                return Resolution(
                    None, f"{quoted(path)} names no catalog, and the statement has no current one"
                )
            return Resolution(TopicRef(environment, database, path[-1]))
        environments = self._environments.find(catalog)
        if len(environments) != 1:
            return Resolution(None, _why_not("catalog", "environment", catalog, environments))
        (environment,) = environments
        clusters = self._clusters_in[environment].find(database)
        if len(clusters) != 1:
            return Resolution(None, _why_not("database", f"cluster of {environment}", database, clusters))
        return Resolution(TopicRef(environment, clusters[0], path[-1]))

    def canonical(self, path: TablePath, catalog: str = "", database: str = "") -> TablePath:
        """One spelling for all names of one table: by ids where they are known, else as written.

        Resolving a canonical path again gives the same result.
        """
        key = (path, catalog, database)
        found = self._canonical.get(key)
        if found is None:
            found = self._canonical[key] = self._spelled(*key)
        return found

    def _spelled(self, path: TablePath, catalog: str, database: str) -> TablePath:
        ref = self.resolve(path, catalog, database)
        if ref is not None:
            return (ref.environment_id, ref.cluster_id, ref.topic)
        if len(path) == 1:
            return (catalog, database, *path) if catalog or database else path
        return (catalog, *path) if len(path) == 2 and catalog else path


def resolve_statements(text: ParsedText, index: NameIndex) -> Iterator[ResolvedStatement]:
    """The statements of a text with canonical paths; follows `USE` and `SET` between them."""
    catalog, database = text.catalog, text.database
    trees = text.trees or (None,) * len(text.statements)
    for statement, tree in zip(text.statements, trees, strict=True):

        def canonical(path: TablePath, c: str = catalog, d: str = database) -> TablePath:
            return index.canonical(path, c, d)

        resolved = replace(
            statement,
            reads=unique(map(canonical, statement.reads)),
            writes=unique(map(canonical, statement.writes)),
            searches=unique(map(canonical, statement.searches)),
            view=_resolved_view(statement.view, canonical),
            table=_resolved_table(statement.table, canonical),
            parts=tuple(
                TableSink(canonical(part.path), unique(map(canonical, part.reads)))
                for part in statement.parts
            ),
        )
        yield ResolvedStatement(resolved, tree, canonical)
        if statement.session is not None:
            if statement.session.catalog is not None:
                catalog = statement.session.catalog
            if statement.session.database is not None:
                database = statement.session.database


def resolved_lineage(text: ParsedText) -> TextLineage:
    """The text's lineage with names completed by the session, which `USE` and `SET` change."""
    return TextLineage.of([resolved.statement for resolved in resolve_statements(text, NameIndex())])


def quoted(path: TablePath) -> str:
    """The path in SQL syntax, every part in backticks."""
    return ".".join("`" + part.replace("`", "``") + "`" for part in path)


def known_part(path: TablePath) -> TablePath:
    """The end of a canonical path, after its last unknown (empty) part."""
    gaps = [i for i, part in enumerate(path[:-1]) if not part]
    return path[gaps[-1] + 1 :] if gaps else path


class _Names:
    """Ids by id or display name. An id takes precedence over the display name of another."""

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        self._ids: set[str] = set()
        self._by_name: dict[str, list[str]] = {}
        for identifier, name in dict.fromkeys(pairs):
            self._ids.add(identifier)
            if name:
                self._by_name.setdefault(name, []).append(identifier)

    def find(self, name: str) -> list[str]:
        if name in self._ids:
            return [name]
        return sorted(set(self._by_name.get(name, ())))


def _resolved_view(view: ViewChange | None, canonical: Callable[[TablePath], TablePath]) -> ViewChange | None:
    if view is None:
        return None
    path = canonical(view.path)
    return replace(
        view,
        path=path,
        reads=unique(map(canonical, view.reads)),
        # A renamed view stays in its catalog and database, whatever the new name says (Flink's
        # Catalog.renameTable).
        new_path=(*path[:-1], view.new_path[-1]) if view.new_path else (),
    )


def _resolved_table(
    table: TableChange | None, canonical: Callable[[TablePath], TablePath]
) -> TableChange | None:
    if table is None:
        return None
    return replace(table, path=canonical(table.path), base=canonical(table.base) if table.base else ())


def _why_not(what: str, of: str, name: str, found: list[str]) -> str:
    if not found:
        return f"no {of} is called {name!r} (the {what}), of those that could be listed"
    return f"the {what} {name!r} is ambiguous: {', '.join(found)}"
