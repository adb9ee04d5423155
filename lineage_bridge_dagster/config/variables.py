"""Settings from variables: those of the environment, of a `.env` file or of a secret."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource

from lineage_bridge_dagster.config.prefix import PREFIX


@dataclass(frozen=True)
class FromVariables:
    """Metadata of a field with other variables than `LINEAGE_BRIDGE_{GROUP}_{FIELD}`.

    Attributes:
        names: the first of these that is set wins.
        read: derives the value from all variables, for a field that has no variable of its own.
    """

    names: tuple[str, ...] = ()
    read: Callable[[Mapping[str, str]], object] | None = None


@dataclass(frozen=True)
class Follows:
    """Metadata of a field that has the value of another group's field while it is not set itself.

    It has no variable of its own, unless it has `FromVariables` too.
    """

    group: str
    name: str


def variables_of(group: str, name: str, field: FieldInfo) -> tuple[str, ...]:
    """The variables that a field is read from, the one that wins first."""
    if special := _special(field):
        return special.names
    return () if followed_by(field) else (f"{PREFIX}{group}_{name}".upper(),)


def followed_by(field: FieldInfo) -> Follows | None:
    """The field of another group that this one follows."""
    return next((item for item in field.metadata if isinstance(item, Follows)), None)


def known_variables(settings: type[BaseSettings]) -> frozenset[str]:
    """All variables of this project's own that have a field."""
    return frozenset(
        variable
        for group, fields in settings.model_fields.items()
        for name, field in _group(fields).model_fields.items()
        for variable in variables_of(group, name, field)
        if variable.startswith(PREFIX)
    )


class VariablesSource(PydanticBaseSettingsSource):
    """Reads groups of settings from variables. An empty variable counts as unset."""

    def __init__(
        self,
        settings_cls: type[BaseSettings],
        variables: Mapping[str, str | None],
        groups: Collection[str],
    ) -> None:
        super().__init__(settings_cls)
        self.variables = variables
        self._groups = groups

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[dict[str, Any], str, bool]:
        variables = {name: text for name, text in self.variables.items() if text}
        values = {
            name: _read(variables, field_name, name, inner)
            for name, inner in _group(field).model_fields.items()
        }
        return {name: value for name, value in values.items() if value}, field_name, True

    def __call__(self) -> dict[str, Any]:
        fields = {
            name: field for name, field in self.settings_cls.model_fields.items() if name in self._groups
        }
        return {name: self.get_field_value(field, name)[0] for name, field in fields.items()}


def _read(variables: Mapping[str, str], group: str, name: str, field: FieldInfo) -> object:
    special = _special(field)
    if special and special.read:
        return special.read(variables)
    found = (variables.get(variable) for variable in variables_of(group, name, field))
    return next(filter(None, found), None)


def _special(field: FieldInfo) -> FromVariables | None:
    return next((item for item in field.metadata if isinstance(item, FromVariables)), None)


def _group(field: FieldInfo) -> type[BaseModel]:
    """The model of a group, such as `push`, in the settings."""
    group = field.annotation
    assert isinstance(group, type)  # noqa: S101 - each field of the settings is a group
    assert issubclass(group, BaseModel)  # noqa: S101
    return group
