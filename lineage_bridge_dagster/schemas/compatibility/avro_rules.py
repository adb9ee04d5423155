"""What Apache Avro 1.12 demands of a schema for a registry: strict names, validated defaults."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from math import isfinite
from typing import Any, NoReturn

from lineage_bridge_dagster.schemas import types
from lineage_bridge_dagster.schemas.avro_tree import (
    NAMED_KINDS,
    PRIMITIVE_KINDS,
    TOO_DEEP,
    AvroField,
    AvroNode,
    avro_trees,
    excerpt,
)
from lineage_bridge_dagster.schemas.compatibility.violation import InvalidSchema

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def parse_avro(text: str, references: Iterable[str] = (), *, validate_defaults: bool = True) -> AvroNode:
    """Parse a schema.

    Args:
        references: The texts that define the names it uses.
        validate_defaults: Whether defaults must fit their fields, as those of a new version must.

    Raises:
        InvalidSchema: A text is not a schema.
        SchemaError: It is nested too deeply.
    """
    trees = avro_trees([*references, text])
    rules = _AvroRules()
    try:
        for each in trees:
            rules.check(each)
        for field, column, incomplete in rules.fields if validate_defaults else ():
            _check_default(field, column, incomplete)
    except RecursionError as error:
        raise types.too_deep("The schema") from error
    return trees[-1].resolved


class _AvroRules:
    """The types that are defined so far, and where the check stands.

    Attributes:
        fields: A field, its column, and the records that are not complete where it is declared.
    """

    def __init__(self) -> None:
        self.fields: list[tuple[AvroField, str, frozenset[str]]] = []
        self._defined: dict[str, AvroNode] = {}
        self._open: set[str] = set()
        self._path: list[str] = []

    def check(self, node: AvroNode) -> None:
        if node.problem == TOO_DEEP:
            raise types.too_deep("The schema")
        if node.problem:
            self._refuse(f"{'the field' if self._path else 'it'} {node.problem}")
        if node.target is not None and not node.name:
            self._refuse(f"{excerpt(node.schema)} has no type")
        for each in node.inner:
            self.check(each)
        if node.kind == "union":
            self._check_union(node)
        if node.kind in NAMED_KINDS:
            self._check_definition(node)

    def _refuse(self, reason: str) -> NoReturn:
        raise InvalidSchema(reason, ".".join(self._path))

    def _check_name(self, name: Any) -> None:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            self._refuse(
                f"{name!r} is not a name: it has letters, digits and _, and does not start with a digit"
            )

    def _check_union(self, node: AvroNode) -> None:
        seen = set()
        for each in (branch.resolved for branch in node.inner):
            if each.kind == "union":
                self._refuse(f"the union {excerpt(node.schema)} is nested in another one")
            key = each.name or each.kind
            if key in seen:
                self._refuse(f"{key} is twice in the union {excerpt(node.schema)}")
            seen.add(key)

    def _check_definition(self, node: AvroNode) -> None:
        if node.name in PRIMITIVE_KINDS:
            self._refuse(f"a type cannot be named {node.name}")
        for part in node.name.split("."):
            self._check_name(part)
        self._check_aliases(node.schema)
        if node.kind == "enum":
            self._check_symbols(node)
        # The same enum or fixed may come again, and a record within itself.
        known = self._defined.setdefault(node.name, node)
        same = all(known.schema.get(each) == node.schema.get(each) for each in ("type", "symbols", "size"))
        if known is not node and not (same and (node.kind != "record" or node.name in self._open)):
            self._refuse(f"{node.name} is defined twice")
        if node.kind == "record":
            is_outer = node.name not in self._open
            self._open.add(node.name)
            self._check_fields(node)
            if is_outer:
                self._open.discard(node.name)

    def _check_fields(self, record: AvroNode) -> None:
        seen = set()
        for each in record.fields:
            # One without a name is a problem of its type.
            self._path += [each.name] if each.name else []
            self.check(each.type)
            self._check_name(each.name)
            if each.name in seen:
                self._refuse(f"the field {each.name} is twice in {record.name}")
            seen.add(each.name)
            self._check_aliases(each.schema)
            order = each.schema.get("order", "ascending")
            if str(order).lower() not in ("ascending", "descending", "ignore"):
                self._refuse(f"the field {each.name} has the unknown order {order}")
            self.fields.append((each, ".".join(self._path), frozenset(self._open)))
            self._path.pop()

    def _check_symbols(self, enum: AvroNode) -> None:
        symbols, default = enum.schema.get("symbols"), enum.schema.get("default")
        if not isinstance(symbols, list):
            self._refuse(f"the enum {enum.name} has no symbols")
        for each in symbols:
            self._check_name(each)
        if len(set(symbols)) < len(symbols):
            self._refuse(f"a symbol is twice in the enum {enum.name}")
        if isinstance(default, str) and default not in symbols:
            self._refuse(f"the default of the enum {enum.name} is {default}, none of its symbols")

    def _check_aliases(self, schema: Any) -> None:
        found = schema.get("aliases")
        if found is not None and not (isinstance(found, list) and all(isinstance(e, str) for e in found)):
            self._refuse(f"aliases are not a list of names: {excerpt(found)}")


def is_value_of(schema: AvroNode, value: Any, incomplete: frozenset[str] = frozenset()) -> bool:
    """Whether a default of JSON is one of a schema; of a union, of any of its branches.

    Args:
        incomplete: The names of records that have no values yet.
    """
    schema = schema.resolved
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
            return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
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
        (each.name in value or "default" in each.schema)
        and is_value_of(each.type, value.get(each.name, each.schema.get("default")), incomplete)
        for each in schema.fields
    )


def _check_default(field: AvroField, column: str, incomplete: frozenset[str]) -> None:
    if "default" not in field.schema:
        return
    kind, default = field.type.resolved, field.schema["default"]
    is_text_of_number = kind.kind in ("float", "double") and _is_number(default)
    if not is_text_of_number and not is_value_of(kind, default, incomplete):
        raise InvalidSchema(
            f"the default of field {field.name} is {json.dumps(default)}, no {kind.label}", column
        )


def _is_number(value: Any) -> bool:
    if not isinstance(value, str):
        return False
    try:
        float(value)
    except ValueError:
        return False
    return True
