"""How data flows through a world: what each job reads and writes, to the column. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from lineage_bridge_dagster.impact.deltas import overlap
from lineage_bridge_dagster.impact.world import NodeRef
from lineage_bridge_dagster.lineage.columns import How


class ColumnSource(NamedTuple):
    """A column, or a field of one, that an output's column derives from."""

    node: NodeRef
    column: str
    how: str


class ColumnUse(NamedTuple):
    """What decides on an output's column besides its sources.

    Attributes:
        role: As in `sql.columns.origins.Use`.
        formula: Likewise.
        open: Why there may be others; empty when there are none.
    """

    role: str
    formula: str
    sources: tuple[ColumnSource, ...]
    open: str = ""


@dataclass(frozen=True, slots=True)
class OutputColumn:
    """A column that a job writes.

    Attributes:
        sources: The columns that it derives from.
        uses: What else decides on it.
        formula: Its expression in a canonical form.
        type: Its type in SQL; empty if unknown.
        open: Why it may also derive from other columns; empty if it cannot.
    """

    name: str
    sources: tuple[ColumnSource, ...] = ()
    uses: tuple[ColumnUse, ...] = ()
    formula: str = ""
    type: str = ""
    open: str = ""

    def names_of(self, node: NodeRef, column: str) -> Iterator[str]:
        """The names under which a column of an input arrives here, the nested ones of a field."""
        for source in self.sources:
            if source.node != node:
                continue
            if source.column == "*":
                yield column
            elif source.column == column or column.startswith(f"{source.column}."):
                copied = source.how == How.IDENTITY
                yield self.name + (column[len(source.column) :] if copied else "")
            elif source.column.startswith(f"{column}."):
                yield self.name

    def roles_of(self, node: NodeRef, column: str) -> set[str]:
        """The roles in which a column of an input, or a field of it, decides on this one."""
        sources = ((use.role, each) for use in self.uses for each in use.sources if each.node == node)
        return {role for role, each in sources if each.column == "*" or overlap(each.column, column)}


@dataclass(frozen=True, slots=True)
class Output:
    """What a job writes to one topic, dataset or view.

    Attributes:
        inputs: The nodes that it is made of.
        columns: Its columns, as far as they are known.
        open: Why there may be others, whose names are unknown; empty when there are none.
    """

    node: NodeRef
    inputs: frozenset[NodeRef]
    columns: tuple[OutputColumn, ...] = ()
    open: str = ""

    def column(self, name: str) -> OutputColumn | None:
        """The column of that name."""
        return next((column for column in self.columns if column.name == name), None)


@dataclass(frozen=True, slots=True)
class FlowJob:
    """A statement, a connector, an outside job or a view, with its outputs.

    Attributes:
        node: The job; for a view also its only output.
        error: Why it cannot run; empty if it can.
    """

    node: NodeRef
    outputs: tuple[Output, ...] = ()
    inputs: frozenset[NodeRef] = frozenset()
    error: str = ""

    def output(self, node: NodeRef) -> Output | None:
        """The output to a node."""
        return next((output for output in self.outputs if output.node == node), None)


@dataclass
class Flows:
    """All jobs of a world.

    Attributes:
        jobs: By their node.
        readers: Node -> the jobs that read it.
        writers: Node -> the jobs that write it.
    """

    jobs: dict[NodeRef, FlowJob] = field(default_factory=dict)
    readers: dict[NodeRef, list[FlowJob]] = field(default_factory=dict)
    writers: dict[NodeRef, list[FlowJob]] = field(default_factory=dict)

    @classmethod
    def of(cls, jobs: Iterable[FlowJob]) -> Flows:
        """Index jobs."""
        flows = cls()
        for job in jobs:
            flows.jobs[job.node] = job
            for node in sorted(job.inputs):
                flows.readers.setdefault(node, []).append(job)
            for output in job.outputs:
                flows.writers.setdefault(output.node, []).append(job)
        return flows


Columns = Mapping[NodeRef, Sequence[str]]
"""The outer columns of topics and tables, where they are known."""
