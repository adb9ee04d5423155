"""JSON Schemas (drafts 4, 6, 7, 2019-09 and 2020-12) -> types.

Sources: the drafts for `type` and for the keywords of a schema, all of which apply; Confluent's page on data
types for Flink, whose tables Tableflow shares, and Connect's JSON Schema converter for `connect.type`, the
titles `org.apache.kafka.connect.data.*`, maps, and the properties of alternatives beside those of the object
itself, which are columns next to them; those of `then`, `else` and dependent schemas are too, or their values
would be lost. Flink names other alternatives by their positions, as Confluent's page
"Handle multiple event types" shows. An integer is a long and a number a double unless `connect.type` is
narrower; keywords that only constrain, such as `format`, `required`, `const` beside a type, `not` and `if`,
change nothing; an object without properties is a map if it says what its values are, else the JSON text.
Properties that a schema does not name are left out of the table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from lineage_bridge_dagster.schemas import types
from lineage_bridge_dagster.schemas.errors import SchemaError
from lineage_bridge_dagster.schemas.json_gatherer import CONNECT, Gatherer, Member, described
from lineage_bridge_dagster.schemas.json_nodes import JsonKind, JsonNode, Property
from lineage_bridge_dagster.schemas.json_references import HINT, Documents
from lineage_bridge_dagster.schemas.json_values import Alternative, Choice, Types, Value, agree
from lineage_bridge_dagster.schemas.schemas import RegisteredSchema
from lineage_bridge_dagster.schemas.types import joined

#: Connect's precision of a decimal that has none.
_DEFAULT_PRECISION = types.MAX_PRECISION

_CONNECT_TYPES = {
    "int8": JsonKind.INT,
    "int16": JsonKind.INT,
    "int32": JsonKind.INT,
    "int64": JsonKind.LONG,
    "float32": JsonKind.FLOAT,
    "float64": JsonKind.DOUBLE,
    "string": JsonKind.STRING,
    "bytes": JsonKind.BINARY,
    "boolean": JsonKind.BOOLEAN,
}
#: Pairs of alternatives that are one column, of the second one's type.
_WIDER = (
    (JsonKind.INT, JsonKind.LONG),
    (JsonKind.TIME, JsonKind.INT),
    (JsonKind.TIME, JsonKind.LONG),
    (JsonKind.FLOAT, JsonKind.DOUBLE),
    (JsonKind.LONG, JsonKind.DOUBLE),
)
_SIMPLE = {
    "string": JsonKind.STRING,
    "boolean": JsonKind.BOOLEAN,
    "integer": JsonKind.LONG,
    "number": JsonKind.DOUBLE,
}
#: Schemas of one type each.
_OF_TYPE: Mapping[str, Alternative] = {
    kind: Alternative("", "", Value(((schema, ""),)), schema)
    for kind in (*_SIMPLE, "object", "array")
    for schema in ({"type": kind},)
}
_ANY = JsonNode(JsonKind.ANY, nullable=True)
_UNKNOWN = JsonNode(JsonKind.UNKNOWN, nullable=True)


def json_node(schema: RegisteredSchema, on_error: Callable[[SchemaError], None] | None = None) -> JsonNode:
    """What a registered JSON Schema says of its values.

    Args:
        on_error: takes the errors of parts that no table can have, which are then of an unknown kind; without
            it, the first one is raised.

    Raises:
        SchemaError: the text is not a JSON Schema, a reference is missing, a type contains itself, or the
            schema is too deep or too large.
    """
    try:
        return _NodeReader(Gatherer(Documents(schema), on_error), on_error, titled=schema.first_format).root()
    except (TypeError, AttributeError, KeyError, ValueError, OverflowError) as error:
        raise SchemaError(f"The schema is not a JSON Schema ({error!r}).", hint=HINT) from error


class _NodeReader:
    def __init__(
        self, gatherer: Gatherer, on_error: Callable[[SchemaError], None] | None, *, titled: bool
    ) -> None:
        self._gatherer = gatherer
        self._on_error = on_error
        self._titled = titled
        self._nodes: dict[Value, JsonNode] = {}
        #: By level; a value that is among them contains itself.
        self._enclosing: list[Value] = []

    def root(self) -> JsonNode:
        return self._node(self._gatherer.root(), "")

    def _inner(self, value: Value, path: str, room: int = types.MAX_FIELDS) -> JsonNode:
        """The node of a part, or an unknown one if it is an error that somebody takes."""
        try:
            found = self._node(value, path)
            types.check_size(types.MAX_FIELDS - room + found.size, path)
        except SchemaError as error:
            if self._on_error is None:
                raise
            self._on_error(error)
            return _UNKNOWN
        return found

    def _node(self, value: Value, path: str) -> JsonNode:
        if (known := self._nodes.get(value)) is None:
            if value in self._enclosing:
                raise types.recursive(path, value.reference)
            self._gatherer.spend(path)
            types.check_depth(self._enclosing, path)
            self._enclosing.append(value)
            try:
                known = self._read(value, path)
            finally:
                self._enclosing.pop()
            types.check_size(known.size, path)
            self._nodes[value] = known
        if known.height:
            types.check_depth(range(len(self._enclosing) + known.height), path)
        return known

    def _read(self, value: Value, path: str) -> JsonNode:
        if value.is_null:
            return JsonNode(JsonKind.STRING, nullable=True)
        kinds, choice = value.kinds, _deciding(value)
        if any(kind not in _OF_TYPE for kind in kinds):
            return _ANY
        if not kinds and choice is None:
            return _UNKNOWN if self._gatherer.is_unknown(value) else _ANY
        if kinds == ("object",):
            node = self._object(value, choice, path)
        elif kinds == ("array",):
            node = self._array(value, choice, path)
        elif len(kinds) == 1 and (choice is None or any(value.said("connect.type"))):
            node = _scalar(value, kinds[0], path, titled=self._titled)
        else:
            return self._union(value, choice, kinds, path)
        return replace(node, nullable=True) if value.is_nullable else node

    def _object(self, value: Value, choice: Choice | None, path: str) -> JsonNode:
        is_row = any(value.said("properties")) or sum(each.is_shaped for each in value.choices) > 1
        others = self._gatherer.members(value, "additionalProperties", path) if not is_row else {}
        members = self._gatherer.members(value, "properties", path) if is_row else {}
        if others:
            return JsonNode(JsonKind.MAP, inner=self._inner(others["value"].value, joined(path, "value")))
        if not members:
            return self._union(value, choice, (), path) if choice else JsonNode(JsonKind.ANY)
        # Connect keeps the order of fields, which properties do not have, in an index.
        properties: list[Property] = []
        room = types.MAX_FIELDS
        for name, member in sorted(members.items(), key=lambda each: _index(each[1])):
            node = self._inner(member.value, joined(path, name), room)
            room -= node.size
            doc = next(filter(None, map(described, member.schemas)), "")
            properties.append(Property(name, node, name in value.required, doc, member.schemas))
        constants = (
            (name, constant)
            for name, member in members.items()
            for constant in member.value.said("const")
            if isinstance(constant, str)
        )
        return JsonNode(JsonKind.OBJECT, tuple(properties), constants=tuple(dict(constants).items()))

    def _array(self, value: Value, choice: Choice | None, path: str) -> JsonNode:
        found = self._gatherer.members(value, "items", path)
        if "element" not in found or (choice and not any("items" in schema for schema, _ in value.parts)):
            return self._union(value, choice, (), path) if choice else JsonNode(JsonKind.ARRAY, inner=_ANY)
        element = self._inner(found["element"].value, joined(path, "element"))
        if "map" in value.said("connect.type"):
            entry = {each.name: each.node for each in element.properties}
            if element.kind is JsonKind.OBJECT and {"key", "value"} <= entry.keys() and _is_key(entry["key"]):
                return JsonNode(JsonKind.MAP, inner=entry["value"], key=entry["key"])
        return JsonNode(JsonKind.ARRAY, inner=element)

    def _union(self, value: Value, choice: Choice | None, kinds: Types, path: str) -> JsonNode:
        """The node of a value that is one of several, by the alternatives of a choice, else by its types."""
        found: list[Property] = []
        for title, each, inner in self._alternatives(value, choice, kinds):
            self._gatherer.spend(path)
            name = title or f"connect_union_field_{len(found)}"
            node = self._inner(inner, path if not title else joined(path, name))
            found.append(Property(name, node, doc=each.doc, schemas=(each.schema,)))
        nodes = [each.node for each in found]
        nullable = bool(value.is_nullable) or any(node.nullable for node in nodes)
        if not nodes:
            return JsonNode(JsonKind.STRING, nullable=True)
        known = {node.kind for node in nodes}
        if len(set(nodes)) == 1:
            return replace(nodes[0], nullable=nullable)
        for vague in (JsonKind.UNKNOWN, JsonKind.ANY):
            if vague in known:
                return JsonNode(vague, nullable=True)
        for wider in _WIDER:
            if known == set(wider):
                return JsonNode(wider[1], nullable=nullable)
        return JsonNode(JsonKind.UNION, tuple(found), nullable=nullable)

    def _alternatives(
        self, value: Value, choice: Choice | None, kinds: Types
    ) -> Iterable[tuple[str, Alternative, Value]]:
        """The title of each alternative that is not null, itself, and what else holds of its value."""
        if choice is None:
            for kind in kinds:
                yield "", _OF_TYPE[kind], self._gatherer.narrowed(value, None, _OF_TYPE[kind].value)
            return
        titles = Counter(each.title.lower() for each in choice.alternatives if self._titled)
        own = _types_of_parts(value)
        for each in choice.alternatives:
            if each.value.is_null or not agree(own, each.value.types):
                continue
            # A title that several have tells none of them from the others.
            title = each.title if titles[each.title.lower()] == 1 else ""
            yield title, each, self._gatherer.narrowed(value, choice, each.value)


def _deciding(value: Value) -> Choice | None:
    """The choice whose alternatives are what a value is one of, if there is one."""
    shaped = [each for each in value.choices if each.is_shaped]
    if len(shaped) > 1 and len(value.kinds) == 1:
        # Their combinations would multiply, and all of them have this type.
        return None
    closed = [each for each in shaped if not each.is_open]
    knows = _types_of_parts(value) is not None or any(value.said("properties"))
    return next(iter(closed if knows else closed or shaped), None)


def _types_of_parts(value: Value) -> Types | None:
    return Value(value.parts).types


def _scalar(value: Value, kind: str, path: str, *, titled: bool) -> JsonNode:
    connect = next(value.said("connect.type"), None)
    titles = (str(each) for each in value.said("title"))
    title = next((each.removeprefix(CONNECT) for each in titles if each.startswith(CONNECT)), "")
    if title == "Decimal" and connect in (None, "bytes"):
        return _decimal(next(value.said("connect.parameters"), {}), kind, path)
    if kind in ("integer", "number"):
        if (local := "timestamp" in value.said("flink.type")) and not titled and not title:
            title = "Timestamp"
        temporal = {
            "Date": JsonKind.DATE,
            "Time": JsonKind.TIME,
            "Timestamp": JsonKind.TIMESTAMP if local else JsonKind.TIMESTAMPTZ,
        }
        if title in temporal:
            return JsonNode(temporal[title])
    return JsonNode(_CONNECT_TYPES.get(str(connect)) or _SIMPLE.get(kind) or JsonKind.ANY)


def _decimal(parameters: Mapping[str, Any], kind: str, path: str) -> JsonNode:
    precision = int(parameters.get("connect.decimal.precision", _DEFAULT_PRECISION))
    scale = int(parameters.get("scale", 0))
    column = types.decimal(precision, scale, path)
    written = JsonKind.DECIMAL_BASE64 if kind == "string" else JsonKind.DECIMAL_NUMBER
    return JsonNode(written, decimal=(column.precision, column.scale))


def _index(member: Member) -> int:
    found = (each.get("connect.index") for each in member.schemas if isinstance(each, dict))
    return next((each for each in found if isinstance(each, int)), 0)


def _is_key(node: JsonNode) -> bool:
    """Whether a map can have such keys: Spark's have none that contain maps."""
    return node.kind is not JsonKind.MAP and all(map(_is_key, node.nodes()))
