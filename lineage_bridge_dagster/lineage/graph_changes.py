"""Which parts of a graph are the same as in another one, but for the times when they were seen."""

from __future__ import annotations

import marshal
from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import Any

from lineage_bridge_dagster.lineage.model import FLOW_EDGES, Edge, EdgeType, Graph, Node
from lineage_bridge_dagster.lineage.upstream import reachable

_SEEN = {"first_seen", "last_seen"}
#: What two nodes, or two edges, are compared by.
_OF_NODE = attrgetter(*(name for name in Node.__slots__ if name not in _SEEN))
_OF_EDGE = attrgetter(*(name for name in Edge.__slots__ if name not in _SEEN))


def changed_part(before: Graph, after: Graph) -> set[str]:
    """The ids of the nodes of `after` that `dependent` names for all that is new, gone or different."""
    edges = _changed(before.edges, after.edges, _OF_EDGE)
    ends = {end for src_id, dst_id, _ in edges for end in (src_id, dst_id)}
    return dependent(after, {*_changed(before.nodes, after.nodes, _OF_NODE), *ends})


def dependent(graph: Graph, node_ids: Iterable[str]) -> set[str]:
    """The ids of the nodes that tell something of the given ones, which are among them; some may be gone.

    A node tells of all that is upstream of it, and of what it feeds: of the columns of these, which depend on
    all that is upstream of them. So it is everything upstream of anything downstream of the given ones.
    """
    given = {*node_ids}
    if not given:
        return given
    sources: dict[str, list[str]] = {}
    targets: dict[str, list[str]] = {}
    for src_id, dst_id, kind in graph.edges:
        if kind not in FLOW_EDGES:
            # A topic tells of its schemas. Other kinds, from a file, may lead either way.
            sources.setdefault(src_id, []).append(dst_id)
            targets.setdefault(dst_id, []).append(src_id)
        if kind != EdgeType.HAS_SCHEMA:
            sources.setdefault(dst_id, []).append(src_id)
            targets.setdefault(src_id, []).append(dst_id)
    below = reachable(given, lambda node_id: targets.get(node_id, ()))
    return reachable(below, lambda node_id: sources.get(node_id, ()))


def _changed(before: dict[Any, Any], after: dict[Any, Any], fields: attrgetter[Any]) -> Iterator[Any]:
    """The keys of what is in only one of them, or different."""
    yield from before.keys() - after.keys()
    for key, value in after.items():
        known = before.get(key)
        if known is not value and (known is None or not _same(fields(known), fields(value))):
            yield key


def _same(known: Any, value: Any) -> bool:
    """Whether values of JSON are equal and of the same types: Python takes 1, 1.0 and true for one."""
    if known != value:
        return False
    try:
        return marshal.dumps(known, 2) == marshal.dumps(value, 2)
    except ValueError:
        # It is not from a file, and has enumerations in it.
        return repr(known) == repr(value)
