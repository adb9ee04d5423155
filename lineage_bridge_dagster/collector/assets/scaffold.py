"""The YAML that `dg scaffold defs` writes for a collector: every field with its description and variable."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dagster import ScaffoldRequest
from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from lineage_bridge_dagster.collector.assets.fields import LandingConfig
from lineage_bridge_dagster.collector.settings import CollectorSettings, LandingSettings
from lineage_bridge_dagster.collector.variables import VARIABLES
from lineage_bridge_dagster.config.scaffold import InstanceScaffolder, comment
from lineage_bridge_dagster.config.yaml_section import YamlSection
from lineage_bridge_dagster.lineage.times import utc_now

_HEADER = """\
# One source of the collector. A field whose variable is not set keeps its default; to set it here, replace
# the template with a value. Keys, tokens and the key of masked values have no field: they come from
# LINEAGE_BRIDGE_COLLECTOR_* variables.
"""
#: What a person sets first, in this order.
_FIRST = (
    *("server", "regions", "catalog_id", "role", "output_path", "start_date", "cron", "running"),
    *("mask", "mask_classes", "format", "compress", "landing", "require_approval", "hwm_path"),
)


class CollectorScaffolder(InstanceScaffolder):
    """Writes the YAML of a collector."""

    def text(self, component: type[YamlSection], request: ScaffoldRequest[Any], path: Path) -> str:
        server = (path.parent if request.append else request.target_path).name
        return collector_yaml(component, request.type_name, server, utc_now().strftime("%Y-%m-%d"))


def collector_yaml(component: type[YamlSection], type_name: str, server: str, today: str) -> str:
    """The YAML of an instance that sets every field to its variable or its default."""
    own = {"server": server, "start_date": today}
    names = [*_FIRST, *(name for name in component.model_fields if name not in _FIRST)]
    lines = [f"type: {type_name}", "", "attributes:"]
    for name in names:
        if name == "landing":
            lines += comment(component.model_fields[name].description or "", "  ")
            lines.append("  landing:")
            for inner in LandingConfig.model_fields:
                lines += _field(LandingConfig, LandingSettings, inner, "    ", '""')
            continue
        value = json.dumps(own[name]) if name in own else _value(component, name)
        lines += _field(component, CollectorSettings, name, "  ", value)
    return _HEADER + "\n".join(lines) + "\n"


def _field(
    section: type[YamlSection], settings: type[BaseModel], name: str, indent: str, value: str
) -> Iterator[str]:
    text = section.model_fields[name].description or ""
    field = settings.model_fields.get(name)
    default = field.get_default(call_default_factory=True) if field else None
    shown = isinstance(default, str | int) and "default" not in text
    if shown and default != "":
        text += f" Default: {json.dumps(default)}."
    yield from comment(text, indent)
    yield f"{indent}{name}: {value}"


def _value(component: type[YamlSection], name: str) -> str:
    """A template over the variable of a setting; for a field that is not a setting, its default."""
    if name in CollectorSettings.model_fields:
        return f"\"{{{{ env('{VARIABLES}{name.upper()}', '') }}}}\""
    default = component.model_fields[name].get_default(call_default_factory=True)
    return '""' if default is PydanticUndefined else json.dumps(default)
