"""What a discovery found, as one short text: the same for as long as nothing new is found."""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields
from typing import Any

from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.model import Edge, Node

#: Attributes that change with each commit to a table, each push and each discovery.
_PASSING = frozenset({"parameters", "description", "version_id", "update_time"})
_TIMES = frozenset({"first_seen", "last_seen"})


def graph_digest(discovery: Discovery) -> str:
    """32 hexadecimal digits over nodes, edges and how the scopes answered, in any order, without times."""
    graph = discovery.graph
    digests = sorted(
        [
            *(_digest(_lasting(node)) for node in graph.nodes.values()),
            *(_digest(_lasting(edge)) for edge in graph.edges.values()),
            *(_digest(str(report.scope), str(report.status)) for report in discovery.coverage),
        ]
    )
    return hashlib.sha256("".join(digests).encode()).hexdigest()[:32]


def _lasting(thing: Node | Edge) -> dict[str, Any]:
    """All of a node or an edge but what passes: what is shown must never be older than what was found."""
    held = {field.name: getattr(thing, field.name) for field in fields(thing) if field.name not in _TIMES}
    attributes = {name: value for name, value in thing.attributes.items() if name not in _PASSING}
    return {**held, "attributes": attributes}


def _digest(*parts: Any) -> str:
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
