"""A discovery -> run events: one for each process and output.

The job is the process and its output; its run is the same as long as what it reads, writes and does is. So a
receiver that has the event has nothing to learn from a second one.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from lineage_bridge_dagster.lineage.columns import (
    ColumnFlow,
    ColumnIndex,
    ColumnUses,
    flows_of,
    uses_of,
)
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.model import EdgeType, Graph, Node
from lineage_bridge_dagster.lineage.nodes import ProcessNode, TableflowNode, TopicNode
from lineage_bridge_dagster.lineage.upstream import UpstreamIndex
from lineage_bridge_dagster.openlineage.facets import (
    EVENT_SCHEMA,
    PRODUCER,
    Names,
    column_lineage,
    dataset_facets,
    job_facets,
)
from lineage_bridge_dagster.openlineage.names import dataset_name, job_name

Event = dict[str, Any]

_RUNS = uuid.UUID("6d1f7c36-6d5b-5e0c-9d0f-3a0c7f3c2b11")
#: The state that an API tells -> the event's type; all others are running.
_TYPES: Mapping[str, str] = {
    "COMPLETED": "COMPLETE",
    "STOPPED": "ABORT",
    "DELETED": "ABORT",
    "PAUSED": "ABORT",
    "SUSPENDED": "ABORT",
    "FAILED": "FAIL",
    "ERROR": "FAIL",
    "TERMINATED": "ABORT",
}


def events(discovery: Discovery, *, account: str = "") -> Iterator[Event]:
    """The event of each process and output, in the order of the graph.

    Args:
        discovery: The discovery.
        account: The AWS account of Glue tables that do not tell theirs.
    """
    yield from _Events(discovery, account).all()


class _Events:
    def __init__(self, discovery: Discovery, account: str) -> None:
        graph = discovery.graph
        self._graph: Graph = graph
        self._time = discovery.discovered_at or "1970-01-01T00:00:00Z"
        self._upstream = UpstreamIndex.of(graph)
        self._columns = ColumnIndex(graph, self._upstream.direct)
        found = ((node.node_id, dataset_name(node, account=account)) for node in graph.nodes.values())
        self._names: Names = {node_id: name for node_id, name in found if name is not None}
        self._written: dict[str, list[str]] = {}
        for target, sources in self._upstream.direct.items():
            for source in sources:
                self._written.setdefault(source, []).append(target)

    def all(self) -> Iterator[Event]:
        for node in self._graph.nodes.values():
            if isinstance(node, ProcessNode | TableflowNode):
                for target in self._written.get(node.node_id, ()):
                    if target in self._names:
                        yield self._event(node, self._graph.nodes[target], self._inputs(node, target))
            elif isinstance(node, TopicNode):
                for source in self._upstream.direct.get(node.node_id, ()):
                    if (source, node.node_id, EdgeType.TRANSFORMS) in self._graph.edges:
                        yield self._event(node, node, [source])

    def _inputs(self, process: Node, target: str) -> list[str]:
        """What an output is made of: all that its process reads, unless the graph tells less."""
        edge = self._graph.edges.get((process.node_id, target, EdgeType.PRODUCES))
        known = edge.inputs if edge is not None and edge.inputs is not None else None
        read = self._upstream.direct.get(process.node_id, ())
        return [source for source in (read if known is None else known) if source in self._names]

    def _event(self, job: Node, target: Node, inputs: Sequence[str]) -> Event:
        names = {source: self._names[source] for source in inputs}
        flows, uses = self._flows(job, target, inputs)
        own, written = job_name(job), self._names[target.node_id]
        outputs = [
            {
                **written._asdict(),
                "facets": {**dataset_facets(target), **column_lineage(flows, uses, names)},
            }
        ]
        read = [
            {**name._asdict(), "facets": dataset_facets(self._graph.nodes[source])}
            for source, name in names.items()
        ]
        content = {
            "job": {
                "namespace": own.namespace,
                # A job with several outputs is one for each: an event has one set of inputs for all outputs.
                "name": own.name if self._is_only(job, target) else f"{own.name}.{written.name}",
                "facets": job_facets(job),
            },
            "inputs": read,
            "outputs": outputs,
        }
        return {
            "eventTime": self._time,
            "eventType": _TYPES.get(self._state(job), "RUNNING"),
            "run": {"runId": str(uuid.uuid5(_RUNS, _digest(content)))},
            **content,
            "producer": PRODUCER,
            "schemaURL": EVENT_SCHEMA,
        }

    def _is_only(self, job: Node, target: Node) -> bool:
        return job is target or sum(each in self._names for each in self._written.get(job.node_id, ())) == 1

    def _state(self, job: Node) -> str:
        if isinstance(job, TableflowNode):
            return job.phase.upper()
        return job.text("phase").upper() or job.text("state").upper()

    def _flows(
        self, job: Node, target: Node, inputs: Sequence[str]
    ) -> tuple[Iterable[ColumnFlow], Iterable[ColumnUses]]:
        if isinstance(job, ProcessNode):
            written = [flow for flow in flows_of(job) if flow.column.node_id == target.node_id]
            return written, [use for use in uses_of(job) if use.output == target.node_id]
        if isinstance(job, TableflowNode):
            topics = [self._graph.nodes[source] for source in inputs]
            return self._columns.table(target, topics), ()
        return self._columns.topic(target.node_id).values(), ()


def _digest(content: object) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
