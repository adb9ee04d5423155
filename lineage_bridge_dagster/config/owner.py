"""The name of this installation in the tables that it pushes to.

Two installations that push to the same tables would overwrite each other's lineage for ever, so each leaves
the tables of the other alone. By default, an installation is the Dagster instance in DAGSTER_HOME, which all
of its hosts share; without one, this host and project.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
from functools import cache
from pathlib import Path

from lineage_bridge_dagster.config.settings import PushSettings
from lineage_bridge_dagster.errors import ConfigurationError


def with_owner(push: PushSettings, name: str = "") -> PushSettings:
    """The settings with the default owner, if they name none.

    Args:
        name: of the instance of the component, if it has one.

    Raises:
        ConfigurationError: the storage of the Dagster instance cannot be read.
    """
    if push.owner:
        return push
    home = os.environ.get("DAGSTER_HOME", "")
    installation = _dagster_instance(home) if home else _project(_project_folder(Path.cwd()))
    return push.model_copy(update={"owner": f"{installation}/{name}" if name else installation})


@cache
def _dagster_instance(home: str) -> str:
    from lineage_bridge_dagster.dagster_internals import stored_instance_id

    try:
        return f"dagster-{stored_instance_id()[:12]}"
    except Exception as error:
        raise ConfigurationError(
            f"The Dagster instance in {home} cannot be read, so the owner of the tables is unknown: {error}",
            hint="Correct DAGSTER_HOME, or name this installation: LINEAGE_BRIDGE_PUSH_OWNER=lineage-prod.",
        ) from error


def _project(folder: Path) -> str:
    host = platform.node() or "localhost"
    digest = hashlib.sha256(f"{host}:{folder}".encode("utf-8", "surrogateescape")).hexdigest()[:8]
    return re.sub(r"[^A-Za-z0-9._-]", "_", f"{host[:40]}-{folder.name[:40]}-{digest}")


def _project_folder(folder: Path) -> Path:
    """The nearest folder with a pyproject.toml, from this one up; this one if there is none."""
    return next((each for each in (folder, *folder.parents) if (each / "pyproject.toml").exists()), folder)
