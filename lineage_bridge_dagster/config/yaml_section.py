"""A section of the YAML instance, whose fields may be templates and whose errors are precise.

Dagster checks a field's text against its type or any template. Here every value is checked where it is
written, or after its template was rendered, against what the field accepts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Annotated, Any, Self, get_args, get_origin

from dagster import Model, Resolvable
from dagster.components import ResolutionContext
from dagster.components.resolved.base import derive_model_type, resolve_fields
from pydantic import BaseModel, ConfigDict, ValidationError, create_model, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import InitErrorDetails

from lineage_bridge_dagster.config import yaml_schema
from lineage_bridge_dagster.config.views import optional_type
from lineage_bridge_dagster.config.yaml_errors import (
    Path,
    check_keys,
    check_variables,
    error_at,
    is_template,
    templates_in,
    variables_in,
)
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.text import did_you_mean

#: A century in each unit that the name of a field ends with, and the largest number that Java has.
_MOST = {"days": 36_525, "hours": 876_600, "minutes": 52_596_000, "seconds": 3_155_760_000}
_LONG = 2**63 - 1


class YamlSection(Model, Resolvable):
    """A Dagster model whose fields may be templates."""

    # A template renders an account's id to a number.
    model_config = ConfigDict(extra="forbid", coerce_numbers_to_str=True)

    @classmethod
    def model(cls) -> type[BaseModel]:
        """The model of the YAML text, from which the JSON schema is derived too."""
        return _model_of(cls)

    @classmethod
    def resolve_from_model(cls, context: ResolutionContext, model: BaseModel) -> Self:
        """Render the templates and check the values.

        Raises:
            ResolutionException: a variable is not set, or a value is wrong; with file, line and remedy.
        """
        if len(context.path) == 1:
            check_keys(context)
        for name in model.model_fields_set:
            check_variables(context.at_path(name), getattr(model, name), yaml_schema.example_of(cls, name))
        fields = dict(resolve_fields(model, cls, context))
        try:
            for name, value in fields.items():
                _check(cls, name, value, rendered=True)
            section = cls(**fields)
        except ValidationError as error:
            first = error.errors()[0]
            name = str(first["loc"][0])
            variables = variables_in(getattr(model, name, None))
            source = f"Set {variables[0]}, which the value comes from, to" if variables else "Write"
            remedy = f"{source} {yaml_schema.expected(cls, name)}."
            raise error_at(context.at_path(name), _message(first["msg"]), remedy) from None
        for path, wrong in section.contradictions():
            for part in path:
                context = context.at_path(part)
            raise error_at(context, wrong.message, wrong.hint.rstrip(".") + ".") from None
        return section

    def contradictions(self) -> Iterator[tuple[Path, ConfigurationError]]:
        """What is wrong with values that are right each for itself, and where."""
        yield from ()

    def given(self) -> dict[str, Any]:
        """The fields that are not empty."""
        return {name: value for name, value in self.model_dump().items() if value not in (None, "", [], {})}


def yaml_type(field: FieldInfo) -> Any:
    """The type of a setting's field in the YAML, where a template may stand for the value."""
    return Annotated[optional_type(field, str), yaml_schema.Accepts(field.rebuild_annotation())]


@cache
def _model_of(section: type[YamlSection]) -> type[BaseModel]:
    derived = derive_model_type(section)
    extra = derived.model_config.get("json_schema_extra")

    def check(_cls: type[BaseModel], data: Any) -> Any:
        problems = list(_problems(section, data, ()))
        if problems:
            raise ValidationError.from_exception_data(section.__name__, problems)
        return data

    validator: Any = model_validator(mode="before")(classmethod(check))  # type: ignore[arg-type]
    model: type[BaseModel] = create_model(
        derived.__name__, __base__=derived, __validators__={"check": validator}
    )

    def schema_extra(schema: dict[str, Any]) -> None:
        if isinstance(extra, dict):
            schema.update(extra)
        yaml_schema.describe(section, schema)

    model.model_config["json_schema_extra"] = schema_extra
    return model


def _problems(section: type[YamlSection], data: object, path: Path) -> Iterator[InitErrorDetails]:
    """Everything that is wrong in a section's text, each problem at its own place."""
    if not isinstance(data, Mapping):
        return
    for name, value in data.items():
        here = (*path, name)
        if name not in section.model_fields:
            yield _problem(here, value, _unknown(section, str(name), path))
            continue
        inner, dagsters = section_of(section, name), _dagster_model(section, name)
        if dagsters is not None and isinstance(value, Mapping):
            for key in value.keys() - dagsters.model_fields.keys():
                yield _problem((*here, key), value[key], _unknown(dagsters, str(key), here))
        if inner is not None and isinstance(value, Mapping):
            yield from _problems(inner, value, here)
        elif inner is not None and not (isinstance(value, str) and is_template(value)):
            yield _problem(here, value, f"Write a mapping of {', '.join(inner.model_fields)}.")
        elif (item := item_section_of(section, name)) is not None:
            yield from _item_problems(item, value, here)
        elif not any(templates_in(value)):
            try:
                _check(section, name, value)
            except ValidationError as error:
                message = _message(error.errors()[0]["msg"])
                yield _problem(here, value, f"{message}. Write {yaml_schema.expected(section, name)}.")


def _item_problems(item: type[YamlSection], value: object, path: Path) -> Iterator[InitErrorDetails]:
    what = f"a mapping of {', '.join(item.model_fields)}"
    if isinstance(value, list):
        for index, each in enumerate(value):
            if isinstance(each, Mapping):
                yield from _problems(item, each, (*path, index))
            else:
                yield _problem((*path, index), each, f"Write {what}.")
    elif value is not None and not (isinstance(value, str) and is_template(value)):
        yield _problem(path, value, f"Write a list, each item {what}.")


def _check(section: type[BaseModel], name: str, value: object, *, rendered: bool = False) -> None:
    """Raise pydantic's error, with the field's name, for a value that the field does not accept."""
    adapter = yaml_schema.adapter(section, name, rendered=rendered)
    # An empty value counts as unset, and a section was checked by its own type.
    if value in (None, "") or isinstance(value, YamlSection):
        return
    wrong = "it is blank" if isinstance(value, str) and not value.strip() else ""
    if not wrong and adapter is not None and item_section_of(section, name) is None:
        try:
            wrong = _wrong_number(name, value, adapter.validate_python(value))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            problem: Any = {**first, "loc": (name,)}
            raise ValidationError.from_exception_data(section.__name__, [problem]) from None
    if wrong:
        raise ValidationError.from_exception_data(section.__name__, [_problem((name,), value, wrong)])


def _wrong_number(name: str, value: object, found: object) -> str:
    """What pydantic takes for a number, and nobody means, or what no later computation can hold."""
    if not isinstance(found, int | float) or isinstance(found, bool):
        return ""
    if isinstance(value, bool):
        return "it is true or false"
    # Not a number is not at most anything.
    return "" if abs(found) <= _MOST.get(name.rpartition("_")[2], _LONG) else "it is too large"


def _message(message: str) -> str:
    """Pydantic's message without the words it puts before a validator's error."""
    message = message.removeprefix("Value error, ")
    return message[:1].upper() + message[1:]


def _problem(path: Path, value: object, message: str) -> InitErrorDetails:
    return {"type": "value_error", "loc": path, "input": value, "ctx": {"error": ValueError(message)}}


def _unknown(section: type[BaseModel], name: str, path: Path) -> str:
    fields = list(section.model_fields)
    homes = [f for f in fields if (inner := section_of(section, f)) and name in inner.model_fields]
    hint = did_you_mean(name, fields, quote="'") or (f"It belongs under {homes[0]!r}. " if homes else "")
    place = ".".join(("attributes", *map(str, path)))
    return f"There is no field {name!r}. {hint}The fields of {place} are {', '.join(fields)}."


def _dagster_model(section: type[YamlSection], name: str) -> type[BaseModel] | None:
    """The model of a field that Dagster defines: `translation`, `defs_state`."""
    choices = get_args(derive_model_type(section).model_fields[name].annotation)
    models = [choice for choice in choices if isinstance(choice, type) and issubclass(choice, BaseModel)]
    return models[0] if len(models) == 1 and section_of(section, name) is None else None


def section_of(section: type[BaseModel], name: str) -> type[YamlSection] | None:
    annotation: Any = section.model_fields[name].annotation
    return annotation if isinstance(annotation, type) and issubclass(annotation, YamlSection) else None


def item_section_of(section: type[BaseModel], name: str) -> type[YamlSection] | None:
    """The class of the items of a field that is a list of sections."""
    annotation: Any = section.model_fields[name].annotation
    if get_origin(annotation) is not list:
        return None
    (item,) = get_args(annotation)
    return item if isinstance(item, type) and issubclass(item, YamlSection) else None
