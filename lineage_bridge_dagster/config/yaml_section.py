"""A part of the YAML instance that says of a wrong field where it stands and what to write.

Errors name the file, the line and the field. They never show what came out of a template: the variable
behind it is named instead.
"""

from __future__ import annotations

import difflib
import linecache
import os
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, ClassVar, Self, get_args

from dagster import Model, Resolvable
from dagster.components import ResolutionContext
from dagster.components.resolved.base import derive_model_type, resolve_fields
from dagster.components.resolved.errors import ResolutionException
from jinja2 import Environment, TemplateSyntaxError, nodes
from pydantic import BaseModel, ConfigDict, ValidationError, create_model, model_validator
from pydantic_core import InitErrorDetails

from lineage_bridge_dagster.config import yaml_schema
from lineage_bridge_dagster.config.catalog import CatalogConfig
from lineage_bridge_dagster.config.settings import (
    PREFIX,
    AwsSettings,
    ConfluentSettings,
    PushSettings,
    variable_of,
)

Path = tuple[str | int, ...]

#: How a template takes a variable that has to be set: `env('X')`, which Dagster refuses without it, and
#: `env.X` with nothing around it, which it makes nothing of.
_CALLED, _BARE = "called", "bare"

#: The variables that a field is read from in any case, and that may be left unset.
_KNOWN = frozenset(
    variable_of(part, field)
    for part, fields in {
        "confluent": {*ConfluentSettings.model_fields, "secrets"} - {"credentials"},
        "aws": AwsSettings.model_fields,
        "push": PushSettings.model_fields,
        "catalog": CatalogConfig.model_fields,
    }.items()
    for field in fields
)


class YamlSection(Model, Resolvable):
    """A Dagster model whose fields may be templates."""

    # A template renders an account's id to a number.
    model_config = ConfigDict(extra="forbid", coerce_numbers_to_str=True)

    #: Settings whose fields of the same names say what the fields here take.
    like: ClassVar[type[BaseModel] | None] = None

    @classmethod
    def model(cls) -> type[BaseModel]:
        """The model of the YAML text, of which the JSON schema is made too."""
        return _model_of(cls)

    @classmethod
    def resolve_from_model(cls, context: ResolutionContext, model: BaseModel) -> Self:
        """Render the templates and hold the values to what the fields take.

        Raises:
            ResolutionException: a variable is not set, or a value is wrong; with file, line and remedy.
        """
        for name in model.model_fields_set:
            check_variables(context.at_path(name), getattr(model, name), yaml_schema.example_of(cls, name))
        fields = dict(resolve_fields(model, cls, context))
        try:
            for name, value in fields.items():
                _check(cls, name, value, rendered=True)
            return cls(**fields)
        except ValidationError as error:
            first = error.errors()[0]
            name = str(first["loc"][0])
            wanted = yaml_schema.words(cls, name)
            variables = variables_of(getattr(model, name, None))
            source = f"Set {variables[0]}, which the value comes from, to" if variables else "Write"
            remedy = f"{source} {wanted}."
            raise placed(context.at_path(name), _said(first["msg"]), remedy) from None


def placed(context: ResolutionContext, what: str, remedy: str) -> ResolutionException:
    """An error with its place in the YAML: file, line, field, and what stands there."""
    field = ".".join(map(str, context.path))
    if context.source_position_tree is None:
        return ResolutionException(f"{field}: {what}.\n  -> {remedy}")
    place = context.source_position_tree.lookup_closest_and_path(context.path, None)[0]
    # A code server outlives many an edit of the file.
    linecache.checkcache(place.filename)
    text = linecache.getline(place.filename, place.start.line).rstrip()
    shown = f"\n{place.start.line:>5} | {text}" if text else ""
    return ResolutionException(f"{place} - {field}: {what.rstrip('.')}.{shown}\n  -> {remedy}")


def check_variables(context: ResolutionContext, value: object, example: str) -> None:
    """Every variable that a template takes as it is has to be set; those of this project may be left out.

    Dagster makes nothing of `env.X` when X is not set, and the field would silently keep its default.

    Raises:
        ResolutionException: one is not set.
    """
    if isinstance(value, Mapping):
        for name, held in value.items():
            check_variables(context.at_path(name), held, example)
    elif isinstance(value, list | tuple):
        for index, held in enumerate(value):
            check_variables(context.at_path(index), held, example)
    elif isinstance(value, str):
        for variable, need in _taken(value):
            if variable in os.environ or not need or (need == _BARE and variable in _KNOWN):
                continue
            near = difflib.get_close_matches(variable, _KNOWN, 1, 0.8)
            meant = f"Did you mean {near[0]}? " if near and variable.startswith(PREFIX) else ""
            remedy = f"{meant}Set it, as in {variable}={example or '...'}. Where it may be left out, "
            raise placed(
                context, f"The variable {variable} is not set", remedy + f"write env('{variable}', '')."
            )


def variables_of(value: object) -> list[str]:
    """The environment variables that a field's template takes."""
    return [variable for variable, _ in _taken(value)] if isinstance(value, str) else []


def templates_of(value: object, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Every template within a value, with its place."""
    if isinstance(value, str):
        if is_template(value):
            yield path, value
    elif isinstance(value, Mapping):
        for name, held in value.items():
            yield from templates_of(held, (*path, name))
    elif isinstance(value, list | tuple):
        for index, held in enumerate(value):
            yield from templates_of(held, (*path, index))


def is_template(text: str) -> bool:
    return "{{" in text or "{%" in text


def _taken(text: str) -> list[tuple[str, str]]:
    """The variables of a template, and how it needs each: by call, bare, or not at all (empty)."""
    try:
        tree = Environment(autoescape=True).parse(text)
    except TemplateSyntaxError:
        # Dagster says so, with the place.
        return []
    bare = {id(node) for output in tree.find_all(nodes.Output) for node in output.nodes}
    found = [
        (node.attr, _BARE if id(node) in bare else "")
        for node in tree.find_all(nodes.Getattr)
        if isinstance(node.node, nodes.Name) and node.node.name == "env"
    ]
    for call in tree.find_all(nodes.Call):
        of_env = isinstance(call.node, nodes.Name) and call.node.name == "env"
        if of_env and call.args and isinstance(call.args[0], nodes.Const):
            has_default = len(call.args) > 1 or call.kwargs
            found.append((str(call.args[0].value), "" if has_default else _CALLED))
    return found


@cache
def _model_of(section: type[YamlSection]) -> type[BaseModel]:
    derived = derive_model_type(section)
    extra = derived.model_config.get("json_schema_extra")

    def look(_cls: type[BaseModel], data: Any) -> Any:
        problems = list(_problems(section, data, ()))
        if problems:
            raise ValidationError.from_exception_data(section.__name__, problems)
        return data

    validator: Any = model_validator(mode="before")(classmethod(look))  # type: ignore[arg-type]
    made: type[BaseModel] = create_model(
        derived.__name__,
        __base__=derived,
        __validators__={"look": validator},
    )

    def schema_extra(schema: dict[str, Any]) -> None:
        if isinstance(extra, dict):
            schema.update(extra)
        yaml_schema.describe(section, schema)

    made.model_config["json_schema_extra"] = schema_extra
    return made


def _problems(section: type[YamlSection], data: object, path: Path) -> Iterator[InitErrorDetails]:
    """What is wrong in a section's text, all of it at once, each at its own place."""
    if not isinstance(data, Mapping):
        return
    for name, value in data.items():
        here = (*path, name)
        if name not in section.model_fields:
            yield _problem(here, value, _unknown(section, str(name), path))
            continue
        inner, dagsters = _section_of(section, name), _dagsters_own(section, name)
        if dagsters is not None and isinstance(value, Mapping):
            for other in value.keys() - dagsters.model_fields.keys():
                yield _problem((*here, other), value[other], _unknown(dagsters, str(other), here))
        if inner is not None and isinstance(value, Mapping):
            yield from _problems(inner, value, here)
        elif inner is not None and not (isinstance(value, str) and is_template(value)):
            yield _problem(here, value, f"Write a mapping of {', '.join(inner.model_fields)}.")
        elif inner is None and not any(templates_of(value)):
            try:
                _check(section, name, value)
            except ValidationError as error:
                said = _said(error.errors()[0]["msg"])
                yield _problem(here, value, f"{said}. Write {yaml_schema.words(section, name)}.")


def _check(section: type[BaseModel], name: str, value: object, *, rendered: bool = False) -> None:
    """Raise pydantic's error, with the field's name, for a value that the field does not take."""
    adapter = yaml_schema.adapter(section, name, rendered=rendered)
    # What is empty says nothing, or is told by the section's own type.
    if adapter is None or value in (None, "") or isinstance(value, YamlSection):
        return
    try:
        adapter.validate_python(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        problem: Any = {**first, "loc": (name,)}
        raise ValidationError.from_exception_data(section.__name__, [problem]) from None


def _said(message: str) -> str:
    """Pydantic's words, without those that it puts before an error that a validator raised."""
    message = message.removeprefix("Value error, ")
    return message[:1].upper() + message[1:]


def _problem(path: Path, value: object, what: str) -> InitErrorDetails:
    return {"type": "value_error", "loc": path, "input": value, "ctx": {"error": ValueError(what)}}


def _unknown(section: type[BaseModel], name: str, path: Path) -> str:
    fields = list(section.model_fields)
    near = difflib.get_close_matches(name, fields, 1, 0.6)
    homes = [f for f in fields if (inner := _section_of(section, f)) and name in inner.model_fields]
    hint = f" Did you mean {near[0]!r}?" if near else f" It belongs under {homes[0]!r}." if homes else ""
    place = ".".join(("attributes", *map(str, path)))
    return f"There is no field {name!r}.{hint} The fields of {place} are {', '.join(fields)}."


def _dagsters_own(section: type[YamlSection], name: str) -> type[BaseModel] | None:
    """The model of a field that Dagster gives a meaning: `translation`, `defs_state`."""
    choices = get_args(derive_model_type(section).model_fields[name].annotation)
    models = [choice for choice in choices if isinstance(choice, type) and issubclass(choice, BaseModel)]
    return models[0] if len(models) == 1 and _section_of(section, name) is None else None


def _section_of(section: type[BaseModel], name: str) -> type[YamlSection] | None:
    annotation: Any = section.model_fields[name].annotation
    return annotation if isinstance(annotation, type) and issubclass(annotation, YamlSection) else None
