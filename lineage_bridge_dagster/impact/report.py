"""The result of an analysis: which nodes a change affects, how, and what could not be judged.

The records are stable: commands and outputs build on them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from lineage_bridge_dagster.impact.change import Change
from lineage_bridge_dagster.impact.world import NodeRef


class Verdict(StrEnum):
    """What a change does to a node, gravest first."""

    BREAKS = "breaks"
    LOSES_DATA = "loses_data"
    CHANGES_MEANING = "changes_meaning"
    CHANGES_TYPE = "changes_type"
    GAINS_COLUMN = "gains_column"

    @property
    def rank(self) -> int:
        """0 for the gravest."""
        return list(Verdict).index(self)


@dataclass(frozen=True, slots=True)
class PathStep:
    """A node on the way from the changed object, and why it is reached from the one before.

    Attributes:
        column: Its column that is concerned; None: its rows, or all columns.
        evidence: How the edge to it is known, such as `INSERT INTO of statement clean-orders`; empty for the
            first.
    """

    node: NodeRef
    column: str | None
    evidence: str = ""


def written_by(job: NodeRef) -> str:
    """The evidence of an edge from a job to what it writes: `written by connector pg-sink`."""
    return f"written by {job.kind} {job.name}"


@dataclass(frozen=True, slots=True)
class Affected:
    """One effect of the changes on one node.

    Attributes:
        column: The column that decides, in the node's own naming (nested: `address.zip`); None: rows, or all
            columns.
        reason: Why, in one clause.
        path: From the changed object to the node, both included.
        owner: Whom to tell; empty if nobody is known.
        asset_key: Parts of the key of its Dagster asset; empty if that is unknown.
    """

    node: NodeRef
    column: str | None
    verdict: Verdict
    reason: str
    path: tuple[PathStep, ...] = ()
    owner: str = ""
    asset_key: tuple[str, ...] = ()

    @property
    def order(self) -> tuple[int, str, str, str]:
        """Gravest first, then by node and column."""
        return (self.verdict.rank, self.node.kind, self.node.name, self.column or "")


@dataclass(frozen=True, slots=True)
class ImpactGap:
    """Something that could not be judged.

    Attributes:
        node: Where; None if it concerns no single node.
        matters: Whether it lies downstream of the changes, so that effects may be missing.
    """

    node: NodeRef | None
    reason: str
    matters: bool = True


@dataclass(frozen=True, slots=True)
class Impact:
    """What changes do.

    Attributes:
        changes: The changes, all together.
        effects: Each affected node and column, gravest first. A node may have several: see `by_node`.
        gaps: What could not be judged.
    """

    changes: tuple[Change, ...]
    effects: tuple[Affected, ...] = ()
    gaps: tuple[ImpactGap, ...] = ()

    def with_assets(self, keys: Mapping[str, Sequence[str]]) -> Impact:
        """The same, with the keys of assets by node id."""
        effects = (replace(e, asset_key=tuple(keys.get(e.node.node_id, ()))) for e in self.effects)
        return replace(self, effects=tuple(effects))

    @property
    def is_incomplete(self) -> bool:
        """Whether effects may be missing."""
        return any(gap.matters for gap in self.gaps)

    @property
    def by_node(self) -> tuple[Affected, ...]:
        """Each affected node once, with its gravest effect."""
        found: dict[NodeRef, Affected] = {}
        for effect in self.effects:
            found.setdefault(effect.node, effect)
        return tuple(found.values())

    def at_least(self, verdict: Verdict) -> Iterator[Affected]:
        """The nodes whose gravest effect is this one or graver."""
        return (effect for effect in self.by_node if effect.verdict.rank <= verdict.rank)


def ordered(effects: Sequence[Affected]) -> tuple[Affected, ...]:
    """Effects in the order of a report, each once."""
    return tuple(dict.fromkeys(sorted(effects, key=lambda effect: effect.order)))
