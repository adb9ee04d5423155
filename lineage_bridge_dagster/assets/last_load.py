"""What a reload takes over from the load before: the assets of all parts of the graph that did not change.

A code server reloads in its own process. The default translation of a node depends on its arguments alone:
the nodes and edges that it tells of (see `graph_changes`), the scopes that could not be read, and the keys
that it links to. So it holds until one of these changes. What users' hooks make of it is asked for at every
load.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from dagster import AssetKey, AssetSpec

from lineage_bridge_dagster.lineage.graph_changes import changed_part, dependent
from lineage_bridge_dagster.lineage.model import Node
from lineage_bridge_dagster.specs.graph_view import PROCESSES, GraphView, NodeContext, Role, Translation


@dataclass(slots=True)
class Made:
    """How one asset was made.

    Attributes:
        default: the default translation, if the hook asked for it.
        inputs: what that depends on besides the graph.
        translated: what the hook returned.
        downstream: the metadata that tells what it feeds.
    """

    default: Translation
    inputs: tuple[Any, ...]
    translated: AssetSpec | None = None
    downstream: Mapping[str, Any] = field(default_factory=dict)
    spec: AssetSpec | None = None

    @classmethod
    def of(cls, node: Node, context: NodeContext, last: LastLoad | None, *, copied: bool) -> Made:
        """Begin to make an asset, and give its context the default translation that still holds."""
        found = cls(Translation(node, copied=copied), _inputs(node, context))
        before = last.made(node.node_id, context.role) if last else None
        if before and before.inputs == found.inputs:
            found.default.spec = before.default.spec
        object.__setattr__(context, "translation", found.default)
        return found


Assets = Mapping[tuple[str, Role], Made]


class LastLoad:
    """What of an earlier load still holds for a discovery.

    Args:
        view: the discovery that is loaded now.
        before: the one that was loaded before; None if there is none, or if another selection of its nodes
            was shown.
        assets: those that were made of it, by node id and role.
        keys: their keys by node id.
    """

    def __init__(
        self, view: GraphView, before: GraphView | None, assets: Assets, keys: Mapping[str, AssetKey]
    ) -> None:
        is_known = before is not None and _scopes(before) == _scopes(view)
        self._assets = assets if is_known else {}
        self._keys = keys
        self._view = view
        self._changed = changed_part(before.graph, view.graph) if is_known and before else set()

    def made(self, node_id: str, role: Role) -> Made | None:
        """How the asset was made, if nothing in the graph changed on which its translation depends."""
        return None if node_id in self._changed else self._assets.get((node_id, role))

    def set_keys(self, keys: Mapping[str, AssetKey]) -> None:
        """Take what tells of an asset with another key for changed: there may be links to it."""
        if self._assets:
            moved = {
                node_id
                for node_id in keys.keys() | self._keys.keys()
                if keys.get(node_id) != self._keys.get(node_id)
            }
            self._changed |= dependent(self._view.graph, moved - self._changed)


def _inputs(node: Node, context: NodeContext) -> tuple[Any, ...]:
    """What the default translation of a node depends on besides the graph."""
    cyclic = tuple(source.node_id for source in context.cyclic_sources)
    linked: tuple[AssetKey | None, ...] = ()
    if node.node_type in PROCESSES:
        near = (*context.view.sources(node), *context.view.targets(node))
        linked = tuple(context.keys.get(each.node_id) for each in near)
    return cyclic, context.incomplete, linked


def _scopes(view: GraphView) -> list[Any]:
    """The reports of a discovery, without how many entries each scope had."""
    return [replace(report, count=None) for report in sorted(view.discovery.coverage, key=lambda r: r.scope)]
