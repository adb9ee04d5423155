"""What commands take from the environment besides the settings: the log's level; and what nothing takes."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from rich.logging import RichHandler

from lineage_bridge_dagster.cli.output import err
from lineage_bridge_dagster.config.prefix import LOG_LEVEL, PREFIX

_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")


def set_log_level(variables: Mapping[str, str]) -> None:
    """Log to stderr from the level of `LINEAGE_BRIDGE_LOG_LEVEL` on; an unknown level is warned of.

    Only this package's log: those of HTTP and AWS clients may contain keys.
    """
    level = variables.get(LOG_LEVEL, "").strip().upper()
    if not level:
        return
    if level not in _LEVELS:
        err.print(
            f"{LOG_LEVEL} is not a level: use one of {', '.join(_LEVELS)}.", style="yellow", markup=False
        )
        return
    package = logging.getLogger("lineage_bridge_dagster")
    package.setLevel(level)
    if not any(isinstance(handler, RichHandler) for handler in package.handlers):
        package.addHandler(RichHandler(console=err, show_path=False, markup=False))


def warn_of_unread_variables(variables: Mapping[str, str]) -> None:
    """Print a warning for each variable with our prefix that nothing reads."""
    if not any(name.startswith(PREFIX) for name in variables):
        return
    from lineage_bridge_dagster.config.unread_variables import unread_variables

    for warning in unread_variables(variables):
        err.print(f"Warning: {warning}", style="yellow", markup=False)
