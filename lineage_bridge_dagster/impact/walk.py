"""The walk from the changed objects to the end of the graph, cycles included. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lineage_bridge_dagster.impact.connector_flows import ConnectorFlow
from lineage_bridge_dagster.impact.deltas import VERDICTS, DeltaKind, NodeDelta
from lineage_bridge_dagster.impact.flows import FlowJob, Flows
from lineage_bridge_dagster.impact.report import Affected, ImpactGap, written_by
from lineage_bridge_dagster.impact.rules.athena import view_reaction
from lineage_bridge_dagster.impact.rules.connect import sink_reaction, source_reaction
from lineage_bridge_dagster.impact.rules.flink import statement_reaction
from lineage_bridge_dagster.impact.rules.outside_job import outside_job_reaction
from lineage_bridge_dagster.impact.rules.reaction import Reaction
from lineage_bridge_dagster.impact.rules.tableflow_table import table_reaction
from lineage_bridge_dagster.impact.schema_diff import SchemaField
from lineage_bridge_dagster.impact.world import NodeKind, NodeRef, TableflowTable

_EVIDENCE: Mapping[NodeKind, str] = {
    NodeKind.STATEMENT: "SQL of the statement",
    NodeKind.CONNECTOR: "configuration of the connector",
    NodeKind.GLUE: "Tableflow of the topic",
    NodeKind.VIEW: "SQL of the view",
    NodeKind.JOB: "events of the job",
}


@dataclass
class Surroundings:
    """What a walk goes through.

    Attributes:
        connectors: What the configurations of connectors tell, by their node.
        tables: Topic -> the tables that Tableflow writes from it.
        fields: Topic -> the fields of its records before the changes.
        rowtimes: Topic -> the columns whose watermark its table has.
        fresh: Jobs that start after the changes, and so read with the new schemas.
        owners: Text form of a node -> whom to tell.
        mirrors: Topic -> its copies in other clusters.
    """

    flows: Flows
    connectors: Mapping[NodeRef, ConnectorFlow] = field(default_factory=dict)
    tables: Mapping[NodeRef, Sequence[TableflowTable]] = field(default_factory=dict)
    fields: Mapping[NodeRef, Mapping[str, SchemaField]] = field(default_factory=dict)
    rowtimes: Mapping[NodeRef, Sequence[str]] = field(default_factory=dict)
    fresh: frozenset[NodeRef] = frozenset()
    owners: Mapping[str, str] = field(default_factory=dict)
    mirrors: Mapping[NodeRef, Sequence[NodeRef]] = field(default_factory=dict)


class ImpactWalk:
    """Carries what differs from node to node, each thing once.

    Args:
        around: What it goes through.
    """

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._visited: set[tuple[NodeRef, DeltaKind, str | None]] = set()
        self._pending: deque[tuple[NodeRef, list[NodeDelta]]] = deque()
        self.effects: list[Affected] = []
        self.gaps: list[ImpactGap] = []

    def start(self, node: NodeRef, deltas: Iterable[NodeDelta], *, silent: bool = False) -> None:
        """Note what differs on a node.

        Args:
            deltas: What differs, from one change.
            silent: Whether the node itself is the changed object, and only its readers are affected.
        """
        new = []
        for delta in deltas:
            key = (node, *delta.key)
            if key not in self._visited:
                self._visited.add(key)
                new.append(delta)
                if not silent:
                    self.note(node, [delta])
        if new:
            self._pending.append((node, new))

    def run(self) -> None:
        """Go on until nothing new is found."""
        while self._pending:
            node, deltas = self._pending.popleft()
            for mirror in self._around.mirrors.get(node, ()):
                self.start(mirror, [delta.onto(mirror, "mirror of the topic") for delta in deltas])
            for job in self._around.flows.readers.get(node, ()):
                self.react(job.node, self._reaction(job, node, deltas))
            for table in self._around.tables.get(node, ()):
                self.react(table.ref, table_reaction(table, deltas))

    def _reaction(self, job: FlowJob, node: NodeRef, deltas: Sequence[NodeDelta]) -> Reaction:
        around = self._around
        match job.node.kind:
            case NodeKind.VIEW:
                return view_reaction(job, node, deltas)
            case NodeKind.JOB:
                return outside_job_reaction(job, node, deltas)
            case NodeKind.STATEMENT:
                if job.node in around.fresh:
                    deltas = [delta for delta in deltas if not delta.is_of_schema]
                if around.fields.get(node, {}).keys() >= {"before", "after", "op"}:
                    # Flink's table has the columns of the row, not of Debezium's envelope.
                    inner = [delta for delta in deltas if not (delta.column or "").startswith("before.")]
                    deltas = [
                        each.at(each.column.removeprefix("after.") if each.column else None) for each in inner
                    ]
                return statement_reaction(job, node, deltas, around.rowtimes.get(node, ()))
        flow = around.connectors[job.node]
        if flow.is_source:
            return source_reaction(job, node, deltas)
        return sink_reaction(job, flow.config, node, deltas, around.fields.get(node, {}))

    def note(self, node: NodeRef, deltas: Iterable[NodeDelta]) -> None:
        """Note what happens to a node, without carrying it on."""
        for delta in deltas:
            verdict = VERDICTS.get(delta.kind)
            if verdict is not None:
                owner = self._around.owners.get(str(node), "")
                self.effects.append(Affected(node, delta.column, verdict, delta.reason, delta.path, owner))

    def react(self, node: NodeRef, reaction: Reaction) -> None:
        """Note what happens to a job, a table or a view, and carry on what it writes."""
        if reaction.gap:
            self.gaps.append(ImpactGap(node, reaction.gap))
        onward: dict[NodeRef, list[NodeDelta]] = {}
        own = [_through(node, delta) for delta in reaction.own]
        if node.kind in (NodeKind.GLUE, NodeKind.VIEW):
            onward[node] = own
        else:
            self.note(node, own)
        for target, delta in reaction.outputs:
            through = replace(_through(node, replace(delta, column=None)), column=delta.column)
            onward.setdefault(target, []).append(through.onto(target, written_by(node)))
        for target, found in onward.items():
            self.start(target, found)


def _through(node: NodeRef, delta: NodeDelta) -> NodeDelta:
    """The delta with a job as the last step of its path."""
    at_node = bool(delta.path) and delta.path[-1].node == node
    return delta if at_node else delta.onto(node, _EVIDENCE[node.kind])
