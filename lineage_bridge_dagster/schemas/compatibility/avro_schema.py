"""Avro schemas as Apache Avro 1.12 parses them for a registry: strict names, validated defaults.

A name may be used before the type that it names is defined.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from lineage_bridge_dagster.schemas import types
from lineage_bridge_dagster.schemas.compatibility.violation import InvalidSchema

PRIMITIVE_KINDS = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})
NAMED_KINDS = frozenset({"record", "enum", "fixed"})
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(eq=False, slots=True)
class AvroField:
    """A field of a record.

    Attributes:
        aliases: Other names by which it finds a writer's field.
        default: Its default as JSON.
        has_default: Whether there is one.
    """

    name: str
    type: AvroSchema
    aliases: tuple[str, ...] = ()
    default: Any = None
    has_default: bool = False


@dataclass(eq=False, slots=True)
class AvroSchema:
    """A schema. Two of them are the same only if they are one object, as types may refer to themselves.

    Attributes:
        kind: `record`, `enum`, `fixed`, `array`, `map`, `union` or a primitive; empty of a name that is not
            resolved yet.
        name: The full name of a named type.
        aliases: The full names that it also reads.
        fields: Those of a record.
        default: The symbol that replaces unknown symbols of an enum; empty without one.
        size: Bytes of a fixed.
        inner: The branches of a union; the type of an array's elements or a map's values.
    """

    kind: str
    name: str = ""
    aliases: frozenset[str] = frozenset()
    fields: dict[str, AvroField] = field(default_factory=dict)
    symbols: tuple[str, ...] = ()
    default: str = ""
    size: int = 0
    inner: list[AvroSchema] = field(default_factory=list)

    @property
    def label(self) -> str:
        """Its name without the namespace, or its kind."""
        return self.name.rpartition(".")[2] or self.kind


def parse_avro(text: str, references: Iterable[str] = (), *, validate_defaults: bool = True) -> AvroSchema:
    """Parse a schema.

    Args:
        references: The texts that define the names it uses, each after those that it needs itself.
        validate_defaults: Whether defaults must fit their fields, as those of a new version must.

    Raises:
        InvalidSchema: A text is not a schema.
        SchemaError: It is nested too deeply.
    """
    parser = _AvroParser(validate_defaults=validate_defaults)
    try:
        for each in references:
            parser.parse(_document(each))
        return parser.parse(_document(text))
    except RecursionError as error:
        raise types.too_deep("The schema") from error


def _document(text: str) -> Any:
    def refuse(constant: str) -> NoReturn:
        raise ValueError(constant)

    try:
        return json.loads(text, parse_constant=refuse)
    except ValueError as error:
        raise InvalidSchema(f"it is not JSON: {error}") from error


class _AvroParser:
    """The names that the texts parsed so far define."""

    def __init__(self, *, validate_defaults: bool) -> None:
        self._validates = validate_defaults
        self._named: dict[str, AvroSchema] = {}
        self._open: set[str] = set()
        self._path: list[str] = []
        self._unresolved: list[tuple[AvroSchema, str]] = []
        #: A field, its column, and the records that are not complete where it is declared.
        self._fields: list[tuple[AvroField, str, frozenset[str]]] = []

    def parse(self, document: Any) -> AvroSchema:
        self._path, self._unresolved, self._fields = [], [], []
        root = self._schema(document, "")
        for used, column in self._unresolved:
            if used.name not in self._named:
                raise InvalidSchema(f"it uses {used.name}, which it does not define", column)
        root = self._resolved(root)
        for schema in list(_all_schemas(root)):
            schema.inner = [self._resolved(each) for each in schema.inner]
            for member in schema.fields.values():
                member.type = self._resolved(member.type)
        for member, column, incomplete in self._fields if self._validates else ():
            _check_default(member, column, incomplete)
        return root

    def _resolved(self, schema: AvroSchema) -> AvroSchema:
        return schema if schema.kind else self._named[schema.name]

    def _schema(self, node: Any, namespace: str) -> AvroSchema:
        match node:
            case str():
                return self._find(node, namespace)
            case list():
                return self._union(node, namespace)
            case {"type": str(kind)}:
                return self._typed(node, kind, namespace)
            case dict():
                raise InvalidSchema(f"{_excerpt(node)} has no type")
        raise InvalidSchema(f"{_excerpt(node)} is not a schema")

    def _find(self, name: str, namespace: str) -> AvroSchema:
        if name in PRIMITIVE_KINDS:
            return AvroSchema(name)
        full = _full_name(name, namespace)
        found = self._named.get(full) or self._named.get(name)
        if found is None:
            found = AvroSchema("", full)
            self._unresolved.append((found, ".".join(self._path)))
        return found

    def _union(self, node: list[Any], namespace: str) -> AvroSchema:
        branches = [self._schema(each, namespace) for each in node]
        seen = set()
        for each in branches:
            if each.kind == "union":
                raise InvalidSchema(f"the union {_excerpt(node)} is nested in another one")
            key = each.name or each.kind
            if key in seen:
                raise InvalidSchema(f"{key} is twice in the union {_excerpt(node)}")
            seen.add(key)
        return AvroSchema("union", inner=branches)

    def _typed(self, node: Mapping[str, Any], kind: str, namespace: str) -> AvroSchema:
        if kind in PRIMITIVE_KINDS:
            return AvroSchema(kind)
        if kind in ("array", "map"):
            part = "items" if kind == "array" else "values"
            if part not in node:
                raise InvalidSchema(f"the {kind} {_excerpt(node)} has no {part}")
            return AvroSchema(kind, inner=[self._schema(node[part], namespace)])
        if kind in NAMED_KINDS or kind == "error":
            return self._definition(node, "record" if kind == "error" else kind, namespace)
        return self._find(kind, namespace)

    def _definition(self, node: Mapping[str, Any], kind: str, namespace: str) -> AvroSchema:
        if not isinstance(node.get("name"), str):
            raise InvalidSchema(f"the {kind} {_excerpt(node)} has no name")
        declared = node.get("namespace")
        full = _full_name(node["name"], declared if isinstance(declared, str) else namespace)
        if full.rpartition(".")[2] in PRIMITIVE_KINDS and "." not in full:
            raise InvalidSchema(f"a type cannot be named {full}")
        for part in full.split("."):
            _check_name(part)
        inner = full.rpartition(".")[0]
        aliases = frozenset(_full_name(each, inner) for each in _aliases(node))
        schema = AvroSchema(kind, full, aliases)
        if kind == "enum":
            self._add_symbols(schema, node)
        elif kind == "fixed":
            size = node.get("size")
            if not isinstance(size, int) or isinstance(size, bool) or size < 0:
                raise InvalidSchema(f"the fixed {full} has no valid size: {_excerpt(size)}")
            schema.size = size
        self._define(schema)
        if kind == "record":
            self._open.add(full)
            self._add_fields(schema, node, inner)
            self._open.discard(full)
        return schema

    def _define(self, schema: AvroSchema) -> None:
        """Note a name; the same enum or fixed may come again, and a record within itself."""
        known = self._named.setdefault(schema.name, schema)
        same = (known.kind, known.symbols, known.size) == (schema.kind, schema.symbols, schema.size)
        is_open = schema.kind != "record" or schema.name in self._open
        if known is not schema and not (same and is_open):
            raise InvalidSchema(f"{schema.name} is defined twice")

    def _add_fields(self, record: AvroSchema, node: Mapping[str, Any], namespace: str) -> None:
        if not isinstance(node.get("fields"), list):
            raise InvalidSchema(f"the record {record.name} has no fields")
        for each in node["fields"]:
            if not isinstance(each, Mapping) or not isinstance(each.get("name"), str):
                raise InvalidSchema(f"a field of {record.name} has no name: {_excerpt(each)}")
            self._path.append(each["name"])
            try:
                self._add_field(record, each, namespace)
            except InvalidSchema as error:
                error.column = error.column or ".".join(self._path)
                raise
            self._path.pop()

    def _add_field(self, record: AvroSchema, node: Mapping[str, Any], namespace: str) -> None:
        name = node["name"]
        if "type" not in node:
            raise InvalidSchema(f"the field {name} of {record.name} has no type")
        kind = self._schema(node["type"], namespace)
        _check_name(name)
        if name in record.fields:
            raise InvalidSchema(f"the field {name} is twice in {record.name}")
        order = node.get("order", "ascending")
        if str(order).lower() not in ("ascending", "descending", "ignore"):
            raise InvalidSchema(f"the field {name} has the unknown order {order}")
        found = AvroField(name, kind, _aliases(node), node.get("default"), "default" in node)
        record.fields[name] = found
        self._fields.append((found, ".".join(self._path), frozenset(self._open)))

    def _add_symbols(self, enum: AvroSchema, node: Mapping[str, Any]) -> None:
        symbols = node.get("symbols")
        if not isinstance(symbols, list):
            raise InvalidSchema(f"the enum {enum.name} has no symbols")
        for each in symbols:
            _check_name(each)
        if len(set(symbols)) < len(symbols):
            raise InvalidSchema(f"a symbol is twice in the enum {enum.name}")
        default = node.get("default")
        if isinstance(default, str) and default not in symbols:
            raise InvalidSchema(f"the default of the enum {enum.name} is {default}, none of its symbols")
        enum.symbols = tuple(symbols)
        enum.default = default if isinstance(default, str) else ""


def is_value_of(schema: AvroSchema, value: Any, incomplete: frozenset[str] = frozenset()) -> bool:
    """Whether a default of JSON is one of a schema; of a union, of any of its branches.

    Args:
        incomplete: The names of records that have no values yet.
    """
    match schema.kind:
        case "null":
            return value is None
        case "boolean":
            return isinstance(value, bool)
        case "int" | "long":
            bits = 31 if schema.kind == "int" else 63
            whole = isinstance(value, int) and not isinstance(value, bool)
            return whole and -(2**bits) <= value < 2**bits
        case "float" | "double":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "bytes" | "string" | "enum" | "fixed":
            return isinstance(value, str)
        case "array":
            return isinstance(value, list) and all(
                is_value_of(schema.inner[0], each, incomplete) for each in value
            )
        case "map":
            return isinstance(value, dict) and all(
                is_value_of(schema.inner[0], each, incomplete) for each in value.values()
            )
        case "union":
            return any(is_value_of(each, value, incomplete) for each in schema.inner)
    if schema.name in incomplete or not isinstance(value, dict):
        return False
    return all(
        (each.name in value or each.has_default)
        and is_value_of(each.type, value.get(each.name, each.default), incomplete)
        for each in schema.fields.values()
    )


def _check_default(found: AvroField, column: str, incomplete: frozenset[str]) -> None:
    is_text_of_number = found.type.kind in ("float", "double") and _is_number(found.default)
    if found.has_default and not is_text_of_number and not is_value_of(found.type, found.default, incomplete):
        raise InvalidSchema(
            f"the default of field {found.name} is {json.dumps(found.default)}, no {found.type.label}", column
        )


def _is_number(value: Any) -> bool:
    if not isinstance(value, str):
        return False
    try:
        float(value)
    except ValueError:
        return False
    return True


def _all_schemas(root: AvroSchema) -> Iterator[AvroSchema]:
    """Each schema within one, once; in an order in which those that are replaced come from what is final."""
    seen: set[int] = set()
    pending = [root]
    while pending:
        schema = pending.pop()
        if id(schema) not in seen:
            seen.add(id(schema))
            yield schema
            pending += [*schema.inner, *(each.type for each in schema.fields.values())]


def _full_name(name: str, namespace: str) -> str:
    return name if "." in name or not namespace else f"{namespace}.{name}"


def _aliases(node: Mapping[str, Any]) -> tuple[str, ...]:
    found = node.get("aliases")
    if found is None:
        return ()
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise InvalidSchema(f"aliases are not a list of names: {_excerpt(found)}")
    return tuple(found)


def _check_name(name: Any) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidSchema(
            f"{name!r} is not a name: it has letters, digits and _, and does not start with a digit"
        )


def _excerpt(node: Any) -> str:
    text = json.dumps(node)
    return text if len(text) <= 80 else f"{text[:77]}..."
