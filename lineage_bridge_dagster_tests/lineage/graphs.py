"""Small graphs for the tests of this room."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from lineage_bridge_dagster.catalogs.settings.push_settings import PushSettings
from lineage_bridge_dagster.lineage import documents
from lineage_bridge_dagster.lineage.chains import Chain, Hop, order_hops
from lineage_bridge_dagster.lineage.coverage import Coverage, Scope, ScopeReport, Status
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.model import Edge, Graph, Node, NodeType

ENV = "env-abc123"
CLUSTER = "lkc-abc123"

KAFKA = Scope("kafka", ENV, CLUSTER)
CONNECT = Scope("connect", ENV, CLUSTER)
TABLEFLOW = Scope("tableflow", ENV, CLUSTER)
INTEGRATIONS = Scope("catalog_integrations", ENV, CLUSTER)
FLINK = Scope("flink", ENV, "aws.us-east-1")
POOLS = Scope("compute_pools", ENV)
CLUSTERS = Scope("clusters", ENV)
ENVIRONMENTS = Scope("environments")
REGISTRY = Scope("schema_registry", ENV)
GLUE = Scope("glue", "", "us-east-1")
ALL_SCOPES = (KAFKA, CONNECT, TABLEFLOW, INTEGRATIONS, FLINK, POOLS, CLUSTERS, ENVIRONMENTS, REGISTRY, GLUE)


def coverage(**failed: Status) -> Coverage:
    """Every scope complete, but for those of the APIs named."""
    return Coverage(
        ScopeReport(scope, failed.get(scope.api, Status.COMPLETE), "no" if scope.api in failed else "")
        for scope in ALL_SCOPES
    )


def node(node_id: str, node_type: str, name: str = "", scope: Scope | None = None, **attributes: Any) -> Node:
    if scope is not None:
        attributes["scope"] = str(scope)
    inside = node_type != NodeType.EXTERNAL_DATASET
    return Node(
        node_id=node_id,
        system="test",
        node_type=node_type,
        qualified_name=name or node_id,
        environment_id=ENV if inside else None,
        cluster_id=CLUSTER if inside and node_type != NodeType.FLINK_JOB else None,
        catalog_type="AWS_GLUE" if node_type == NodeType.CATALOG_TABLE else None,
        attributes=attributes,
    )


def edge(src: str, dst: str, edge_type: str, scope: Scope | None = None, **attributes: Any) -> Edge:
    if scope is not None:
        attributes["scope"] = str(scope)
    return Edge(src, dst, edge_type, attributes=attributes)


def fields(count: int) -> list[dict[str, str]]:
    return [{"name": f"column_{i}", "type": "string"} for i in range(count)]


def shop() -> Graph:
    """A database, through Debezium, a topic, a Flink statement and a topic, to a Glue table."""
    return Graph(
        [
            node("db", "external_dataset", "postgres://pg1.example:5432/shop.public.orders", CONNECT),
            node("debezium", "connector", "debezium-pg", CONNECT, connector_class="PostgresCdcSourceV2"),
            node("raw", "kafka_topic", "shop.public.orders", KAFKA, schema_fields=fields(5)),
            node("job", "flink_job", "enrich-orders", FLINK, sql="INSERT INTO `orders.v1` SELECT ..."),
            node("orders", "kafka_topic", "orders.v1", KAFKA, schema_fields=fields(3)),
            node("schema", "schema", "orders.v1-value", REGISTRY),
            node("tableflow", "tableflow_table", "lkc-abc123.orders.v1", TABLEFLOW),
            node("table", "catalog_table", "glue://lkc-abc123/orders.v1", GLUE),
        ],
        [
            edge("db", "debezium", "consumes", CONNECT),
            edge("debezium", "raw", "produces", CONNECT),
            edge("raw", "job", "consumes", FLINK),
            edge("job", "orders", "produces", FLINK),
            edge("orders", "schema", "has_schema", REGISTRY),
            edge("orders", "tableflow", "materializes", TABLEFLOW),
            edge("tableflow", "table", "materializes", GLUE),
        ],
    )


def copier(*outputs: str, **inputs: list[str]) -> Graph:
    """A connector that copies datasets into topics of the same name, each behind a Glue table `{name}_table`.

    Args:
        outputs: The names; each dataset is `{name}_db`.
        inputs: By output, the `inputs` of the edge to it.
    """
    graph = Graph([node("connector", "connector", scope=CONNECT)])
    for name in outputs:
        graph.add_node(node(f"{name}_db", "external_dataset", scope=CONNECT))
        graph.add_node(node(name, "kafka_topic", scope=KAFKA))
        graph.add_node(node(f"{name}_table", "catalog_table", scope=GLUE))
        attributes = {"inputs": inputs[name]} if name in inputs else {}
        graph.add_edge(edge(f"{name}_db", "connector", "consumes", CONNECT))
        graph.add_edge(edge("connector", name, "produces", CONNECT, **attributes))
        graph.add_edge(edge(name, f"{name}_table", "materializes", GLUE))
    return graph


@st.composite
def graphs_with_inputs(draw: st.DrawFn) -> Graph:
    """Any small graph: cycles, loops, several edges between two nodes, `inputs` of any kind, unknown ids."""
    ids = [f"n{i}" for i in range(draw(st.integers(2, 9)))]
    any_id = st.sampled_from([*ids, "unknown"])
    kinds = st.sampled_from(["produces", "produces", "produces", "consumes", "transforms", "has_schema"])
    inputs = st.one_of(st.lists(any_id, max_size=4), st.sampled_from([None, "n1", ["n1", 2], {"n1": []}]))
    graph = Graph(node(i, "catalog_table" if i in ("n0", "n1") else "flink_job") for i in ids)
    for _ in range(draw(st.integers(1, 30))):
        src, dst, kind = draw(any_id), draw(any_id), draw(kinds)
        graph.add_edge(edge(src, dst, kind, **draw(st.fixed_dictionaries({}, optional={"inputs": inputs}))))
    return graph


def shop_discovery() -> Discovery:
    return Discovery(shop(), coverage(flink=Status.FAILED), "2026-04-30T12:34:56.789Z")


def same(a: Discovery, b: Discovery) -> bool:
    return (
        list(a.graph.nodes.values()) == list(b.graph.nodes.values())
        and list(a.graph.edges.values()) == list(b.graph.edges.values())
        and sorted(a.coverage, key=lambda r: r.scope) == sorted(b.coverage, key=lambda r: r.scope)
        and a.discovered_at == b.discovered_at
    )


#: The fields that a node record must have.
MINIMAL_NODE = {"node_id": "n", "node_type": "kafka_topic", "qualified_name": "orders"}

_NAMES = st.text(st.characters(exclude_categories=()), max_size=40)
_KINDS = st.sampled_from([*NodeType, "something_new"])


@st.composite
def chains(draw: st.DrawFn, max_hops: int = 40) -> Chain:
    """Any chain, of any names, with texts and fields of any size."""
    hops = []
    for i in range(draw(st.integers(1, max_hops))):
        kind = draw(_KINDS)
        attributes: dict[str, Any] = {}
        if kind == NodeType.FLINK_JOB:
            attributes["sql"] = draw(_NAMES) * draw(st.sampled_from([1, 40, 4000]))
        if kind == NodeType.KAFKA_TOPIC:
            attributes["schema_fields"] = fields(draw(st.sampled_from([0, 1, 30, 2000])))
        if kind == NodeType.CONNECTOR:
            attributes["connector_class"] = draw(_NAMES)
        hops.append(Hop(draw(st.integers(1, 9)), node(str(i), kind, draw(_NAMES) or "x", **attributes)))
    return Chain(node("table", "catalog_table", draw(_NAMES) or "x"), order_hops(hops))


def render(chain: Chain, options: documents.DocumentOptions | None = None) -> documents.LineageDocument:
    """The document of a chain, by default under the default settings."""
    return documents.render(chain, options or PushSettings())
