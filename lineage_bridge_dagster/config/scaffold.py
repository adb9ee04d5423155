"""The YAML that `dg scaffold defs` writes: every field with its description, default and variable."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from dagster import Scaffolder, ScaffoldRequest, scaffold_component
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from lineage_bridge_dagster.config.dg_project import DgProject
from lineage_bridge_dagster.config.variables import GROUPS, FromVariables, followed_by, variables_of
from lineage_bridge_dagster.config.yaml_section import YamlSection, section_of

_HEADER = """\
# An instance of the component. A field whose variable is not set keeps its default; to set it here, replace
# the template with a value. Keys and secrets have no field: they come from LINEAGE_BRIDGE_*_API_KEY and
# LINEAGE_BRIDGE_*_API_SECRET variables, or from AWS Secrets Manager.
"""

#: Fields whose values are Dagster's own mappings, as examples to uncomment.
_EXAMPLES = {
    "translation": ["owners: [\"team:{{ node.environment_name or 'data-platform' }}\"]"],
    "defs_state": ["management_type: VERSIONED_STATE_STORAGE"],
}

_WIDTH = 105
_NO_BREAK = "\0"


class InstanceScaffolder(Scaffolder[Any]):
    """Writes the YAML of a `YamlSection` component."""

    def scaffold(self, request: ScaffoldRequest[Any]) -> None:
        if request.scaffold_format != "yaml":
            scaffold_component(request)
            return
        module, _, name = request.type_name.rpartition(".")
        path = request.target_path if request.append else request.target_path / "defs.yaml"
        component = getattr(import_module(module), name)
        text = self.text(component, request, path)
        with path.open("a" if request.append else "w", encoding="utf-8") as file:
            file.write(("---\n" if request.append else "") + text)

    def text(self, component: type[YamlSection], request: ScaffoldRequest[Any], path: Path) -> str:
        """The YAML to write to a path."""
        return instance_yaml(component, request.type_name, instance_name=_instance_name(request, path))


def instance_yaml(component: type[YamlSection], type_name: str, *, instance_name: str = "") -> str:
    """The YAML of an instance that sets every field of a component to its variable or its default."""
    lines = [f"type: {type_name}", "", "attributes:", *_section(component, component, (), "  ")]
    if instance_name:
        lines[lines.index('  name: ""')] = f"  name: {instance_name}"
        # Two instances may have tables, topics or external datasets of the same name.
        start = lines.index("  # translation:")
        lines[start : start + 2] = ["  translation:", f"    key_prefix: {instance_name}"]
        # A write of the lineage tables replaces the nodes of all instances that share them.
        start = next(at for at, line in enumerate(lines) if line.startswith("    namespace: "))
        lines[start] = f"    namespace: lineage_bridge_{instance_name.lower()}"
    return _HEADER + "\n".join(lines) + "\n"


def _instance_name(request: ScaffoldRequest[Any], path: Path) -> str:
    """A name for an instance beside another one, from its folder; the first instance needs none."""
    files = _defs_folder(request).rglob("defs.yaml")
    others = (other for other in files if request.append or other != path)
    if not any(request.type_name in other.read_text(encoding="utf-8") for other in others):
        return ""
    return re.sub(r"\W+", "_", (path.parent if request.append else request.target_path).name, flags=re.ASCII)


def _defs_folder(request: ScaffoldRequest[Any]) -> Path:
    """The folder of the project's definitions: others, such as its `.venv`, have instances of their own."""
    project = DgProject.read(request.project_root) if request.project_root else None
    module = (project.defs_module if project else "defs").split(".")
    for folder in request.target_path.parents:
        if list(folder.parts[-len(module) :]) == module:
            return folder
    return request.target_path.parent


def _section(
    component: type[YamlSection], section: type[YamlSection], path: tuple[str, ...], indent: str
) -> Iterator[str]:
    for name, field in section.model_fields.items():
        inner = section_of(section, name)
        yield from comment(described(path, name, field, inner), indent)
        if inner is not None:
            yield f"{indent}{name}:"
            yield from _section(component, inner, (*path, name), indent + "  ")
        elif name in _EXAMPLES:
            yield f"{indent}# {name}:"
            yield from (f"{indent}#   {line}" for line in _EXAMPLES[name])
        else:
            yield f"{indent}{name}: {_value(path, name, field)}"


def described(path: tuple[str, ...], name: str, field: FieldInfo, inner: type[YamlSection] | None) -> str:
    """What a field means, with its default; `inner` is its model if the field is a section."""
    text = field.description or ""
    if inner is not None or name in _EXAMPLES or "default" in text:
        return text
    if other := _followed(path, name):
        return f"{text} Default: that of {other}."
    default = (_setting(path, name) or field).get_default(call_default_factory=True)
    if default in (None, "", [], {}, PydanticUndefined):
        return text
    return f"{text} Default: {_scalar(default)}."


def _value(path: tuple[str, ...], name: str, field: FieldInfo) -> str:
    """A template over the field's variable, or the default of a field that has none."""
    setting = _setting(path, name)
    default = (setting or field).get_default(call_default_factory=True)
    if isinstance(default, dict) or not (path or _has_variable(field)):
        return json.dumps(default)
    if setting is not None:
        return '""' if _followed(path, name) else _template(f"env.{_variable(path, name, setting)}")
    text = "" if default is None else _scalar(default)
    return _template(f"env('{_variable(path, name, field)}', '{text}')")


def variable(path: tuple[str, ...], name: str, field: FieldInfo) -> str:
    """The variable that an empty field is read from; empty if the field has no variable."""
    setting = _setting(path, name)
    default = (setting or field).get_default(call_default_factory=True)
    if isinstance(default, dict) or not (path or _has_variable(field)) or _followed(path, name):
        return ""
    return _variable(path, name, setting or field)


def _variable(path: tuple[str, ...], name: str, field: FieldInfo) -> str:
    group = _group(path) if _setting(path, name) else "_".join(path)
    return variables_of(group, name, field)[0]


def _followed(path: tuple[str, ...], name: str) -> str:
    """The field of another section that this one follows while it is empty, such as `aws.region`."""
    setting = _setting(path, name)
    other = followed_by(setting) if setting else None
    return f"{other.group}.{other.name}" if other else ""


def _template(expression: str) -> str:
    return f'"{{{{ {expression} }}}}"'


def _scalar(value: object) -> str:
    """A default as it is written in a variable."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _has_variable(field: FieldInfo) -> bool:
    return any(isinstance(item, FromVariables) for item in field.metadata)


def _group(path: tuple[str, ...]) -> str:
    """The group of settings that a section is a view of: `catalog` for `spark.catalog`."""
    return path[-1] if path else ""


def _setting(path: tuple[str, ...], name: str) -> FieldInfo | None:
    model = GROUPS.get(_group(path))
    return model.model_fields.get(name) if model else None


def comment(text: str, indent: str) -> Iterator[str]:
    """The lines of a comment."""
    prefix = f"{indent}# "
    # A default with spaces, such as a cron expression, stays on one line.
    text = re.sub(r"(?<= Default: ).*", lambda default: default[0].replace(" ", _NO_BREAK), text)
    for line in textwrap.wrap(text, _WIDTH, initial_indent=prefix, subsequent_indent=prefix):
        yield line.replace(_NO_BREAK, " ")
