"""Names of a component's jobs, sensor and schedules."""

from __future__ import annotations

from dataclasses import dataclass

from dagster import AssetKey


@dataclass(frozen=True)
class Names:
    """Names of one component's automation, each with the prefix if there is one."""

    prefix: str = ""

    def _prefixed(self, name: str) -> str:
        return f"{self.prefix}_{name}" if self.prefix else name

    @property
    def refresh_job(self) -> str:
        return self._prefixed("refresh")

    @property
    def push_job(self) -> str:
        return self._prefixed("push")

    @property
    def lineage_job(self) -> str:
        return self._prefixed("materialize_lineage")

    @property
    def sensor(self) -> str:
        return self._prefixed("lineage_sensor")

    @property
    def refresh_schedule(self) -> str:
        return self._prefixed("refresh_schedule")

    @property
    def push_schedule(self) -> str:
        return self._prefixed("push_schedule")

    @property
    def nightly_schedule(self) -> str:
        return self._prefixed("nightly_schedule")

    @property
    def freshness_schedule(self) -> str:
        return self._prefixed("freshness_schedule")

    @property
    def discovery_key(self) -> AssetKey:
        """The key of the asset that represents the discovery."""
        return AssetKey(["lineage_bridge", *([self.prefix] if self.prefix else []), "discovery"])
