"""The stored discoveries: versions of a component's state."""

from __future__ import annotations

import logging
import math
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from dagster import RunsFilter

from lineage_bridge_dagster.dagster_internals import (
    NOT_FINISHED_STATUSES,
    DefinitionsLoadContext,
    state_folder,
)
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.lineage import graph_json
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.sql_policy import limited, mode_of
from lineage_bridge_dagster.settings import SettingsReader

if TYPE_CHECKING:
    from dagster import DagsterInstance

    from lineage_bridge_dagster.dagster_internals import DefsStateStorage

#: How long a version is kept after a newer one replaced it. A run loads the version that it was planned with;
#: versions of runs that are still queued or running after that time are kept too.
KEEP_SECONDS = 24 * 3600.0
KEEP_VERSIONS = 20

_log = logging.getLogger(__name__)


def read_state(path: Path) -> Discovery | None:
    """The discovery in a file; None, with a warning, if it cannot be read.

    The file may be truncated or from a newer version of this project. Definitions must load without it, as
    only then can a refresh replace it.
    """
    try:
        return graph_json.load(path)
    except Exception as error:
        warn_unreadable(error)
        return None


def warn_unreadable(error: Exception) -> None:
    """Warn that the definitions have no assets, and report how to recover."""
    _log.warning(
        "The stored discovery cannot be read, so there are no assets until the refresh job has stored "
        "another. The lineage sensor requests it if it is on; else launch the job. Glue is unchanged. %s",
        error,
    )


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
        """The newest state; None if none is stored yet."""
        version = self.latest_version()
        if version is None:
            return None
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "lineage_graph.json"
            self._storage.download_state_to_path(self._key, version, path)
            return graph_json.load(path)

    def last_good(self, warn: Callable[[str], object] = _log.warning) -> Discovery | None:
        """The newest state; None, with a warning, if it cannot be read: a discovery must still run."""
        try:
            return self.load()
        except Exception as error:
            warn(f"The last state cannot be read, so nothing is carried over from it: {error}")
            return None

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
        keep_seconds: float = KEEP_SECONDS,
        keep_versions: int = KEEP_VERSIONS,
    ) -> int:
        """Remove old versions that no run needs, never the newest; returns how many.

        Applies to storage in a folder (Dagster's default); another storage needs a retention of its own.
        """
        folder = state_folder(self._storage, self._key)
        if folder is None or not folder.exists():
            return 0
        before = time.time() - keep_seconds
        old = _old(list(folder.iterdir()), keep_versions, before)
        if not old:
            return 0
        needed = {self.latest_version(), *self._planned_with(instance, before)}
        removed = 0
        for path in old:
            if path.name not in needed:
                try:
                    path.unlink()
                    removed += 1
                except OSError as error:
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


def _old(paths: Sequence[Any], keep: int, before: float) -> list[Any]:
    """The paths after the newest `keep` that a newer one had replaced before a Unix time."""
    dated = sorted(((path.stat().st_mtime, path) for path in paths), key=lambda pair: pair[0], reverse=True)
    # A version was in use until the next one was stored, whatever its own age.
    replaced = [math.inf, *(modified for modified, _ in dated)]
    return [
        path
        for place, ((_, path), until) in enumerate(zip(dated, replaced, strict=False))
        if place >= keep and until < before
    ]
