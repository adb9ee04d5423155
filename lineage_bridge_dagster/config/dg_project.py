"""The Dagster project in a folder, as its `pyproject.toml` or `dg.toml` describes it for `dg`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

#: A file, and where in it the project is.
_FILES = (("dg.toml", ("project",)), ("pyproject.toml", ("tool", "dg", "project")))


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
