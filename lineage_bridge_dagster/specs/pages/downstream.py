"""*Downstream* of an asset: what it feeds, to the column, with links."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dagster import AssetKey, MarkdownMetadataValue

from lineage_bridge_dagster.lineage.columns import Column, flows_of
from lineage_bridge_dagster.lineage.model import Node, NodeType
from lineage_bridge_dagster.specs.graph_view import PROCESSES, GraphView
from lineage_bridge_dagster.specs.links import asset_url, lineage_url
from lineage_bridge_dagster.specs.markdown import Link, markdown_table
from lineage_bridge_dagster.specs.metadata import LineageMetadata
from lineage_bridge_dagster.specs.pages.phrases import kind_of, plain
from lineage_bridge_dagster.text import first_few, plural

#: Maximum rows of a page, and nodes that are counted: every page is rendered at every load.
MAX_ROWS, MAX_NODES = 25, 200
#: Maximum columns in a row.
_MAX_COLUMNS = 10


def downstream_metadata(
    view: GraphView, node_id: str, key: AssetKey, keys: Mapping[str, AssetKey]
) -> dict[str, Any]:
    """The metadata of a definition that says what the asset of a node feeds; empty if it feeds nothing.

    Args:
        key: Its asset's key.
        keys: The keys of all assets by node id.
    """
    node, graph = view.graph.nodes[node_id], view.graph
    reached = view.downstream.nearest(node_id, MAX_NODES)
    # A Tableflow table shows on its catalog table.
    fed = [
        each for each in map(graph.nodes.__getitem__, reached) if each.node_type != NodeType.TABLEFLOW_TABLE
    ]
    gaps = _gaps(view, [node, *fed])
    if not fed and not gaps:
        return {}
    parts = [_counts(fed, len(reached) == MAX_NODES)]
    if fed:
        columns = _columns(view, node, reached)
        rows = [
            [_link(each, keys), kind_of(each) or "dataset", columns.get(each.node_id, "")]
            for each in fed[:MAX_ROWS]
        ]
        parts.append(markdown_table(["feeds", "kind", "columns"], rows))
    if len(fed) > MAX_ROWS:
        parts.append(
            f"These are the nearest {MAX_ROWS}. [Show all in the graph]({lineage_url(key, 'downstream')})."
        )
    return LineageMetadata.entries(downstream=MarkdownMetadataValue("\n\n".join([*parts, *gaps])))


def _counts(fed: Sequence[Node], more: bool) -> str:
    """`Feeds 2 topics and 1 table`, on a line of its own, since lists show it."""
    if not fed:
        return "Feeds nothing that is known"
    counts = Counter(kind_of(each) or "dataset" for each in fed)
    return ("Feeds at least " if more else "Feeds ") + ", ".join(
        plural(count, kind) for kind, count in counts.items()
    )


def _columns(view: GraphView, node: Node, reached: Iterable[str]) -> dict[str, str]:
    """By id of a node downstream, its columns that are made of the node's, each with those it is made of."""
    targets, within = view.column_targets, set(reached)
    if node.node_type in PROCESSES:
        written: dict[str, dict[str, None]] = {}
        for flow in flows_of(node):
            written.setdefault(flow.column.node_id, {})[flow.column.name] = None
        columns = [Column(output, name) for output, names in written.items() for name in names]
        # Which of its outputs a column further down is made of shows on the pages of these.
        further = {fed: dict.fromkeys(names) for fed, names in targets.fed(columns, within).items()}
        return {fed: first_few(list(names), _MAX_COLUMNS) for fed, names in {**further, **written}.items()}
    own = [Column(node.node_id, name) for name in targets.names(node.node_id)]
    return {
        fed: first_few([_made_of(name, origins) for name, origins in found.items()], _MAX_COLUMNS)
        for fed, found in targets.fed(own, within).items()
    }


def _made_of(name: str, origins: Mapping[str, None]) -> str:
    return name if list(origins) == [name] else f"{name} (of {', '.join(origins)})"


def _link(node: Node, keys: Mapping[str, AssetKey]) -> Link:
    key = keys.get(node.node_id)
    return Link(plain(node.label), asset_url(key) if key else "")


def _gaps(view: GraphView, nodes: Iterable[Node]) -> list[str]:
    """The sentence that more may be downstream, since APIs could not be read."""
    scopes = view.gaps.below(nodes)
    if not scopes:
        return []
    names = first_few([f"`{scope}`" for scope in scopes], 5)
    return [f"There may be more: {names} could not be fully read."]
