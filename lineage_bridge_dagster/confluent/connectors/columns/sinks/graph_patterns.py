"""Patterns of nodes and relationships in Neo4j's sink, and the properties that they set.

`(:User{!id, name, city: address.city})-[:BOUGHT{price}]->(:Product{!sku})`, or in short
`User{!id} BOUGHT{price} Product{!sku}`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lineage_bridge_dagster.confluent.connectors.columns.records import ConnectRecord, RecordNode
from lineage_bridge_dagster.confluent.connectors.columns.sinks.table import (
    NO_SCHEMA,
    WrittenColumn,
    column,
    unknown,
)

#: A label or type, or several labels, and the selection of properties after it.
_ELEMENT = re.compile(r"((?::?\s*(?:`[^`]+`|\w+)\s*)+)(?:\{([^{}]*)\})?", re.DOTALL)
_LABEL = re.compile(r"`([^`]+)`|(\w+)")
_VALUE, _KEY, _TIMESTAMP, _HEADER = "__value", "__key", "__timestamp", "__header"


@dataclass(frozen=True, slots=True)
class PropertyMapping:
    """A property, and the path of the field that it takes: `name`, or `name: path`."""

    path: tuple[str, ...]
    name: str

    @classmethod
    def of(cls, text: str) -> PropertyMapping:
        name, _, source = (part.strip().strip("`") for part in text.strip().lstrip("!+").partition(":"))
        return cls(tuple((source or name).split(".")), name)


@dataclass(frozen=True, slots=True)
class GraphElement:
    """A node or a relationship of a pattern.

    Attributes:
        label: The first label, or the type.
        keys: The properties that identify it.
        included: Further properties.
        excluded: Those that are left out.
        everything: Whether all fields of the value are properties, except those that others use.
    """

    label: str
    keys: tuple[PropertyMapping, ...]
    included: tuple[PropertyMapping, ...]
    excluded: tuple[str, ...]
    everything: bool

    @classmethod
    def of(cls, labels: str, selection: str) -> GraphElement:
        items = [item.strip() for item in selection.split(",") if item.strip()]
        found = _LABEL.search(labels)
        return cls(
            (found[1] or found[2]) if found else "",
            tuple(PropertyMapping.of(item) for item in items if item.startswith("!")),
            tuple(PropertyMapping.of(item) for item in items if item[0] not in "!-*"),
            tuple(item[1:].strip().strip("`") for item in items if item.startswith("-")),
            # A selection of identifying properties alone includes all others.
            "*" in items or all(item[0] in "!-" for item in items),
        )


def pattern_columns(pattern: str, record: ConnectRecord) -> Iterator[WrittenColumn]:
    """The properties that a pattern sets, as `Label.property`."""
    elements = [GraphElement.of(labels, selection) for labels, selection in _ELEMENT.findall(pattern)]
    if not elements or len(elements) not in (1, 3):
        yield from unknown("the pattern cannot be read")
        return
    used: set[tuple[str, ...]] = set()
    for element in elements:
        used.update(_place(mapping, record) for mapping in element.keys)
    if len(elements) > 1:
        # In a pattern of three elements, what one of them names is not among the rest that the others take.
        used.update(_place(mapping, record) for element in elements for mapping in element.included)
    for position, element in enumerate(elements):
        yield from _properties(element, record, used, is_rest=len(elements) == 1 or position == 1)


def _place(mapping: PropertyMapping, record: ConnectRecord) -> tuple[str, ...]:
    """The path of a field from the whole record, in the value unless it is only in the key."""
    first = mapping.path[0]
    if first in (_VALUE, _KEY, _HEADER, _TIMESTAMP):
        return mapping.path
    in_value = record.value is not None and record.value.at(*mapping.path) is not None
    in_key = record.key is not None and record.key.at(*mapping.path) is not None
    return (_KEY if in_key and not in_value else _VALUE, *mapping.path)


def _node(path: tuple[str, ...], record: ConnectRecord) -> RecordNode | None:
    first, *rest = path
    if first == _TIMESTAMP:
        return RecordNode()
    if first == _HEADER:
        return record.headers.get(".".join(rest), RecordNode())
    part = record.key if first == _KEY else record.value
    return part.at(*rest) if part is not None else None


def _flat(node: RecordNode) -> Iterator[tuple[tuple[str, ...], RecordNode]]:
    """The fields of structures below each other; a list is a property as a whole."""
    if not node.known or node.array:
        yield (), node
        return
    for name, child in node.known.items():
        for path, leaf in _flat(child):
            yield (name, *path), leaf
    if node.open:
        yield (), node


def _properties(
    element: GraphElement, record: ConnectRecord, used: set[tuple[str, ...]], *, is_rest: bool
) -> Iterator[WrittenColumn]:
    found: dict[str, WrittenColumn] = {}
    if element.everything and is_rest and record.value is not None:
        for path, leaf in _flat(record.value):
            if leaf.open or not path:
                found["*"] = WrittenColumn("*", unknown=leaf.unknown or NO_SCHEMA)
            elif (_VALUE, *path) not in used:
                found[".".join(path)] = column(".".join(path), leaf)
    for mapping in (*element.keys, *element.included):
        node = _node(_place(mapping, record), record)
        if node is None:
            found[mapping.name] = WrittenColumn(
                mapping.name, unknown=f"the record has no field {'.'.join(mapping.path)}"
            )
            continue
        for path, leaf in _flat(node):
            name = ".".join((mapping.name, *path))
            found[name] = column(name, leaf)
    keys = {mapping.name for mapping in element.keys}
    for item in found.values():
        if item.path in keys or not any(
            item.path == name or item.path.startswith(f"{name}.") for name in element.excluded
        ):
            yield WrittenColumn(f"{element.label}.{item.path}", item.sources, item.unknown)
