"""Gathers what a JSON Schema says of each value: it follows `$ref`, `allOf`, `oneOf` and `anyOf`.

Whoever registers a schema decides how much there is to gather. Each schema is gathered once, and equal
values are one object, so that a type that is referred to from many places costs its own size; what remains
is limited.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from lineage_bridge_dagster.schemas import types
from lineage_bridge_dagster.schemas.errors import LimitError, SchemaError
from lineage_bridge_dagster.schemas.json_references import HINT, Documents
from lineage_bridge_dagster.schemas.json_values import Alternative, Choice, Part, Value, unique
from lineage_bridge_dagster.schemas.types import joined

#: Connect's prefix of the titles that name its types.
CONNECT = "org.apache.kafka.connect.data."
#: The keywords that say something of a type.
_SHAPES = frozenset(
    ("type", "properties", "additionalProperties", "patternProperties", "items", "prefixItems", "required",
     "enum", "const", "connect.type", "connect.parameters", "flink.type")
)  # fmt: skip
#: Schemas looked at while one is gathered; an honest schema of a megabyte needs fewer.
_MAX_STEPS = 200_000
#: A part that is not known, in a schema that is read as far as it can be.
_UNKNOWN: Part = ({"unknown": True}, "")


@dataclass(frozen=True)
class Member:
    """A property of an object, or the elements of an array.

    Attributes:
        value: what holds of it.
        schemas: what declares it, first the object's own.
    """

    value: Value
    schemas: tuple[Any, ...]


class Gatherer:
    """Gathers the values of one schema.

    Args:
        on_error: takes the errors of the parts that cannot be read, which are then unknown; without it, the
            first one is raised.
    """

    def __init__(self, documents: Documents, on_error: Callable[[SchemaError], None] | None) -> None:
        self._documents = documents
        self._on_error = on_error
        self._steps = 0
        self._gathered: dict[tuple[Any, ...], Value] = {}
        self._choices: dict[tuple[Any, ...], Choice] = {}
        self._opening: list[tuple[Any, ...]] = []
        self._values: dict[tuple[Any, ...], Value] = {}
        self._open: dict[tuple[Any, ...], Choice] = {}
        self._members: dict[tuple[int, str], Mapping[str, Member]] = {}
        self._made: dict[tuple[int, str], Mapping[str, Any]] = {}

    def root(self) -> Value:
        """What holds of the schema's own values."""
        return self._of([(self._documents.root, "")], "", "#")

    def spend(self, path: str) -> None:
        """Count a step.

        Raises:
            LimitError: there were too many.
        """
        self._steps += 1
        if self._steps > _MAX_STEPS:
            raise LimitError.at(
                path,
                "takes too long to read: its `$ref`, `allOf`, `oneOf` and `anyOf` multiply",
                "Combine fewer schemas, or keep the inner part as a string of JSON.",
            )

    def is_unknown(self, value: Value) -> bool:
        """Whether a part of a value could not be read."""
        return _UNKNOWN in value.parts

    def combined(self, value: Value, *others: Value, choices: Iterable[Choice] = ()) -> Value:
        """The value of which all of these hold, and the choices too."""
        parts = unique(part for each in (value, *others) for part in each.parts)
        found = dict.fromkeys(choice for each in (value, *others) for choice in each.choices)
        reference = next((each.reference for each in (value, *others) if each.reference), "")
        # Many parts are combined with many alternatives in turn.
        self._steps += len(parts)
        return self._value(parts, (*found, *choices), reference)

    def narrowed(self, value: Value, choice: Choice | None, alternative: Value) -> Value:
        """The value of which an alternative holds, of one of its choices or of its types."""
        rest = tuple(each for each in value.choices if each is not choice)
        return self.combined(replace(value, choices=rest), alternative)

    def members(self, value: Value, word: str, path: str) -> Mapping[str, Member]:
        """What holds of the properties of an object, or of the elements of an array.

        A property that only some alternatives have is one of the object, which may lack it.

        Args:
            word: `properties`, `items` or `additionalProperties`.
        """
        if (known := self._members.get((id(value), word))) is not None:
            return known
        own: dict[str, list[Part]] = {}
        for schema, base in value.parts:
            for name, inner in self._declared(schema, word).items():
                own.setdefault(name, []).append((inner, base))
        merged: dict[str, list[Choice | Value]] = {}
        schemas = {name: [schema for schema, _ in parts] for name, parts in own.items()}
        values = {name: self._said(parts, joined(path, name)) for name, parts in own.items()}
        for choice in value.choices:
            found: dict[str, list[Member]] = {}
            for each in choice.alternatives:
                for name, member in self.members(each.value, word, path).items():
                    found.setdefault(name, []).append(member)
            for name, several in found.items():
                self.spend(path)
                schemas.setdefault(name, []).extend(schema for each in several for schema in each.schemas)
                is_open = choice.is_open or len(several) < len(choice.alternatives)
                distinct = tuple(dict.fromkeys(each.value for each in several))
                known_kinds = name in values and values[name].kinds
                single = len(distinct) == 1 and not (is_open and known_kinds)
                merged.setdefault(name, []).append(distinct[0] if single else self._any_of(distinct, is_open))
        result = {}
        for name, declared in schemas.items():
            more = merged.get(name, [])
            inner = self.combined(
                values.get(name, Value()),
                *(each for each in more if isinstance(each, Value)),
                choices=[each for each in more if isinstance(each, Choice)],
            )
            result[name] = Member(inner, tuple({id(each): each for each in declared}.values()))
        self._members[id(value), word] = result
        return result

    def _declared(self, schema: Mapping[str, Any], word: str) -> Mapping[str, Any]:
        if word == "properties":
            return dict(schema.get(word) or {})
        others = schema.get(word)
        if not isinstance(others, dict) and (word != "items" or not isinstance(others, bool)):
            return {}
        # What these do not name is of the others.
        named = schema.get("prefixItems" if word == "items" else "patternProperties") or ()
        if named and others:
            several = [*(named.values() if isinstance(named, Mapping) else named), others]
            others = self._made.setdefault((id(schema), word), {"anyOf": several})
        return {"element" if word == "items" else "value": others} if others != {} else {}

    def _said(self, parts: list[Part], path: str) -> Value:
        try:
            return self._of(parts, path)
        except SchemaError as error:
            return self._failed(error)

    def _failed(self, error: SchemaError) -> Value:
        if self._on_error is None:
            raise error
        self._on_error(error)
        return self._value((_UNKNOWN,), ())

    def _of(self, schemas: list[Part], path: str, reference: str = "", *, conditional: bool = False) -> Value:
        """What several schemas that all apply say of a value.

        Args:
            conditional: whether they apply to some values alone, of which other schemas say more.
        """
        key = (conditional, *((id(schema), base) for schema, base in schemas))
        if (known := self._gathered.get(key)) is not None:
            return known
        parts: list[Part] = []
        choices: dict[Choice, None] = {}
        conditions: list[Part] = []
        seen = set()
        pending: list[tuple[Any, str, str, bool]] = [(*each, "", False) for each in reversed(schemas)]
        while pending:
            schema, base, via, is_open = pending.pop()
            self.spend(path)
            if is_open:
                if schema.keys() & _SHAPES or str(schema.get("title")).startswith(CONNECT):
                    parts.append((schema, base))
                choices.update((self._choice(schema[word], base, via, path), None)
                               for word in ("oneOf", "anyOf") if schema.get(word))  # fmt: skip
                conditions += ((each, base) for each in _conditional(schema))
                continue
            if not schema or schema is True or (id(schema), base) in seen:
                continue
            if not isinstance(schema, Mapping):
                raise SchemaError.at(path, f"has no JSON Schema, but {str(schema)[:80]}", HINT)
            seen.add((id(schema), base))
            base = self._documents.base(schema, base)
            following: list[tuple[Any, str, str, bool]] = []
            if (target := schema.get("$ref")) is not None:
                reference = reference or str(target)
                try:
                    found, where, _ = self._documents.resolved(str(target), path, base)
                except SchemaError as error:
                    parts += self._failed(error).parts
                else:
                    following.append((found, where, str(target), False))
            if target is None or self._documents.applies_siblings(base):
                following.append((schema, base, via, True))
                following += [(each, base, via, False) for each in schema.get("allOf") or ()]
            pending.extend(reversed(following))
        # What holds of some values alone tells nothing of the others.
        if conditions and (conditional or any(schema.keys() & {"type", "properties"} for schema, _ in parts)):
            choices[self._choice(conditions, "", "if", path, is_open=True)] = None
        self._gathered[key] = result = self._value(unique(parts), tuple(choices), reference)
        return result

    def _choice(self, alternatives: Any, base: str, via: str, path: str, *, is_open: bool = False) -> Choice:
        if not isinstance(alternatives, list):
            raise SchemaError.at(path, "has a oneOf or anyOf that is not a list", HINT)
        several = alternatives if is_open else [(each, base) for each in alternatives]
        key = (is_open, *((id(each), base) for each, base in several))
        if (known := self._choices.get(key)) is not None:
            return known
        if key in self._opening:
            raise types.recursive(path, via)
        types.check_depth(self._opening, path)
        self._opening.append(key)
        try:
            found = tuple(
                Alternative(*_named(each), self._of([(each, base)], path, conditional=is_open), each)
                for each, base in several
            )
        finally:
            self._opening.pop()
        self._choices[key] = result = Choice(found, is_open)
        return result

    def _any_of(self, values: tuple[Value, ...], is_open: bool) -> Choice:
        key = (is_open, *map(id, values))
        choice = Choice(tuple(Alternative("", "", each) for each in values), is_open)
        return self._open.setdefault(key, choice)

    def _value(self, parts: tuple[Part, ...], choices: tuple[Choice, ...], reference: str = "") -> Value:
        key = (tuple((id(schema), base) for schema, base in parts), *map(id, choices))
        return self._values.setdefault(key, Value(parts, choices, reference))


def described(schema: Any) -> str:
    """What describes a value; of an optional one in Connect's way, within the alternative to null."""
    while isinstance(schema, dict):
        if own := schema.get("description"):
            return str(own)
        choices = schema.get("oneOf") or schema.get("anyOf") or []
        present = [each for each in choices if isinstance(each, dict) and each.get("type") != "null"]
        schema = present[0] if len(present) == 1 else None
    return ""


def _named(schema: Any) -> tuple[str, str]:
    return (str(schema.get("title") or ""), described(schema)) if isinstance(schema, dict) else ("", "")


def _conditional(schema: Mapping[str, Any]) -> Iterator[Any]:
    """What applies to some values alone."""
    if "if" in schema:
        yield from (schema[word] for word in ("then", "else") if word in schema)
    for word in ("dependentSchemas", "dependencies"):
        yield from (each for each in (schema.get(word) or {}).values() if isinstance(each, dict))
