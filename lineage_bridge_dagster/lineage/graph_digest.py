"""What a discovery found, as one short text: the same for as long as nothing new is found."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from lineage_bridge_dagster.lineage.discovery import Discovery

#: Attributes that change with each commit to a table, each push and each discovery.
_PASSING = frozenset({"parameters", "description", "version_id", "update_time", "sql_cache"})


def graph_digest(discovery: Discovery) -> str:
    """32 hexadecimal digits over nodes, edges and how the scopes answered, in any order, without times."""
    graph = discovery.graph
    digests = sorted(
        [
            *(
                _digest(node.node_id, node.display_name, node.cluster_name, _lasting(node.attributes))
                for node in graph.nodes.values()
            ),
            *(
                _digest(*edge.key, edge.confidence, _lasting(edge.attributes))
                for edge in graph.edges.values()
            ),
            *(_digest(str(report.scope), str(report.status)) for report in discovery.coverage),
        ]
    )
    return hashlib.sha256("".join(digests).encode()).hexdigest()[:32]


def _lasting(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in attributes.items() if name not in _PASSING}


def _digest(*parts: Any) -> str:
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
