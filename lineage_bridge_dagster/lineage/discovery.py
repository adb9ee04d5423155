"""The result of one pass over the outside APIs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lineage_bridge_dagster.lineage.coverage import Coverage
from lineage_bridge_dagster.lineage.model import Graph


@dataclass(slots=True)
class Discovery:
    """A graph, and the coverage of the discovery that found it.

    Attributes:
        graph: The nodes and edges found.
        coverage: Empty for a graph from a file that has none.
        discovered_at: ISO 8601 UTC time; may be empty for a graph from a file.
        caches: JSON that the next discovery may reuse to save work, by name. It says nothing about the graph:
            it is stored with the state, and is part of neither digests nor lineage tables nor exports.
    """

    graph: Graph = field(default_factory=Graph)
    coverage: Coverage = field(default_factory=Coverage)
    discovered_at: str = ""
    caches: Mapping[str, Any] = field(default_factory=dict)
