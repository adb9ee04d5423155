"""Which variables a setting is read from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from lineage_bridge_dagster.config.prefix import PREFIX
from lineage_bridge_dagster.errors import ConfigurationError

#: The model of each group of settings, such as `push`.
GROUPS: dict[str, type[BaseModel]] = {}


@dataclass(frozen=True)
class FromVariables:
    """Metadata of a field with other variables than `LINEAGE_BRIDGE_{GROUP}_{FIELD}`.

    Attributes:
        names: the first of these that is set wins.
        read: derives the value from all variables, for a field that has no variable of its own.
        explain: the error of a wrong value, given the path within the field, and the type and message of
            pydantic's error; None for the usual one.
    """

    names: tuple[str, ...] = ()
    read: Callable[[Mapping[str, str]], object] | None = None
    explain: Callable[[Sequence[str], str, str], ConfigurationError | None] | None = None


@dataclass(frozen=True)
class Follows:
    """Metadata of a field that has the value of another group's field while it is not set itself.

    It has no variable of its own, unless it has `FromVariables` too.
    """

    group: str
    name: str


def special_variables(field: FieldInfo) -> FromVariables | None:
    return next((item for item in field.metadata if isinstance(item, FromVariables)), None)


def variables_of(group: str, name: str, field: FieldInfo) -> tuple[str, ...]:
    """The variables that a field is read from, the one that wins first."""
    if special := special_variables(field):
        return special.names
    return () if followed_by(field) else (f"{PREFIX}{group}_{name}".upper(),)


def followed_by(field: FieldInfo) -> Follows | None:
    """The field of another group that this one follows."""
    return next((item for item in field.metadata if isinstance(item, Follows)), None)


def known_variables() -> frozenset[str]:
    """The variables of this project's own that have a field in a group of settings."""
    return frozenset(
        variable
        for group, model in GROUPS.items()
        for name, field in model.model_fields.items()
        for variable in variables_of(group, name, field)
        if variable.startswith(PREFIX)
    )


def read_group(group: str, model: type[BaseModel], variables: Mapping[str, str | None]) -> dict[str, Any]:
    """The fields of a group that variables set. Blanks around a value do not count; a blank one is unset."""
    found = {name: text.strip() for name, text in variables.items() if text and text.strip()}
    values = {name: _read(found, group, name, field) for name, field in model.model_fields.items()}
    return {name: value for name, value in values.items() if value}


def _read(variables: Mapping[str, str], group: str, name: str, field: FieldInfo) -> object:
    special = special_variables(field)
    if special and special.read:
        return special.read(variables)
    return next(filter(None, map(variables.get, variables_of(group, name, field))), None)
