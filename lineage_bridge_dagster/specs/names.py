"""What the jobs, the sensor and the schedules of one component are called."""

from __future__ import annotations

from dataclasses import dataclass

from dagster import AssetKey


@dataclass(frozen=True)
class Names:
    """Names of one component's automation. With the default prefix they are plain."""

    prefix: str = ""

    def _named(self, name: str) -> str:
        return f"{self.prefix}_{name}" if self.prefix else name

    @property
    def refresh_job(self) -> str:
        return self._named("refresh")

    @property
    def push_job(self) -> str:
        return self._named("push")

    @property
    def lineage_job(self) -> str:
        return self._named("materialize_lineage")

    @property
    def sensor(self) -> str:
        return self._named("lineage_sensor")

    @property
    def refresh_schedule(self) -> str:
        return self._named("refresh_schedule")

    @property
    def push_schedule(self) -> str:
        return self._named("push_schedule")

    @property
    def nightly_schedule(self) -> str:
        return self._named("nightly_schedule")

    @property
    def freshness_schedule(self) -> str:
        return self._named("freshness_schedule")

    @property
    def discovery_key(self) -> AssetKey:
        """The asset that stands for the discovery as a whole."""
        return AssetKey(["lineage_bridge", *([self.prefix] if self.prefix else []), "discovery"])
