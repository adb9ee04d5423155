"""Pushes and enrichments with the clock of the tests and without waiting."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.catalogs.glue.enrichment import enrich
from lineage_bridge_dagster.catalogs.glue.push import push_tables
from lineage_bridge_dagster.config.settings import PushSettings
from lineage_bridge_dagster.lineage.coverage import Coverage
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.documents import PREFIX
from lineage_bridge_dagster.lineage.model import Graph, Node
from lineage_bridge_dagster.lineage.push_results import PushReport
from lineage_bridge_dagster_tests.catalogs.glue.graphs import NOW, REGION, add_table, discovery

if TYPE_CHECKING:
    from mypy_boto3_glue.client import GlueClient


def clock() -> datetime:
    """A clock that stands at `NOW`."""
    return NOW


def no_sleep(_seconds: float) -> None:
    return None


def push(
    client: GlueClient, lineage: Graph | Discovery, coverage: Coverage | None = None, **options: Any
) -> PushReport:
    """Push a discovery, or a graph with a complete coverage by default.

    `settings` are fields of `PushSettings`; the other options are those of `push_tables`.
    """
    settings = PushSettings(**options.pop("settings", {}))
    options.setdefault("sleep", no_sleep)
    found = discovery(lineage, coverage) if isinstance(lineage, Graph) else lineage
    return push_tables(found, client, settings, clock=clock, **options)


def graph_of(name: str = "orders.v1", **options: Any) -> Graph:
    """A graph of one table with its upstream; the options are those of `add_table`."""
    graph = Graph()
    add_table(graph, name, **options)
    return graph


def ours(parameters: dict[str, str]) -> dict[str, str]:
    """The parameters under our prefix."""
    return {key: value for key, value in parameters.items() if key.startswith(PREFIX)}


def enriched(client: GlueClient, *nodes: Node, **options: Any) -> Discovery:
    """A discovery of these nodes, enriched from Glue."""
    return enrich(Discovery(Graph(nodes)), client, region=REGION, clock=clock, **options)


def glue_nodes(found: Discovery) -> dict[str, Node]:
    return {node.node_id: node for node in found.graph.nodes.values() if node.node_type == "catalog_table"}


def edge_target(found: Discovery, node: Node) -> str | None:
    """The node id of the Glue table that a Tableflow table became."""
    edges = [edge for edge in found.graph.edges.values() if edge.src_id == node.node_id]
    return edges[0].dst_id if edges else None
