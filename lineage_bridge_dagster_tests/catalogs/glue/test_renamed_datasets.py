"""A dataset that a new version of the project names differently: it is replaced, and pushed once."""

from __future__ import annotations

import pytest

from lineage_bridge_dagster.lineage import ids
from lineage_bridge_dagster.lineage.carry import carry_forward
from lineage_bridge_dagster.lineage.coverage import Scope, ScopeReport, Status
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.model import Edge, EdgeType, Graph, Node, NodeType
from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog, GlueClient
from lineage_bridge_dagster_tests.catalogs.glue.graphs import CLUSTER, ENVIRONMENT, add_table, discovery
from lineage_bridge_dagster_tests.catalogs.glue.runs import push

OLD = "https://acct.blob.core.windows.net/landing/orders"
NEW = "wasbs://landing@acct.dfs.core.windows.net/orders"
CONNECT = Scope("connect", ENVIRONMENT, CLUSTER)


def found(dataset: str, *coverage: ScopeReport) -> Discovery:
    """What a discovery finds of a source from one dataset."""
    graph, scope = Graph(), {"scope": str(CONNECT)}
    add_table(graph, "orders", connector=None)
    topic = ids.topic_id(ENVIRONMENT, CLUSTER, "orders")
    source = ids.connector_id(ENVIRONMENT, CLUSTER, "landing")
    dataset_id = ids.external_dataset_id(dataset)
    graph.add_node(Node(source, "confluent", NodeType.CONNECTOR, "landing", attributes=scope))
    graph.add_node(Node(dataset_id, "external", NodeType.EXTERNAL_DATASET, dataset, attributes=scope))
    graph.add_edge(Edge(dataset_id, source, EdgeType.CONSUMES, attributes=scope))
    graph.add_edge(Edge(source, topic, EdgeType.PRODUCES, attributes={**scope, "inputs": [dataset_id]}))
    found = discovery(graph)
    for report in coverage:
        found.coverage.add(report)
    return found


def datasets(of: Discovery) -> set[str]:
    return {node.qualified_name for node in of.graph.of_type(NodeType.EXTERNAL_DATASET)}


def test_new_name_replaces_the_old_one_and_one_push_converges(client: GlueClient, catalog: Catalog) -> None:
    catalog.create("orders")
    before = carry_forward(found(OLD), None)
    push(client, before)
    assert OLD in catalog.parameters("orders")["lineage_bridge.upstream_chain"]

    after = carry_forward(found(NEW), before)
    assert datasets(after) == {NEW}
    assert not [key for key in after.graph.edges if ids.external_dataset_id(OLD) in key]

    assert push(client, after).counts["updated"] == 1
    chain = catalog.parameters("orders")["lineage_bridge.upstream_chain"]
    assert NEW in chain
    assert OLD not in chain
    version = catalog.table("orders")["VersionId"]
    for again in (after, carry_forward(found(NEW), after)):
        assert push(client, again).counts["unchanged"] == 1
    assert catalog.table("orders")["VersionId"] == version


@pytest.mark.parametrize("status", [Status.PARTIAL, Status.FAILED])
def test_old_name_stays_until_the_connectors_were_read_completely(status: Status) -> None:
    """Another connector that could not be read may still have it."""
    before = carry_forward(found(OLD), None)
    unread = carry_forward(found(NEW, ScopeReport(CONNECT, status, "HTTP 500")), before)
    assert datasets(unread) == {OLD, NEW}
    assert datasets(carry_forward(found(NEW), unread)) == {NEW}
