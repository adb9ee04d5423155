"""Names in SQL -> topics. Pure.

On Confluent a catalog is an environment, a database a Kafka cluster and a table a topic; the first two go by
id or by display name (Confluent Cloud, "Flink SQL objects": metadata mapping). Display names need not be
unique, so a name can mean several: then it means none, with the reason told.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from lineage_bridge_dagster.sql.statement import TablePath


@dataclass(frozen=True, slots=True)
class ClusterName:
    """What a Kafka cluster and its environment are called."""

    environment_id: str
    environment_name: str
    cluster_id: str
    cluster_name: str


@dataclass(frozen=True, slots=True, order=True)
class TopicRef:
    """A topic by ids; its name with case and dots as it stands in the SQL."""

    environment_id: str
    cluster_id: str
    topic: str


@dataclass(frozen=True, slots=True)
class Resolution:
    """The topic that a name means, or why it means none."""

    ref: TopicRef | None
    reason: str = ""


class NameIndex:
    """Finds the cluster that a catalog and a database mean."""

    def __init__(self, clusters: Iterable[ClusterName]) -> None:
        self._clusters = tuple(dict.fromkeys(clusters))
        self._environments = _Names((c.environment_id, c.environment_name) for c in self._clusters)
        self._in_environment = {
            environment: _Names(
                (c.cluster_id, c.cluster_name) for c in self._clusters if c.environment_id == environment
            )
            for environment in {c.environment_id for c in self._clusters}
        }
        self._home = {c.cluster_id: c.environment_id for c in self._clusters}

    def resolve(self, path: TablePath, catalog: str = "", database: str = "") -> TopicRef | None:
        """The topic that a name means; None when there is none or several: `explain` tells which.

        Args:
            path: The name as written; a part in backticks is one part, whatever dots it holds.
            catalog: The current catalog, by id or name; empty when unknown.
            database: The current database, likewise.
        """
        return self.explain(path, catalog, database).ref

    def explain(self, path: TablePath, catalog: str = "", database: str = "") -> Resolution:
        """As `resolve`, with the reason why a name means no topic."""
        if not 1 <= len(path) <= 3:
            return Resolution(None, f"{quoted(path)} has {len(path)} parts; a table's name has one to three")
        if len(path) == 3:
            catalog = path[0]
        if len(path) >= 2:
            database = path[-2]
        if not database:
            return Resolution(None, f"{quoted(path)} names no database, and the statement has no current one")
        if not catalog:
            # A cluster's id is unique everywhere; its display name is not.
            environment = self._home.get(database, "")
            if not environment:
                return Resolution(
                    None, f"{quoted(path)} names no catalog, and the statement has no current one"
                )
            return Resolution(TopicRef(environment, database, path[-1]))
        environments = self._environments.find(catalog)
        if len(environments) != 1:
            return Resolution(None, _why_not("catalog", "environment", catalog, environments))
        (environment,) = environments
        clusters = self._in_environment[environment].find(database)
        if len(clusters) != 1:
            return Resolution(None, _why_not("database", f"cluster of {environment}", database, clusters))
        return Resolution(TopicRef(environment, clusters[0], path[-1]))

    def canonical(self, path: TablePath, catalog: str = "", database: str = "") -> TablePath:
        """One spelling for all names of one table: by ids where they are known, else as written.

        It resolves again to the same topic, or again to none.
        """
        ref = self.resolve(path, catalog, database)
        if ref is not None:
            return (ref.environment_id, ref.cluster_id, ref.topic)
        if len(path) == 1:
            return (catalog, database, *path) if catalog or database else path
        return (catalog, *path) if len(path) == 2 and catalog else path


def quoted(path: TablePath) -> str:
    """The path as SQL writes it, every part in backticks."""
    return ".".join("`" + part.replace("`", "``") + "`" for part in path)


def known_part(path: TablePath) -> TablePath:
    """A canonical path without what is not known of it: its database, or its catalog, and all before it."""
    gaps = [i for i, part in enumerate(path[:-1]) if not part]
    return path[gaps[-1] + 1 :] if gaps else path


class _Names:
    """Ids by id or display name. An id wins over another's display name."""

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


def _why_not(what: str, of: str, name: str, found: list[str]) -> str:
    if not found:
        return f"no {of} is called {name!r} (the {what}), of those that could be listed"
    return f"the {what} {name!r} is ambiguous: {', '.join(found)}"
