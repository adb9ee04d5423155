"""What is upstream of a node, as a tree of text."""

from __future__ import annotations

from collections.abc import Iterator

from lineage_bridge_dagster.lineage.model import Node, NodeType
from lineage_bridge_dagster.lineage.upstream import Place, node_of
from lineage_bridge_dagster.specs.graph_view import GraphView
from lineage_bridge_dagster.specs.pages.phrases import titled

#: Maximum lines of a tree on a page; the chain's own page has the rest.
MAX_LINES = 30


def parents(view: GraphView, place: Place) -> list[Place]:
    """The sources of a place, sorted; Tableflow tables, which are not assets, are replaced by theirs."""
    nodes, sources = view.graph.nodes, view.upstream.sources
    found: dict[Place, Node] = {}
    for source in sources(place):
        is_asset = nodes[node_of(source)].node_type != NodeType.TABLEFLOW_TABLE
        nearest = [source] if is_asset else sources(source)
        found.update((parent, nodes[node_of(parent)]) for parent in nearest)
    own = node_of(place)
    others = ((node.qualified_name, node.node_id, parent) for parent, node in found.items())
    return [parent for _, node_id, parent in sorted(others, key=lambda other: other[:2]) if node_id != own]


def text_tree(view: GraphView, root: Node, max_lines: int = MAX_LINES) -> str:
    """The node on the first line, its sources below it, theirs below them.

    Below a process are the inputs that the output above it is made of. The sources of a node are shown once,
    at its first occurrence, and a process's once for each output with inputs of its own; a cycle ends there
    too. A tree that would have more than `max_lines` lines ends with a line that states it.
    """
    lines = [titled(root)]
    seen: set[Place] = {root.node_id}
    #: Places to show, the next one last: the place, the prefix of its line, whether it is the last sibling.
    stack = [(place, "", is_last) for place, is_last in _last_first(parents(view, root.node_id))]
    while stack:
        place, prefix, is_last = stack.pop()
        node = view.graph.nodes[node_of(place)]
        above = parents(view, place)
        repeated = place in seen or node.node_id in seen
        if len(lines) >= max_lines - 1 and (stack or (above and not repeated)):
            lines.append(f"{prefix}└─ … and more: see the upstream chain")
            break
        elsewhere = node.cluster_id and root.cluster_id and node.cluster_id != root.cluster_id
        cluster = f" on cluster {node.cluster_name or node.cluster_id}" if elsewhere else ""
        note = " (shown above)" if repeated and above else ""
        lines.append(f"{prefix}{'└─ ' if is_last else '├─ '}{titled(node)}{cluster}{note}")
        if not repeated:
            seen.add(place)
            indent = prefix + ("   " if is_last else "│  ")
            stack.extend((parent, indent, last) for parent, last in _last_first(above))
    return "\n".join(lines)


def _last_first(places: list[Place]) -> Iterator[tuple[Place, bool]]:
    """The places in reverse, each with whether it is the last of them."""
    return ((place, place is places[-1]) for place in reversed(places))
