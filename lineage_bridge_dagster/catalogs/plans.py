"""What the push to one table decides, in terms that every kind of catalog shares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from lineage_bridge_dagster.lineage.documents import PREFIX, LineageDocument


@dataclass(frozen=True, slots=True)
class TableRevision:
    """What a push reads and changes of a table.

    Attributes:
        version: What every write changes: Glue's `VersionId`, or the location of Iceberg's metadata.
        parameters: All of them, or all properties of an Iceberg table.
        description: Empty where lineage is not written to it.
        uuid: The identity of the table: one that was dropped and created again has another. Empty if the
            catalog does not tell.
    """

    version: str | None
    parameters: Mapping[str, str] = field(repr=False)
    description: str = field(default="", repr=False)
    uuid: str = ""

    @property
    def lineage(self) -> dict[str, str]:
        """The parameters under our prefix."""
        return {key: value for key, value in self.parameters.items() if key.startswith(PREFIX)}

    def carries(self, written: TableRevision) -> bool:
        """Whether it is the same table with exactly the lineage of `written`, including `last_synced`."""
        return (self.uuid, self.lineage, self.description) == (
            written.uuid,
            written.lineage,
            written.description,
        )


@dataclass(frozen=True, slots=True)
class Wanted:
    """The lineage that a table should have.

    Attributes:
        document: None removes ours.
        complete: Whether every scope that the chain passes through was fully read.
        now: ISO 8601 UTC; it is written only if something else changes.
    """

    document: LineageDocument | None
    complete: bool
    now: str


class PlannedChange(Protocol):
    """A plan to write."""

    @property
    def before(self) -> TableRevision:
        """The table that it was planned for."""

    @property
    def after(self) -> TableRevision:
        """The table after the write, if nobody else changes it."""

    @property
    def removal(self) -> bool:
        """Whether it removes our lineage without writing a new one."""


@dataclass(frozen=True, slots=True)
class NoChange:
    """The table already has the lineage, or the options exclude it."""


@dataclass(frozen=True, slots=True)
class Hold:
    """The discovery was too incomplete to replace the table's current lineage."""

    reason: str


@dataclass(frozen=True, slots=True)
class Refuse:
    """The table must not be written.

    Attributes:
        owner: The other instance that the table's lineage belongs to, if that is the reason.
    """

    reason: str
    hint: str = ""
    owner: str = ""


#: The plans without a write.
NoWrite = NoChange | Hold | Refuse
