"""Whether a registry takes a new version of a schema, by its own rules. Pure."""

from lineage_bridge_dagster.schemas.compatibility.check import check, unreadable
from lineage_bridge_dagster.schemas.compatibility.violation import CompatibilityVerdict, Violation

__all__ = ["CompatibilityVerdict", "Violation", "check", "unreadable"]
