"""The fields of a collector in the YAML of its component: those of its configuration, except for secrets."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, Field
from pydantic.fields import FieldInfo

from lineage_bridge_dagster.collector.settings import CollectorSettings, LandingSettings, collector_variables
from lineage_bridge_dagster.config.variables import FromVariables
from lineage_bridge_dagster.config.views import view_of
from lineage_bridge_dagster.config.yaml_section import YamlSection, yaml_type

#: Keys and tokens come from variables or from AWS Secrets Manager, and metadata is all there is.
_NOT_FIELDS = {"key", "secret", "session_token", "meta_only"}
#: Fields whose YAML has another type than the setting.
_OTHER_TYPES = {"landing", "mask_classes", "output_path"}


def _variable(name: str) -> FromVariables:
    return FromVariables((collector_variables()[name],))


def _type(field: FieldInfo) -> Any:
    name = next(name for name, each in CollectorSettings.model_fields.items() if each is field)
    return Annotated[yaml_type(field), _variable(name)]


def _described(model: type[BaseModel], name: str) -> Any:
    return Field(default=None, description=model.model_fields[name].description)


@view_of(LandingSettings, yaml_type)
class LandingConfig(YamlSection):
    """Where the files of an extract are taken."""


@view_of(CollectorSettings, _type, leave_out=_NOT_FIELDS | _OTHER_TYPES)
class CollectorConfig(YamlSection):
    """What a collector reads, and how it writes it. What is left empty comes from variables."""

    output_path: Annotated[str | None, _variable("output_path")] = _described(
        CollectorSettings, "output_path"
    )
    mask_classes: Annotated[list[str] | str | None, _variable("mask_classes")] = _described(
        CollectorSettings, "mask_classes"
    )
    landing: LandingConfig = Field(
        default_factory=LandingConfig,
        description="Where the files are uploaded; by default, they stay where they are.",
    )

    def values(self) -> dict[str, Any]:
        """The keys of the configuration that are set."""
        known = CollectorSettings.model_fields
        given = {name: value for name, value in self.given().items() if name in known}
        given.pop("landing", None)
        if landing := self.landing.given():
            given["landing"] = landing
        return given
