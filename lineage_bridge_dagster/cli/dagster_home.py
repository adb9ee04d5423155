"""The Dagster instance on whose storage a command works."""

from __future__ import annotations

import os
from pathlib import Path

from lineage_bridge_dagster.errors import ConfigurationError


def dagster_home() -> Path:
    """The folder of the instance's `dagster.yaml`, as DAGSTER_HOME names it.

    Raises:
        ConfigurationError: it names none that exists, or the file is no YAML.
    """
    import yaml

    home = os.environ.get("DAGSTER_HOME")
    if not home or not Path(home).is_dir():
        raise ConfigurationError(
            "DAGSTER_HOME names no folder.", hint="Set it to the folder of the deployment's dagster.yaml."
        )
    file = Path(home, "dagster.yaml")
    try:
        yaml.safe_load(file.read_bytes() if file.exists() else b"")
    except (OSError, yaml.YAMLError) as error:
        raise ConfigurationError(f"{file} cannot be read: {error}.", hint="Correct it.") from error
    return Path(home)
