"""The tables of a push: which of the graph's Glue tables were selected, and which can be pushed to."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from difflib import get_close_matches

from lineage_bridge_dagster.catalogs.lineage_catalog import PushTarget
from lineage_bridge_dagster.lineage.glue_names import GluePlace
from lineage_bridge_dagster.lineage.model import Node
from lineage_bridge_dagster.lineage.nodes import GlueTableNode
from lineage_bridge_dagster.lineage.push_results import PushStatus, TableResult


@dataclass(frozen=True, slots=True)
class GlueTarget(PushTarget):
    """A table to push to: its node, and its place in lower case."""

    node: Node
    place: GluePlace

    @property
    def names(self) -> tuple[str, str]:
        return self.place.database, self.place.table


def push_target(node: Node, region: str) -> GlueTarget | TableResult:
    """The target for a node; a refusal if the graph alone shows that it cannot be pushed to.

    Args:
        region: the region of the Glue client.
    """
    table = GlueTableNode.of(node)
    place = table.home_place
    if table.conflict:
        reason = f"{table.conflict}, so it is unclear whose lineage the table should carry"
    elif place is None:
        reason = (
            "the graph does not give its database and table in this account and region: "
            f"{node.qualified_name}"
        )
    elif table.aws_region and table.aws_region != region:
        reason = f"it is in {table.aws_region}, and this push goes to {region}"
    else:
        return GlueTarget(node, place)
    database, name = (place.database, place.table) if place else ("", node.qualified_name)
    return TableResult(node.node_id, database, name, PushStatus.REFUSED, reason)


def select_tables(
    nodes: Iterable[Node], selection: Collection[str] | None
) -> tuple[list[Node], list[TableResult]]:
    """Select tables by node id, `glue://DB/TABLE` or `DB.TABLE`, ignoring case; None selects all.

    Returns:
        The selected nodes, and a failure for each name that no table has.
    """
    if selection is None:
        return list(nodes), []
    by_name: dict[str, list[Node]] = {}
    for node in nodes:
        place = GlueTableNode.of(node).home_place
        for name in {node.node_id, node.qualified_name.lower(), *([place.dotted] if place else ())}:
            by_name.setdefault(name, []).append(node)
    selected: dict[str, Node] = {}
    unknown = []
    for name in dict.fromkeys(selection):
        found = by_name.get(name) or by_name.get(name.lower()) or []
        selected.update((node.node_id, node) for node in found)
        if not found:
            unknown.append(_unknown_table(name, by_name))
    return list(selected.values()), unknown


def _unknown_table(name: str, known: Iterable[str]) -> TableResult:
    database, _, table = name.removeprefix("glue://").replace("/", ".", 1).partition(".")
    similar = get_close_matches(name.lower(), [other for other in known if ":" not in other], 1)
    return TableResult(
        name,
        database,
        table,
        PushStatus.FAILED,
        f"The graph has no Glue table {name}.",
        (f"Did you mean {similar[0]}? " if similar else "")
        + "Name tables as DB.TABLE; `lineage-bridge push --dry-run` lists them.",
    )
