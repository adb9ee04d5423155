"""Breaking cycles: which edges to drop from a directed graph so that the rest is acyclic."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import TypeVar

T = TypeVar("T", bound=Hashable)


def break_cycles(edges: Iterable[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return the edges to drop from `(source, target)` pairs so that the rest is acyclic.

    These are the self edges, and in each strongly connected component the back edges of an ordered
    depth-first search from its smallest node. So the result depends neither on the order of the input nor on
    anything outside the component: a new topic elsewhere never changes where a known cycle is broken.
    """
    successors: dict[str, set[str]] = {}
    dropped: set[tuple[str, str]] = set()
    for source, target in edges:
        if source == target:
            dropped.add((source, target))
            continue
        successors.setdefault(source, set()).add(target)
        successors.setdefault(target, set())
    for component in components(successors):
        if len(component) > 1:
            dropped |= _back_edges(component, successors)
    return dropped


def components(successors: Mapping[T, Iterable[T]]) -> Iterator[set[T]]:
    """Yield the strongly connected components of a graph: what a component leads to comes before it.

    It is Tarjan's algorithm, iterative, since chains can be very deep.

    Args:
        successors: What each node leads to; each of these is itself a key.
    """
    index: dict[T, int] = {}
    low_link: dict[T, int] = {}
    stack: list[T] = []
    on_stack: set[T] = set()
    for root in successors:
        if root in index:
            continue
        index[root] = low_link[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        path = [(root, iter(successors[root]))]
        while path:
            node, rest = path[-1]
            for target in rest:
                if target not in index:
                    index[target] = low_link[target] = len(index)
                    stack.append(target)
                    on_stack.add(target)
                    path.append((target, iter(successors[target])))
                    break
                if target in on_stack:
                    low_link[node] = min(low_link[node], index[target])
            else:
                path.pop()
                if path:
                    parent = path[-1][0]
                    low_link[parent] = min(low_link[parent], low_link[node])
                if low_link[node] == index[node]:
                    component: set[T] = set()
                    while node not in component:
                        component.add(member := stack.pop())
                        on_stack.discard(member)
                    yield component


def _back_edges(component: set[str], successors: dict[str, set[str]]) -> set[tuple[str, str]]:
    """The back edges of one search, which reaches every node of the component from its smallest."""

    def targets(node: str) -> list[str]:
        return sorted(successors[node] & component)

    found: set[tuple[str, str]] = set()
    start = min(component)
    seen, on_path = {start}, {start}
    path = [(start, iter(targets(start)))]
    while path:
        node, rest = path[-1]
        for target in rest:
            if target in on_path:
                found.add((node, target))
            elif target not in seen:
                seen.add(target)
                on_path.add(target)
                path.append((target, iter(targets(target))))
                break
        else:
            on_path.discard(node)
            path.pop()
    return found
