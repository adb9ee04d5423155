"""A chain as an outline: the sources farthest upstream first, everything else below what feeds it.

A node that several others feed stands below each of them, and what follows from it below the first one only.
A process that makes each output of inputs of its own has below it the outputs made of the line above.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lineage_bridge_dagster.lineage.cycles import components
from lineage_bridge_dagster.lineage.upstream import Place, Port, node_of, reachable


class OutlineRow(NamedTuple):
    """A line of an outline.

    Attributes:
        hop: Index of the hop; None for the hops left out here.
        first: Whether the hop was not on a line above.
        left_out: How many hops are left out here and nowhere above.
    """

    depth: int
    hop: int | None
    first: bool = True
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Outline:
    """The places of a chain, the farthest first; a place is its position among them.

    Attributes:
        hops: The index of each place's hop.
        targets: What each place feeds directly.
        starts: The places that nothing feeds, and of each cycle that nothing feeds the farthest.
    """

    hops: Sequence[int]
    targets: Sequence[Sequence[int]]
    starts: Sequence[int]

    @classmethod
    def of(cls, nodes: Sequence[tuple[str, int]], sources: Mapping[Place, Sequence[Place]]) -> Outline:
        """Return the outline of a chain.

        Args:
            nodes: Id and distance of each hop, in the order of a chain: nearest first.
            sources: The direct sources of each place. Nothing is known to feed a hop without a place here.
        """
        farthest_first = sorted(range(len(nodes)), key=lambda hop: -nodes[hop][1])
        places_of: dict[str, list[Place]] = {nodes[hop][0]: [] for hop in farthest_first}
        for place in sources:
            if (known := places_of.get(node_of(place))) is not None:
                known.append(place)
        numbers: dict[Place, int] = {}
        hops: list[int] = []
        for hop in farthest_first:
            node_id = nodes[hop][0]
            for place in sorted(places_of[node_id], key=_output) or [node_id]:
                numbers[place] = len(numbers)
                hops.append(hop)
        targets: list[list[int]] = [[] for _ in hops]
        fed: set[int] = set()
        for place, number in numbers.items():
            for source in sources.get(place, ()):
                if source in numbers and source != place:
                    targets[numbers[source]].append(number)
                    fed.add(number)
        starts = [number for number in range(len(hops)) if number not in fed]
        return cls(hops, targets, sorted([*starts, *_starts_of_cycles(targets, starts)]))

    def rows(self, dropped: Collection[int] = frozenset(), repeats: bool = True) -> Iterator[OutlineRow]:
        """Yield the lines.

        Args:
            dropped: Indexes of hops that are left out. Those between two lines become one; the last line
                has the number of those that nothing shown for the first time follows from.
            repeats: Whether a hop that several others feed is repeated below each of them.
        """
        seen: set[int] = set()
        named: set[int] = set()
        # The lines to come, the next one last: depth, hop, and the hop's places that the line above feeds.
        stack = self._siblings(0, self.starts, dropped)
        elsewhere = 0
        while stack:
            depth, hop, places = stack.pop()
            new = [place for place in places if place not in seen]
            if hop is None:
                left_out, below = self._gap(new, dropped, seen, named)
                if seen.issuperset(below):
                    elsewhere += left_out
                else:
                    yield OutlineRow(depth, None, left_out=left_out)
                    stack += self._siblings(depth + 1, below, dropped)
                continue
            if new or repeats:
                yield OutlineRow(depth, hop, first=hop not in named)
            named.add(hop)
            seen.update(new)
            below = [target for place in new for target in self.targets[place]]
            stack += self._siblings(depth + 1, below, dropped)
        if elsewhere:
            yield OutlineRow(0, None, left_out=elsewhere)

    def _siblings(
        self, depth: int, places: Iterable[int], dropped: Collection[int]
    ) -> list[tuple[int, int | None, list[int]]]:
        """The lines of these places, the farthest last; what is left out is one line at its farthest."""
        lines: dict[int | None, list[int]] = {}
        for place in sorted(set(places)):
            hop = self.hops[place]
            lines.setdefault(None if hop in dropped else hop, []).append(place)
        return [(depth, hop, found) for hop, found in reversed(lines.items())]

    def _gap(
        self, places: Iterable[int], dropped: Collection[int], seen: set[int], named: set[int]
    ) -> tuple[int, list[int]]:
        """How many hops are left out from these places on, and the places below that are not."""
        left_out, below = 0, []
        stack = list(places)
        while stack:
            place = stack.pop()
            hop = self.hops[place]
            if hop not in dropped:
                below.append(place)
            elif place not in seen:
                seen.add(place)
                left_out += hop not in named
                named.add(hop)
                stack += self.targets[place]
        return left_out, below


def _output(place: Place) -> str:
    return place.output if isinstance(place, Port) else ""


def _starts_of_cycles(targets: Sequence[Sequence[int]], starts: Iterable[int]) -> list[int]:
    """The farthest place of each cycle that no start leads to and nothing else feeds."""
    led_to = reachable(starts, targets.__getitem__)
    # Such a cycle may lead to what a start leads to as well.
    rest = {place: set(targets[place]) - led_to for place in range(len(targets)) if place not in led_to}
    cycles = list(components(rest))
    cycle_of = {place: number for number, cycle in enumerate(cycles) for place in cycle}
    fed = {cycle_of[below] for above in rest for below in rest[above] if cycle_of[above] != cycle_of[below]}
    return [min(cycle) for number, cycle in enumerate(cycles) if number not in fed]
