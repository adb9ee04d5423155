"""The tables that a Debezium connector captures: those of its lists, and those that its topics tell.

Source: `RelationalTableFilters`, `Selectors` and `Strings.RegExSplitter` of debezium/debezium.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from lineage_bridge_dagster.confluent.connectors.config import Config, is_resolved
from lineage_bridge_dagster.confluent.connectors.families.debezium_topics import DebeziumTopicNames, Path
from lineage_bridge_dagster.confluent.connectors.family import SourceContext, WrittenTopic, named_for
from lineage_bridge_dagster.confluent.connectors.java_regex import BadRegexError
from lineage_bridge_dagster.confluent.connectors.table_patterns import (
    TableList,
    odd_words,
    samples,
    split_patterns,
)


def _any_head(_config: Config) -> list[Path]:
    return [()]


def _no_name(_config: Config) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Capture:
    """How a kind of connector names and selects its tables.

    A table's path is what its topic is named for, such as `(schema, table)` or `(database, table)`.

    Attributes:
        dataset: A table's dataset.
        listed: The parts of a name in lists, which are the last ones of a path.
        heads: The first parts of all paths, as far as the configuration tells: the databases of SQL Server.
        heads_listed: Whether lists also name the heads.
        hidden: The number of first parts that topics lack.
        database: What lists may name before a table, and topics do not.
        container: What the first part of a listed name is, which has lists of its own.
        items: What the keys of the lists call tables.
        system: Containers that are never captured.
        open_end: Whether names of tables with dots are usual.
    """

    dataset: Callable[[Config, Path], str]
    listed: int = 2
    heads: Callable[[Config], list[Path]] = _any_head
    heads_listed: bool = False
    hidden: int = 0
    database: Callable[[Config], str] = _no_name
    container: str = "schema"
    items: str = "table"
    system: frozenset[str] = frozenset()
    open_end: bool = False

    def written(self, context: SourceContext, names: DebeziumTopicNames) -> Iterator[WrittenTopic]:
        """What a connector writes."""
        yield from _CapturedTables(context, names, self).written()


@dataclass
class _CapturedTables:
    """The tables of one connector."""

    context: SourceContext
    names: DebeziumTopicNames
    kind: Capture

    def written(self) -> Iterator[WrittenTopic]:
        config, kind = self.context.config, self.kind
        self._mark_signals()
        listed = dict.fromkeys(path for path in self._listed() if self._is_allowed(path))
        if not self.names.is_known:
            self._warn(f"topic.naming.strategy {self.names.strategy} is not known, so its topics are not")
            for path in listed:
                yield WrittenTopic("", kind.dataset(config, path))
            return
        topics = {path: self._topic(path) for path in listed}
        for path, topic in topics.items():
            yield WrittenTopic(topic, kind.dataset(config, path))
        asked = list(self._include.open)
        if self._include and not asked:
            return
        self._learn()
        matched = False
        for topic, paths in self._existing.items():
            fits = dict.fromkeys(fit for path in paths if (fit := self._fitting(path)) is not None)
            matched = matched or bool(fits)
            if len(fits) > 1:
                self._warn(f"{topic} may be of several tables: its delimiter is in names, too")
                yield named_for(topic)
            elif fits and not fits.keys() & topics.keys():
                yield named_for(topic, kind.dataset(config, next(iter(fits))))
        yield from self._merged_topics()
        if asked and not matched:
            self._warn(f"{', '.join(asked)} of its table list matches no topic of the cluster")

    # Lists.

    def _list(self, *keys: str) -> TableList:
        patterns = split_patterns(self.context.config.get(*keys))
        if self.context.config.get("filters.match.mode").lower() == "literal":
            patterns = [f"\\Q{pattern}\\E" for pattern in patterns]
        return TableList(patterns, self.context.warnings, ignore_case=True)

    @cached_property
    def _include(self) -> TableList:
        items = self.kind.items
        return self._list(f"{items}.include.list", f"{items}.whitelist", "scylla.table.names")

    @cached_property
    def _exclude(self) -> TableList:
        return self._list(f"{self.kind.items}.exclude.list", f"{self.kind.items}.blacklist")

    @cached_property
    def _containers(self) -> tuple[TableList, TableList]:
        """The lists of schemas or databases; where names have none, empty ones."""
        container = self.kind.container if self.kind.listed > 1 else "no container"
        return (
            self._list(f"{container}.include.list", f"{container}.whitelist"),
            self._list(f"{container}.exclude.list", f"{container}.blacklist"),
        )

    @cached_property
    def _heads(self) -> list[Path]:
        return self.kind.heads(self.context.config)

    @cached_property
    def _spellings(self) -> dict[str, str]:
        """Names with characters that topics lack, by how topics spell them."""
        user = self.context.config.get("database.user").upper()
        lists = (self._include, self._containers[0])
        words = odd_words([user, *(pattern for one in lists for pattern in (*one.spelled, *one.open))])
        return {self.names.cleaned(word).lower(): word for word in words}

    def _listed(self) -> Iterator[Path]:
        """The tables that the include list spells out."""
        for pattern, expansion in self._include.spelled.items():
            paths = [
                path
                for name in expansion.names
                for head in self._heads
                if (path := self._path(name, head)) is not None
            ]
            if not paths:
                self._warn(f"{pattern} of its table list is not a qualified name, so it captures nothing")
            if len(paths) > 1 and (expansion.product or len(self._heads) > 1):
                # Not all of these need to exist.
                existing = [path for path in paths if self._exists(path)]
                if not existing and len(self._heads) > 1 and self.context.cluster_topics:
                    self._warn(f"{pattern} of its table list may be in any of its databases: no topic tells")
                    continue
                paths = existing or paths
            for path in paths:
                yield from self._located(path)

    def _path(self, name: str, head: Path) -> Path | None:
        """The path of a listed name below a head; None if it is not below the head."""
        kind, parts = self.kind, name.split(".")
        if not kind.heads_listed and len(parts) == kind.listed + 1:
            first = head[-1] if head else kind.database(self.context.config)
            if parts[0].lower() == first.lower():
                parts = parts[1:]
        if len(parts) > kind.listed and (kind.open_end or kind.container == "database"):
            parts = [*parts[: kind.listed - 1], ".".join(parts[kind.listed - 1 :])]
        if len(parts) != kind.listed or not all(parts):
            return None
        if not kind.heads_listed:
            return (*head, *parts)
        if any(part and part.lower() != own.lower() for part, own in zip(head, parts, strict=False)):
            return None
        return tuple(parts)

    def _located(self, path: Path) -> list[Path]:
        """A listed table as its topics spell it: lists ignore case."""
        topic = self._topic(path)
        if not is_resolved(topic) or topic in self.context.cluster_topics:
            return [path]
        found = [
            tuple(map(self._merged, path, other))
            for name in self.context.cluster_topics.by_lower_case.get(topic.lower(), ())
            for other in self._paths(name)
            if self.names.cleaned(".".join(other)).lower() == self.names.cleaned(".".join(path)).lower()
        ]
        return found or [path]

    def _merged(self, listed: str, existing: str) -> str:
        """A name as the topic spells it, except for the characters that topics lack."""
        if len(listed) != len(existing):
            return existing
        kept = (
            mine if self.names.cleaned(mine) != mine else its
            for mine, its in zip(listed, existing, strict=True)
        )
        return "".join(kept)

    # Topics.

    @cached_property
    def _existing(self) -> dict[str, list[Path]]:
        """The topics under the prefix, with the tables that they may be of."""
        start = self.names.start
        topics = [start + rest for rest in self.context.named_like(start)]
        return {topic: paths for topic in topics if (paths := self._paths(topic))}

    def _paths(self, topic: str) -> list[Path]:
        kind, hidden = self.kind, self._hidden
        found: list[Path] = []
        for length, heads in self._heads_by_length.items():
            depth = kind.listed if kind.heads_listed else kind.listed + length
            above = {head[:hidden] or ("",) * hidden for head in heads} if hidden else {()}
            for shown in self.names.paths(topic, depth - hidden, open_end=kind.open_end):
                for first in above:
                    path = (*first, *shown)
                    if path[:length] in heads and self._topic(path) == topic:
                        found.append(path)
        return list(dict.fromkeys(found))

    @cached_property
    def _heads_by_length(self) -> dict[int, set[Path]]:
        found: dict[int, set[Path]] = {}
        for head in self._heads:
            found.setdefault(len(head), set()).add(head)
        return found

    @property
    def _hidden(self) -> int:
        return 1 if self.names.hides_container else self.kind.hidden

    def _topic(self, path: Path) -> str:
        try:
            return self.names.topic(path[self._hidden :])
        except BadRegexError as error:
            self._warn(f"topic.regex: cannot apply {error}")
            return ""

    def _merged_topics(self) -> Iterator[WrittenTopic]:
        """The topics to which transforms send whatever tables an expression captures, such as partitions."""
        for pattern in [*self._include.open] if self.context.routing else ():
            names = self._include.matching(pattern, samples(pattern))
            found = (path for name in names for head in self._heads if (path := self._path(name, head)))
            paths = [path for path in found if self._is_allowed(path)]
            routed = [self.context.routing.route(self._topic(path)) for path in paths]
            if len(routed) > 1 and all(topics == routed[0] for topics in routed) and self._exists(paths[0]):
                yield named_for(self._topic(paths[0]))

    def _exists(self, path: Path) -> bool:
        topic = self._topic(path)
        return any(routed in self.context.cluster_topics for routed in self.context.routing.route(topic))

    def _mark_signals(self) -> None:
        """A table of signals to the connector is not data."""
        for name in split_patterns(self.context.config.get("signal.data.collection")):
            paths = (self._path(name, head) for head in self._heads)
            self.context.internal += [self._topic(path) for path in paths if path is not None]

    # Selection.

    def _learn(self) -> None:
        """Match all existing tables with all lists at once."""
        paths = [fit for paths in self._existing.values() for path in paths for fit in self._respelled(path)]
        names = [name for path in paths for name in self._names(path)]
        self._include.learn(names)
        self._exclude.learn(names)
        for one in self._containers:
            one.learn(path[-self.kind.listed] for path in paths)

    def _respelled(self, path: Path) -> Iterable[Path]:
        """A topic's table with the spelling of the lists, and as it is."""
        return dict.fromkeys((tuple(self._spellings.get(part.lower(), part) for part in path), path))

    def _fitting(self, path: Path) -> Path | None:
        """A topic's table, with the spelling of the lists; None if it is not captured."""
        for spelled in self._respelled(path):
            included = not self._include or self._include.matches(self._names(spelled))
            if included and self._is_allowed(spelled):
                return spelled
        return None

    def _is_allowed(self, path: Path) -> bool:
        """Whether the lists of containers and of excluded tables leave a table."""
        included, excluded = self._containers
        container = path[-self.kind.listed]
        if self.kind.listed > 1 and container in self.kind.system:
            return False
        if (included and not included.matches([container])) or excluded.matches([container]):
            return False
        return not self._exclude.matches(self._names(path))

    def _names(self, path: Path) -> set[str]:
        """A table's qualified names as lists may have them."""
        name = ".".join(path[-self.kind.listed :])
        database = path[0] if len(path) > self.kind.listed else self.kind.database(self.context.config)
        return {name, f"{database}.{name}"} if database else {name}

    def _warn(self, text: str) -> None:
        self.context.warnings.append(text)
