"""Definitions without a discovery: what the UI, the log and the jobs say of why, and what to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from dagster import AssetSpec

from lineage_bridge_dagster.automation.state import UnreachableStateError
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.formats import NewerFormatError
from lineage_bridge_dagster.specs.metadata import LineageMetadata
from lineage_bridge_dagster.specs.names import AssetNames
from lineage_bridge_dagster.text import sentence


@dataclass(frozen=True, slots=True)
class MissingDiscovery:
    """Why there is no discovery, as a clause, and what to do, as sentences."""

    reason: str
    next_step: str

    @classmethod
    def of(cls, problem: LineageBridgeError | None, names: AssetNames) -> Self:
        """Of the error of the stored discovery; None if none is stored."""
        refresh = f"dg launch --job {names.refresh_job}"
        if problem is None:
            return cls("no discovery is stored yet", f"Run the {names.refresh_job} job first: {refresh}")
        if isinstance(problem, UnreachableStateError | NewerFormatError):
            once = f"{names.sensor} loads it once it can be read."
            return cls(
                f"the stored discovery is not loaded. {problem.message.rstrip('.')}", f"{problem.hint} {once}"
            )
        return cls(
            f"the stored discovery cannot be read. {problem.message.rstrip('.')}",
            f"{names.sensor} requests another if it is on; else run: {refresh}",
        )

    @property
    def text(self) -> str:
        return (
            f"{sentence(self.reason)} There are no assets until then, and Glue is unchanged. {self.next_step}"
        )

    def asset(self, names: AssetNames) -> AssetSpec:
        """What stands in the graph in place of the discovery and of all its assets."""
        return AssetSpec(
            names.discovery_key,
            group_name="lineage_bridge",
            description=self.text,
            metadata=dict(LineageMetadata(not_discovered=self.reason, next_step=self.next_step)),
        )
