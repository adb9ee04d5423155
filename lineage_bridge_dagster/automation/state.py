"""The stored discoveries: versions of a component's state."""

from __future__ import annotations

import logging
import math
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from dagster import RunsFilter, get_dagster_logger

from lineage_bridge_dagster.dagster_internals.definitions import DefinitionsLoadContext
from lineage_bridge_dagster.dagster_internals.instance import state_files, state_folder
from lineage_bridge_dagster.dagster_internals.runs import NOT_FINISHED_STATUSES
from lineage_bridge_dagster.errors import ConfigurationError, LineageBridgeError
from lineage_bridge_dagster.formats import NewerFormatError
from lineage_bridge_dagster.lineage import graph_json
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.sql_policy import limited, mode_of
from lineage_bridge_dagster.settings import SettingsReader
from lineage_bridge_dagster.text import first_line

if TYPE_CHECKING:
    from dagster import DagsterInstance

    from lineage_bridge_dagster.dagster_internals.instance import DefsStateStorage

#: How long a version is kept after a newer one replaced it. A run loads the version that it was planned with;
#: versions of runs that are still queued or running after that time are kept too.
KEEP_SECONDS = 24 * 3600.0
KEEP_VERSIONS = 20

_log = logging.getLogger(__name__)


class UnreachableStateError(LineageBridgeError):
    """A stored discovery could not be fetched. It may well be there, so nothing may replace it."""


def read_state(path: Path) -> Discovery:
    """The discovery in a file of the storage.

    Raises:
        NewerFormatError: a newer version of this project stored it.
        LineageBridgeError: the file was cut short, or written over.
    """
    try:
        return graph_json.load(path)
    except NewerFormatError:
        raise
    except Exception as error:
        text = first_line(error).replace(str(path), "its file")
        raise LineageBridgeError(f"It is damaged: {text}") from error


def as_shown(discovery: Discovery, settings: SettingsReader) -> Discovery:
    """Return a stored discovery with its SQL as the settings show it now; definitions load without AWS.

    A setting in a secret is the one that the discovery was stored with. Malformed settings must not fail a
    load: with them, no SQL is shown.
    """
    try:
        sql = settings.sql_offline()
    except ConfigurationError as error:
        _log.warning("The assets show no SQL until the settings are corrected: %s", error)
        sql = "none"
    return limited(discovery, sql or mode_of(discovery) or "redacted")


def loading_version(key: str) -> str:
    """Return the version of the state that the definitions are being built from."""
    info = DefinitionsLoadContext.get().get_defs_key_state_info(key)
    return info.version if info else ""


class StateStore:
    """The versions stored under a component's key. A stored one becomes the newest; none is overwritten."""

    def __init__(self, storage: DefsStateStorage | None, key: str) -> None:
        if storage is None:
            raise ConfigurationError(
                "This Dagster instance has no storage for the state of definitions.",
                hint="Set DAGSTER_HOME, or defs_state_storage in dagster.yaml.",
            )
        self._storage = storage
        self._key = key

    @classmethod
    def of(cls, instance: DagsterInstance, key: str) -> StateStore:
        return cls(instance.defs_state_storage, key)

    def latest_version(self) -> str | None:
        return self._storage.get_latest_version(self._key)

    def load(self) -> Discovery | None:
        """The newest state; None if none is stored yet.

        Raises:
            UnreachableStateError: its storage could not be asked.
            NewerFormatError: a newer version of this project stored it.
            LineageBridgeError: its storage does not have it, or it is damaged.
        """
        version = self.latest_version()
        return None if version is None else self._read(version)

    def last_good(self, warn: Callable[[str], object] = _log.warning) -> Discovery | None:
        """The newest state, or the one before it if it is damaged or gone; None, with warnings, without any.

        Raises:
            UnreachableStateError: what is stored could not be fetched. A discovery without it would forget
                what cannot be read just now, and would then replace it.
            NewerFormatError: a newer version of this project stored it.
        """
        version = self.latest_version()
        for each in chain([version], self._older(version)) if version else ():
            try:
                return self._read(each)
            except (UnreachableStateError, NewerFormatError):
                raise
            except LineageBridgeError as error:
                warn(f"Version {each} of the state cannot be used: {error.reason}")
        if version:
            warn("No earlier state can be read either, so nothing is carried over from it.")
        return None

    def fetch_error(self, version: str, error: Exception) -> LineageBridgeError:
        """Why a version could not be fetched: whether it is gone, or its storage could not be asked."""
        folder = state_folder(self._storage, self._key)
        if folder is not None:
            try:
                (folder / version).stat()
            except FileNotFoundError:
                return LineageBridgeError(
                    f"{folder / version} does not exist.",
                    hint="The next discovery replaces it. If other hosts have it, defs_state_storage in "
                    "dagster.yaml names a folder of this host alone.",
                )
            except Exception as refused:
                error = refused
        return self._unreachable(version, error)

    def _unreachable(self, version: str, error: Exception) -> UnreachableStateError:
        folder = state_folder(self._storage, self._key)
        text = f"{type(error).__name__}: {first_line(error)}"
        return UnreachableStateError(
            f"Version {version} of {folder or self._key} cannot be fetched: {text.rstrip('.')}.",
            hint="Check defs_state_storage in dagster.yaml, and that this process may read there. Nothing is "
            "discovered until then, as that would replace what cannot be read.",
        )

    def _read(self, version: str) -> Discovery:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "lineage_graph.json"
            try:
                self._storage.download_state_to_path(self._key, version, path)
            except Exception as error:
                raise self.fetch_error(version, error) from error
            return read_state(path)

    def _older(self, version: str) -> Iterator[str]:
        """All other stored versions, newest first; none if the storage has no folders."""
        folder = state_folder(self._storage, self._key)
        if folder is None:
            return
        try:
            dated = state_files(folder)
        except Exception as error:
            raise self._unreachable(version, error) from error
        yield from (path.name for _, path in dated if path.name != version)

    def store(self, discovery: Discovery) -> str:
        """Store a discovery as the newest version and return the version.

        The storage points to it only once it is complete, so that a crash leaves the last one in place.
        """
        version = str(uuid4())
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "lineage_graph.json"
            graph_json.dump(discovery, path, with_caches=True)
            self._storage.upload_state_from_path(self._key, version, path)
        return version

    def prune(
        self,
        instance: DagsterInstance,
        *,
        keep_versions: int = KEEP_VERSIONS,
    ) -> int:
        """Remove old versions that no run needs, never the newest; returns how many.

        What cannot be removed stays, with a warning: the newest version is stored by now. A storage of
        another kind than `UPathDefsStateStorage` needs a retention of its own.
        """
        folder = state_folder(self._storage, self._key)
        if folder is None:
            return 0
        before = time.time() - KEEP_SECONDS
        try:
            old = _old(state_files(folder), keep_versions, before)
        except Exception as error:
            _log.warning("Old states in %s are kept, as they cannot be listed: %s", folder, first_line(error))
            return 0
        if not old:
            return 0
        needed = {self.latest_version(), *self._planned_with(instance, before)}
        removed = 0
        for path in old:
            if path.name not in needed:
                try:
                    path.unlink()
                    removed += 1
                except Exception as error:
                    _log.warning("The old state %s could not be removed: %s", path.name, error)
        return removed

    def _planned_with(self, instance: DagsterInstance, before: float) -> set[str]:
        """The versions that unfinished runs from before a Unix time were planned with."""
        filters = RunsFilter(
            statuses=NOT_FINISHED_STATUSES, created_before=datetime.fromtimestamp(before, tz=UTC)
        )
        plans = {run.execution_plan_snapshot_id for run in instance.get_runs(filters)} - {None}
        found = set()
        for plan in plans:
            data = instance.get_execution_plan_snapshot(str(plan)).repository_load_data
            info = data.defs_state_info if data else None
            if info and (version := info.get_version(self._key)):
                found.add(version)
        return found


def _old(dated: Sequence[tuple[float, Any]], keep: int, before: float) -> list[Any]:
    """The paths, newest first, after `keep` of them that a newer one had replaced before a Unix time."""
    # A version was in use until the next one was stored, whatever its own age.
    replaced = [math.inf, *(modified for modified, _ in dated)]
    return [
        path
        for place, ((_, path), until) in enumerate(zip(dated, replaced, strict=False))
        if place >= keep and until < before
    ]


def newer_discovery(instance: DagsterInstance, key: str, loaded: str) -> Discovery | None:
    """The newest stored discovery, if it is not the loaded one; None, with a warning, if it cannot be read.

    Which one is the newest, the storage tells, and not the time: clocks of hosts differ, and the newest of a
    storage that was restored is an earlier discovery.

    Args:
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
