"""A discovery -> run events: one for each process and output.

The job is the process and its output; its run is the same as long as what it reads, writes and does is. So a
receiver that has the event has nothing to learn from a second one.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from lineage_bridge_dagster.lineage.columns import (
    ColumnFlow,
    ColumnIndex,
    ColumnUses,
    flows_of,
    uses_of,
)
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.downstream import DownstreamIndex
from lineage_bridge_dagster.lineage.model import EdgeType, Graph, Node
from lineage_bridge_dagster.lineage.nodes import (
    ExternalJobNode,
    FlinkNode,
    GlueTableNode,
    ProcessNode,
    TableflowNode,
    TopicNode,
)
from lineage_bridge_dagster.lineage.upstream import Place, UpstreamIndex, node_of, walk
from lineage_bridge_dagster.openlineage.facets import (
    EVENT_SCHEMA,
    PRODUCER,
    Names,
    column_lineage,
    dataset_facets,
    fed_by,
    job_facets,
)
from lineage_bridge_dagster.openlineage.names import OpenLineageName, dataset_name, job_name

Event = dict[str, Any]

#: The common start of a walk upstream from several tables.
_START: Place = ""
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
        account: The AWS account of Glue tables that do not tell theirs; by default that of all others.
    """
    return (event for _, event in process_events(discovery, account=account))


def process_events(
    discovery: Discovery, *, account: str = "", tables: Collection[str] | None = None
) -> Iterator[tuple[str, Event]]:
    """The same, each with the node id of the process that it is of: a mirror's is that of its topic.

    Args:
        account: As for `events`.
        tables: Only what is upstream of these tables, by node id; None means all.
    """
    return _Events(discovery, account).upstream_of(tables)


def utf8_json(event: Mapping[str, Any]) -> bytes:
    """The event as JSON on one line; half of a surrogate pair, which is not UTF-8, is a question mark."""
    return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def end_of_run(job: OpenLineageName, run_id: str, kind: str, time: str) -> Event:
    """The event that ends a run, of which its receiver has all else."""
    return {
        "eventTime": time,
        "eventType": kind,
        "run": {"runId": run_id},
        "job": {**job._asdict(), "facets": {}},
        "inputs": [],
        "outputs": [],
        "producer": PRODUCER,
        "schemaURL": EVENT_SCHEMA,
    }


class _Events:
    def __init__(self, discovery: Discovery, account: str) -> None:
        graph = discovery.graph
        self._graph: Graph = graph
        self._time = discovery.discovered_at or "1970-01-01T00:00:00Z"
        self._upstream = UpstreamIndex.of(graph)
        self._columns = ColumnIndex(graph, self._upstream.direct)
        account = account or home_account(graph)
        found = ((node.node_id, dataset_name(node, account=account)) for node in graph.nodes.values())
        self._names: Names = {node_id: name for node_id, name in found if name is not None}
        #: The nodes whose events are asked for, and those that they lead to; None for all.
        self._wanted: Collection[str] | None = None
        self._written = DownstreamIndex.of(self._upstream).direct

    def upstream_of(self, tables: Collection[str] | None) -> Iterator[tuple[str, Event]]:
        nodes: Iterable[Node] = self._graph.nodes.values()
        if tables is not None:
            above = walk(_START, lambda place: tables if place == _START else self._upstream.sources(place))
            self._wanted = dict.fromkeys(map(node_of, above))
            nodes = [self._graph.nodes[each] for each in self._wanted if each in self._graph.nodes]
        for node in nodes:
            if isinstance(node, ExternalJobNode):
                continue  # An outside job sends its events itself.
            if isinstance(node, ProcessNode):
                found = self._of_process(node)
            elif isinstance(node, TableflowNode):
                found = self._of_tableflow(node)
            elif isinstance(node, TopicNode):
                found = self._of_mirror(node)
            else:
                continue
            yield from ((node.node_id, event) for event in found)

    def _of_tableflow(self, node: TableflowNode) -> Iterator[Event]:
        for target, name in self._outputs(node):
            inputs = self._inputs(node, target.node_id)
            topics = [self._graph.nodes[source] for source in inputs]
            yield self._event(node, name, target, inputs, self._columns.table(target, topics))

    def _of_mirror(self, topic: TopicNode) -> Iterator[Event]:
        for source in self._upstream.direct.get(topic.node_id, ()):
            edge = self._graph.edges.get((source, topic.node_id, EdgeType.TRANSFORMS))
            if edge is not None:
                flows = self._columns.topic(topic.node_id).values()
                state = str(edge.attributes.get("mirror_status") or "")
                yield self._event(topic, job_name(topic), topic, [source], flows, state=state)

    def _of_process(self, process: ProcessNode) -> Iterator[Event]:
        # Grouped once: a connector may have thousands of outputs.
        flows: dict[str, list[ColumnFlow]] = {}
        for flow in flows_of(process):
            flows.setdefault(flow.column.node_id, []).append(flow)
        uses: dict[str, list[ColumnUses]] = {}
        for use in uses_of(process):
            uses.setdefault(use.output, []).append(use)
        for target, name in self._outputs(process):
            key = target.node_id
            inputs = self._inputs(process, key)
            yield self._event(process, name, target, inputs, flows.get(key, ()), uses.get(key, ()))

    def _outputs(self, process: Node) -> list[tuple[Node, OpenLineageName]]:
        """The datasets that a process writes, with the job of each: an event has one set of inputs."""
        own = job_name(process)
        written = [target for target in self._written.get(process.node_id, ()) if target in self._names]
        return [
            (
                self._graph.nodes[target],
                own if len(written) == 1 else own._replace(name=f"{own.name}.{self._names[target].name}"),
            )
            for target in written
            if self._wanted is None or target in self._wanted
        ]

    def _inputs(self, process: Node, target: str) -> list[str]:
        """What an output is made of: all that its process reads, unless the graph tells less."""
        edge = self._graph.edges.get((process.node_id, target, EdgeType.PRODUCES))
        known = edge.inputs if edge is not None and edge.inputs is not None else None
        read = self._upstream.direct.get(process.node_id, ())
        return [source for source in (read if known is None else known) if source in self._names]

    def _event(
        self,
        process: Node,
        job: OpenLineageName,
        target: Node,
        inputs: Sequence[str],
        flows: Iterable[ColumnFlow],
        uses: Iterable[ColumnUses] = (),
        state: str | None = None,
    ) -> Event:
        names = {source: self._names[source] for source in inputs}
        written = self._names[target.node_id]
        facets = {**dataset_facets(target, written), **fed_by(names.values())}
        outputs = [{**written._asdict(), "facets": {**facets, **column_lineage(flows, uses, names)}}]
        read = [
            {**name._asdict(), "facets": dataset_facets(self._graph.nodes[source], name)}
            for source, name in names.items()
        ]
        content = {
            "job": {**job._asdict(), "facets": job_facets(process)},
            "inputs": read,
            "outputs": outputs,
        }
        return {
            "eventTime": self._time,
            "eventType": _TYPES.get((_state(process) if state is None else state).upper(), "RUNNING"),
            "run": {"runId": str(uuid.uuid5(_RUNS, _digest(content)))},
            **content,
            "producer": PRODUCER,
            "schemaURL": EVENT_SCHEMA,
        }


def home_account(graph: Graph) -> str:
    """The AWS account of the Glue tables at home that tell one; empty if they tell several."""
    tables = (node for node in graph.nodes.values() if isinstance(node, GlueTableNode))
    accounts = {table.catalog_id for table in tables if table.catalog_id and table.shown_place.is_home}
    return accounts.pop() if len(accounts) == 1 else ""


def _state(process: Node) -> str:
    if isinstance(process, TableflowNode):
        return process.phase
    return FlinkNode.of(process).phase or ProcessNode.of(process).state


def _digest(content: object) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
