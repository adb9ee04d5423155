"""Pushes and enrichments with the clock of the tests and without waiting."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

from lineage_bridge_dagster.catalogs.clean import Cleaning
from lineage_bridge_dagster.catalogs.glue.enrichment import enrich
from lineage_bridge_dagster.catalogs.glue.glue_catalog import GlueCatalog
from lineage_bridge_dagster.catalogs.push import push_to
from lineage_bridge_dagster.catalogs.rest.rest_catalogs import RestCatalogs
from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.catalogs.settings.catalogs import Catalogs
from lineage_bridge_dagster.catalogs.settings.push_settings import PushSettings
from lineage_bridge_dagster.lineage.coverage import Coverage, Scope, ScopeReport
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.documents import PREFIX
from lineage_bridge_dagster.lineage.model import Graph, Node
from lineage_bridge_dagster.lineage.push_results import PushReport
from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog, GlueClient
from lineage_bridge_dagster_tests.catalogs.glue.graphs import NOW, REGION, add_table, discovery

#: That of Glue.
SCOPE = Scope("glue", "", REGION)


def clock() -> datetime:
    """A clock that stands at `NOW`."""
    return NOW


def no_sleep(_seconds: float) -> None:
    return None


def push_to_glue(
    found: Discovery,
    client: GlueClient,
    settings: PushSettings | None = None,
    *,
    clock: Callable[[], datetime] = clock,
    sleep: Callable[[float], None] = no_sleep,
    **options: Any,
) -> PushReport:
    """Push a discovery to Glue alone; the other options are those of `push_to`."""
    catalog = GlueCatalog(client, settings or PushSettings(), clock=clock, sleep=sleep)
    return push_to([catalog], found, **options)


def push_to_rest(
    found: Discovery, catalogs: Catalogs, settings: PushSettings | None = None, **options: Any
) -> PushReport:
    """Push a discovery to REST catalogs alone; the other options are those of `push_to`."""
    catalog = RestCatalogs(lambda: catalogs, settings or PushSettings(), clock=clock, sleep=no_sleep)
    return push_to([catalog], found, **options)


def cleaning(client: GlueClient, **settings: Any) -> Cleaning:
    """Cleans Glue; the settings are fields of `PushSettings`."""
    return Cleaning.of(client, Catalogs(CatalogSettings()), PushSettings(**settings), sleep=no_sleep)


def push(
    client: GlueClient, lineage: Graph | Discovery, coverage: Coverage | None = None, **options: Any
) -> PushReport:
    """Push a discovery, or a graph with a complete coverage by default.

    `settings` are fields of `PushSettings`; the other options are those of `push_to_glue`.
    """
    settings = PushSettings(**options.pop("settings", {}))
    found = discovery(lineage, coverage) if isinstance(lineage, Graph) else lineage
    return push_to_glue(found, client, settings, **options)


def graph_of(name: str = "orders.v1", **options: Any) -> Graph:
    """A graph of one table with its upstream; the options are those of `add_table`."""
    graph = Graph()
    add_table(graph, name, **options)
    return graph


def created(catalog: Catalog, names: Iterable[str]) -> Graph:
    """Create these tables in Glue; return a graph of them with their upstream."""
    graph = Graph()
    for name in names:
        catalog.create(name)
        add_table(graph, name)
    return graph


def report_of(found: Discovery, scope: Scope = SCOPE) -> ScopeReport:
    """How much of a scope was read, by default of Glue."""
    report = found.coverage.get(scope)
    assert report is not None
    return report


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
