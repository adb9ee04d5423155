"""How the MongoDB source names topics, and which collections its `pipeline` limits it to.

Source: `DefaultTopicMapper` and the documentation of `topic.namespace.map` in mongodb/mongo-kafka.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate, product
from typing import Any

from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.family import SourceContext
from lineage_bridge_dagster.confluent.connectors.java_regex import (
    BadRegexError,
    check,
    finds,
    full_matches,
    literal,
)
from lineage_bridge_dagster.confluent.connectors.table_patterns import spelled_names

_FIELDS = ("ns.db", "ns.coll")
#: Conditions nested deeper than this are not written by people, and not read.
_DEEPEST = 50
_ANCHORED = re.compile(r"\^(.+)\$")
#: What MongoDB reads beyond JSON: quoted texts, expressions, and bare names of fields.
_LENIENT = re.compile(
    r"""("(?:[^"\\]|\\.)*")|'((?:[^'\\]|\\.)*)'|(?<=[:,\[])\s*/((?:[^/\\]|\\.)+)/([a-z]*)|([$\w.]+)(?=\s*:)"""
)


@dataclass(frozen=True, slots=True)
class PipelineSelection:
    """The conditions of all `$match` stages; those on other fields are taken to be true of some event."""

    conditions: list[Any] = field(default_factory=list)

    @classmethod
    def of(cls, config: Config, warnings: list[str]) -> PipelineSelection:
        """Read `pipeline`: a stage or a list of stages."""
        text = config.get("pipeline", default="[]")
        try:
            lenient = _LENIENT.sub(_as_json, text)
            stages = json.loads(lenient, object_hook=_plain) if _depth(text) <= _DEEPEST else None
        except ValueError:
            stages = None
        if stages is None:
            warnings.append("pipeline is not readable JSON and is ignored: it may leave collections out")
        found = stages if isinstance(stages, list) else [stages]
        return cls([stage["$match"] for stage in found if isinstance(stage, dict) and "$match" in stage])

    def allows(self, database: str, collection: str) -> bool:
        """Whether some event of a collection may pass."""
        return _may_match({"$and": self.conditions}, {"ns.db": database, "ns.coll": collection})

    def is_complete(self, database: str) -> bool:
        """Whether `listed` has all collections that may pass."""
        condition = {"$and": self.conditions}
        return _is_bound(condition, "ns.coll") and (bool(database) or _is_bound(condition, "ns.db"))

    def listed(self, database: str) -> Iterator[tuple[str, str]]:
        """The database and the name of each collection that the conditions name."""
        named: dict[str, dict[str, None]] = {name: {} for name in _FIELDS}
        for name, value in _values({"$and": self.conditions}):
            named[name][value] = None
        for space in product([database] if database else named["ns.db"], named["ns.coll"]):
            if self.allows(*space):
                yield space


def _depth(text: str) -> int:
    steps = ((char in "[{") - (char in "]}") for char in text)
    return max(accumulate(steps), default=0)


def _as_json(match: re.Match[str]) -> str:
    text, quoted, expression, options, name = match.groups()
    if expression:
        return json.dumps({"$regex": expression.replace("\\/", "/"), "$options": options})
    return text or json.dumps(name or quoted)


def _plain(value: dict[str, Any]) -> dict[str, Any]:
    """An object, with an expression as `{"$regex": ..., "$options": ...}` however it is written."""
    inner = value.get("$regex")
    if isinstance(inner, dict):
        return value | inner
    if isinstance(given := value.get("$regularExpression"), dict):
        return {"$regex": given.get("pattern"), "$options": given.get("options", "")}
    return value


def _terms(condition: Any) -> Iterator[tuple[str, Any]]:
    """The keys and values of a condition, with `{"ns": {"db": ..., "coll": ...}}` as `ns.db`, `ns.coll`."""
    for key, value in condition.items() if isinstance(condition, dict) else ():
        if key == "ns" and isinstance(value, dict) and not any(name.startswith("$") for name in value):
            yield from ((f"ns.{name}", part) for name, part in value.items())
        else:
            yield key, value


def _parts(key: str, value: Any, operator: str) -> list[Any]:
    return value if key == operator and isinstance(value, list) else []


def _listed(value: Any) -> list[str] | None:
    """The values that a field may have, None if they are not listed."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        if isinstance(value.get("$eq"), str):
            return [value["$eq"]]
        items = value.get("$in")
        if isinstance(items, list) and not any(isinstance(item, dict) for item in items):
            return [item for item in items if isinstance(item, str)]
        anchored = _ANCHORED.fullmatch(str(value.get("$regex", "")))
        if anchored and not value.get("$options"):
            return spelled_names(anchored[1]) or None
    return None


def _values(condition: Any) -> Iterator[tuple[str, str]]:
    for key, value in _terms(condition):
        if key in _FIELDS:
            yield from ((key, item) for item in _listed(value) or ())
        elif key in ("$and", "$or") and isinstance(value, list):
            for part in value:
                yield from _values(part)


def _is_bound(condition: Any, name: str) -> bool:
    """Whether a condition lists all values of a field."""
    for key, value in _terms(condition):
        if key == name and _listed(value) is not None:
            return True
        for parts, enough in ((_parts(key, value, "$and"), any), (_parts(key, value, "$or"), all)):
            if parts and enough(_is_bound(part, name) for part in parts):
                return True
    return False


def _may_match(condition: Any, known: dict[str, str]) -> bool:
    for key, value in _terms(condition):
        if key in _FIELDS and not _may_have(value, known[key]):
            return False
        for parts, enough in ((_parts(key, value, "$and"), all), (_parts(key, value, "$or"), any)):
            if parts and not enough(_may_match(part, known) for part in parts):
                return False
    return True


def _may_have(condition: Any, name: str) -> bool:
    listed = _listed(condition)
    if listed is not None:
        return name in listed
    if not isinstance(condition, dict):
        return True
    if isinstance(items := condition.get("$in"), list):
        return any(_may_have(item, name) for item in items)
    excluded = condition.get("$nin")
    if condition.get("$ne") == name or (isinstance(excluded, list) and name in excluded):
        return False
    if isinstance(condition.get("$not"), dict) and len(condition["$not"]) == 1:
        return not _may_have(condition["$not"], name)
    if isinstance(condition.get("$regex"), str):
        flags = "(?i)" if "i" in str(condition.get("$options", "")) else ""
        try:
            return finds(flags + condition["$regex"], name)
        except BadRegexError:
            return True
    return True


_VARIABLE = re.compile(r"\{(\w+)\}")
#: The database that all that matches an expression over `database.collection` starts with.
_DATABASE = re.compile(r"([\w$-]+)(?:\(\?:|\()?(?:\\\.|\[\.\])(?!.*\|)")


@dataclass(frozen=True, slots=True)
class Recognized:
    """The rest of a topic's name, and the collection that it is named for (empty if that is ambiguous)."""

    rest: str
    database: str = ""
    collection: str = ""


@dataclass(frozen=True)
class MongoTopicNames:
    """Names of topics.

    Attributes:
        separator: Between the parts of a topic's name.
        prefix: With the separator behind it.
        suffix: With the separator before it.
        simple: `database.collection` -> topic, and `database` -> what replaces the database in topics.
        patterns: Expression over `database.collection` -> topic with variables, in order.
        wildcard: The topic of all that nothing else maps.
    """

    separator: str
    prefix: str = ""
    suffix: str = ""
    simple: dict[str, str] = field(default_factory=dict)
    patterns: list[tuple[str, str]] = field(default_factory=list)
    wildcard: str = ""

    @classmethod
    def of(cls, config: Config, warnings: list[str]) -> MongoTopicNames:
        separator = config.get("topic.separator", default=".")
        prefix, suffix = config.get("topic.prefix"), config.get("topic.suffix")
        names = cls(separator, prefix and prefix + separator, suffix and separator + suffix)
        wildcard = ""
        for key, topic in config.json_object("topic.namespace.map", warnings).items():
            if not topic:
                continue
            if key == "*":
                wildcard = topic
            elif not key.startswith("/"):
                names.simple[key] = topic
            else:
                try:
                    check(key[1:])
                    names.patterns.append((key[1:], topic))
                except BadRegexError as error:
                    warnings.append(f"topic.namespace.map: cannot apply {error}")
        return cls(names.separator, names.prefix, names.suffix, names.simple, names.patterns, wildcard)

    def topic(self, database: str, collection: str) -> str:
        """The topic of a collection."""
        return f"{self.prefix}{self._plain(database, collection)}{self.suffix}"

    def _plain(self, database: str, collection: str) -> str:
        space = f"{database}.{collection}"
        if space in self.simple:
            return self.simple[space]
        if database in self.simple:
            return f"{self.simple[database]}{self.separator}{collection}"
        for pattern, template in self.patterns:
            if full_matches(pattern, [space]):
                return self._filled(template, self._variables(database, collection))
        return self.wildcard or f"{database}{self.separator}{collection}"

    @staticmethod
    def _filled(template: str, values: dict[str, str]) -> str:
        return _VARIABLE.sub(lambda name: values.get(name[1], name[0]), template)

    def _variables(self, database: str, collection: str) -> dict[str, str]:
        sep = self.separator
        return {
            "db": database,
            "coll": collection,
            "sep": sep,
            "sep_coll": sep + collection,
            "coll_sep": collection + sep,
            "sep_coll_sep": sep + collection + sep,
        }

    def listed(self, database: str) -> Iterator[tuple[str, str]]:
        """The database and the name of each collection that the map names."""
        named = [name for pattern, _ in self.patterns for name in spelled_names(pattern)]
        for space in (*self.simple, *named):
            head, _, collection = space.partition(".")
            if collection and database in ("", head):
                yield head, collection

    def collected(self, database: str) -> Iterator[str]:
        """The topics that the map gives to an unknown number of collections."""
        for pattern, template in self.patterns:
            named = spelled_names(pattern)
            if not named and not _VARIABLE.search(template) and _may_start(pattern, database):
                yield f"{self.prefix}{template}{self.suffix}"
        if self.wildcard and database not in self.simple:
            yield f"{self.prefix}{self.wildcard}{self.suffix}"

    @property
    def are_recognizable(self) -> bool:
        """Whether a topic's name shows that it is one of them, even if the database is not known."""
        return bool(self.prefix or self.suffix or self.simple or self.patterns)

    def of_cluster(self, context: SourceContext, database: str) -> Iterator[tuple[str, Recognized]]:
        """The cluster's topics that are named for a collection: their start, and what they are named for."""
        for start, pattern, known in self._forms(database):
            for rest in context.named_like(start):
                found = self._recognized(start, rest, pattern, known)
                if found is not None:
                    yield start, found

    def _recognized(self, start: str, rest: str, pattern: re.Pattern[str], known: str) -> Recognized | None:
        match = pattern.fullmatch(rest)
        if match is None:
            return None
        parts = match.groupdict()
        database, collection = parts.get("db") or known, parts["coll"]
        if self.topic(database, collection) != start + rest:
            return None
        if not known and self.separator != "." and self.separator in collection:
            # The separator may be a part of either name.
            return Recognized(rest)
        return Recognized(rest, database, collection)

    def _forms(self, database: str) -> Iterator[tuple[str, re.Pattern[str], str]]:
        """How topics with a collection's name are made: start, pattern of the rest, database if known."""
        known = {name for name in self.simple if "." not in name and database in ("", name)}
        templates = [(self.simple[name] + "{sep}{coll}", name) for name in sorted(known)]
        for pattern, template in self.patterns:
            if "coll" in template:
                start = _DATABASE.match(pattern)
                templates.append((template, database or (start[1] if start else "")))
        if not self.wildcard and database not in known:
            templates.append(("{db}{sep}{coll}", database))
        for template, name in templates:
            yield self._form(template, name)

    def _form(self, template: str, database: str) -> tuple[str, re.Pattern[str], str]:
        values = {**self._variables(database, "\0"), "db": database or "\1"}
        text = self.prefix + self._filled(template, values) + self.suffix
        start = re.split("[\0\1]", text, maxsplit=1)[0]
        rest = re.escape(text[len(start) :])
        # MongoDB does not allow a dot in a database's name.
        for mark, group, characters in (("\0", "coll", ".+"), ("\1", "db", "[^.]+?")):
            mark = re.escape(mark)
            rest = rest.replace(mark, f"(?P<{group}>{characters})", 1).replace(mark, f"(?P={group})")
        return start, re.compile(rest, re.DOTALL), database


def _may_start(pattern: str, database: str) -> bool:
    """Whether an expression may match collections of a database: what comes before its first special sign."""
    plain = re.match(r"(?:[\w$#-]|\\\.)*", pattern)
    start = literal(plain[0]) if plain else ""
    return not database or f"{database}.".startswith(start) or start.startswith(f"{database}.")
