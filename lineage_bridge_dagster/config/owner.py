"""The name of this installation in the tables that it pushes to.

Two installations that push to the same tables would overwrite each other's lineage for ever, so each leaves
the tables of the other alone. By default, an installation is the Dagster instance in DAGSTER_HOME, which all
of its hosts share. Without one nothing lasts that could name it, for containers change their host names: such
a push claims no table.
"""

from __future__ import annotations

import os
from functools import cache

from lineage_bridge_dagster.config.settings import PushSettings
from lineage_bridge_dagster.errors import ConfigurationError


def with_owner(push: PushSettings, name: str = "") -> PushSettings:
    """The settings with the default owner, if they name none; without a DAGSTER_HOME, none.

    Args:
        name: of the instance of the component, if it has one.

    Raises:
        ConfigurationError: the storage of the Dagster instance cannot be read.
    """
    home = os.environ.get("DAGSTER_HOME", "")
    if push.owner or not home:
        return push
    installation = _dagster_instance(home)
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
