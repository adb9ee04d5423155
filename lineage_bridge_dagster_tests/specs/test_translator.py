"""The asset specs of a recorded discovery."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any
from urllib.parse import quote, unquote

import pytest
from dagster import AssetKey, AssetsDefinition, AssetSelection, AssetSpec

from lineage_bridge_dagster.assets.bundles import bundles
from lineage_bridge_dagster.assets.inventory import Include, Inventory, build_inventory
from lineage_bridge_dagster.confluent.connectors import naming
from lineage_bridge_dagster.lineage.coverage import Status
from lineage_bridge_dagster.lineage.model import Node
from lineage_bridge_dagster.specs.graph_view import GraphView, NodeContext
from lineage_bridge_dagster.specs.links import asset_url
from lineage_bridge_dagster.specs.translator import _DATASET_KINDS, LineageTranslator
from lineage_bridge_dagster_tests.assets.world import DATASET, EAST, World, many, world


def inventory_of(w: World, **include: bool) -> Inventory:
    return build_inventory(w.discovery(), LineageTranslator().get_asset_spec, Include(**include))


def assets_of(inventory: Inventory) -> dict[str, Any]:
    found = (*inventory.topics, *inventory.chains, *inventory.tables, *inventory.external)
    return {asset.key.to_user_string(): asset for asset in found}


@pytest.fixture(scope="module")
def assets() -> dict[str, Any]:
    return assets_of(inventory_of(world()))


#: Key -> group, kinds, dependencies and the description's first line, of every asset of the world.
SNAPSHOT: dict[str, tuple[str, set[str], list[str], str]] = {
    "connect/lkc-east1/debezium-pg": (
        "connect/lkc_east1",
        {"kafka", "connector"},
        ["external/postgres:||pg1.example:5432|shop.public.orders"],
        f"Connector debezium-pg (PostgresCdcSourceV2) on cluster lkc-east1 in env-abc123, reads {DATASET}, "
        "writes shop.public.orders.",
    ),
    "connect/lkc-east1/s3-sink": (
        "connect/lkc_east1",
        {"kafka", "connector"},
        ["kafka/lkc-east1/o.v1"],
        "Connector s3-sink (S3_SINK) on cluster lkc-east1 in env-abc123, reads o.v1, writes s3://bucket/landing.",
    ),
    "external/postgres:||pg1.example:5432|shop.public.orders": (
        "external",
        {"postgres"},
        [],
        f"External dataset: {DATASET}.",
    ),
    "external/s3:||bucket|landing": (
        "external",
        {"s3"},
        ["connect/lkc-east1/s3-sink"],
        "External dataset: s3://bucket/landing.",
    ),
    "flink/env-abc123/us-east-1/dedupe": (
        "flink/env_abc123",
        {"flink"},
        [],
        "Flink statement dedupe in env-abc123, reads all, writes all.",
    ),
    "flink/env-abc123/us-east-1/enrich-orders": (
        "flink/env_abc123",
        {"flink"},
        ["kafka/lkc-east1/customers", "kafka/lkc-east1/shop.public.orders"],
        "Flink statement enrich-orders in env-abc123, reads customers, shop.public.orders, writes o.v1.",
    ),
    "flink/env-abc123/us-east-1/fan-out": (
        "flink/env_abc123",
        {"flink"},
        ["kafka/lkc-east1/o-v1", "kafka/lkc-east1/o.v1", "kafka/lkc-east1/o_v1"],
        "Flink statement fan-out in env-abc123, reads o-v1, o.v1, o_v1, writes all.",
    ),
    "kafka/lkc-east1/Orders": (
        "kafka/east1__lkc_east1",
        {"kafka"},
        [],
        "Kafka topic Orders on cluster east1 in prod, mirrors Orders on cluster west1 in prod.",
    ),
    "kafka/lkc-west1/Orders": (
        "kafka/west1__lkc_west1",
        {"kafka"},
        ["kafka/lkc-east1/Orders"],
        "Kafka topic Orders on cluster west1 in prod, mirrors Orders on cluster east1 in prod.",
    ),
    "kafka/lkc-east1/all": (
        "kafka/east1__lkc_east1",
        {"kafka"},
        ["flink/env-abc123/us-east-1/dedupe", "flink/env-abc123/us-east-1/fan-out"],
        "Kafka topic all on cluster east1 in prod, written by dedupe, fan-out.",
    ),
    "kafka/lkc-east1/o.v1": (
        "kafka/east1__lkc_east1",
        {"kafka"},
        ["flink/env-abc123/us-east-1/enrich-orders"],
        "Kafka topic o.v1 on cluster east1 in prod, written by enrich-orders.",
    ),
    "kafka/lkc-east1/shop.public.orders": (
        "kafka/east1__lkc_east1",
        {"kafka"},
        ["connect/lkc-east1/debezium-pg"],
        "Kafka topic shop.public.orders on cluster east1 in prod, written by debezium-pg.",
    ),
    **{
        f"kafka/lkc-east1/{name}": (
            "kafka/east1__lkc_east1",
            {"kafka"},
            [],
            f"Kafka topic {name} on cluster east1 in prod.",
        )
        for name in ("customers", "o-v1", "o_v1", "orders")
    },
    **{
        f"upstream_chain/lkc-east1/{name}": (
            "upstream_chain/lkc_east1",
            {"pyspark", "iceberg"},
            [f"kafka/lkc-east1/{name}"],
            f"Upstream lineage of the Glue table lkc-east1.{name}, "
            f"from Kafka topic {name} on cluster lkc-east1 in env-abc123.",
        )
        for name in ("all", "customers", "o.v1", "o-v1", "o_v1")
    },
    **{
        f"glue/lkc-east1/{name}": (
            "glue/lkc_east1",
            {"aws", "iceberg"},
            [f"upstream_chain/lkc-east1/{name}"],
            f"Iceberg table {name} in the Glue database lkc-east1, "
            f"from Kafka topic {name} on cluster lkc-east1 in env-abc123.",
        )
        for name in ("all", "customers", "o.v1", "o-v1", "o_v1")
    },
    "upstream_chain/lkc-east1/orders": (
        "upstream_chain/lkc_east1",
        {"pyspark", "iceberg"},
        ["kafka/lkc-east1/Orders", "kafka/lkc-east1/orders"],
        "Upstream lineage of the Glue table lkc-east1.orders, "
        "from Kafka topic Orders, orders on cluster lkc-east1 in env-abc123.",
    ),
    "glue/lkc-east1/orders": (
        "glue/lkc_east1",
        {"aws", "iceberg"},
        ["upstream_chain/lkc-east1/orders"],
        "Iceberg table orders in the Glue database lkc-east1, "
        "from Kafka topic Orders, orders on cluster lkc-east1 in env-abc123.",
    ),
    "upstream_chain/sales_db/orders": (
        "upstream_chain/sales_db",
        {"pyspark", "iceberg"},
        ["kafka/lkc-west1/Orders"],
        "Upstream lineage of the Glue table sales_db.orders, "
        "from Kafka topic Orders on cluster lkc-west1 in env-abc123.",
    ),
    "glue/sales_db/orders": (
        "glue/sales_db",
        {"aws", "iceberg"},
        ["upstream_chain/sales_db/orders"],
        "Iceberg table orders in the Glue database sales_db, "
        "from Kafka topic Orders on cluster lkc-west1 in env-abc123.",
    ),
}


def test_every_spec_is_as_recorded(assets: dict[str, Any]) -> None:
    found = {
        key: (
            asset.spec.group_name,
            asset.spec.kinds,
            [dep.to_user_string() for dep in asset.deps],
            asset.spec.description.splitlines()[0],
        )
        for key, asset in assets.items()
    }
    assert found == SNAPSHOT


#: Names of external datasets, each with a character that other names lack, and their kinds.
_DATASETS = {
    "postgres://pg:5432/shop.public.orders": "postgres",
    "mssql://sql:1433/shop.dbo.orders": "sqlserver",
    "bigquery:p.d.t": "bigquery",
    "bigquery:p.d-t": "bigquery",
    "pubsub:topic:p:t": "googlecloud",
    "pubsub:subscription:p:t": "googlecloud",
    "wasbs://c@a.dfs.core.windows.net/raw/t": "azure",
    "unitycatalog://dbc-1.cloud.databricks.com/main.sales.orders": "databricks",
    "arn:aws:glue:us-east-1:111122223333/table/sales/orders": "aws",
    "file:/tmp/x": "file",
    "file:/tmp|x": "file",
    "gs://lake/a b/ü?#": "gcs",
    "sftp://host:22/in": "table",
    "https://api.example/v1/orders": "table",
}


def test_datasets_of_every_kind_of_name_are_assets_of_their_own() -> None:
    w = World()
    for name in _DATASETS:
        w.dataset(name)
    assets = {asset.node.qualified_name: asset for asset in inventory_of(w).external}
    assert {name: {*asset.spec.kinds} for name, asset in assets.items()} == {
        name: {kind} for name, kind in _DATASETS.items()
    }
    keys = [asset.key for asset in assets.values()]
    assert len({*keys}) == len(_DATASETS)
    loaded = [AssetsDefinition(specs=[asset.spec]) for asset in assets.values()]
    for key in keys:
        assert AssetSelection.from_string(f'key:"{key.to_user_string()}"').resolve(loaded) == {key}
        path = unquote(asset_url(key)).removeprefix("/assets/")
        assert AssetKey(path.split("/")) == key


def test_every_scheme_with_a_kind_is_one_that_datasets_are_named_with() -> None:
    schemes = {re.split("[:+]", rule.template, maxsplit=1)[0] for rule in naming.RULES}
    assert _DATASET_KINDS.keys() <= schemes


def test_specs_do_not_depend_on_the_order_of_the_discovery() -> None:
    one, other = world(), world()
    other.graph.nodes = dict(reversed(other.graph.nodes.items()))
    other.graph.edges = dict(reversed(other.graph.edges.items()))
    keys = {k: a.deps for k, a in assets_of(inventory_of(one)).items()}
    assert keys == {k: a.deps for k, a in assets_of(inventory_of(other)).items()}


def test_a_cycle_is_cut_in_the_dependencies_and_shown_in_the_metadata(assets: dict[str, Any]) -> None:
    cycle = assets["flink/env-abc123/us-east-1/dedupe"].spec.metadata["lineage_bridge/cycle"].value
    assert "kafka_topic: `all`" in cycle
    mirror = assets["kafka/lkc-east1/Orders"].spec.metadata["lineage_bridge/cycle"].value
    assert "kafka_topic: `Orders`" in mirror


def test_the_standard_keys_come_first_and_our_own_after(assets: dict[str, Any]) -> None:
    metadata = assets["glue/lkc-east1/o.v1"].spec.metadata
    assert list(metadata)[:3] == ["dagster/table_name", "dagster/uri", "dagster/column_schema"]
    assert metadata["dagster/table_name"] == "lkc-east1.o.v1"
    assert [column.name for column in metadata["dagster/column_schema"].schema.columns] == ["id", "amount"]
    assert metadata["lineage_bridge/node_type"] == "catalog_table"
    assert (metadata["lineage_bridge/database"], metadata["lineage_bridge/table"]) == ("lkc-east1", "o.v1")
    assert "console.aws.amazon.com" in metadata["lineage_bridge/console"].url
    topic = assets["kafka/lkc-east1/o.v1"].spec.metadata
    assert [column.name for column in topic["dagster/column_schema"].schema.columns] == ["id"]
    assert topic["lineage_bridge/bootstrap"] == f"SASL_SSL://{EAST}.example:9092"
    assert "confluent.cloud" in topic["lineage_bridge/source"].url


def test_a_conflict_is_named_on_the_table(assets: dict[str, Any]) -> None:
    words = assets["glue/lkc-east1/orders"].spec.metadata["lineage_bridge/conflict"]
    assert "lkc-east1.Orders and lkc-east1.orders" in words


def test_the_description_shows_sql_in_a_fence_that_backticks_do_not_close(assets: dict[str, Any]) -> None:
    description = assets["flink/env-abc123/us-east-1/enrich-orders"].spec.description
    assert "```sql\nINSERT INTO `o.v1`" in description


def test_incomplete_coverage_is_shown_on_the_assets_it_affects() -> None:
    w = world()
    w.report("connect", EAST, Status.FAILED, "500 from the Connect API")
    assets = assets_of(inventory_of(w))
    for key in ("connect/lkc-east1/debezium-pg", "glue/lkc-east1/o.v1"):
        shown = assets[key].spec.metadata["lineage_bridge/incomplete_coverage"].value
        assert "500 from the Connect API" in shown


def test_stale_nodes_show_since_when() -> None:
    w = world()
    node = w.graph.nodes[w.topic(EAST, "customers")]
    w.graph.add_node(node.with_attributes(stale_since="2026-04-29T00:00:00Z"))
    spec = assets_of(inventory_of(w))["kafka/lkc-east1/customers"].spec
    assert spec.metadata["lineage_bridge/stale_since"] == "2026-04-29T00:00:00Z"


def test_dependencies_skip_nodes_that_are_not_assets() -> None:
    assets = assets_of(inventory_of(world(), processes=False, external_datasets=False))
    assert [d.to_user_string() for d in assets["kafka/lkc-east1/o.v1"].deps] == [
        "kafka/lkc-east1/customers",
        "kafka/lkc-east1/shop.public.orders",
    ]


def test_tags_have_ids_and_display_names(assets: dict[str, Any]) -> None:
    tags = assets["kafka/lkc-west1/Orders"].spec.tags
    assert {name: value for name, value in tags.items() if name.startswith("lineage_bridge/")} == {
        "lineage_bridge/node_type": "kafka_topic",
        "lineage_bridge/environment": "env-abc123",
        "lineage_bridge/environment_name": "prod",
        "lineage_bridge/cluster": "lkc-west1",
        "lineage_bridge/cluster_name": "west1",
    }


def test_what_a_hook_changes_in_place_in_one_spec_is_in_no_other() -> None:
    w, translator = many(2), LineageTranslator()

    def spec_of(name: str) -> AssetSpec:
        node = next(node for node in w.graph.nodes.values() if node.qualified_name == name)
        return translator.get_asset_spec(node, NodeContext(GraphView.of(w.discovery())))

    first = spec_of("topic.00000")
    first.tags["ours"], first.metadata["ours"] = "", 1
    first.owners.append("team:ours")
    for other in map(spec_of, ("topic.00000", "topic.00001")):
        assert not {"ours", "team:ours"} & {*other.tags, *other.metadata, *other.owners}


def test_tables_that_glue_lacks_can_be_selected_by_a_tag() -> None:
    w = many(2)
    node = next(iter(w.graph.of_type("catalog_table")))
    w.graph.add_node(node.with_attributes(glue_status="missing"))
    selected = [
        asset for asset in inventory_of(w).tables if asset.spec.tags.get("lineage_bridge/glue_status")
    ]
    assert [(asset.node.node_id, asset.spec.tags["lineage_bridge/glue_status"]) for asset in selected] == [
        (node.node_id, "missing")
    ]


def test_tags_of_the_source_that_differ_only_at_the_end_or_in_punctuation_stay_apart() -> None:
    long = "a-classification-of-the-data-that-somebody-described-at-length-"
    tags = (f"{long}1", f"{long}2", f"{long} 1", "pii.v1", "pii v1", "pii/v1")
    w = world()
    topic = w.graph.nodes[next(n.node_id for n in w.graph.of_type("kafka_topic"))]
    w.graph.add_node(replace(topic, tags=tags))
    inventory = build_inventory(w.discovery(), LineageTranslator().get_asset_spec)
    (asset,) = [each for each in inventory.topics if each.node.node_id == topic.node_id]
    own = [name for name in asset.spec.tags if name.startswith("lineage_bridge/tag.")]
    assert len(own) == len(tags)
    assert "lineage_bridge/tag.pii.v1" in own


def test_two_nodes_with_one_key_both_load() -> None:
    class Same(LineageTranslator):
        def get_asset_spec(self, node: Node, context: NodeContext) -> AssetSpec:
            spec = super().get_asset_spec(node, context)
            if node.node_type == "kafka_topic":
                return spec.replace_attributes(key=AssetKey(["kafka", node.qualified_name]))
            return spec

    inventory = build_inventory(world().discovery(), Same().get_asset_spec)
    orders = [a.key.path[-1] for a in inventory.topics if a.key.path[-1].startswith("Orders")]
    assert len(orders) == len(set(orders)) == 2
    assert any("~" in key for key in orders)
    for asset in inventory.topics:
        assert asset.spec.metadata["lineage_bridge/lineage"].url.startswith(
            "/assets/" + "/".join(quote(part, safe="") for part in asset.key.path) + "?view=lineage"
        )


def test_a_new_table_changes_one_bundle() -> None:
    before = bundles("glue_tables", inventory_of(many(500)).tables)
    after = bundles("glue_tables", inventory_of(many(501)).tables)
    assert len(before) == 8
    assert sum(a.assets != b.assets for a, b in zip(before, after, strict=True)) <= 1
    assert [len(bundle.assets) < 100 for bundle in after] == [True] * 8


def _members(w: World) -> set[tuple[str, ...]]:
    return {tuple(a.key.to_user_string() for a in b.assets) for b in bundles("t", inventory_of(w).tables)}


def test_bundles_are_the_same_in_every_process() -> None:
    assert _members(many(150)) == _members(many(150))
