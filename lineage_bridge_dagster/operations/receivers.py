"""Ends what a component has sent to receivers of OpenLineage and to DataZone, outside of its runs."""

from __future__ import annotations

import logging
import os

from dagster import DagsterInstance

from lineage_bridge_dagster.assets.lineage_events import LineageEvents
from lineage_bridge_dagster.openlineage.emission import EmissionReport
from lineage_bridge_dagster.settings import SettingsReader

_log = logging.getLogger(__name__)

#: How the names of variables begin that configure OpenLineage's client.
_OF_CLIENT = ("OPENLINEAGE_URL", "OPENLINEAGE_CONFIG", "OPENLINEAGE__")


def end_runs(component: str, *, dry_run: bool = False) -> EmissionReport | None:
    """End the runs that are open at the receivers that the environment configures.

    Which they are, the Dagster instance of `DAGSTER_HOME` keeps.

    Returns:
        What became of them; None if no receiver is configured.
    """
    # The YAML may be what has events sent, so a configured client is enough here.
    send = any(name.startswith(_OF_CLIENT) for name in os.environ)
    events = LineageEvents.of(SettingsReader({"openlineage": {"send": send or None}}), component)
    with DagsterInstance.get() as instance:
        return events.end(instance, _log, dry_run=dry_run)
