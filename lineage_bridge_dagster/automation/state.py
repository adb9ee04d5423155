"""Stored discoveries: the versions of the component's state."""

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

from lineage_bridge_dagster.dagster_internals import NOT_FINISHED_STATUSES, state_folder
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.lineage import graph_json
from lineage_bridge_dagster.lineage.discovery import Discovery

if TYPE_CHECKING:
    from dagster import DagsterInstance

    from lineage_bridge_dagster.dagster_internals import DefsStateStorage

#: How long a version is kept after a newer one took its place. A run loads the version that it was planned
#: with; one that is still queued or running after this long keeps its version by itself.
KEEP_SECONDS = 24 * 3600.0
KEEP_VERSIONS = 20

_log = logging.getLogger(__name__)


def read_state(path: Path) -> Discovery | None:
    """The discovery in a file; one that can't be read is said and passed over.

    Cut short, or of a newer version of this project: definitions have to load without it, for only then can
    the refresh make another.
    """
    try:
        return graph_json.load(path)
    except Exception as error:
        say_unreadable(error)
        return None


def say_unreadable(error: Exception) -> None:
    """Warn that the definitions hold no assets, and what ends that."""
    _log.warning(
        "The stored state can't be read, so there are no assets until the refresh job has made another. The "
        "lineage sensor asks for it when it is on; else launch the job. Nothing in Glue is touched. %s",
        error,
    )


class StateStore:
    """The versions stored under one component's key. Storing one makes it the newest; none is overwritten."""

    def __init__(self, storage: DefsStateStorage | None, key: str) -> None:
        if storage is None:
            raise ConfigurationError(
                "This Dagster instance has no storage for definitions' state.",
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
        """The newest state; None when none was stored yet."""
        version = self.latest_version()
        if version is None:
            return None
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "lineage_graph.json"
            self._storage.download_state_to_path(self._key, version, path)
            return graph_json.load(path)

    def last_good(self, warn: Callable[[str], object] = _log.warning) -> Discovery | None:
        """The newest state. One that can't be read is said and passed over: a discovery must still run."""
        try:
            return self.load()
        except Exception as error:
            warn(f"The last state can't be read, so nothing is carried over from it: {error}")
            return None

    def store(self, discovery: Discovery) -> str:
        """Store a discovery as the newest version and return the version.

        The version is pointed to only after it was written whole: a crash before that leaves the last one.
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
        """Remove versions that no run can still want; returns how many. Never the newest.

        Only for storage that is a folder (Dagster's own); another keeps its own house.
        """
        folder = state_folder(self._storage, self._key)
        if folder is None or not folder.exists():
            return 0
        before = time.time() - keep_seconds
        old = _old(list(folder.iterdir()), keep_versions, before)
        if not old:
            return 0
        kept = {self.latest_version(), *self._planned_with(instance, before)}
        removed = 0
        for path in old:
            if path.name not in kept:
                try:
                    path.unlink()
                    removed += 1
                except OSError as error:
                    _log.warning("The old state %s could not be removed: %s", path.name, error)
        return removed

    def _planned_with(self, instance: DagsterInstance, before: float) -> set[str]:
        """The versions of runs made before a time (Unix seconds) that are not finished: theirs to load."""
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
    """The paths past the newest `keep` in whose place a newer one stood already before a Unix time."""
    dated = sorted(((path.stat().st_mtime, path) for path in paths), key=lambda pair: pair[0], reverse=True)
    # The definitions were of a version until the next one came, however old it was by then.
    replaced = [math.inf, *(modified for modified, _ in dated)]
    return [
        path
        for place, ((_, path), until) in enumerate(zip(dated, replaced, strict=False))
        if place >= keep and until < before
    ]
