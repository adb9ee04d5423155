"""The properties that a Cypher statement sets of the record that it is run for.

Only what is written out is told: properties in the patterns of `CREATE` and `MERGE`, and in `SET`. Where a
whole map is set (`SET n += event`), its fields are the properties if a schema names them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from lineage_bridge_dagster.confluent.connectors.columns.records import ConnectRecord, RecordNode
from lineage_bridge_dagster.confluent.connectors.columns.sinks.table import (
    NO_SCHEMA,
    WrittenColumn,
    joined,
    tree,
    unknown,
)
from lineage_bridge_dagster.confluent.connectors.config import Config

_NAME = r"(?:`[^`]++`|[A-Za-z_]\w*+)"
_STRING = re.compile(r"'(?:[^'\\]|\\.)*+'|\"(?:[^\"\\]|\\.)*+\"|//[^\n]*+")
_SPACE = re.compile(r"\s++")
#: A node `(p:Person {...})` or a relationship `[r:KNOWS {...}]`, in a text with single spaces.
_ELEMENT = re.compile(
    rf"[(\[] ?({_NAME})? ?(?:: ?({_NAME})(?: ?: ?{_NAME})*+)? ?(?:\{{([^{{}}]*+)\}})? ?[)\]]"
)
_PATH = re.compile(rf"(?<![\w.`$])\$?({_NAME})((?:\.{_NAME})*+)(?! ?[\w`(])")
_CLAUSE = re.compile(
    r"\b(CREATE|MERGE|MATCH|WHERE|SET|WITH|UNWIND|RETURN|FOREACH|CALL|DELETE|REMOVE)\b", re.IGNORECASE
)
_ALIAS = re.compile(rf"(?<![\w.`$])({_NAME}(?:\.{_NAME})*+) AS ({_NAME})", re.IGNORECASE)
_ASSIGNED = re.compile(rf"({_NAME})(?:\.({_NAME}))? ?(\+?=) ?(.+)")

Bound = Mapping[str, RecordNode | None]


def bound_names(config: Config, record: ConnectRecord) -> dict[str, RecordNode | None]:
    """What the names in a statement stand for, before it gives any of its own."""
    prefix = "neo4j.cypher.bind-"
    found: dict[str, RecordNode | None] = {
        config.get(prefix + "value-as", default="__value"): record.value,
        config.get(prefix + "key-as", default="__key"): record.key,
        config.get(prefix + "header-as", default="__header"): RecordNode(fields=record.headers, open=True),
        config.get(prefix + "timestamp-as", default="__timestamp"): RecordNode(),
    }
    if config.flag(prefix + "value-as-event", True):
        found["event"] = record.value
    return found


def assigned(statement: str, bound: Bound) -> Iterator[WrittenColumn]:
    """The properties that a statement sets, as `Label.property`, each with the fields in its expression."""
    text = _SPACE.sub(" ", _STRING.sub("''", statement)).replace(" .", ".").replace(". ", ".")
    names = {**bound, **dict(_aliases(text, bound))}
    labels: dict[str, str] = {}
    found: dict[str, list[WrittenColumn]] = {}

    def add(items: Iterable[WrittenColumn]) -> None:
        for item in items:
            found.setdefault(item.path, []).append(item)

    clauses = [*_CLAUSE.finditer(text)]
    ends = [*(clause.start() for clause in clauses), len(text)][1:]
    for clause, end in zip(clauses, ends, strict=True):
        body = text[clause.end() : end]
        word = clause[1].upper()
        if word in ("MERGE", "CREATE", "MATCH"):
            for variable, label, properties in _ELEMENT.findall(body):
                label = _plain(label) or labels.get(_plain(variable), "")
                if variable and label:
                    labels[_plain(variable)] = label
                if word != "MATCH" and label:
                    add(_written(label, properties, names))
        elif word == "SET":
            for item in _split(body):
                add(_set(item, labels, names))
    # A map of unknown names may set any property of its label again.
    open_labels = {path.removesuffix(".*") for path in found if path.endswith(".*")}
    for path, items in found.items():
        reason = next((item.unknown for item in items if item.unknown), "")
        if not reason and path.rpartition(".")[0] in open_labels:
            reason = "a map whose fields no schema names may set it, too"
        sources = frozenset[str]().union(*(item.sources for item in items))
        yield WrittenColumn(path, frozenset() if reason else sources, reason)
    if not found:
        yield from unknown("the statement sets no property that is written out")


def _aliases(text: str, bound: Bound) -> Iterator[tuple[str, RecordNode | None]]:
    """The names of `UNWIND event.items AS item` and `WITH event.id AS id`."""
    for source, alias in _ALIAS.findall(text):
        first, *rest = [_plain(part) for part in source.split(".")]
        node = bound.get(first)
        if first in bound:
            yield _plain(alias), node.at(*rest) if node is not None else None


def _plain(name: str) -> str:
    return name.strip().strip("`")


def _split(text: str) -> list[str]:
    """The items of a list, at commas that no bracket encloses."""
    parts, depth, start = [], 0, 0
    for position, sign in enumerate(text):
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and depth == 0:
            parts.append(text[start:position])
            start = position + 1
    return [part for part in [*parts, text[start:]] if part.strip()]


def _written(label: str, properties: str, names: Bound) -> Iterator[WrittenColumn]:
    for item in _split(properties):
        name, colon, expression = item.partition(":")
        if colon:
            yield joined(f"{label}.{_plain(name)}", _parts(expression, names))


def _set(item: str, labels: Mapping[str, str], names: Bound) -> Iterator[WrittenColumn]:
    match = _ASSIGNED.fullmatch(item.strip())
    label = labels.get(_plain(match[1]), "") if match else ""
    if match is None or not label:
        return
    if match[2]:
        yield joined(f"{label}.{_plain(match[2])}", _parts(match[4], names))
        return
    value = match[4].strip()
    if value.startswith("{"):
        yield from _written(label, value.strip("{}"), names)
        return
    nodes = _parts(value, names)
    if len(nodes) == 1 and nodes[0].is_struct:
        yield from tree(nodes[0], label)
    else:
        yield from unknown(NO_SCHEMA, f"{label}.*")


def _parts(expression: str, names: Bound) -> list[RecordNode]:
    """What an expression is made of: the fields that it reads."""
    found: list[RecordNode] = []
    for name, path in _PATH.findall(expression):
        node = names.get(_plain(name))
        if node is not None:
            inner = node.at(*(_plain(part) for part in path.split(".") if part.strip()))
            found.append(
                inner if inner is not None else RecordNode(unknown=f"the record has no {_plain(name)}{path}")
            )
    return found
