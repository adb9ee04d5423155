"""Which input of a process feeds which output, as a table with links."""

from __future__ import annotations

from collections.abc import Iterator

from lineage_bridge_dagster.lineage.model import EdgeType, Node, NodeType
from lineage_bridge_dagster.lineage.unknowns import unknowns_of
from lineage_bridge_dagster.specs.graph_view import NodeContext
from lineage_bridge_dagster.specs.links import asset_url
from lineage_bridge_dagster.specs.markdown import Link, markdown_table
from lineage_bridge_dagster.specs.metadata import LineageMetadata
from lineage_bridge_dagster.specs.pages.phrases import plain
from lineage_bridge_dagster.text import plural

#: Maximum rows on a page; the metadata has the rest, which the UI folds.
MAX_ROWS = 20

#: What an output of a connector takes besides its data, by the edge's role.
_ROLES = {"dlq": "records of any input that failed", "report": "reports on records of any input"}

Row = tuple[Link | str, Link | str]


def feeds_table(process: Node, context: NodeContext) -> str:
    """The pairs of input and output, up to a limit; empty if the lists of inputs and outputs tell the same.

    They do for a statement with a single output, and for a process without outputs.
    """
    if not _is_telling(process, context):
        return ""
    rows = list(_rows(process, context))
    more = len(rows) - MAX_ROWS
    note = f"{plural(more, 'more pair')} in `{LineageMetadata.key('feeds')}`." if more > 0 else ""
    table = markdown_table(["from", "to"], rows[:MAX_ROWS])
    return "\n\n".join(part for part in ("What feeds what:", table, note) if part)


def all_feeds(process: Node, context: NodeContext) -> str:
    """All pairs after a plain first line, if a page cannot show them; otherwise empty."""
    if not _is_telling(process, context):
        return ""
    rows = list(_rows(process, context))
    if len(rows) <= MAX_ROWS:
        return ""
    return f"{plural(len(rows), 'pair')} of input and output\n\n{markdown_table(['from', 'to'], rows)}"


def _is_telling(process: Node, context: NodeContext) -> bool:
    outputs = len(context.view.targets(process))
    return outputs > 1 or (outputs == 1 and process.node_type == NodeType.CONNECTOR)


def _rows(process: Node, context: NodeContext) -> Iterator[Row]:
    view = context.view
    nodes, sources = view.graph.nodes, view.sources(process)
    for output in sorted(view.targets(process), key=_order):
        target = _link(output, context)
        edge = view.graph.edges.get((process.node_id, output.node_id, EdgeType.PRODUCES))
        if edge is not None and (role := _ROLES.get(str(edge.attributes.get("role")))):
            yield role, target
            continue
        known = sources if len(sources) == 1 else None
        if edge is not None and edge.inputs is not None:
            known = [nodes[source] for source in edge.inputs if source in nodes]
        if known is None and sources:
            yield f"any of {plural(len(sources), 'input')}: it is not known which", target
        for source in sorted(known or (), key=_order):
            yield _link(source, context), target
        if not (known or sources):
            yield "not known" if unknowns_of(process) else "no dataset", target


def _order(node: Node) -> tuple[str, str]:
    return (node.label, node.node_id)


def _link(node: Node, context: NodeContext) -> Link:
    key = context.keys.get(node.node_id)
    return Link(plain(node.label), asset_url(key) if key else "")
