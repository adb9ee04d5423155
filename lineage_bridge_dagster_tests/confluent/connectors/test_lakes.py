"""Tables and folders of lakes and warehouses, where they depend on more than one key."""

from __future__ import annotations

import pytest

from lineage_bridge_dagster.confluent.connectors.addresses import redshift_cluster
from lineage_bridge_dagster.confluent.connectors.families.object_stores import folder_of
from lineage_bridge_dagster.confluent.connectors.naming import location
from lineage_bridge_dagster_tests.confluent.connectors.conftest import read

ICEBERG = "org.apache.iceberg.connect.IcebergSinkConnector"
BIGQUERY = "com.wepay.kafka.connect.bigquery.BigQuerySinkConnector"


@pytest.mark.parametrize(
    ("catalog", "expected"),
    [
        ({"type": "rest", "uri": "https://c.example", "warehouse": "lake"}, "iceberg://c.example/lake/s.t"),
        ({"type": "rest", "uri": "http://c:8181", "warehouse": "s3://b/w"}, "iceberg://c:8181/s.t"),
        ({"type": "hive", "uri": "thrift://hms:9083", "warehouse": "s3a://b/w"}, "hive://hms:9083/s.t"),
        ({"type": "hadoop", "warehouse": "s3a://b/w/"}, "s3://b/w/s/t"),
        ({"type": "hadoop", "warehouse": "hdfs://nn:9000/w"}, "hdfs://nn:9000/w/s/t"),
        (
            {
                "catalog-impl": "org.apache.iceberg.aws.glue.GlueCatalog",
                "client.region": "us-east-1",
                "glue.id": "123456789012",
            },
            "arn:aws:glue:us-east-1:123456789012/table/s/t",
        ),
        (
            {
                "type": "rest",
                "uri": "https://glue.eu-west-1.amazonaws.com/iceberg",
                "warehouse": "123456789012",
            },
            "arn:aws:glue:eu-west-1:123456789012/table/s/t",
        ),
        (
            {"type": "rest", "uri": "https://dbc.example/api/2.1/unity-catalog/iceberg", "warehouse": "main"},
            "unitycatalog://dbc.example/main.s.t",
        ),
    ],
)
def test_iceberg_table_is_named_by_its_catalog(catalog: dict[str, str], expected: str) -> None:
    keys = {f"iceberg.catalog.{key}": value for key, value in catalog.items()}
    found = read(ICEBERG, {"topics": "events", "iceberg.tables": "s.t", **keys}, kind="sink")
    assert found.datasets_written == (expected,)


@pytest.mark.parametrize(
    ("name", "skips", "taken"),
    [
        ("one-minute-agg", "false", False),
        ("one_minute_agg", "true", False),
        ("lake.one-minute-agg", "false", False),
        ("lake.one-minute-agg", "true", True),
        ("Lake.Orders", "", False),
        ("a.b.orders", "", False),
        ("a.b.orders", "true", False),
        ("lake.orders", "", True),
    ],
)
@pytest.mark.parametrize("account", [{}, {"iceberg.catalog.glue.id": "123456789012"}])
def test_glue_catalog_takes_tables_of_one_database_alone(
    name: str, skips: str, taken: bool, account: dict[str, str]
) -> None:
    config = {
        "topics": "events",
        "iceberg.tables": name,
        "iceberg.catalog.catalog-impl": "org.apache.iceberg.aws.glue.GlueCatalog",
        "iceberg.catalog.warehouse": "s3://lake/w",
        "iceberg.catalog.client.region": "eu-west-1",
        "iceberg.catalog.glue.skip-name-validation": skips,
        **account,
    }
    found = read(ICEBERG, config, kind="sink")
    assert bool(found.datasets_written) is taken
    assert bool(found.warnings) is not taken
    assert all(name in warning for warning in found.warnings[:1])


@pytest.mark.parametrize(
    ("catalog", "taken"),
    [
        ({"type": "rest", "uri": "https://c.example", "warehouse": "lake"}, False),
        ({"type": "rest", "uri": "https://glue.eu-west-1.amazonaws.com/iceberg", "warehouse": "1234"}, False),
        ({"type": "hive", "uri": "thrift://hms:9083", "warehouse": "s3a://b/w"}, False),
        ({"type": "hadoop", "warehouse": "s3a://b/w"}, True),
    ],
)
def test_table_without_a_namespace_is_in_a_catalog_of_folders_alone(
    catalog: dict[str, str], taken: bool
) -> None:
    keys = {f"iceberg.catalog.{key}": value for key, value in catalog.items()}
    found = read(ICEBERG, {"topics": "events", "iceberg.tables": "events", **keys}, kind="sink")
    assert bool(found.datasets_written) is taken
    assert bool(found.warnings) is not taken


@pytest.mark.parametrize("dynamic", [True, False])
def test_iceberg_routes_by_a_field_that_a_transform_fills_with_the_topic(dynamic: bool) -> None:
    tables = (
        {"iceberg.tables.dynamic-enabled": "true"}
        if dynamic
        else {
            "iceberg.tables": "s.orders,s.users",
            "iceberg.table.s.orders.route-regex": "s[.]Orders",
            "iceberg.table.s.users.route-regex": "s[.]Users",
        }
    )
    found = read(
        ICEBERG,
        {
            "topics": "s.Orders,s.Users",
            "iceberg.catalog.type": "rest",
            "iceberg.catalog.uri": "https://c.example",
            "iceberg.tables.route-field": "_topic",
            "transforms": "topic",
            "transforms.topic.type": "org.apache.kafka.connect.transforms.InsertField$Value",
            "transforms.topic.topic.field": "_topic!",
            **tables,
        },
        kind="sink",
    )
    assert found.pairs == (
        ("s.Orders", "iceberg://c.example/s.orders"),
        ("s.Users", "iceberg://c.example/s.users"),
    )


def test_iceberg_writes_every_topic_to_all_tables_that_an_unknown_value_selects() -> None:
    config = {
        "topics": "a,b",
        "iceberg.catalog.uri": "https://c.example",
        "iceberg.tables": "s.t,s.u",
        "iceberg.tables.route-field": "type",
    }
    assert len(read(ICEBERG, config, kind="sink").pairs) == 4


@pytest.mark.parametrize(
    ("config", "topic", "expected"),
    [
        ({"defaultDataset": "raw"}, "sales:orders", "bigquery:p.sales.orders"),
        ({"datasets": "crm_.*=crm,.*_erp=erp"}, "crm_leads", "bigquery:p.crm.crm_leads"),
        ({"datasets": ".*=raw", "topicsToTables": "db_(.*)=$1_v1"}, "db_orders", "bigquery:p.raw.orders_v1"),
        ({"defaultDataset": "raw", "sanitizeTopics": "true"}, "2-x", "bigquery:p.raw._2_x"),
    ],
)
def test_bigquery_table_of_a_topic(config: dict[str, str], topic: str, expected: str) -> None:
    found = read(BIGQUERY, {"project": "p", "topics": topic, **config}, kind="sink")
    assert found.datasets_written == (expected,)


def test_topic_that_no_expression_matches_has_no_dataset() -> None:
    config = {"project": "p", "datasets": "crm_.*=crm,(=x", "topics": "orders"}
    found = read(BIGQUERY, config, kind="sink")
    assert found.datasets_written == ()
    assert any("datasets" in warning for warning in found.warnings)


@pytest.mark.parametrize(
    ("domain", "expected"),
    [
        ("dwh.c9akciq32.eu-west-1.redshift.amazonaws.com", "dwh.eu-west-1"),
        ("dwh.c9akciq32.cn-north-1.redshift.amazonaws.com.cn:5439", "dwh.cn-north-1"),
        ("wg.123456789012.us-east-1.redshift-serverless.amazonaws.com", None),
        ("redshift.corp.example", None),
    ],
)
def test_redshift_cluster_of_a_domain(domain: str, expected: str | None) -> None:
    assert redshift_cluster(domain) == (expected or domain)


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{{topic}}-{{partition}}-{{start_offset}}", ""),
        ("raw/{{ topic }}/{{partition}}/{{start_offset}}.gz", "raw/orders"),
        ("raw/{{timestamp:unit=yyyy}}/{{topic}}", "raw"),
        ("a/b/file.json", "a/b"),
    ],
)
def test_folder_of_an_object_name_with_variables(template: str, expected: str) -> None:
    assert folder_of(template, "orders") == expected


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("s3a://b/raw/", "s3://b/raw/t"),
        ("gs://b", "gs://b/t"),
        ("hdfs://nn:9000", "hdfs://nn:9000/t"),
        ("abfs://c@acc.dfs.core.windows.net/x", "abfss://c@acc.dfs.core.windows.net/x/t"),
        ("warehouse", ""),
        ("https://host/x", ""),
    ],
)
def test_location_under_the_rule_of_its_store(url: str, expected: str) -> None:
    assert location(url, "t") == expected


def test_hdfs_folder_from_the_groups_of_a_topic() -> None:
    found = read(
        "io.confluent.connect.hdfs.HdfsSinkConnector",
        {
            "topics": "sales_orders",
            "hdfs.url": "hdfs://nn:8020",
            "topics.dir": "/data/${1}/${2}",
            "topic.capture.groups.regex": "([a-z]+)_([a-z]+)",
        },
        kind="sink",
    )
    assert found.datasets_written == ("hdfs://nn:8020/data/sales/orders/sales_orders",)
