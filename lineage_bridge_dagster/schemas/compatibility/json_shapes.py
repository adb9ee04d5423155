"""JSON Schemas as a registry compares them: each schema one shape, or several that apply together.

Schema Registry loads drafts 4 to 7 with one library and the later ones with another; where both give the same
shapes, so does this module, and where not, it asks for the draft. Of a schema without `$schema`, the draft is
the seventh.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from lineage_bridge_dagster.schemas import types
from lineage_bridge_dagster.schemas.compatibility.violation import InvalidSchema
from lineage_bridge_dagster.schemas.errors import LimitError, SchemaError
from lineage_bridge_dagster.schemas.json_references import Documents
from lineage_bridge_dagster.schemas.schemas import RegisteredSchema
from lineage_bridge_dagster.text import words

TYPES = ("array", "object", "number", "string")
"""The types that have keywords of their own."""
CRITERIA = ("allOf", "anyOf", "oneOf")
_MODERN = ("2019-09", "2020-12")
_LIMITS: Mapping[str, tuple[str, ...]] = {
    "array": ("maxItems", "minItems", "maxContains", "minContains"),
    "object": ("maxProperties", "minProperties"),
    "number": ("maximum", "minimum", "exclusiveMaximum", "exclusiveMinimum", "multipleOf"),
    "string": ("maxLength", "minLength"),
}
_KEYWORDS: Mapping[str, frozenset[str]] = {
    "array": frozenset({"items", "additionalItems", "minItems", "maxItems", "uniqueItems", "contains"}),
    "object": words(
        """properties required minProperties maxProperties dependencies patternProperties additionalProperties
        propertyNames"""
    ),
    "number": frozenset(_LIMITS["number"]),
    "string": frozenset({"minLength", "maxLength", "pattern", "format"}),
}
_MODERN_KEYWORDS: Mapping[str, frozenset[str]] = {
    "array": _KEYWORDS["array"] - {"additionalItems"} | {"prefixItems", "unevaluatedItems"},
    "object": _KEYWORDS["object"] - {"dependencies"}
    | {"dependentRequired", "dependentSchemas", "unevaluatedProperties"},
    "number": _KEYWORDS["number"],
    "string": _KEYWORDS["string"] - {"format"},
}
_PLAIN_TYPES = frozenset({"string", "integer", "number", "boolean", "null", "array", "object"})


@dataclass(eq=False, slots=True)
class JsonShape:
    """A schema, or one of those that apply together.

    Attributes:
        kind: A type, `enum`, `const`, `not`, `if`, `reference`, `combined`, `empty` or `false`.
        text: The schema as canonical JSON, by which two of one union are the same.
        has_default: Whether the schema has a default.
        connect_type: The type that Connect has noted.
        limits: Keywords that are numbers.
        integer: Whether numbers are whole.
        pattern: That of a string; None if it has none.
        values: Those of an enum or a constant, as canonical JSON.
        criterion: How the members of a combined schema apply: `allOf`, `anyOf` or `oneOf`.
        members: Those of a combined schema; the schemas of a tuple's first elements.
        generated: Whether several keywords, and not `allOf`, combine the members.
        inner: What a reference refers to, what may not match, or what all elements of an array are.
        required: The properties that an object must have.
        patterns: The patterns of properties, with their schemas.
        closed: Whether properties or elements beyond those that are named are forbidden.
        additional: What properties or elements beyond those that are named are; None if that is open.
        unevaluated: What those are that no schema applies to; None if that is open.
        needs: Property -> the properties that must come with it.
        conditions: Property -> the schema of an object that has it.
        unique: Whether the elements of an array differ.
    """

    kind: str
    text: str = ""
    has_default: bool = False
    connect_type: str = ""
    limits: dict[str, float] = field(default_factory=dict)
    integer: bool = False
    pattern: str | None = None
    values: frozenset[str] = frozenset()
    criterion: str = ""
    members: list[JsonShape] = field(default_factory=list)
    generated: bool = False
    inner: JsonShape | None = None
    properties: dict[str, JsonShape] = field(default_factory=dict)
    required: frozenset[str] = frozenset()
    patterns: list[tuple[str, JsonShape]] = field(default_factory=list)
    closed: bool = False
    additional: JsonShape | None = None
    unevaluated: JsonShape | None = None
    needs: dict[str, frozenset[str]] = field(default_factory=dict)
    conditions: dict[str, JsonShape] = field(default_factory=dict)
    unique: bool = False


def json_shape(schema: RegisteredSchema) -> JsonShape:
    """The shape of a registered schema.

    Raises:
        InvalidSchema: The text is not a JSON Schema.
        SchemaError: It refers to a schema that is not among its references, or is nested too deeply.
    """
    try:
        documents = Documents(schema)
    except LimitError:
        raise
    except SchemaError as error:
        raise InvalidSchema(error.message) from error
    root: Any = documents.root
    if not isinstance(root, dict | bool):
        raise InvalidSchema("it is neither an object nor a boolean")
    draft = str(root.get("$schema", "")) if isinstance(root, dict) else ""
    shapes = _Shapes(documents, modern=any(each in draft for each in _MODERN))
    try:
        return shapes.shape(root, "")
    except RecursionError as error:
        raise types.too_deep("The schema") from error


class _Shapes:
    """The shapes of a document; those that are referred to are made once."""

    def __init__(self, documents: Documents, *, modern: bool) -> None:
        self._documents = documents
        self._modern = modern
        self._keywords = _MODERN_KEYWORDS if modern else _KEYWORDS
        self._referred: dict[str, JsonShape] = {}

    def shape(self, schema: Any, base: str) -> JsonShape:
        if isinstance(schema, bool):
            return JsonShape("empty" if schema else "false", json.dumps(schema))
        if not isinstance(schema, Mapping):
            raise InvalidSchema(f"{_canonical(schema)[:80]} is not a schema")
        base = self._documents.base(schema, base)
        parts = list(self._parts(schema, base))
        match parts:
            case []:
                found = JsonShape("empty")
            case [found]:
                pass
            case _:
                found = JsonShape("combined", criterion="allOf", members=parts, generated=True)
        found.text = _canonical(schema)
        # The later drafts' library takes a default of null for none.
        found.has_default = "default" in schema and (not self._modern or schema["default"] is not None)
        connect = schema.get("connect.type")
        found.connect_type = connect if isinstance(connect, str) else ""
        return found

    def _parts(self, schema: Mapping[str, Any], base: str) -> Iterator[JsonShape]:
        """What the keywords of a schema demand, each with its own text."""
        reference = schema.get("$ref", schema.get("$dynamicRef") if self._modern else None)
        if isinstance(reference, str):
            yield self._reference(reference, base)
            if not self._modern:
                return
        if "enum" in schema:
            values = frozenset(map(_canonical, _listed(schema, "enum")))
            yield JsonShape("enum", f"enum {sorted(values)}", values=values)
        for criterion in CRITERIA:
            if criterion in schema:
                members = [self.shape(each, base) for each in _listed(schema, criterion)]
                if self._modern:  # Their library takes several keywords of a member for several members.
                    members = [
                        one for each in members for one in (each.members if each.generated else (each,))
                    ]
                text = f"{criterion} {_canonical(schema[criterion])}"
                yield JsonShape("combined", text, criterion=criterion, members=members)
        if "not" in schema:
            yield JsonShape("not", f"not {_canonical(schema['not'])}", inner=self.shape(schema["not"], base))
        if "const" in schema:
            value = _canonical(schema["const"])
            yield JsonShape("const", f"const {value}", values=frozenset({value}))
        yield from self._typed_parts(schema, base)
        if schema.keys() & {"if", "then", "else"}:
            yield JsonShape("if", "if")

    def _typed_parts(self, schema: Mapping[str, Any], base: str) -> Iterator[JsonShape]:
        kinds = schema.get("type", [])
        for each in kinds if isinstance(kinds, list) else [kinds]:
            if not isinstance(each, str) or each not in _PLAIN_TYPES:
                raise InvalidSchema(f"{_canonical(each)} is not a type")
        told: list[str] = [kinds] if isinstance(kinds, str) else list(kinds)
        if isinstance(kinds, str):
            yield self._typed(kinds, schema, base)
        elif "type" in schema:
            members = [self._typed(each, schema, base) for each in told]
            yield JsonShape("combined", f"type {told}", criterion="anyOf", members=members)
        known = {"number" if each == "integer" else each for each in told}
        for each in TYPES:
            if each not in known and schema.keys() & self._keywords[each]:
                yield self._typed(each, schema, base)

    def _typed(self, kind: str, schema: Mapping[str, Any], base: str) -> JsonShape:
        found = JsonShape("number" if kind == "integer" else kind, integer=kind == "integer")
        for each in _LIMITS.get(found.kind, ()):
            value = schema.get(each)
            if isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value):
                found.limits[each] = value
        match found.kind:
            case "string":
                pattern = schema.get("pattern")
                found.pattern = pattern if isinstance(pattern, str) else None
            case "object":
                self._fill_object(found, schema, base)
            case "array":
                self._fill_array(found, schema, base)
        told = {each: schema[each] for each in sorted(self._keywords.get(found.kind, ()) & schema.keys())}
        found.text = f"{kind} {_canonical(told)}"
        return found

    def _fill_object(self, found: JsonShape, schema: Mapping[str, Any], base: str) -> None:
        for name, each in _mapped(schema, "properties").items():
            found.properties[name] = self.shape(each, base)
        found.required = frozenset(map(str, _listed(schema, "required")))
        for pattern, each in _mapped(schema, "patternProperties").items():
            found.patterns.append((pattern, self.shape(each, base)))
        self._fill_additional(found, schema.get("additionalProperties", True), base)
        if self._modern and "unevaluatedProperties" in schema:
            found.unevaluated = self.shape(schema["unevaluatedProperties"], base)
        words = ("dependentRequired", "dependentSchemas") if self._modern else ("dependencies",)
        for word in words:
            for name, each in _mapped(schema, word).items():
                if isinstance(each, list):
                    found.needs[name] = frozenset(map(str, each))
                else:
                    found.conditions[name] = self.shape(each, base)

    def _fill_array(self, found: JsonShape, schema: Mapping[str, Any], base: str) -> None:
        found.unique = schema.get("uniqueItems") is True
        items = schema.get("items", True)
        first = _listed(schema, "prefixItems") if self._modern else []
        if isinstance(items, list):
            first, items = items, True
        found.members = [self.shape(each, base) for each in first]
        if self._modern:
            if "contains" in schema:
                found.limits.setdefault("minContains", 1)
            else:
                found.limits.pop("minContains", None)
                found.limits.pop("maxContains", None)
            if found.members or items is False:
                self._fill_additional(found, items, base)
            elif items is not True:
                found.inner = self.shape(items, base)
            if "unevaluatedItems" in schema:
                found.unevaluated = self.shape(schema["unevaluatedItems"], base)
            return
        if "items" in schema and not isinstance(schema["items"], list):
            found.inner = self.shape(items, base)
        else:
            self._fill_additional(found, schema.get("additionalItems", True), base)

    def _fill_additional(self, found: JsonShape, schema: Any, base: str) -> None:
        found.closed = schema is False
        if not isinstance(schema, bool):
            found.additional = self.shape(schema, base)

    def _reference(self, reference: str, base: str) -> JsonShape:
        try:
            schema, where, target = self._resolved(reference, base)
        except SchemaError as error:
            if not reference.startswith("#"):
                raise
            raise InvalidSchema(error.message) from error
        found = JsonShape("reference", f"reference {target}")
        known = self._referred.get(target)
        if known is None:
            # A schema may refer to itself, so what is made is known before its parts are.
            known = self._referred[target] = JsonShape("empty")
            made = self.shape(schema, where)
            for each in JsonShape.__slots__:
                setattr(known, each, getattr(made, each))
        found.inner = known
        return found

    def _resolved(self, reference: str, base: str) -> tuple[Any, str, str]:
        """What a reference refers to. Those to `$defs` also find what is in `definitions`."""
        try:
            return self._documents.resolved(reference, "", base)
        except SchemaError:
            if "#/$defs/" not in reference:
                raise
            return self._documents.resolved(reference.replace("#/$defs/", "#/definitions/"), "", base)


def _listed(schema: Mapping[str, Any], word: str) -> list[Any]:
    found = schema.get(word, [])
    if not isinstance(found, list):
        raise InvalidSchema(f"{word} is not a list: {_canonical(found)[:80]}")
    return found


def _mapped(schema: Mapping[str, Any], word: str) -> Mapping[str, Any]:
    found = schema.get(word, {})
    if not isinstance(found, Mapping):
        raise InvalidSchema(f"{word} is not an object: {_canonical(found)[:80]}")
    return found


def _canonical(value: Any) -> str:
    """A value as JSON by which equal ones are equal: 1 and 1.0 are."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps(value, sort_keys=True)
