"""What a discovery leaves on Flink's jobs for the next: an unchanged statement is not parsed again.

Digests and names alone, never a text. Texts of no job (views, finished DDL) are kept by the first job.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.lineage.carry import STALE_ATTRIBUTES
from lineage_bridge_dagster.lineage.columns import ATTRIBUTE
from lineage_bridge_dagster.lineage.model import Graph, NodeType
from lineage_bridge_dagster.sql.flink.parse_cache import VERSION, ParseCache

if TYPE_CHECKING:
    from lineage_bridge_dagster.sql.statement import StatementLineage

#: Attribute of a job's node: `{"version", "entries": {digest: statements}, "columns": digest, "left_out"}`.
SAVED = "sql_cache"


class SavedSql:
    """What the last discovery's graph holds; of another version of the parser, or none at all, nothing."""

    def __init__(self, graph: Graph | None = None) -> None:
        entries: dict[str, Any] = {}
        self._columns: dict[str, tuple[str, Any, int]] = {}
        for node in graph.of_type(NodeType.FLINK_JOB) if graph is not None else ():
            saved = node.attributes.get(SAVED)
            if not isinstance(saved, Mapping) or saved.get("version") != VERSION:
                continue
            if isinstance(saved.get("entries"), Mapping):
                entries.update(saved["entries"])
            # Columns kept from before, for want of the registry's answer, are not what the digest stands for.
            is_stale = ATTRIBUTE in (node.attributes.get(STALE_ATTRIBUTES) or ())
            if isinstance(saved.get("columns"), str) and not is_stale:
                left_out = saved.get("left_out")
                self._columns[node.node_id] = (
                    saved["columns"],
                    node.attributes.get(ATTRIBUTE),
                    left_out if isinstance(left_out, int) else 0,
                )
        self._cache = ParseCache({"version": VERSION, "entries": entries})

    def lineage(self, text: str) -> StatementLineage | None:
        """What a text reads and writes, if it was parsed before."""
        return self._cache.get(text)

    def columns(self, node_id: str, digest: str) -> tuple[Any, int] | None:
        """The attribute of a job whose columns depend on just what they did, and how many had no room."""
        known, attribute, left_out = self._columns.get(node_id, ("", None, 0))
        return (attribute, left_out) if known == digest else None


def save_texts(graph: Graph, jobs: Sequence[tuple[str, str, StatementLineage]]) -> None:
    """Leave each text's lineage on its job's node; those without a node on the first node that there is.

    Args:
        graph: It has the jobs' nodes.
        jobs: Node id, text and lineage.
    """
    first = min((node_id for node_id, _, _ in jobs if node_id in graph), default=None)
    caches: dict[str, ParseCache] = {}
    for node_id, text, lineage in jobs:
        holder = node_id if node_id in graph else first
        if holder is not None:
            caches.setdefault(holder, ParseCache()).put(text, lineage)
    for holder, cache in caches.items():
        saved = cache.to_json()
        if saved["entries"]:
            graph.nodes[holder] = graph.nodes[holder].with_attributes(**{SAVED: saved})


def save_columns(graph: Graph, found: Iterable[tuple[str, str, int]]) -> None:
    """Leave on nodes what their columns depend on: node id, digest, how many columns had no room."""
    for node_id, digest, left_out in found:
        node = graph.nodes.get(node_id)
        if node is not None and isinstance(node.attributes.get(SAVED), Mapping):
            saved = {**node.attributes[SAVED], "columns": digest}
            if left_out:
                saved["left_out"] = left_out
            graph.nodes[node_id] = node.with_attributes(**{SAVED: saved})
