"""The part of a graph that belongs to some Kafka clusters: what is in them, what feeds it, what it feeds."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from lineage_bridge_dagster.lineage.model import FLOW_EDGES, Graph, Node, NodeType
from lineage_bridge_dagster.lineage.nodes import ProcessNode, TopicNode
from lineage_bridge_dagster.lineage.upstream import reachable

#: Environment and cluster ids.
Cluster = tuple[str, str]

#: What is known only by its Kafka cluster.
_OF_A_CLUSTER = frozenset(
    {NodeType.KAFKA_TOPIC, NodeType.CONNECTOR, NodeType.CONSUMER_GROUP, NodeType.TABLEFLOW_TABLE}
)


class ClusterSelection:
    """What belongs to the clusters that the settings name, in a graph that is being built.

    Edges of the last discovery count as well: an API that fails now may have reported what connects two
    clusters, and a node that is left out here later counts as gone.

    Args:
        names: ids or names of Kafka clusters; empty: all.
        last: the graph of the last discovery.
    """

    def __init__(self, names: Collection[str], last: Graph | None) -> None:
        self._names = frozenset(names)
        self._last = last or Graph()

    def feeding(self, graph: Graph) -> set[Cluster]:
        """The other clusters that have something upstream of these ones."""
        if not self._names:
            return set()
        found = set()
        for node_id in self._around(graph).upstream:
            node = graph.nodes.get(node_id) or self._last.nodes.get(node_id)
            if node and self._is_elsewhere(node):
                found.add((node.environment_id or "", node.cluster_id or ""))
        return found

    def of(self, graph: Graph) -> Graph:
        """These clusters, with everything upstream and downstream of them.

        Each process has all of its inputs and outputs, so that it is the same in every selection. Topics of
        other clusters are marked as `outside_selection`. A statement or query without edges stays: if its SQL
        could not be read, it may belong here.
        """
        if not self._names:
            return graph
        around = self._around(graph)
        kept = around.upstream | around.downstream
        processes = {each for each in kept if isinstance(graph.nodes.get(each), ProcessNode)}
        kept |= {
            end for src, dst, _ in graph.edges if src in processes or dst in processes for end in (src, dst)
        }
        # Schemas, and groups of consumers.
        kept |= {dst for src, dst, kind in graph.edges if kind not in FLOW_EDGES and src in kept}
        connected = {end for src, dst, _ in graph.edges for end in (src, dst)}
        return Graph(
            (
                node.with_attributes(outside_selection=True)
                if isinstance(node, TopicNode) and self._is_elsewhere(node)
                else node
                for node_id, node in graph.nodes.items()
                if node_id in kept or (node_id not in connected and node.node_type not in _OF_A_CLUSTER)
            ),
            (edge for (src, dst, _), edge in graph.edges.items() if src in kept and dst in kept),
        )

    def _around(self, graph: Graph) -> _Around:
        sources: dict[str, list[str]] = {}
        targets: dict[str, list[str]] = {}
        for src, dst, kind in (*graph.edges, *self._last.edges):
            if kind in FLOW_EDGES:
                sources.setdefault(dst, []).append(src)
                targets.setdefault(src, []).append(dst)
        inside = {
            node_id
            for each in (graph, self._last)
            for node_id, node in each.nodes.items()
            if node.cluster_id and not self._is_elsewhere(node)
        }
        return _Around(_reached(inside, sources), _reached(inside, targets))

    def _is_elsewhere(self, node: Node) -> bool:
        """Whether a node is in another cluster."""
        return bool(node.cluster_id) and self._names.isdisjoint((node.cluster_id, node.cluster_name))


class _Around(NamedTuple):
    """Ids of the nodes of some clusters, with those upstream and with those downstream of them."""

    upstream: set[str]
    downstream: set[str]


def _reached(starts: Collection[str], further: Mapping[str, Collection[str]]) -> set[str]:
    return reachable(starts, lambda node_id: further.get(node_id, ()))
