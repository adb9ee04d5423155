"""Which nodes of a stored discovery changes are about: their names, their kinds and their place. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from lineage_bridge_dagster.impact.change import (
    Change,
    CompatibilityChange,
    ConnectorChange,
    ConnectorPause,
    DropColumn,
    DropNode,
    MirrorStop,
    SchemaChange,
    StatementChange,
    StatementStop,
    SubjectDrop,
    TableflowChange,
    TableflowDrop,
    TopicChange,
)
from lineage_bridge_dagster.impact.world import NodeKind, NodeRef
from lineage_bridge_dagster.lineage.model import Node

#: An identifier of SQL, with or without backticks.
_SQL_NAME = re.compile(r"`([^`]++)`|(\w++)")


@dataclass(frozen=True, slots=True)
class ChangedPlace:
    """Where the changed nodes are; anywhere by default.

    Attributes:
        environment: Id or name of their environment.
        cluster: Id or name of their cluster; statements and schemas have no cluster.
    """

    environment: str = ""
    cluster: str = ""

    def holds(self, node: Node) -> bool:
        """Whether a node may be the changed one: it is in this place, or its place is unknown."""
        of_node = (node.environment_id, node.environment_name), (node.cluster_id, node.cluster_name)
        wanted = self.environment, self.cluster
        return all(
            not name or not found[0] or name in found for name, found in zip(wanted, of_node, strict=True)
        )


def mentioned_topics(changes: Iterable[Change]) -> set[NodeRef]:
    """The topics that new SQL may read and write: whatever it names."""
    texts = (each.sql for each in changes if isinstance(each, StatementChange))
    names = {quoted or plain for sql in texts for quoted, plain in _SQL_NAME.findall(sql)}
    return {NodeRef(NodeKind.TOPIC, name) for name in names}


def changed_node(change: Change) -> NodeRef:
    """The node that a change is about."""
    match change:
        case SchemaChange(subject) | CompatibilityChange(subject) | SubjectDrop(subject):
            return NodeRef(NodeKind.TOPIC, subject.removesuffix("-value").removesuffix("-key"))
        case DropNode(node) | DropColumn(node):
            return node
        case StatementChange(name) | StatementStop(name):
            return NodeRef(NodeKind.STATEMENT, name)
        case ConnectorChange(name) | ConnectorPause(name):
            return NodeRef(NodeKind.CONNECTOR, name)
        case TopicChange(name) | TableflowChange(name) | TableflowDrop(name) | MirrorStop(name):
            return NodeRef(NodeKind.TOPIC, name)


def is_new(change: Change) -> bool:
    """Whether a change creates its node."""
    return isinstance(change, StatementChange | ConnectorChange | TopicChange) and change.is_new


def qualified_names(ref: NodeRef) -> Iterator[str]:
    """The qualified names that a node may have in the graph."""
    yield ref.name
    yield ref.name.partition("/")[2]
    yield f"glue://{ref.name.replace('.', '/', 1)}"
