"""The Dagster project in a folder, as its `pyproject.toml` or `dg.toml` has it, and its instance's files."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

#: A file, and where in it the project is.
_FILES = (("dg.toml", ("project",)), ("pyproject.toml", ("tool", "dg", "project")))


#: The code location that the files name: this project's own.
_NAME = "lineage_bridge_dagster"
_MODULE = "lineage_bridge_dagster.definitions"
_PACKAGE = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class DgProject:
    """Names of a project's code location and modules, with the defaults of `dg`."""

    name: str
    module: str
    defs_module: str

    @classmethod
    def read(cls, root: Path) -> Self | None:
        """The project in a folder; None if there is none."""
        for name, path in _FILES:
            with suppress(OSError, ValueError, AttributeError):
                found: Any = tomllib.loads((root / name).read_text(encoding="utf-8"))
                for key in path:
                    found = found.get(key, {})
                if isinstance(found, Mapping) and (package := found.get("root_module")):
                    return cls(
                        name=str(found.get("code_location_name") or root.resolve().name),
                        module=str(found.get("code_location_target_module") or f"{package}.definitions"),
                        defs_module=str(found.get("defs_module") or f"{package}.defs"),
                    )
        return None


def dagster_yaml(location: str = _NAME) -> str:
    """The settings of an instance, whose run launcher forks the runs of this code location."""
    return _text("dagster.yaml").replace(
        f"grpc_locations: [{_NAME}]", f"grpc_locations: [{_quoted(location)}]"
    )


def deployed(name: str) -> str:
    """A file of `deploy/`: `dagster.yaml` or `workspace.yaml` of a deployment with several processes."""
    return _text(f"deploy/{name}")


def workspace_yaml(project: DgProject, folder: Path) -> str:
    """The workspace of a project in a folder."""
    source = "./src" if (folder / "src" / project.module.split(".")[0]).is_dir() else "./"
    own, new = _entry(_MODULE, _NAME, "./"), _entry(project.module, _quoted(project.name), source)
    return _text("workspace.yaml").replace(own, new).replace(_MODULE, project.module)


def _entry(module: str, name: str, folder: str) -> str:
    return f"      module_name: {module}\n      location_name: {name}\n      working_directory: {folder}\n"


def _quoted(name: str) -> str:
    """A name as a string of YAML, whatever it looks like: a folder may be called `2024`."""
    return json.dumps(name, ensure_ascii=False)


def _text(name: str) -> str:
    """Read a file of the repository that the wheel has a copy of."""
    packaged = _PACKAGE / "templates" / name
    return (packaged if packaged.exists() else _PACKAGE.parent / name).read_text(encoding="utf-8")
