"""What is upstream of a node, drawn as a tree of text."""

from __future__ import annotations

from lineage_bridge_dagster.lineage.model import Node, NodeType
from lineage_bridge_dagster.specs.graph_view import GraphView
from lineage_bridge_dagster.specs.pages.words import called

#: Lines of a tree on a page. What is beyond them is in the chain.
MAX_LINES = 30


def parents(view: GraphView, node: Node) -> list[Node]:
    """What a node's data comes from, sorted; past Tableflow tables, which are no assets of their own."""
    found: dict[str, Node] = {}
    for source in view.sources(node):
        near = view.sources(source) if source.node_type == NodeType.TABLEFLOW_TABLE else [source]
        found.update((one.node_id, one) for one in near)
    found.pop(node.node_id, None)
    return sorted(found.values(), key=lambda one: (one.qualified_name, one.node_id))


def text_tree(view: GraphView, root: Node, max_lines: int = MAX_LINES) -> str:
    """The node on the first line, its sources below it, theirs below them.

    A node that was shown is not shown again with all that is above it; a cycle ends there too. Never more
    than `max_lines` lines: the last then says that there is more.
    """
    lines = [called(root)]
    seen = {root.node_id}
    #: Nodes to show, the next one last: the node, what stands before its branch, whether it is the last.
    stack = [(one, "", last) for one, last in _backwards(parents(view, root))]
    while stack:
        node, before, last = stack.pop()
        above = parents(view, node)
        if len(lines) >= max_lines - 1 and (stack or (above and node.node_id not in seen)):
            lines.append(f"{before}└─ … and more: see the upstream chain")
            break
        again = " (shown above)" if node.node_id in seen and above else ""
        away = node.cluster_id and root.cluster_id and node.cluster_id != root.cluster_id
        place = f" of cluster {node.cluster_name or node.cluster_id}" if away else ""
        lines.append(f"{before}{'└─ ' if last else '├─ '}{called(node)}{place}{again}")
        if node.node_id not in seen:
            seen.add(node.node_id)
            deeper = before + ("   " if last else "│  ")
            stack.extend((one, deeper, is_last) for one, is_last in _backwards(above))
    return "\n".join(lines)


def _backwards(nodes: list[Node]) -> list[tuple[Node, bool]]:
    """The nodes, the last one first, each with whether it is the last."""
    return [(node, node is nodes[-1]) for node in reversed(nodes)]
