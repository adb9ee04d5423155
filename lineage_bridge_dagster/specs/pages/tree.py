"""What is upstream of a node, as a tree of text."""

from __future__ import annotations

from collections.abc import Iterator

from lineage_bridge_dagster.lineage.model import Node, NodeType
from lineage_bridge_dagster.specs.graph_view import GraphView
from lineage_bridge_dagster.specs.pages.phrases import titled

#: Maximum lines of a tree on a page; the chain's own page has the rest.
MAX_LINES = 30


def parents(view: GraphView, node: Node) -> list[Node]:
    """The sources of a node, sorted; Tableflow tables, which are not assets, are replaced by theirs."""
    found: dict[str, Node] = {}
    for source in view.sources(node):
        nearest = view.sources(source) if source.node_type == NodeType.TABLEFLOW_TABLE else [source]
        found.update((parent.node_id, parent) for parent in nearest)
    found.pop(node.node_id, None)
    return sorted(found.values(), key=lambda parent: (parent.qualified_name, parent.node_id))


def text_tree(view: GraphView, root: Node, max_lines: int = MAX_LINES) -> str:
    """The node on the first line, its sources below it, theirs below them.

    The sources of a node are shown once, at its first occurrence; a cycle ends there too. A tree that would
    have more than `max_lines` lines ends with a line that states it.
    """
    lines = [titled(root)]
    seen = {root.node_id}
    #: Nodes to show, the next one last: the node, the prefix of its line, whether it is the last sibling.
    stack = [(node, "", is_last) for node, is_last in _last_first(parents(view, root))]
    while stack:
        node, prefix, is_last = stack.pop()
        above = parents(view, node)
        repeated = node.node_id in seen
        if len(lines) >= max_lines - 1 and (stack or (above and not repeated)):
            lines.append(f"{prefix}└─ … and more: see the upstream chain")
            break
        elsewhere = node.cluster_id and root.cluster_id and node.cluster_id != root.cluster_id
        cluster = f" on cluster {node.cluster_name or node.cluster_id}" if elsewhere else ""
        note = " (shown above)" if repeated and above else ""
        lines.append(f"{prefix}{'└─ ' if is_last else '├─ '}{titled(node)}{cluster}{note}")
        if not repeated:
            seen.add(node.node_id)
            indent = prefix + ("   " if is_last else "│  ")
            stack.extend((parent, indent, last) for parent, last in _last_first(above))
    return "\n".join(lines)


def _last_first(nodes: list[Node]) -> Iterator[tuple[Node, bool]]:
    """The nodes in reverse, each with whether it is the last of them."""
    return ((node, node is nodes[-1]) for node in reversed(nodes))
