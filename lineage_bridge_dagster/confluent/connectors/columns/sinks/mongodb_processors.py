"""The post processors of MongoDB's sink, which change a document before it is written.

Source: the packages `processor.field.projection` and `processor.field.renaming` of mongodb/mongo-kafka.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from lineage_bridge_dagster.confluent.connectors.columns.records import RecordNode
from lineage_bridge_dagster.confluent.connectors.config import split_list
from lineage_bridge_dagster.confluent.connectors.java_regex import (
    BadRegexError,
    full_matches,
    is_literal,
    literal,
)
from lineage_bridge_dagster.json_text import json_of

#: Steps that change no field, or only values.
_NEUTRAL = ("NullFieldValueRemover", "TimeseriesTimeFieldAutoConversion", "FieldValueTransformPostProcessor")
_ANY, _ALL = "*", "**"

Fields = dict[str, RecordNode]


@dataclass(slots=True)
class Document:
    """The fields of a record's key and value, which the steps change."""

    key: Fields
    value: Fields


def apply(step: str, setting: Callable[[str], str], document: Document) -> bool:
    """Apply one step; False if it is not known.

    Args:
        step: The name of its class, without the package.
        setting: The value of a key.
        document: Is changed.
    """
    if step in _NEUTRAL:
        return True
    if step == "KafkaMetaAdder":
        document.value["topic-partition-offset"] = RecordNode()
        document.value["CREATE_TIME"] = RecordNode()
        return True
    if step.endswith(("KeyProjector", "ValueProjector")):
        side = "key" if step.endswith("KeyProjector") else "value"
        kind = step.removesuffix("KeyProjector").removesuffix("ValueProjector")
        # A step does nothing unless the type is set to the list that it applies.
        chosen = setting(f"{side}.projection.type").lower()
        if _is_block(chosen) == _is_block(kind) and chosen not in ("", "none"):
            listed = setting(f"{side}.projection.list")
            setattr(document, side, projected(kind, listed, getattr(document, side)))
        return True
    if step in ("RenameByMapping", "RenameByRegExp", "RenameByRegex"):
        rename = _mapping(setting) if step == "RenameByMapping" else _expressions(setting)
        document.key = _renamed("key", document.key, rename)
        document.value = _renamed("value", document.value, rename)
        return True
    return False


def _is_block(kind: str) -> bool:
    return kind.lower() in ("blocklist", "blacklist")


def projected(kind: str, listed: str, fields: Mapping[str, RecordNode]) -> Fields:
    """The fields that a list of paths keeps, or those that it leaves.

    Args:
        kind: `allowlist` or `blocklist`, in any case, or their older names.
        listed: Paths with dots, in which `*` stands for one name and `**` for everything below.
        fields: The fields of the structure that the paths start at.
    """
    paths = split_list(listed)
    if _is_block(kind):
        found = dict(fields)
        for path in paths:
            found = _without(path, found)
        return found
    allowed = {*paths}
    for path in paths:
        parts = path.split(".")
        allowed.update(".".join(parts[:length]) for length in range(1, len(parts)))
    return _only(allowed, "", fields)


def _without(path: str, fields: Fields) -> Fields:
    first, dot, rest = path.partition(".")
    if first == _ALL:
        return {}
    if first == _ANY:
        # A leaf goes, and a structure only loses what the rest of the path names.
        return {name: _inside(node, rest) if dot else node for name, node in fields.items() if node.is_struct}
    if not dot and first.endswith(_ANY):
        return {name: node for name, node in fields.items() if not name.startswith(first[:-1])}
    if not dot:
        return {name: node for name, node in fields.items() if name != first}
    return {name: _inside(node, rest) if name == first else node for name, node in fields.items()}


def _inside(node: RecordNode, path: str) -> RecordNode:
    return node if not node.known else replace(node, fields=_without(path, dict(node.known)))


def _only(allowed: set[str], start: str, fields: Mapping[str, RecordNode]) -> Fields:
    if _ALL in allowed:
        return dict(fields)
    found: Fields = {}
    for name, node in fields.items():
        path = f"{start}.{name}" if start else name
        if path not in allowed and not _matches(allowed, path):
            continue
        if node.known and f"{path}.{_ALL}" not in allowed:
            node = replace(node, fields=_only(allowed, path, node.known))
        found[name] = node
    return found


def _matches(allowed: set[str], path: str) -> bool:
    """Whether a pattern allows a path: one with a `*` for a part, or for the end of its only part."""
    parts = path.split(".")
    for pattern in allowed:
        wanted = pattern.split(".")
        if len(wanted) == 1 and pattern != _ANY and pattern.endswith(_ANY) and path.startswith(pattern[:-1]):
            return True
        if len(wanted) == len(parts) and all(
            one in (_ANY, other) for one, other in zip(wanted, parts, strict=True)
        ):
            return True
    return False


Rename = Callable[[str, str], str]


def _renamed(path: str, fields: Mapping[str, RecordNode], rename: Rename) -> Fields:
    """Rename the fields of a structure and of those below it, but not of the elements of arrays."""
    found: Fields = {}
    moved: Fields = {}
    for name, node in fields.items():
        new = rename(path, name)
        if node.known and not node.array:
            node = replace(node, fields=_renamed(f"{path}.{new}", node.known, rename))
        if new == name:
            found[name] = node
        elif new not in fields:
            # A field that would replace another one is lost.
            moved.setdefault(new, node)
    return found | moved


def _mapping(setting: Callable[[str], str]) -> Rename:
    """The names of `field.renamer.mapping`, whose old ones start at `key` or `value`."""
    names = {
        str(item.get("oldName")): str(item.get("newName"))
        for item in _items(setting, "field.renamer.mapping")
    }
    return lambda path, name: names.get(f"{path}.{name}", name)


def _expressions(setting: Callable[[str], str]) -> Rename:
    """The replacements of `field.renamer.regexp`, for the paths that its expressions match."""
    items = _items(setting, "field.renamer.regexp")

    def rename(path: str, name: str) -> str:
        for item in items:
            pattern = str(item.get("pattern", ""))
            try:
                matches = full_matches(str(item.get("regexp", "")), [f"{path}.{name}"])
            except BadRegexError:
                continue
            if matches and is_literal(pattern):
                name = name.replace(literal(pattern), str(item.get("replace", "")))
        return name

    return rename


def _items(setting: Callable[[str], str], key: str) -> list[dict[str, Any]]:
    return [item for item in json_of(setting(key), list) or () if isinstance(item, dict)]
