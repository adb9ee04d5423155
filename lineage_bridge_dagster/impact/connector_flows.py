"""The connectors of a world -> jobs. Pure, except for the JVM that evaluates regular expressions."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.record import (
    ConnectorLineage,
    ConnectorRecord,
    ExistingTopics,
)
from lineage_bridge_dagster.confluent.connectors.resolve import resolve
from lineage_bridge_dagster.impact.flows import FlowJob, Output
from lineage_bridge_dagster.impact.world import NodeKind, NodeRef


class ConnectorFlow(NamedTuple):
    """A connector's job, with what else its configuration tells."""

    job: FlowJob
    config: Config
    lineage: ConnectorLineage

    @property
    def is_source(self) -> bool:
        return self.lineage.direction == "source"


def connector_flows(
    connectors: Iterable[ConnectorRecord], topics: Collection[str]
) -> dict[NodeRef, ConnectorFlow]:
    """The flow of each connector, by its node."""
    existing = ExistingTopics.of(topics)
    flows = (connector_flow(connector, existing) for connector in connectors)
    return {flow.job.node: flow for flow in flows}


def connector_flow(connector: ConnectorRecord, topics: ExistingTopics) -> ConnectorFlow:
    """The flow of one connector; dead letters and reports are not outputs."""
    lineage = resolve(connector, topics)
    source = lineage.direction == "source"
    kinds = (NodeKind.DATASET, NodeKind.TOPIC) if source else (NodeKind.TOPIC, NodeKind.DATASET)
    read = lineage.datasets_read if source else lineage.topics_read
    written = lineage.topics_written if source else lineage.datasets_written
    extra = {*lineage.dlq_topics, *lineage.report_topics}
    made_of: dict[str, set[str]] = {}
    for left, right in lineage.pairs:
        made_of.setdefault(right, set()).add(left)
    outputs = tuple(
        Output(
            NodeRef(kinds[1], name),
            frozenset(NodeRef(kinds[0], each) for each in made_of.get(name, read)),
        )
        for name in written
        if name not in extra
    )
    inputs = frozenset(NodeRef(kinds[0], name) for name in read)
    job = FlowJob(NodeRef(NodeKind.CONNECTOR, connector.name), outputs, inputs)
    return ConnectorFlow(job, Config(connector.config), lineage)
