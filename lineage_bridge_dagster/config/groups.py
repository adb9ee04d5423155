"""Groups of settings, such as `aws`, and how they are read.

A room declares its settings as a model, and a subclass of `SettingsGroups` with a field for that model. What
is left empty is read from the environment, then from a `.env` file, then from AWS Secrets Manager.
"""

from __future__ import annotations

import dataclasses
import os
from collections import ChainMap
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError

from lineage_bridge_dagster.config.aws_settings import AwsSettings, region_of_profile
from lineage_bridge_dagster.config.env_file import env_variables
from lineage_bridge_dagster.config.prefix import SECRETS
from lineage_bridge_dagster.config.secrets import CachedSecrets, ReadSecrets, read_secrets
from lineage_bridge_dagster.config.value_types import split_names
from lineage_bridge_dagster.config.variables import (
    GROUPS,
    read_group,
    special_variables,
    variables_of,
)
from lineage_bridge_dagster.errors import ConfigurationError

#: Fields by group. Empty ones count as unset.
Given = Mapping[str, Mapping[str, Any]]

_EMPTY: tuple[object, ...] = (None, "", [], {})


@dataclasses.dataclass(frozen=True)
class _Sources:
    """What settings were read from; equal settings need not be read from the same objects."""

    read: Callable[[], Any] = dataclasses.field(compare=False)
    secrets: ReadSecrets | None = dataclasses.field(compare=False)


class SettingsGroups(BaseModel):
    """Groups of settings that are read together. `from_env` reads them; the constructor reads nothing."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    #: The groups that another one cannot be read without.
    NEEDED: ClassVar[Mapping[str, Collection[str]]] = {}

    aws: AwsSettings = Field(default_factory=AwsSettings)

    #: What the settings were read from, secrets included.
    _variables: Mapping[str, str] = PrivateAttr(default_factory=dict)
    _sources: _Sources | None = PrivateAttr(default=None)

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        for group, field in cls.model_fields.items():
            GROUPS[group] = _model(field.annotation)

    @classmethod
    def from_env(
        cls,
        env: Mapping[str, str] | None = None,
        *,
        given: Given | None = None,
        groups: Collection[str] = (),
        secrets: ReadSecrets | None = None,
    ) -> Self:
        """Read the settings from `LINEAGE_BRIDGE_*` variables; boto3 reads AWS's own.

        A region that no variable sets is that of the AWS profile, if it has one.

        Args:
            env: the variables; by default the environment's and those of the project's `.env` file.
            given: fields by group that take precedence.
            groups: the groups to read, with those that they need; by default all of them. The others keep
                their defaults, and errors in them are ignored.
            secrets: reads AWS Secrets Manager, if `confluent.secrets` names any secrets, whatever the groups:
                a push must not use other settings than a discovery.

        Raises:
            ConfigurationError: a value is malformed, a key has no secret, or a secret can't be read.
        """
        layers: list[Mapping[str, str | None]] = [os.environ, env_variables()] if env is None else [env]
        own = ChainMap(*map(dict, layers))
        not_empty = {
            group: {name: value for name, value in fields.items() if value not in _EMPTY}
            for group, fields in (given or {}).items()
        }
        stored = _stored(not_empty, layers, secrets or read_secrets)
        read = {
            needed for group in groups or cls.model_fields for needed in (group, *cls.NEEDED.get(group, ()))
        }
        chosen = {group: fields for group, fields in not_empty.items() if group in read}
        values: Mapping[str, Any] = {}
        for layer in (stored, *reversed(layers)):
            values = _over(values, {group: read_group(group, GROUPS[group], layer) for group in read})
        try:
            settings = cls.model_validate(_over(values, chosen))
        except ValidationError as error:
            explained = _explained(error, chosen, own)
        else:
            if env is None and "aws" in read and not settings.aws.region:
                # Java's SDK and the signatures of requests need it from us; boto3 would find it itself.
                region = region_of_profile(settings.aws.profile)
                settings = settings.model_copy(
                    update={"aws": settings.aws.model_copy(update={"region": region})}
                )
            settings = settings.completed()
            settings._variables = {
                name: text for layer in (stored, *reversed(layers)) for name, text in layer.items() if text
            }
            again = partial(cls.from_env, env, given=given, groups=groups, secrets=secrets)
            settings._sources = _Sources(again, secrets)
            return settings
        # Raised outside the except clause: pydantic's error, as its context, would show the value.
        raise explained

    def read_again(self) -> Self:
        """The settings as their sources have them now, secrets included; these ones if they were not read.

        Raises:
            ConfigurationError: as `from_env`.
        """
        if self._sources is None:
            return self
        if isinstance(self._sources.secrets, CachedSecrets):
            self._sources.secrets.forget()
        found: Self = self._sources.read()
        return found

    def completed(self) -> Self:
        """The settings with what a group takes from another one.

        Raises:
            ConfigurationError: they contradict each other.
        """
        return self


def _model(annotation: Any) -> type[BaseModel]:
    assert isinstance(annotation, type)  # noqa: S101 - each field is a group
    assert issubclass(annotation, BaseModel)  # noqa: S101
    return annotation


def _stored(
    given: Given, layers: Collection[Mapping[str, str | None]], read: ReadSecrets
) -> Mapping[str, str]:
    """The variables in the secrets that `confluent.secrets` names, read in the region and with the profile of
    `aws`."""
    named = [given.get("confluent", {}).get("secrets"), *(layer.get(SECRETS) for layer in layers)]
    names = split_names(next(filter(None, named), ""))
    if not names:
        return {}
    aws = [given.get("aws", {}), *(read_group("aws", AwsSettings, layer) for layer in layers)]
    region, profile = (
        next(filter(None, (fields.get(name) for fields in aws)), None) for name in ("region", "profile")
    )
    return read(names, region, profile)


def _over(lower: Mapping[str, Any], upper: Mapping[str, Any]) -> dict[str, Any]:
    """Two mappings merged at every depth; values of the upper one win."""
    return {
        **lower,
        **{
            name: _over(lower[name], value)
            if isinstance(value, Mapping) and isinstance(lower.get(name), Mapping)
            else value
            for name, value in upper.items()
        },
    }


def _explained(
    error: ValidationError, given: Given, variables: Mapping[str, str | None]
) -> ConfigurationError:
    first = error.errors(include_input=False)[0]
    group, name, *inner = (*map(str, first["loc"]), "")
    field = GROUPS[group].model_fields.get(name)
    message = first["msg"].removeprefix("Value error, ")
    special = special_variables(field) if field else None
    if special and special.explain and (explained := special.explain(inner, first["type"], message)):
        return explained
    if field is None or name in given.get(group, {}):
        return ConfigurationError(
            f"The setting {group}.{name} is wrong: {message}",
            hint=f"Correct {group}.{name} in the component's defs.yaml, or the variable it comes from.",
        )
    names = variables_of(group, name, field)
    variable = next((each for each in (*names, name) if variables.get(each)), (*names, name)[0])
    return ConfigurationError(
        f"The variable {variable} is wrong ({group}.{name}): {message}",
        hint=f"Set it as in {variable}={field.examples[0]}" if field.examples else f"Correct {variable}.",
    )
