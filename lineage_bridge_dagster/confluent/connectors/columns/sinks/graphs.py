"""Properties of Neo4j's nodes and relationships, by label or type.

Sources: `PatternParser.g4`, `PatternEventTransformer` and `CypherEventTransformer` of
neo4j/neo4j-kafka-connector. The older connector has the same strategies under other keys. A Cypher
statement tells only the properties that it spells out, in the patterns of `CREATE` and `MERGE` and in
`SET`. Where a whole map is set (`SET n += event`), its fields are the properties if a schema names them. A
pattern is `(:User{!id, name, city: address.city})-[:BOUGHT{price}]->(:Product{!sku})`, or in short
`User{!id} BOUGHT{price} Product{!sku}`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from lineage_bridge_dagster.confluent.connectors.columns.records import ConnectRecord, RecordNode
from lineage_bridge_dagster.confluent.connectors.columns.sinks.table import (
    NO_SCHEMA,
    SinkDataset,
    WrittenColumn,
    column,
    joined,
    tree,
    unknown,
    writes,
)
from lineage_bridge_dagster.confluent.connectors.config import Config, split_list

_NAME = r"(?:`[^`]++`|[A-Za-z_]\w*+)"
_STRING = re.compile(r"'(?:[^'\\]|\\.)*+'|\"(?:[^\"\\]|\\.)*+\"|//[^\n]*+")
_SPACE = re.compile(r"\s++")
#: A node `(p:Person {...})` or a relationship `[r:KNOWS {...}]`, in a text with single spaces.
_CYPHER_ELEMENT = re.compile(
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
            for variable, label, properties in _CYPHER_ELEMENT.findall(body):
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


#: The lists of topics whose records are themselves changes of a graph.
_CHANGES = (
    "neo4j.cud.topics",
    "neo4j.cdc.schema.topics",
    "neo4j.cdc.source-id.topics",
    "neo4j.topic.cud",
    "neo4j.topic.cdc.schema",
    "neo4j.topic.cdc.sourceId",
)


@writes("neo4j")
def neo4j(table: SinkDataset) -> Iterator[WrittenColumn]:
    """The properties that the topic's strategy sets, below a label or a relationship's type."""
    for each in _by_strategy(table):
        label, dot, name = each.path.partition(".")
        place = f"{table.dataset.rpartition('/')[0]}/{label}"
        yield replace(each, path=name, place=place) if dot else each


def _by_strategy(table: SinkDataset) -> Iterator[WrittenColumn]:
    """The properties with the label or type before their names."""
    config, topic = table.config, table.topic
    for key in ("neo4j.pattern.topic.", "neo4j.topic.pattern.node.", "neo4j.topic.pattern.relationship."):
        if pattern := config.get(key + topic):
            yield from pattern_columns(pattern, table.record)
            return
    if statement := config.get(f"neo4j.cypher.topic.{topic}", f"neo4j.topic.cypher.{topic}"):
        yield from assigned(statement, bound_names(config, table.record))
        return
    listed = any(topic in split_list(config.get(key).replace(";", ",")) for key in _CHANGES)
    what = "the record itself says which labels and properties it changes"
    yield from unknown(what if listed else "no strategy is set for the topic")
