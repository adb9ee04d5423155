"""What a node feeds: the graph and its columns read from sources to targets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import cast

from lineage_bridge_dagster.lineage.columns import Column, ColumnFlow
from lineage_bridge_dagster.lineage.upstream import Place, UpstreamIndex, node_of


@dataclass(frozen=True, slots=True)
class DownstreamIndex:
    """The direct targets of nodes and ports, the reverse of an `UpstreamIndex`.

    Attributes:
        direct: Each node's direct targets, each once: a process's are all of its outputs.
        places: The same through the ports of processes: an input leads only to the outputs that are made of
            it. It is `direct` itself if every output is made of all inputs of its process.
    """

    direct: Mapping[str, Sequence[str]]
    places: Mapping[Place, Sequence[Place]]

    @classmethod
    def of(cls, upstream: UpstreamIndex) -> DownstreamIndex:
        direct = cast("Mapping[str, Sequence[str]]", _reversed(cast("_Index", upstream.direct)))
        places = _reversed(upstream.places) if upstream.has_ports else cast("_Index", direct)
        return cls(direct, places)

    def nearest(self, node_id: str, most: int) -> list[str]:
        """The nearest nodes downstream of this one, up to a limit, without itself."""
        found: dict[str, None] = {}
        seen: set[Place] = {node_id}
        # Through the node's ports, if it is an input, and to all of its outputs, if it is a process.
        frontier: list[Place] = [*self.places.get(node_id, ()), *self.direct.get(node_id, ())]
        while frontier and len(found) < most:
            reached: list[Place] = []
            for place in frontier:
                if place not in seen:
                    seen.add(place)
                    found[node_of(place)] = None
                    reached.extend(self.places.get(place, ()))
            frontier = reached
        found.pop(node_id, None)
        return list(islice(found, most))


_Index = Mapping[Place, Sequence[Place]]


def _reversed(index: _Index) -> dict[Place, list[Place]]:
    found: dict[Place, list[Place]] = {}
    for target, sources in index.items():
        for source in sources:
            found.setdefault(source, []).append(target)
    return found


class ColumnTargets:
    """The columns that columns feed, the reverse of the flows into columns."""

    def __init__(self, flows: Iterable[ColumnFlow]) -> None:
        self._fed: dict[str, dict[str, list[Column]]] = {}
        for flow in flows:
            for source, _ in flow.sources:
                self._fed.setdefault(source.node_id, {}).setdefault(source.name, []).append(flow.column)

    def fed(self, columns: Iterable[Column], within: set[str]) -> dict[str, dict[str, dict[str, None]]]:
        """By node and its column, the names of the given columns that feed it, however many steps above.

        Args:
            columns: Columns of one node. Those that feed nothing are in no answer.
            within: Ids of the nodes to follow; a column of another node is not passed.
        """
        found: dict[str, dict[str, dict[str, None]]] = {}
        for origin in columns:
            stack = [origin]
            while stack:
                column = stack.pop()
                for target in self._fed.get(column.node_id, {}).get(column.name, ()):
                    if target.node_id in within:
                        origins = found.setdefault(target.node_id, {}).setdefault(target.name, {})
                        if origin.name not in origins:
                            origins[origin.name] = None
                            stack.append(target)
        return found

    def names(self, node_id: str) -> Iterable[str]:
        """The columns of a node that feed others."""
        return self._fed.get(node_id, ())
