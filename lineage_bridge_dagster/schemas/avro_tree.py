"""An Avro schema as a tree, in which names are resolved and logical types decided. Pure.

A text is read as far as it goes: what is no schema is a node with a `problem`, at which a table's columns and
a registry's rules raise, and which a page of what there is passes over.

Names are resolved as by `ParseContext` of Apache Avro 1.12: a name is one of the namespace around it, else
one without a namespace, and its type may be defined later. A namespace of null is none, so that the one
around it counts; an empty one is that of names without a namespace.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import orjson

from lineage_bridge_dagster.schemas.errors import SchemaError

PRIMITIVE_KINDS = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})
NAMED_KINDS = frozenset({"record", "enum", "fixed"})
TOO_DEEP = "is nested too deeply"
#: Digits of Iceberg's decimals; scales beyond them are Connect's.
_MAX_SCALE = 38
#: Logical type -> the types that it may annotate. Avro ignores it elsewhere.
_LOGICAL: Mapping[str, Sequence[str]] = {
    "decimal": ("bytes", "fixed"),
    "uuid": ("string", "fixed"),
    "date": ("int",),
    "time-millis": ("int",),
    "time-micros": ("long",),
    "timestamp-millis": ("long",),
    "timestamp-micros": ("long",),
    "local-timestamp-millis": ("long",),
    "local-timestamp-micros": ("long",),
}
_PARTS = {"array": "items", "map": "values"}


class AvroField(NamedTuple):
    """A field of a record.

    Attributes:
        schema: Its JSON: its documentation, default and aliases.
    """

    name: str
    type: AvroNode
    schema: Mapping[str, Any]


class AvroNode:
    """A schema. Two of them are the same only if they are one object, as types may refer to themselves.

    Attributes:
        kind: `record` (an `error` too), `enum`, `fixed`, `array`, `map`, `union` or a primitive; empty of a
            schema that stands for another one, and of what is no schema.
        schema: Its JSON.
        name: The full name of a named type; of the use of a name, the one that it was looked for by.
        fields: Those of a record.
        inner: The branches of a union; the type of an array's elements or a map's values.
        present: The branches of a union that are not null.
        nullable: Whether it is a union with null.
        plain: The primitive type, if the schema is its name, or null or that.
        logical: The logical type, if it is valid or one that Avro does not define; else empty.
        decimal: The precision and scale of a decimal; None of any other.
        target: What it stands for: the type of a name, or what `{"type": {...}}` wraps.
        problem: Why it is no schema, as what a field is or has; empty if it is one.
    """

    name: str = ""
    fields: Sequence[AvroField] = ()
    inner: Sequence[AvroNode] = ()
    present: Sequence[AvroNode] = ()
    nullable: bool = False
    plain: str = ""
    logical: str = ""
    decimal: tuple[int, int] | None = None
    target: AvroNode | None = None
    problem: str = ""

    def __init__(self, kind: str, schema: Any) -> None:
        self.kind = kind
        self.schema = schema

    @property
    def resolved(self) -> AvroNode:
        """The schema that it stands for."""
        node = self
        while node.target is not None:
            node = node.target
        return node

    @property
    def label(self) -> str:
        """Its name without the namespace, or its kind."""
        return self.name.rpartition(".")[2] or self.kind

    @property
    def only(self) -> AvroNode:
        """The schema of its values that are not null, if they have one in common; else the union."""
        node = self.resolved
        while len(node.present) == 1:
            node = node.present[0].resolved
        return node

    @property
    def entry(self) -> tuple[AvroNode, AvroNode] | None:
        """Key and value, if it is the array that Connect or Flink makes of a map without text keys."""
        if self.kind != "array" or (record := self.inner[0].resolved).kind != "record":
            return None
        mark = self.schema.get("logicalType") or record.schema.get("connect.internal.type")
        if record.name != _MAP_ENTRY and mark not in ("map", "MapEntry"):
            return None
        fields = {each.name: each.type for each in record.fields}
        return (fields["key"], fields["value"]) if fields.keys() == {"key", "value"} else None

    @property
    def capacity(self) -> int:
        """The most digits that the bytes of a decimal hold: those of a `fixed` are limited by its size."""
        if self.kind == "bytes":
            return sys.maxsize
        size = self.schema.get("size") if not self.problem else 0
        return len(str(2 ** (8 * size - 1) - 1)) - 1 if size else 0

    def all(self) -> Iterator[AvroNode]:
        """Each schema within it, itself included, once."""
        seen: set[AvroNode] = set()
        pending = [self.resolved]
        while pending:
            node = pending.pop()
            if node not in seen:
                seen.add(node)
                yield node
                pending += [each.resolved for each in node.inner]
                pending += [each.type.resolved for each in node.fields]


@lru_cache(maxsize=16)
def avro_tree(text: str) -> AvroNode:
    """Read a schema that refers to no other; several facts of it are asked for in turn."""
    reader = _AvroReader()
    found = reader.read_text(text)
    reader.finish()
    return found


def avro_trees(texts: Iterable[str]) -> list[AvroNode]:
    """Read schemas that refer to each other's names, in any order."""
    reader = _AvroReader()
    found = [reader.read_text(each) for each in texts]
    reader.finish()
    return found


def _nullable(kind: str, node: AvroNode) -> AvroNode:
    found = AvroNode("union", ["null", kind])
    found.inner, found.present = (_PRIMITIVES["null"], node), (node,)
    found.plain, found.nullable = kind, True
    return found


_MAP_ENTRY = "io.confluent.connect.avro.MapEntry"
#: Most fields have one of these types, for which all schemas share the nodes.
_PRIMITIVES = {kind: AvroNode(kind, kind) for kind in sorted(PRIMITIVE_KINDS)}
for _kind, _node in _PRIMITIVES.items():
    _node.plain = _kind
_NULLABLE = {kind: _nullable(kind, node) for kind, node in _PRIMITIVES.items() if kind != "null"}


def full_name(name: str, namespace: str) -> str:
    """The namespace and the name of a type, joined by a dot.

    >>> full_name("Address", "shop"), full_name("geo.Address", "shop"), full_name("Address", "")
    ('shop.Address', 'geo.Address', 'Address')
    """
    return name if "." in name or not namespace else f"{namespace}.{name}"


class _AvroReader:
    """The names that the texts read so far define, and the uses of others."""

    def __init__(self) -> None:
        self._named: dict[str, AvroNode] = {}
        self._waiting: list[AvroNode] = []

    def read_text(self, text: str) -> AvroNode:
        try:
            return self._read(_document(text), "")
        except RecursionError:
            return _problem(text, TOO_DEEP)
        except ValueError as error:
            return _problem(text, f"is not JSON: {error}")

    def finish(self) -> None:
        """Resolve the names that were used before the types that they name."""
        for node in self._waiting:
            node.target = self._named.get(node.name)
            if node.target is None:
                node.problem = f"has the type {_word(node.schema)}, which the schema does not define"

    def _read(self, schema: Any, namespace: str) -> AvroNode:
        if isinstance(schema, str):
            return _PRIMITIVES.get(schema) or self._use(schema, schema, namespace)
        if isinstance(schema, list):
            node = AvroNode("union", schema)
            node.inner = [self._read(each, namespace) for each in schema]
            node.present = [each for each in node.inner if each.kind != "null"]
            node.nullable = len(node.present) < len(node.inner)
            return node
        if not isinstance(schema, dict):
            return _problem(schema, f"is not a schema: {excerpt(schema)}")
        kind = schema.get("type")
        if not isinstance(kind, str):
            return self._without_type(schema, namespace)
        if kind in PRIMITIVE_KINDS:
            node = AvroNode(kind, schema)
        elif part := _PARTS.get(kind):
            node = AvroNode(kind, schema)
            node.inner = (self._read(schema.get(part), namespace),)
            if part not in schema:
                node.problem = f"is a schema without {part}: {excerpt(schema)}"
        elif kind in NAMED_KINDS or kind == "error":
            node = self._definition(schema, "record" if kind == "error" else kind, namespace)
        else:
            return self._use(kind, schema, namespace)
        if "logicalType" in schema:
            node.decimal = _decimal(node)
            node.logical = _logical(node)
        return node

    def _without_type(self, schema: Mapping[str, Any], namespace: str) -> AvroNode:
        node = AvroNode("", schema)
        if isinstance(kind := schema.get("type"), list | dict):
            node.target = self._read(kind, namespace)
            return node
        # No registry takes it, and its fields are worth showing.
        node = self._definition(schema, "record", namespace) if "fields" in schema else node
        node.problem = f"is a schema without a type: {excerpt(schema)}"
        return node

    def _use(self, name: str, schema: Any, namespace: str) -> AvroNode:
        node = AvroNode("", schema)
        node.name = full_name(name, namespace)
        node.target = self._named.get(node.name) or self._named.get(name)
        if node.target is None:
            self._waiting.append(node)
        return node

    def _definition(self, schema: Mapping[str, Any], kind: str, namespace: str) -> AvroNode:
        name, declared = schema.get("name"), schema.get("namespace")
        namespace = declared if isinstance(declared, str) else namespace
        node = AvroNode(kind, schema)
        if isinstance(name, str):
            node.name = full_name(name, namespace)
            self._named[node.name] = node
            namespace = node.name.rpartition(".")[0]
        else:
            node.problem = f"is a {kind} without a name: {excerpt(schema)}"
        if kind == "fixed" and not (type(size := schema.get("size")) is int and size >= 0):
            node.problem = node.problem or f"is a fixed without a valid size: {excerpt(schema)}"
        if kind == "record":
            fields = schema.get("fields")
            if isinstance(fields, list):
                node.fields = self._fields(fields, namespace)
            else:
                node.problem = node.problem or f"is a record without a list of fields: {excerpt(schema)}"
        return node

    def _fields(self, fields: Iterable[Any], namespace: str) -> list[AvroField]:
        found = []
        for each in fields:
            node = None
            if not isinstance(each, dict) or not isinstance(name := each.get("name"), str):
                node = _problem(None, f"has a field without a name: {excerpt(each)}")
                found.append(AvroField("", node, each if isinstance(each, dict) else {}))
                continue
            kind = each.get("type")
            if kind.__class__ is str:
                node = _PRIMITIVES.get(kind)
            elif kind.__class__ is list and len(kind) == 2 and kind[0] == "null" and kind[1].__class__ is str:
                node = _NULLABLE.get(kind[1])
            elif kind is None:
                node = _problem(None, "has no type")
            # What the constructor does, in a third of its time: schemas have many fields.
            field = (name, node or self._read(kind, namespace), each)
            found.append(tuple.__new__(AvroField, field))
        return found


def _document(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        # It refuses what schemas may have, such as NaN, and tells nothing else of what is nested too deeply.
        return json.loads(text)


def _problem(schema: Any, problem: str) -> AvroNode:
    node = AvroNode("", schema)
    node.problem = problem
    return node


def _logical(node: AvroNode) -> str:
    name = node.schema["logicalType"]
    if not isinstance(name, str) or node.kind not in _LOGICAL.get(name, (node.kind,)):
        return ""
    return name if name != "decimal" or node.decimal else ""


def _decimal(node: AvroNode) -> tuple[int, int] | None:
    """The precision and scale of a decimal.

    Avro's specification has readers ignore a logical type that is invalid: without a precision, with a scale
    beyond it, or of a `fixed` that is too small.
    """
    schema = node.schema
    if schema["logicalType"] != "decimal" or node.kind not in _LOGICAL["decimal"]:
        return None
    precision, scale = schema.get("precision"), schema.get("scale", 0)
    if not isinstance(precision, int) or precision < 1 or not isinstance(scale, int) or scale < 0:
        return None
    # Connect writes a NUMBER without a scale with scale 127 and precision 64: still a decimal.
    if precision < scale <= _MAX_SCALE:
        return None
    return (precision, scale) if precision <= node.capacity else None


def _word(schema: Any) -> str:
    """A name as it is used: `Address`, or the type of `{"type": "Address"}`."""
    return str(schema.get("type") if isinstance(schema, dict) else schema)


def excerpt(schema: Any) -> str:
    """The beginning of a schema, for a message."""
    text = json.dumps(schema)
    return text if len(text) <= 80 else f"{text[:77]}..."


def rewritten(root: AvroNode, change: Callable[[AvroNode, Any], Any] = lambda _, schema: schema) -> Any:
    """The JSON of a schema, in which each type is defined where it is first used.

    Args:
        change: What each schema becomes, from the inside out: it gets the node, and its JSON with what is
            within it changed already.
    """
    placed: set[AvroNode] = set()

    def of(node: AvroNode, *, moved: bool = False) -> Any:
        if node in placed:
            return node.name
        if node.name and not node.kind:
            is_placed = node.target is None or node.target in placed
            return change(node, node.schema) if is_placed else of(node.resolved, moved=True)
        if node.kind in NAMED_KINDS:
            placed.add(node)
        schema = node.schema
        if node.kind == "union":
            schema = [of(each) for each in node.inner]
        elif isinstance(schema, dict):
            schema = dict(schema)
            if moved:
                schema["namespace"] = node.name.rpartition(".")[0]
            if node.target is not None:
                schema["type"] = of(node.target)
            if part := _PARTS.get(node.kind):
                schema[part] = of(node.inner[0])
            if node.fields:
                schema["fields"] = [
                    {**each.schema, "type": of(each.type)} if "type" in each.schema else each.schema
                    for each in node.fields
                ]
        return change(node, schema)

    return of(root)


def inlined_avro(text: str, references: Sequence[tuple[str, str]]) -> str:
    """Put each type that a schema takes from its references where the schema first uses it.

    Args:
        references: The name under which a schema is referred to -> its text, in any order. Texts define the
            types; the names are those of the registry alone.

    Raises:
        SchemaError: A text is no schema.
    """
    if not references:
        return text
    trees = avro_trees([*(each for _, each in references), text])
    for each in trees:
        if each.problem and not each.name:
            raise SchemaError(
                f"A schema, or one that it refers to, {each.problem}.", hint="Correct the schema."
            )
    return json.dumps(rewritten(trees[-1]), ensure_ascii=False)
