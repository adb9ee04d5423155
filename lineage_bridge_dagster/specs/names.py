"""Names of what one instance of the component adds to a code location: resources, jobs, sensor, schedules."""

from __future__ import annotations

from dataclasses import dataclass

from dagster import AssetKey


@dataclass(frozen=True)
class AssetNames:
    """Names of one component instance's definitions.

    An instance without a name has plain ones; a named one prefixes them, so that two load side by side.
    """

    prefix: str = ""

    def _prefixed(self, name: str) -> str:
        return f"{self.prefix}_{name}" if self.prefix else name

    @property
    def confluent(self) -> str:
        """Resource key of the `ConfluentResource`."""
        return self._prefixed("confluent")

    @property
    def glue(self) -> str:
        """Resource key of the `GlueResource`."""
        return self._prefixed("glue")

    @property
    def spark(self) -> str:
        """Resource key of the `SparkResource`."""
        return self._prefixed("spark")

    @property
    def io_manager(self) -> str:
        """Resource key of the IO manager that downstream assets name."""
        return self._prefixed("lineage_io_manager")

    def op(self, name: str) -> str:
        """The name of an op, which is unique in a code location."""
        return self._prefixed(name)

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
    def impact_job(self) -> str:
        return self._prefixed("impact")

    @property
    def upkeep_job(self) -> str:
        return self._prefixed("lineage_upkeep")

    @property
    def jobs(self) -> tuple[str, ...]:
        """The names of all jobs."""
        return self.refresh_job, self.push_job, self.lineage_job, self.impact_job, self.upkeep_job

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
    def upkeep_schedule(self) -> str:
        return self._prefixed("lineage_upkeep_schedule")

    @property
    def discovery_key(self) -> AssetKey:
        """The key of the asset that represents the discovery."""
        return AssetKey(["lineage_bridge", *([self.prefix] if self.prefix else []), "discovery"])
