"""One pass over the outside APIs: the graph it yields and what it covered."""

from __future__ import annotations

from dataclasses import dataclass, field

from lineage_bridge_dagster.lineage.coverage import Coverage
from lineage_bridge_dagster.lineage.model import Graph


@dataclass(slots=True)
class Discovery:
    """`discovered_at` is an ISO 8601 UTC time. A graph from a file without coverage has an empty one."""

    graph: Graph = field(default_factory=Graph)
    coverage: Coverage = field(default_factory=Coverage)
    discovered_at: str = ""
