"""What a field of the YAML instance accepts: as JSON schema, for `dg check yaml` and editors, and in words.

Dagster allows a template in place of any value, so its own schema of a field is the type or any text: a
wrong text passes, and an error within a section is reported for the section. In this schema a text is either
a template or a value that the field accepts, and each value is checked where it is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from dagster.components.resolved.base import derive_model_type
from pydantic import BaseModel, ConfigDict, TypeAdapter
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError

_TEMPLATE = r"\{\{|\{%"
_EMPTY = r"^$"
#: Texts that pydantic converts to the type.
_TEXT_OF = {
    "integer": r"^\s*\d+\s*$",
    "number": r"^\s*[\d.]+\s*$",
    "boolean": r"^\s*(on|off|yes|no|true|false|On|Off|Yes|No|True|False|0|1)\s*$",
}

#: What to write for the JSON schema types other than numbers.
_KINDS = {
    "boolean": "true or false",
    "string": "a text, in quotes",
    "object": "a mapping",
    "array": "a list",
}


class Accepts:
    """Metadata of a field: what it accepts once its template is rendered, if narrower than its type."""

    def __init__(self, type_: Any) -> None:
        self.type = type_


@cache
def adapter(section: type[BaseModel], name: str, *, rendered: bool = False) -> TypeAdapter[Any] | None:
    """The validator of a field's value without templates; None where only Dagster can validate it.

    A template that renders to digits gives a number, also where a text is meant, such as an account's id.
    """
    field = section.model_fields[name]
    accepted: Any = next((item.type for item in field.metadata if isinstance(item, Accepts)), None)
    if accepted is None:
        accepted = field.rebuild_annotation()
        in_yaml = derive_model_type(section).model_fields[name].annotation  # type: ignore[arg-type]
        if in_yaml not in (accepted, accepted | str):
            # The YAML holds another type, which a resolver converts.
            return None
    try:
        return TypeAdapter(accepted, config=ConfigDict(coerce_numbers_to_str=rendered))
    except (PydanticSchemaGenerationError, PydanticUserError):
        return None


def expected(section: type[BaseModel], name: str) -> str:
    """What to write for a field, with an example: `a whole number from 1 to 64, for example 8`."""
    schema = _schema(section, name)
    kind = _in_words(schema) if schema else "what its description says"
    example = example_of(section, name)
    return f"{kind}, for example {example}" if example else kind


def example_of(section: type[BaseModel], name: str) -> str:
    """An example of a field as it is written in YAML or in a variable; empty when there is none."""
    examples = section.model_fields[name].examples
    if not examples:
        return ""
    return str(examples[0]).lower() if isinstance(examples[0], bool) else str(examples[0])


def describe(section: type[BaseModel], schema: dict[str, Any]) -> None:
    """Add each field's description, examples and values to the schema that Dagster derived for a section."""
    # Besides `additionalProperties`, whose error names the unknown field but not those that exist.
    schema["propertyNames"] = {"enum": list(schema["properties"])}
    for name, field in section.model_fields.items():
        shown = schema["properties"].get(name)
        if shown is None:
            continue
        if field.description:
            shown["description"] = field.description
        if examples := field.examples:
            shown["examples"] = examples
        _narrow(section, name, shown)


def _narrow(section: type[BaseModel], name: str, shown: dict[str, Any]) -> None:
    choices = shown.get("anyOf", [])
    inner = next((choice for choice in choices if "$ref" in choice or _is_of_sections(choice)), None)
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
    shown["else"] = _with_readable_error(section, name, wanted)


def _is_of_sections(schema: Mapping[str, Any]) -> bool:
    """Whether a schema is that of a list of sections, each item of which is checked at its own line."""
    items = schema.get("items")
    return isinstance(items, dict) and "$ref" in items


def _with_readable_error(section: type[BaseModel], name: str, wanted: dict[str, Any]) -> dict[str, Any]:
    """A schema whose error says what to write, instead of showing a pattern."""
    if "pattern" not in wanted:
        return wanted
    # The only keyword whose error can hold a text of ours: "'...' was expected".
    return {
        "if": {"type": "string", "pattern": wanted["pattern"]},
        "else": {"const": expected(section, name)},
    }


def _schema(section: type[BaseModel], name: str) -> dict[str, Any] | None:
    """The JSON schema of what a field accepts, apart from being empty."""
    validator = adapter(section, name)
    if validator is None:
        return None
    schema = validator.json_schema()
    choices = [choice for choice in schema.get("anyOf", []) if choice != {"type": "null"}]
    return dict(choices[0]) if len(choices) == 1 else schema


def _in_words(schema: Mapping[str, Any]) -> str:
    if "description" in schema:
        return str(schema["description"])
    if "enum" in schema:
        *others, last = map(str, schema["enum"])
        return f"{', '.join(others)} or {last}"
    if "anyOf" in schema:
        return " or ".join(_in_words(choice) for choice in schema["anyOf"])
    kind = str(schema.get("type", ""))
    if kind in ("integer", "number"):
        return f"a {'whole ' if kind == 'integer' else ''}number{_bounds(schema)}"
    return _KINDS.get(kind, "a value")


def _bounds(schema: Mapping[str, Any]) -> str:
    minimum, maximum = schema.get("minimum"), schema.get("maximum")
    if minimum is not None and maximum is not None:
        return f" from {minimum:g} to {maximum:g}"
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    return (f" above {above:g}" if above is not None else "") + (
        f" and under {below:g}" if below is not None else ""
    )
