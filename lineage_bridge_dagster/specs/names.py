"""Names of what one instance of a component adds to a code location: resources, jobs, sensors, schedules."""

from __future__ import annotations

from dataclasses import dataclass

from dagster import AssetKey


class Prefixed:
    """A name with the instance's before it, if it has one."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, names: InstanceNames, _owner: type[InstanceNames]) -> str:
        return names.prefixed(self._name)


@dataclass(frozen=True)
class InstanceNames:
    """Names of one instance's definitions.

    An instance without a name has plain ones; a named one prefixes them, so that two load side by side.
    """

    prefix: str = ""

    def prefixed(self, name: str) -> str:
        return f"{self.prefix}_{name}" if self.prefix else name

    def key(self, first: str, name: str) -> AssetKey:
        """The key of an asset of which each instance has one."""
        return AssetKey([first, *([self.prefix] if self.prefix else []), name])


class AssetNames(InstanceNames):
    """Names of an instance of `LineageBridgeComponent`."""

    # The keys of the resources; downstream assets name that of the IO manager.
    confluent = Prefixed("confluent")
    glue = Prefixed("glue")
    spark = Prefixed("spark")
    io_manager = Prefixed("lineage_io_manager")

    refresh_job = Prefixed("refresh")
    push_job = Prefixed("push")
    lineage_job = Prefixed("materialize_lineage")
    impact_job = Prefixed("impact")
    upkeep_job = Prefixed("lineage_upkeep")

    sensor = Prefixed("lineage_sensor")
    refresh_schedule = Prefixed("refresh_schedule")
    push_schedule = Prefixed("push_schedule")
    nightly_schedule = Prefixed("nightly_schedule")
    freshness_schedule = Prefixed("freshness_schedule")
    upkeep_schedule = Prefixed("lineage_upkeep_schedule")

    @property
    def jobs(self) -> tuple[str, ...]:
        """The names of all jobs."""
        return self.refresh_job, self.push_job, self.lineage_job, self.impact_job, self.upkeep_job

    @property
    def discovery_key(self) -> AssetKey:
        """The key of the asset that represents the discovery."""
        return self.key("lineage_bridge", "discovery")
