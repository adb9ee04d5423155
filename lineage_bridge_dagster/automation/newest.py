"""The newest stored discovery, for runs that were planned with an earlier one."""

from __future__ import annotations

from dagster import DagsterInstance, get_dagster_logger

from lineage_bridge_dagster.automation.state import StateStore
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.lineage.discovery import Discovery


def newer_discovery(instance: DagsterInstance, key: str, loaded: str) -> Discovery | None:
    """The newest stored discovery, if it is not the loaded one; None, with a warning, if it cannot be read.

    Which one is the newest, the storage tells, and not the time: clocks of hosts differ, and the newest of a
    storage that was restored is an earlier discovery.

    Args:
        instance: has the storage.
        key: of the component's state.
        loaded: the version that the definitions were built from; empty if they were built from none.
    """
    if not loaded:
        return None
    log = get_dagster_logger()
    try:
        store = StateStore.of(instance, key)
        newest = store.latest_version()
        found = store.load() if newest not in (None, loaded) else None
    except LineageBridgeError as error:
        log.warning("A newer discovery is stored but cannot be read, so this run uses its own: %s", error)
        return None
    if found is not None:
        log.info("This run uses the discovery of %s, which is newer than its own.", found.discovered_at)
    return found
