r"""What a topic was called before a connector's transforms.

Routers by expressions often keep all of a name: `(.*)` to `$1-raw`, `(.*)\.(.*)\.(.*)` to `$1_$2_$3`. Then
an existing topic tells the name before them, and with it the table. So it does if a router leaves out only
the database or the schema (`$1_$3`), which the configuration names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.transforms.routing import Routing

#: Settings that list the databases or schemas of tables, whose names a router may leave out.
_CONTAINERS = ("database.include.list", "database.whitelist", "schema.include.list", "schema.whitelist")
_NAME = re.compile(r"[\w$-]+")
#: The keys of routers by expressions.
_ROUTERS = {
    "org.apache.kafka.connect.transforms.RegexRouter": ("regex", "replacement"),
    "io.confluent.connect.cloud.transforms.TopicRegexRouter": ("regex", "replacement"),
    "io.debezium.transforms.ByLogicalTableRouter": ("topic.regex", "topic.replacement"),
}
_GROUP = re.compile(r"\$(\d)")
#: A group without groups of its own, and a character that stands for itself.
_WHOLE_GROUP = re.compile(r"\((?!\?)(?:\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|[^()\[\]\\])*\)", re.DOTALL)
_PLAIN = re.compile(r"\\([^\w\s])|\[([^\w\s^\\\]])\]|([\w-])")
#: Steps to try for one name, after which it counts as ambiguous.
_MOST_STEPS = 2_000
_MOST_NAMES = 20


@dataclass(frozen=True, slots=True)
class _Router:
    """An expression and its replacement, each of texts at even and numbers of groups at odd places.

    `lost` is the group that the replacement lacks, if there is one.
    """

    whole: tuple[str, ...]
    result: tuple[str, ...]
    lost: str = ""

    def undo(self, name: str, containers: Iterable[str]) -> list[str]:
        """The names that it may have made a name of, in one of these databases or schemas."""
        found: dict[str, None] = {}
        for kept in _Split(self.result).of(name):
            for lost in containers if self.lost else [""]:
                groups = {**kept, self.lost: lost}
                parts = (groups[part] if at % 2 else part for at, part in enumerate(self.whole))
                found["".join(parts)] = None
            if len(found) > _MOST_NAMES:
                break
        return list(found)


@dataclass(slots=True)
class _Split:
    """Recovers what each group of a replacement matched."""

    result: tuple[str, ...]
    steps: int = field(default=0)

    def of(self, name: str) -> Iterator[dict[str, str]]:
        if name.startswith(self.result[0]):
            yield from self._rest(1, name[len(self.result[0]) :], {})

    def _rest(self, at: int, text: str, groups: Mapping[str, str]) -> Iterator[dict[str, str]]:
        if at >= len(self.result):
            if not text:
                yield dict(groups)
            return
        group, following = self.result[at], self.result[at + 1]
        for end in range(len(text) + 1):
            self.steps += 1
            if self.steps > _MOST_STEPS:
                return
            value = text[:end]
            if groups.get(group, value) == value and text.startswith(following, end):
                rest = text[end + len(following) :]
                yield from self._rest(at + 2, rest, {**groups, group: value})


class Origins:
    """The names that topics had before one connector's transforms.

    Attributes:
        are_lost: Whether a router may have renamed topics in a way that cannot be undone.
    """

    def __init__(self, config: Config, routing: Routing) -> None:
        self._routing = routing
        self._routers: list[_Router] = []
        listed = [item for key in _CONTAINERS for item in config.items(key)]
        self._containers = [item for item in listed if _NAME.fullmatch(item)]
        self.are_lost = False
        for label in dict.fromkeys(config.items("transforms")):
            kind = config.get(f"transforms.{label}.type")
            keys = _ROUTERS.get(kind, ())
            texts = [config.get(f"transforms.{label}.{key}") for key in keys]
            router = _router(*texts) if texts else None
            if router and (self._containers or not router.lost):
                self._routers.append(router)
            elif texts:
                self.are_lost = True

    def of(self, topic: str, prefix: str) -> list[str]:
        """The names with a prefix that the transforms turn into a topic."""
        names = [topic]
        for router in reversed(self._routers):
            before = [earlier for name in names for earlier in router.undo(name, self._containers)]
            names = list(dict.fromkeys([*names, *before]))[: _MOST_NAMES + 1]
        return [name for name in names if name.startswith(prefix) and self._routing.route(name) == [topic]]


def _router(regex: str, replacement: str) -> _Router | None:
    """None if the name after it, and a container's, do not determine the name before it."""
    if "\\" in replacement or "${" in replacement or not (result := _GROUP.split(replacement))[1:]:
        return None
    if "0" in result[1::2]:
        return _Router(("", "0", ""), tuple(result))
    whole = _groups(regex)
    lost = [group for group in whole[1::2] if group not in result[1::2]]
    # The connector's prefix must be in the topic: without it, any topic could be a table.
    if not whole or len(lost) > 1 or (lost and (whole[0] or lost == whole[1:2])):
        return None
    return _Router(tuple(whole), tuple(result), *lost)


def _groups(regex: str) -> list[str]:
    """Split an expression of plain text and groups into texts and the groups' numbers; else empty."""
    found, number, at = [""], 0, 0
    regex = regex.removeprefix("^").removesuffix("$")
    while at < len(regex):
        char = regex[at]
        if char == "(":
            end = _closing(regex, at)
            if end < 0 or regex[end + 1 : end + 2] in ("*", "+", "?", "{"):
                return []
            number += 1
            found += [str(number), ""]
            at = end + 1
            continue
        if match := _PLAIN.match(regex, at):
            found[-1] += match[1] or match[2] or match[3]
            at = match.end()
            if regex[at : at + 1] not in ("*", "+", "?", "{"):
                continue
        return []
    return found


def _closing(regex: str, at: int) -> int:
    """Where a group that starts here ends; negative if it contains groups or is not closed."""
    match = _WHOLE_GROUP.match(regex, at)
    return match.end() - 1 if match else -1
