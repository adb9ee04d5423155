"""What is directly upstream of a node, and the walk that all chains are computed by.

Not every process makes each output from all of its inputs: a connector copies ten tables into ten topics, a
statement set has two INSERTs. Where a `produces` edge names the `inputs` of its output, that output's source
is a *port* of the process, whose sources are those inputs alone. A chain shows a port as its process.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar, cast

from lineage_bridge_dagster.lineage.model import FLOW_EDGES, INPUTS, Edge, EdgeType, Graph

T = TypeVar("T", bound=Hashable)


class Port(NamedTuple):
    """A process as far as it makes one of its outputs; both are node ids."""

    process: str
    output: str


#: A node id, or a port of that node.
Place = str | Port


def node_of(place: Place) -> str:
    """The id of the node that a place belongs to."""
    return place.process if isinstance(place, Port) else place


@dataclass(frozen=True, slots=True)
class UpstreamIndex:
    """The direct sources of nodes and ports, over data-carrying edges between existing nodes.

    Attributes:
        direct: Each node's direct sources, each once: a process's are all of its inputs.
        places: The same as chains follow it, through the ports of processes. It is `direct` itself if every
            output is made of all inputs of its process.
    """

    direct: Mapping[str, Sequence[str]]
    places: Mapping[Place, Sequence[Place]]

    @classmethod
    def of(cls, graph: Graph) -> UpstreamIndex:
        # A dict per destination: searching a list would be quadratic for a destination with many sources.
        index: dict[str, dict[str, None]] = {}
        inputs_of: dict[Port, tuple[str, ...]] = {}
        for edge in graph.edges.values():
            if edge.edge_type in FLOW_EDGES and edge.src_id in graph.nodes and edge.dst_id in graph.nodes:
                index.setdefault(edge.dst_id, {})[edge.src_id] = None
                if (inputs := _restricting_inputs(graph, edge)) is not None:
                    inputs_of[Port(edge.src_id, edge.dst_id)] = inputs
        ports: dict[str, dict[str, Port]] = {}
        for port, inputs in inputs_of.items():
            if _leave_some_out(inputs, index.get(port.process, {})):
                ports.setdefault(port.output, {})[port.process] = port
        direct = {destination: list(sources) for destination, sources in index.items()}
        if not ports:
            return cls(direct, cast("Mapping[Place, Sequence[Place]]", direct))
        places: dict[Place, Sequence[Place]] = dict(direct.items())
        for output, by_process in ports.items():
            places[output] = [by_process.get(source, source) for source in direct[output]]
            for process, port in by_process.items():
                all_inputs, above = index.get(process, {}), ports.get(process, {})
                made_of = dict.fromkeys(source for source in inputs_of[port] if source in all_inputs)
                places[port] = [above.get(source, source) for source in made_of]
        return cls(direct, places)

    @property
    def has_ports(self) -> bool:
        return self.places is not self.direct

    def sources(self, place: Place) -> Sequence[Place]:
        """The direct sources of a place; none for an unknown one."""
        return self.places.get(place, ())

    def distances(self, node_id: str) -> dict[str, int]:
        """Map every node upstream of this one, except itself, to its shortest distance."""
        return self.nearest(self.places_above(node_id), node_id)

    def places_above(self, node_id: str) -> dict[Place, int]:
        """Map every place upstream of this node, except itself, to its shortest distance."""
        return walk(cast("Place", node_id), self.sources)

    def nearest(self, places: dict[Place, int], node_id: str) -> dict[str, int]:
        """Map the nodes of places upstream of this node, except itself, to their shortest distances."""
        return by_node(places, node_id) if self.has_ports else cast("dict[str, int]", places)


def walk(start: T, upstream: Callable[[T], Iterable[T]]) -> dict[T, int]:
    """Map every place upstream of `start`, except itself even in a cycle, to its shortest distance.

    The nearest places come first.
    """
    distances: dict[T, int] = {}
    frontier: Sequence[T] = (start,)
    distance = 0
    while frontier:
        distance += 1
        reached: list[T] = []
        for place in frontier:
            for source in upstream(place):
                if source not in distances and source != start:
                    distances[source] = distance
                    reached.append(source)
        frontier = reached
    return distances


def reachable(starts: Iterable[T], further: Callable[[T], Iterable[T]]) -> set[T]:
    """All places that some places lead to, however many steps away, with these."""
    found = {*starts}
    stack = [*found]
    while stack:
        new = {*further(stack.pop())} - found
        found |= new
        stack += new
    return found


def by_node(distances: Mapping[Place, int], start: str) -> dict[str, int]:
    """Map the nodes of the places that a walk has reached, except `start`, to their shortest distances."""
    nearest: dict[str, int] = {}
    for place, distance in distances.items():
        nearest.setdefault(node_of(place), distance)
    nearest.pop(start, None)
    return nearest


def _restricting_inputs(graph: Graph, edge: Edge) -> tuple[str, ...] | None:
    """What the output at the end of an edge is made of; None if all inputs of its process count.

    They do where another edge also leads from the process to the output.
    """
    if INPUTS not in edge.attributes or (inputs := edge.inputs) is None:
        return None
    others = FLOW_EDGES - {EdgeType.PRODUCES}
    return None if any((edge.src_id, edge.dst_id, kind) in graph.edges for kind in others) else inputs


def _leave_some_out(inputs: Iterable[str], all_inputs: Collection[str]) -> bool:
    """Whether these are only some of the inputs of a process."""
    return sum(source in all_inputs for source in set(inputs)) < len(all_inputs)


def part_above(graph: Graph, node_ids: Iterable[str]) -> Graph:
    """The part of a graph in which these nodes have the same chains, with the same gaps: all above them."""
    into: dict[str, list[Edge]] = {}
    for edge in graph.edges.values():
        if edge.edge_type in FLOW_EDGES:
            into.setdefault(edge.dst_id, []).append(edge)
    part = Graph()
    rest = list(node_ids)
    while rest:
        node_id = rest.pop()
        if node_id in graph.nodes and node_id not in part.nodes:
            part.nodes[node_id] = graph.nodes[node_id]
            for edge in into.get(node_id, ()):
                part.edges[edge.key] = edge
                rest.append(edge.src_id)
    return part
