"""Names of what one instance of the component adds to a code location: resources, jobs, sensor, schedules."""

from __future__ import annotations

from dataclasses import dataclass

from dagster import AssetKey


class _Name:
    """A name with the instance's before it, if it has one."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, names: AssetNames, _owner: type[AssetNames]) -> str:
        return names.op(self._name)


@dataclass(frozen=True)
class AssetNames:
    """Names of one component instance's definitions.

    An instance without a name has plain ones; a named one prefixes them, so that two load side by side.
    """

    prefix: str = ""

    # The keys of the resources; downstream assets name that of the IO manager.
    confluent = _Name("confluent")
    glue = _Name("glue")
    spark = _Name("spark")
    io_manager = _Name("lineage_io_manager")

    refresh_job = _Name("refresh")
    push_job = _Name("push")
    lineage_job = _Name("materialize_lineage")
    impact_job = _Name("impact")
    upkeep_job = _Name("lineage_upkeep")

    sensor = _Name("lineage_sensor")
    refresh_schedule = _Name("refresh_schedule")
    push_schedule = _Name("push_schedule")
    nightly_schedule = _Name("nightly_schedule")
    freshness_schedule = _Name("freshness_schedule")
    upkeep_schedule = _Name("lineage_upkeep_schedule")

    def op(self, name: str) -> str:
        """The name of an op, which is unique in a code location."""
        return f"{self.prefix}_{name}" if self.prefix else name

    @property
    def jobs(self) -> tuple[str, ...]:
        """The names of all jobs."""
        return self.refresh_job, self.push_job, self.lineage_job, self.impact_job, self.upkeep_job

    @property
    def discovery_key(self) -> AssetKey:
        """The key of the asset that represents the discovery."""
        return AssetKey(["lineage_bridge", *([self.prefix] if self.prefix else []), "discovery"])
