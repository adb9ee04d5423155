"""Discovery of the sample platform: the complete lineage that a user of the local stack sees."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from lineage_bridge_dagster.confluent.discovery import discover
from lineage_bridge_dagster.embedded import world
from lineage_bridge_dagster.lineage import ids
from lineage_bridge_dagster.lineage.columns import flows_of
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.model import EdgeType, Evidence, NodeType
from lineage_bridge_dagster.lineage.unknowns import note_lines
from lineage_bridge_dagster.settings import Settings
from lineage_bridge_dagster.sql.flink.parser import FlinkSqlParser
from lineage_bridge_dagster_tests.embedded.confluent.emulator import ConfluentEmulator
from lineage_bridge_dagster_tests.embedded.confluent.openapi import check_request, check_response

pytestmark = pytest.mark.xdist_group("openapi")

#: Edge type -> `source -> target` with shortened ids; `us/` and `eu/` are the two clusters.
EXPECTED = {
    "consumes": """
        postgres://pg-shop.example:5432/shop.public.customers -> connector us/postgres-shop-cdc
        postgres://pg-shop.example:5432/shop.public.orders -> connector us/postgres-shop-cdc
        postgres://pg-shop.example:5432/shop.public.order_items -> connector us/postgres-shop-cdc
        postgres://pg-inventory.example:5432/inventory.public.products -> connector us/inventory-jdbc
        mysql://mysql-shop-eu.example:3306/shop.orders -> connector eu/eu-orders-cdc
        topic us/orders.v1 -> connector us/orders-archive-s3
        topic us/clickstream -> connector us/orders-archive-s3
        topic us/checkout-clicks -> connector us/lakehouse-iceberg
        topic us/orders.open -> connector us/lakehouse-iceberg
        topic eu/Revenue.Global -> connector eu/revenue-to-snowflake
        topic us/shop.public.orders -> flink us/enrich-orders
        topic us/shop.public.customers -> flink us/enrich-orders
        topic us/shop.public.order_items -> flink us/enrich-orders
        topic us/orders.v1 -> flink us/orders-fanout
        topic us/clickstream -> flink us/sessionize-clicks
        topic us/shop.public.customers -> flink us/sessionize-clicks
        topic us/shop.public.orders -> flink us/latest-order-status
        topic us/orders.status -> flink us/latest-order-status
        topic eu/payments-v1 -> flink eu/dedupe-payments
        topic us/shop.public.customers -> flink eu/build-customer-profiles
        topic eu/orders.v1 -> flink eu/build-customer-profiles
        topic us/orders.v1 -> flink eu/revenue-global
        topic eu/orders.v1 -> flink eu/revenue-global
        topic us/clickstream -> ksql us/CSAS_CHECKOUT_CLICKS_3
        topic us/orders.status -> ksql us/CTAS_OPEN_ORDERS_5
        topic us/orders.v1 -> group us/connect-lcc-8v2s3k
        topic us/orders.v1 -> group us/orders-dashboard
    """,
    "produces": """
        connector us/postgres-shop-cdc -> topic us/shop.public.customers
        connector us/postgres-shop-cdc -> topic us/shop.public.orders
        connector us/postgres-shop-cdc -> topic us/shop.public.order_items
        connector us/inventory-jdbc -> topic us/inventory-products
        connector us/clickstream-datagen -> topic us/clickstream
        connector us/orders-archive-s3 -> s3://retail-archive/raw/orders.v1
        connector us/orders-archive-s3 -> s3://retail-archive/raw/clickstream
        connector us/orders-archive-s3 -> topic us/dlq-lcc-8v2s3k
        connector us/lakehouse-iceberg -> topic us/dlq-clcc-7t5ib3
        connector us/lakehouse-iceberg -> iceberg://glue.us-east-1.amazonaws.com/123456789012:s3tablescatalog/retail-lakehouse/sales.checkout_clicks
        connector us/lakehouse-iceberg -> iceberg://glue.us-east-1.amazonaws.com/123456789012:s3tablescatalog/retail-lakehouse/sales.open_orders
        connector eu/eu-orders-cdc -> topic eu/orders.v1
        connector eu/payments-datagen -> topic eu/payments-v1
        connector eu/revenue-to-snowflake -> snowflake://retail-eu/ANALYTICS.KAFKA.REVENUE_GLOBAL
        connector eu/revenue-to-snowflake -> topic eu/dlq-lcc-4s6sf0
        flink us/enrich-orders -> topic us/orders.v1
        flink us/orders-fanout -> topic us/orders-v1
        flink us/orders-fanout -> topic us/revenue.by-country
        flink us/sessionize-clicks -> topic us/Sessions.Enriched
        flink us/latest-order-status -> topic us/orders.status
        ksql us/CSAS_CHECKOUT_CLICKS_3 -> topic us/checkout-clicks
        ksql us/CTAS_OPEN_ORDERS_5 -> topic us/orders.open
        flink eu/dedupe-payments -> topic eu/payments_v1
        flink eu/build-customer-profiles -> topic eu/Customer.Profiles-EU
        flink eu/revenue-global -> topic eu/Revenue.Global
        table us/clickstream -> topic us/tableflow-errors
    """,
    "materializes": """
        topic us/shop.public.orders -> table us/shop.public.orders
        topic us/clickstream -> table us/clickstream
        topic us/orders.v1 -> table us/orders.v1
        topic us/orders-v1 -> table us/orders-v1
        topic us/revenue.by-country -> table us/revenue.by-country
        topic us/inventory-products -> table us/inventory-products
        topic eu/payments_v1 -> table eu/payments_v1
        topic eu/orders.v1 -> table eu/orders.v1
        topic eu/Customer.Profiles-EU -> table eu/Customer.Profiles-EU
        topic eu/Revenue.Global -> table eu/Revenue.Global
    """,
}

_SHORT = (
    ("external:external_dataset:", ""),
    ("confluent:kafka_topic:env-7m3kq2:", "topic "),
    ("confluent:connector:env-7m3kq2:", "connector "),
    ("confluent:flink_job:env-7m3kq2:", "flink "),
    ("confluent:ksqldb_query:env-7m3kq2:", "ksql "),
    ("confluent:consumer_group:env-7m3kq2:", "group "),
    ("confluent:tableflow_table:env-7m3kq2:", "table "),
    ("lkc-7k2m9p/", "us/"),
    ("lksqlc-5j9x2q/", "us/"),
    ("lkc-4x8w1q/", "eu/"),
    ("lkc-7k2m9p.", "us/"),
    ("lkc-4x8w1q.", "eu/"),
    ("aws.us-east-1/", "us/"),
    ("aws.eu-west-1/", "eu/"),
)


def short(node_id: str) -> str:
    for prefix, replacement in _SHORT:
        node_id = node_id.replace(prefix, replacement)
    return node_id


def edges(discovery: Discovery, kind: str) -> set[str]:
    all_edges = discovery.graph.edges.values()
    return {f"{short(e.src_id)} -> {short(e.dst_id)}" for e in all_edges if e.edge_type == kind}


def expected(kind: str) -> set[str]:
    return {line.strip() for line in EXPECTED[kind].splitlines() if line.strip()}


class RecordingTransport(httpx.HTTPTransport):
    """Records all responses with their requests."""

    def __init__(self) -> None:
        super().__init__()
        self.responses: list[httpx.Response] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = super().handle_request(request)
        response.read()
        response.request = request
        self.responses.append(response)
        return response


@pytest.fixture(scope="module")
def parser() -> Iterator[FlinkSqlParser]:
    with FlinkSqlParser() as running:
        yield running


@pytest.fixture(scope="module")
def transport() -> RecordingTransport:
    return RecordingTransport()


def run_discovery(
    emulator: ConfluentEmulator, parser: FlinkSqlParser, transport: httpx.BaseTransport | None = None
) -> Discovery:
    settings = Settings.from_env({**emulator.env(), "LINEAGE_BRIDGE_CONFLUENT_MAX_ATTEMPTS": "1"})
    return discover(settings.confluent, parser=parser, transport=transport)


@pytest.fixture(scope="module")
def discovery(
    emulator: ConfluentEmulator, parser: FlinkSqlParser, transport: RecordingTransport
) -> Discovery:
    with emulator.client() as client:
        for entry in client.get("/emulator/tableflow").json():
            url = f"/emulator/tableflow/{entry['cluster']}/{entry['topic']}/status"
            client.put(url, json={"phase": "RUNNING"}).raise_for_status()
    return run_discovery(emulator, parser, transport)


@pytest.mark.parametrize("kind", list(EXPECTED))
def test_lineage_of_the_sample_platform_is_complete(discovery: Discovery, kind: str) -> None:
    assert edges(discovery, kind) == expected(kind)


def test_edges_connect_existing_nodes(discovery: Discovery) -> None:
    for edge in discovery.graph.edges.values():
        assert {edge.src_id, edge.dst_id} <= discovery.graph.nodes.keys(), edge


def test_topics_are_linked_to_their_schemas(discovery: Discovery) -> None:
    topics = {
        n.node_id for n in discovery.graph.of_type(NodeType.KAFKA_TOPIC) if "dlq-" not in n.qualified_name
    }
    with_schema = {e.src_id for e in discovery.graph.edges.values() if e.edge_type == "has_schema"}
    assert {short(t) for t in topics - with_schema} == {"topic us/tableflow-errors"}


def test_tables_have_their_location_and_database(discovery: Discovery) -> None:
    tables = {short(n.node_id): n for n in discovery.graph.of_type(NodeType.TABLEFLOW_TABLE)}
    texts = {name: str(dict(node.attributes)) for name, node in tables.items()}
    assert "analytics_eu" in texts["table eu/orders.v1"]
    assert all("s3://" in text for text in texts.values())


def test_coverage_is_complete(discovery: Discovery) -> None:
    assert [str(report.scope) for report in discovery.coverage.incomplete] == []
    assert discovery.coverage.complete
    assert note_lines(discovery.coverage) == []


def test_offsets_show_the_table_that_an_expression_leaves_open(discovery: Discovery) -> None:
    place = (world.ENVIRONMENT_ID, world.ORDERS_PLATFORM.id)
    inventory = discovery.graph.nodes[ids.connector_id(*place, "inventory-jdbc")]
    assert inventory.attributes["evidence"] == "declared+observed"
    table = ids.external_dataset_id("postgres://pg-inventory.example:5432/inventory.public.products")
    edge = discovery.graph.edges[table, inventory.node_id, EdgeType.CONSUMES]
    assert edge.attributes["evidence"] == Evidence.OBSERVED


def test_discovery_contains_no_secrets(discovery: Discovery, emulator: ConfluentEmulator) -> None:
    text = repr([*discovery.graph.nodes.values(), *discovery.graph.edges.values(), *discovery.coverage])
    secrets = [value for name, value in emulator.env().items() if "SECRET" in name]
    assert not [secret for secret in secrets if secret in text]


@pytest.mark.shared
def test_requests_and_responses_of_a_discovery_are_as_documented(
    discovery: Discovery, transport: RecordingTransport
) -> None:
    assert discovery.graph.nodes
    for response in transport.responses:
        if response.request.url.path.endswith("/ksql"):
            # The OpenAPI documents do not cover ksqlDB's REST API.
            continue
        check_request(response.request)
        check_response(response)


def test_columns_of_ksqldb_queries_have_the_names_of_the_schemas(discovery: Discovery) -> None:
    found = {
        short(node.node_id): {
            flow.column.name: [source.name for source, _ in flow.sources]
            for flow in flows_of(node)
            if flow.complete
        }
        for node in discovery.graph.of_type(NodeType.KSQLDB_QUERY)
    }
    clicks = ["event_id", "user_id", "page", "device", "tags", "duration_ms", "occurred_at"]
    assert found == {
        "ksql us/CSAS_CHECKOUT_CLICKS_3": {name: [name] for name in clicks},
        "ksql us/CTAS_OPEN_ORDERS_5": {
            name: [name] for name in ("ID", "order_id", "status", "changes", "changed_at")
        },
    }


def test_discovery_needs_few_requests(discovery: Discovery, transport: RecordingTransport) -> None:
    # Two clusters, two regions, one registry and one ksqlDB cluster; one request per group for its lags.
    assert discovery.graph.nodes
    assert len(transport.responses) <= 34


def test_page_size_does_not_change_the_result(
    emulator: ConfluentEmulator, parser: FlinkSqlParser, discovery: Discovery
) -> None:
    with emulator.options(max_page_size=1):
        again = run_discovery(emulator, parser)
    assert again.graph.nodes.keys() == discovery.graph.nodes.keys()
    assert again.graph.edges.keys() == discovery.graph.edges.keys()
    assert again.coverage.complete
