"""All that a JSON Schema says of one value, before a type is made of it.

The keywords of a schema, the parts of its `allOf` and what its `$ref` points to all apply to a value, and of
each `oneOf` and `anyOf` one alternative does. So a value has parts, which all hold, and choices. A schema
that only constrains, such as `{"required": ["a"]}` or `{"minimum": 1}`, sets no type.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

#: A schema, and the base of its references.
Part = tuple[Mapping[str, Any], str]
Types = tuple[str, ...]

_NAMES = {bool: "boolean", int: "integer", float: "number", str: "string"}


@dataclass(frozen=True, eq=False)
class Alternative:
    """One of a choice, with what tells it from the others, and the schema that declares it."""

    title: str
    doc: str
    value: Value
    schema: Any = None


@dataclass(frozen=True, eq=False)
class Choice:
    """Alternatives, of which one applies.

    Attributes:
        alternatives: in the order of the schema.
        is_open: whether a value may be of none of them.
    """

    alternatives: tuple[Alternative, ...]
    is_open: bool = False

    @cached_property
    def types(self) -> Types | None:
        """The types of JSON that a value may have; None if it may have any."""
        found = [each.value.types for each in self.alternatives]
        if self.is_open or None in found:
            return None
        return tuple(dict.fromkeys(kind for kinds in found for kind in kinds or ()))

    @cached_property
    def kinds(self) -> Types:
        """As `Value.kinds`."""
        found = [each.value.kinds for each in self.alternatives if not each.value.is_null]
        if not self.is_open and not all(found):
            return ()
        return tuple(dict.fromkeys(kind for kinds in found for kind in kinds))

    @cached_property
    def is_shaped(self) -> bool:
        """Whether an alternative says of what type it is; others only constrain."""
        return any(each.value.kinds for each in self.alternatives)

    @cached_property
    def is_nullable(self) -> bool | None:
        """As `Value.is_nullable`."""
        found = [each.value.is_nullable for each in self.alternatives]
        if True in found:
            return True
        return None if self.is_open or None in found else False

    @cached_property
    def required(self) -> frozenset[str]:
        """The properties that every alternative requires."""
        if self.is_open:
            return frozenset()
        return frozenset.intersection(*(each.value.required for each in self.alternatives))


@dataclass(frozen=True, eq=False)
class Value:
    """What holds of a value.

    Attributes:
        parts: schemas that all apply, without those that only constrain.
        choices: of each of them one alternative applies.
        reference: how a schema refers to it, if one does.
    """

    parts: tuple[Part, ...] = ()
    choices: tuple[Choice, ...] = ()
    reference: str = ""

    @cached_property
    def types(self) -> Types | None:
        """The types of JSON that it may have, in the schema's order; None if no keyword limits them."""
        found: Types | None = None
        for each in self.said("type"):
            found = narrowed(found, tuple(map(str, each)) if isinstance(each, list) else (str(each),))
        for choice in self.choices:
            found = narrowed(found, choice.types)
        return found

    @cached_property
    def kinds(self) -> Types:
        """Its types except null, including those that other keywords imply; empty if nothing tells them."""
        if self.types is not None:
            # An integer is a number.
            idle = {"null", "integer"} if "number" in self.types else {"null"}
            return tuple(each for each in self.types if each not in idle)
        implied = next(filter(None, (_implied(schema) for schema, _ in self.parts)), None)
        if implied:
            return (implied,)
        found: Types | None = None
        for choice in self.choices:
            found = narrowed(found, choice.kinds or None)
        return found or ()

    @property
    def is_null(self) -> bool:
        """Whether it can only be null."""
        return self.types == ("null",)

    @cached_property
    def is_nullable(self) -> bool | None:
        """Whether it is said that it may be null, or may not; None if nothing is said."""
        said: bool | None = None
        for schema, _ in self.parts:
            if kinds := schema.get("type"):
                if "null" not in ([kinds] if isinstance(kinds, str) else kinds):
                    return False
                said = True
            elif None in (schema.get("enum") or ()) or schema.get("const", "") is None:
                said = True
        for choice in self.choices:
            if choice.is_nullable is False:
                return False
            said = said or choice.is_nullable
        return said

    @cached_property
    def required(self) -> frozenset[str]:
        """The names of properties that an object must have."""
        found = (set(each) for each in self.said("required") if isinstance(each, list))
        return frozenset().union(*found, *(choice.required for choice in self.choices))

    def said(self, word: str) -> Iterator[Any]:
        """The values that its parts give a keyword."""
        return (schema[word] for schema, _ in self.parts if schema.get(word))


def narrowed(ours: Types | None, theirs: Types | None) -> Types | None:
    """The types that are among both; a number may be an integer.

    >>> narrowed(("string", "number", "null"), ("null", "integer"))
    ('integer', 'null')
    """
    if ours is None or theirs is None:
        return theirs if ours is None else ours
    both: dict[str, None] = {}
    for each in ours:
        if each in theirs or (each == "integer" and "number" in theirs):
            both[each] = None
        elif each == "number" and "integer" in theirs:
            both["integer"] = None
    # Nothing satisfies a contradiction: what was said first decides.
    return tuple(both) or ours


def agree(ours: Types | None, theirs: Types | None) -> bool:
    """Whether a value can be of both."""
    if ours is None or theirs is None:
        return True
    numbers = {"integer", "number"}
    return bool({*ours} & {*theirs} or ({*ours} & numbers and {*theirs} & numbers))


def unique(parts: Iterable[Part]) -> tuple[Part, ...]:
    """The parts without repetitions."""
    return tuple({(id(schema), base): (schema, base) for schema, base in parts}.values())


def _implied(schema: Mapping[str, Any]) -> str | None:
    """The type of a schema that does not say it."""
    if "properties" in schema or "additionalProperties" in schema:
        return "object"
    if "items" in schema or "prefixItems" in schema:
        return "array"
    values = schema.get("enum") or ([schema["const"]] if "const" in schema else [])
    kinds = {_NAMES.get(type(value)) for value in values if value is not None}
    return kinds.pop() if len(kinds) == 1 else None
