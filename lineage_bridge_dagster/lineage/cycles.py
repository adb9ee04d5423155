"""Which edges to leave out so that what is left has no cycle."""

from __future__ import annotations

from collections.abc import Iterable


def break_cycles(edges: Iterable[tuple[str, str]]) -> set[tuple[str, str]]:
    """The edges to leave out of `(from, to)` pairs so that the rest is acyclic.

    In each strongly connected part an ordered depth-first search from its smallest node leaves out the edges
    that lead back to a node on its path, and every self edge. So the answer depends neither on the order of
    the input nor on anything outside the part: a new topic elsewhere never moves the break of a known cycle.
    """
    following: dict[str, set[str]] = {}
    left_out: set[tuple[str, str]] = set()
    for source, target in edges:
        if source == target:
            left_out.add((source, target))
            continue
        following.setdefault(source, set()).add(target)
        following.setdefault(target, set())
    for part in _strongly_connected(following):
        if len(part) > 1:
            left_out |= _back_edges(part, following)
    return left_out


def _strongly_connected(following: dict[str, set[str]]) -> Iterable[set[str]]:
    """Tarjan's algorithm without recursion: a chain may be deeper than Python's stack."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    pending: list[str] = []
    is_pending: set[str] = set()
    for root in following:
        if root in order:
            continue
        order[root] = lowest[root] = len(order)
        pending.append(root)
        is_pending.add(root)
        path = [(root, iter(following[root]))]
        while path:
            node, rest = path[-1]
            for target in rest:
                if target not in order:
                    order[target] = lowest[target] = len(order)
                    pending.append(target)
                    is_pending.add(target)
                    path.append((target, iter(following[target])))
                    break
                if target in is_pending:
                    lowest[node] = min(lowest[node], order[target])
            else:
                path.pop()
                if path:
                    above = path[-1][0]
                    lowest[above] = min(lowest[above], lowest[node])
                if lowest[node] == order[node]:
                    part: set[str] = set()
                    while node not in part:
                        part.add(member := pending.pop())
                        is_pending.discard(member)
                    yield part


def _back_edges(part: set[str], following: dict[str, set[str]]) -> set[tuple[str, str]]:
    """Every node of a strongly connected part is reached from its smallest, so one search sees all edges."""

    def targets(node: str) -> list[str]:
        return sorted(following[node] & part)

    found: set[tuple[str, str]] = set()
    start = min(part)
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
