"""What a field of the YAML instance takes: as JSON schema, for `dg check yaml` and editors, and in words.

Dagster lets a template stand for any value, so its own schema of a field is its type or any text: a wrong
text passes, and what is wrong within a part is told of the part as a whole. Here a text is either a template
or has to be what the field takes, and each value is judged where it stands.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from dagster.components.resolved.base import derive_model_type
from pydantic import BaseModel, ConfigDict, TypeAdapter
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError
from pydantic.fields import FieldInfo

_TEMPLATE = r"\{\{|\{%"
_EMPTY = r"^\s*$"
#: Texts that become what is wanted when they are read: a number, a truth value.
_TEXT_OF = {
    "integer": r"^\s*\d+\s*$",
    "number": r"^\s*[\d.]+\s*$",
    "boolean": r"^\s*(on|off|yes|no|true|false|On|Off|Yes|No|True|False|0|1)\s*$",
}

#: What to write for each of JSON schema's types that is no number.
_KINDS = {
    "boolean": "true or false",
    "string": "a text, in quotes",
    "object": "a mapping",
    "array": "a list",
}


class Takes:
    """Metadata of a field: what it takes once its template is rendered, where that is less than its type."""

    def __init__(self, type_: Any) -> None:
        self.type = type_


@cache
def adapter(section: type[BaseModel], name: str, *, rendered: bool = False) -> TypeAdapter[Any] | None:
    """What validates a field's value when no template is left in it; None where only Dagster knows.

    A template that rendered to digits gave a number, also where a text is meant: an account's id.
    """
    field = section.model_fields[name]
    told = next((held.type for held in field.metadata if isinstance(held, Takes)), None)
    like = _like(section, name)
    wanted: Any = told or (like.rebuild_annotation() if like else field.annotation)
    in_yaml = derive_model_type(section).model_fields[name].annotation  # type: ignore[arg-type]
    if not told and not like and in_yaml not in (wanted, wanted | str):
        # The YAML holds something else, of which a resolver makes the value.
        return None
    try:
        return TypeAdapter(wanted, config=ConfigDict(coerce_numbers_to_str=rendered))
    except (PydanticSchemaGenerationError, PydanticUserError):
        return None


def words(section: type[BaseModel], name: str) -> str:
    """What to write for a field, with an example: `a whole number from 1 to 64, for example 8`."""
    schema = _schema(section, name)
    said = _words(schema) if schema else "what its description says"
    example = example_of(section, name)
    return f"{said}, for example {example}" if example else said


def example_of(section: type[BaseModel], name: str) -> str:
    """A good value of a field as it stands in YAML or in a variable; empty when none is known."""
    examples = _examples(section, name)
    if not examples:
        return ""
    return str(examples[0]).lower() if isinstance(examples[0], bool) else str(examples[0])


def describe(section: type[BaseModel], schema: dict[str, Any]) -> None:
    """Put each field's description, examples and values into the schema that Dagster derived of a section."""
    # Beside `additionalProperties`, whose error says that a field is unknown and not which there are.
    schema["propertyNames"] = {"enum": list(schema["properties"])}
    for name, field in section.model_fields.items():
        shown = schema["properties"].get(name)
        if shown is None:
            continue
        if field.description:
            shown["description"] = field.description
        if examples := _examples(section, name):
            shown["examples"] = examples
        _narrow(section, name, shown)


def _narrow(section: type[BaseModel], name: str, shown: dict[str, Any]) -> None:
    choices = shown.get("anyOf", [])
    inner = next((choice for choice in choices if "$ref" in choice), None)
    wanted = inner or _schema(section, name)
    if wanted is None:
        return
    text = _TEXT_OF.get(str(wanted.get("type")))
    texts = [_TEMPLATE, *([text] if text else [])]
    empty = {"type": "null"} in choices
    shown.pop("anyOf", None)
    shown.pop("type", None)
    shown["if"] = {
        "type": ["string", "null"] if empty else "string",
        "pattern": "|".join([*texts, *([_EMPTY] if empty else [])]),
    }
    shown["else"] = _told_in_words(section, name, wanted)


def _told_in_words(section: type[BaseModel], name: str, wanted: dict[str, Any]) -> dict[str, Any]:
    """A schema whose error says what to write: of a pattern it would show the pattern."""
    if "pattern" not in wanted:
        return wanted
    # Of all keywords only this one's error holds words of ours: "'...' was expected".
    return {
        "if": {"type": "string", "pattern": wanted["pattern"]},
        "else": {"const": words(section, name)},
    }


def _schema(section: type[BaseModel], name: str) -> dict[str, Any] | None:
    """The JSON schema of what a field takes; that it may be empty is no part of it."""
    held = adapter(section, name)
    if held is None:
        return None
    schema = held.json_schema()
    choices = [choice for choice in schema.get("anyOf", []) if choice != {"type": "null"}]
    return dict(choices[0]) if len(choices) == 1 else schema


def _examples(section: type[BaseModel], name: str) -> list[Any] | None:
    like = _like(section, name)
    return section.model_fields[name].examples or (like.examples if like else None)


def _like(section: type[BaseModel], name: str) -> FieldInfo | None:
    """The field of the same name in the settings that a section feeds."""
    like: type[BaseModel] | None = getattr(section, "like", None)
    return like.model_fields.get(name) if like else None


def _words(schema: Mapping[str, Any]) -> str:
    if "description" in schema:
        return str(schema["description"])
    if "enum" in schema:
        *others, last = map(str, schema["enum"])
        return f"{', '.join(others)} or {last}"
    if "anyOf" in schema:
        return " or ".join(_words(choice) for choice in schema["anyOf"])
    kind = str(schema.get("type", ""))
    if kind in ("integer", "number"):
        return f"a {'whole ' if kind == 'integer' else ''}number{_bounds(schema)}"
    return _KINDS.get(kind, "a value")


def _bounds(schema: Mapping[str, Any]) -> str:
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is not None and most is not None:
        return f" from {least:g} to {most:g}"
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    return (f" above {above:g}" if above is not None else "") + (
        f" and under {below:g}" if below is not None else ""
    )
