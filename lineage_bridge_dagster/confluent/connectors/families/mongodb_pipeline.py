"""Which collections a MongoDB change stream is limited to, by the `$match` stages of its `pipeline`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate, product
from typing import Any

from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.java_regex import BadRegexError, finds
from lineage_bridge_dagster.confluent.connectors.table_patterns import alternatives

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
            return alternatives(anchored[1]) or None
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
