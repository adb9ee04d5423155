"""A digest of a discovery, which changes only when something new is found."""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields
from typing import Any

from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.model import Edge, Node
from lineage_bridge_dagster.lineage.nodes.policies import VOLATILE

_TIMES = frozenset({"first_seen", "last_seen"})


def graph_digest(discovery: Discovery) -> str:
    """32 hexadecimal digits of the nodes, the edges and the scopes' statuses, in any order, without times."""
    graph = discovery.graph
    digests = sorted(
        [
            *(_digest(_stable(node)) for node in graph.nodes.values()),
            *(_digest(_stable(edge)) for edge in graph.edges.values()),
            *(_digest(str(report.scope), str(report.status)) for report in discovery.coverage),
        ]
    )
    return hashlib.sha256("".join(digests).encode()).hexdigest()[:32]


def _stable(entry: Node | Edge) -> dict[str, Any]:
    """All fields and attributes but the volatile ones: an asset must not show older ones than were found."""
    values = {field.name: getattr(entry, field.name) for field in fields(entry) if field.name not in _TIMES}
    attributes = {name: value for name, value in entry.attributes.items() if name not in VOLATILE}
    return {**values, "attributes": attributes}


def _digest(*parts: Any) -> str:
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
