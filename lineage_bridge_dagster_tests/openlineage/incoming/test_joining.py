"""Names of events meet the nodes of a graph, and two names of one dataset meet each other."""

from __future__ import annotations

from typing import Any

import pytest

from lineage_bridge_dagster.config.aws_partitions import domain_of
from lineage_bridge_dagster.datazone.events import prepared
from lineage_bridge_dagster.lineage.ids import topic_id
from lineage_bridge_dagster.lineage.model import Node
from lineage_bridge_dagster.lineage.nodes import (
    DatasetNode,
    GlueTableNode,
    IcebergTableNode,
    TableflowNode,
    TopicNode,
)
from lineage_bridge_dagster.openlineage.incoming.joining import DatasetJoin, Joined
from lineage_bridge_dagster.openlineage.names import OpenLineageName, dataset_name

ACCOUNT, OTHER, REGION = "123456789012", "999999999999", "eu-west-1"
ARN = f"arn:aws:glue:{REGION}:{ACCOUNT}"
PORTS = {
    "postgres": "5432",
    "mysql": "3306",
    "mssql": "1433",
    "oracle": "1521",
    "kafka": "9092",
    "cassandra": "9042",
    "mongodb": "27017",
    "hdfs": "8020",
}


def topic(cluster: str, name: str, servers: str) -> Node:
    return TopicNode(
        node_id=topic_id("env", cluster, name),
        qualified_name=name,
        cluster_id=cluster,
        bootstrap_endpoint=servers,
    )


def glue(database: str, table: str, location: str, kind: str = "ICEBERG", **fields: str) -> Node:
    return GlueTableNode(
        node_id=f"glue:{fields.get('qualified_name', '')}{database}/{table}",
        **{"qualified_name": f"glue://{database}/{table}", "catalog_id": ACCOUNT, **fields},
        database=database,
        table_name=table,
        aws_region=REGION,
        storage_location=location,
        parameters={"table_type": kind},
    )


def outside(name: str) -> Node:
    return DatasetNode(node_id=name, qualified_name=name)


NODES = [
    topic("lkc-1", "orders", "SASL_SSL://pkc-1.eu.confluent.cloud:9092"),
    # Clusters of one address, as basic and standard ones have.
    topic("lkc-2", "shared", "SASL_SSL://pkc-9.eu.confluent.cloud:9092"),
    topic("lkc-3", "shared", "SASL_SSL://pkc-9.eu.confluent.cloud:9092"),
    topic("lkc-3", "single", "SASL_SSL://pkc-9.eu.confluent.cloud:9092"),
    topic("own", "orders", "PLAINTEXT://b1.example:9093,PLAINTEXT://b2.example"),
    glue("lkc-1", "orders", "s3://bucket/tableflow/orders"),
    glue("sales", "raw", "s3://bucket/raw/", kind=""),
    glue("sales", "away", "", qualified_name=f"glue://{OTHER}.{REGION}/sales/away", catalog_id=OTHER),
    TableflowNode(node_id="flow", qualified_name="lkc-1.late", table_path="s3://bucket/tableflow/late"),
    TableflowNode(node_id="flow2", qualified_name="lkc-1.orders", table_path="s3://bucket/tableflow/orders"),
    IcebergTableNode(
        node_id="rest",
        qualified_name="x",
        catalog="lake",
        database="a.b",
        table_name="t",
        storage_location="s3://w/t",
    ),
    outside("postgres://pg.example:5432/shop.public.orders"),
    outside("mssql://sql.example:1433/Shop.dbo.Orders"),
    outside("snowflake://acme-eu/SALES.PUBLIC.ORDERS"),
    outside("bigquery:acme.sales.orders"),
    outside("redshift://dw.abc123.eu-west-1.redshift.amazonaws.com:5439/dev.public.t"),
    outside("mysql://db.example:3306/shop.Orders"),
    outside("mysql://db.example:3306/shop.orders"),
    outside("oracle://ora.example:1521/XE.SHOP.ORDERS"),
    outside("hive://meta.example:9083/shop.orders"),
    outside("s3://bucket/topics/orders"),
    outside("postgres://localhost:5432/shop.public.orders"),
    outside("kafka://self/clicks"),
    # Below, what OpenLineage's own clients write otherwise.
    glue("lkc-1", "orders.v1", ""),
    IcebergTableNode(
        node_id="s3tables",
        qualified_name="y",
        catalog="s3tables",
        database="sales",
        table_name="open",
        storage_location="s3://63a8e430-6e0b--table-s3",
    ),
    outside("snowflake://xy12345/SALES.PUBLIC.T"),
    outside("snowflake://xy12345.eu-central-1/SALES.PUBLIC.T"),
    outside("iceberg://polaris.example/warehouse/sales.orders"),
    outside("cassandra://c.example:9042/shop.orders"),
    outside("unitycatalog://dbc.cloud.databricks.com/main.sales.orders"),
    outside("s3://whole"),
    outside("wasbs://raw@acme.dfs.core.windows.net/topics/clicks"),
    outside("hdfs://nn:8020/topics/clicks"),
    outside("file:///data/out.txt"),
    outside("mongodb://c1.mongodb.net:27017/shop.carts"),
]
JOIN = DatasetJoin(NODES, ports=PORTS, listed=["lkc-1", "own"])


def find(*names: str) -> Joined:
    return JOIN.find(OpenLineageName(*name.split(" ")) for name in names)


@pytest.mark.parametrize(
    ("name", "node", "confidence"),
    [
        ("kafka://pkc-1.eu.confluent.cloud:9092 orders", "confluent:kafka_topic:env:lkc-1/orders", 1),
        ("kafka://PKC-1.eu.confluent.cloud orders", "confluent:kafka_topic:env:lkc-1/orders", 1),
        ("kafka://pkc-9.eu.confluent.cloud:9092 single", "confluent:kafka_topic:env:lkc-3/single", 1),
        ("kafka://other:9092,b2.example:9092 orders", "confluent:kafka_topic:env:own/orders", 1),
        ("kafka://lkc-1 orders", "confluent:kafka_topic:env:lkc-1/orders", 1),
        ("kafka://self clicks", "kafka://self/clicks", 1),
        (f"{ARN} table/lkc-1/orders", "glue:lkc-1/orders", 1),
        (f"{ARN}:table lkc-1/Orders", "glue:lkc-1/orders", 1),
        (f"{ARN} lkc-1.orders", "glue:lkc-1/orders", 1),
        (f"awsglue://{REGION}.{ACCOUNT} lkc-1.orders", "glue:lkc-1/orders", 1),
        (f"awsathena://athena.{REGION}.amazonaws.com AwsDataCatalog.sales.raw", "glue:sales/raw", 1),
        (
            f"arn:aws:glue:{REGION}:{OTHER} table/sales/away",
            f"glue:glue://{OTHER}.{REGION}/sales/awaysales/away",
            1,
        ),
        ("s3://bucket tableflow/orders", "glue:lkc-1/orders", 1),
        ("s3a://bucket /tableflow/orders/", "glue:lkc-1/orders", 1),
        ("s3://bucket tableflow/orders/metadata/v3.metadata.json", "glue:lkc-1/orders", 0.8),
        ("s3://bucket tableflow/orders/data/day=1", "glue:lkc-1/orders", 0.8),
        ("s3://bucket raw/day=2026-01-01", "glue:sales/raw", 0.8),
        ("s3://bucket tableflow/late", "flow", 1),
        ("s3://bucket topics/orders/year=2026", "s3://bucket/topics/orders", 0.8),
        ("s3://w t", "rest", 1),
        ("iceberg://lake a.b.t", "rest", 1),
        ("postgres://pg.example:5432 shop.public.orders", "postgres://pg.example:5432/shop.public.orders", 1),
        ("postgresql://PG.example shop.public.orders", "postgres://pg.example:5432/shop.public.orders", 1),
        ("postgres://pg.example:None shop.public.orders", "postgres://pg.example:5432/shop.public.orders", 1),
        ("kafka://pkc-1.eu.confluent.cloud:-1 orders", "confluent:kafka_topic:env:lkc-1/orders", 1),
        ("postgres://pg.example:5432/shop public.orders", "postgres://pg.example:5432/shop.public.orders", 1),
        (
            'postgres://pg.example:5432 shop."public"."orders"',
            "postgres://pg.example:5432/shop.public.orders",
            1,
        ),
        (
            "postgres://other:5432,pg.example shop.orders",
            "postgres://pg.example:5432/shop.public.orders",
            0.9,
        ),
        ("sqlserver://sql.example:1433 shop.DBO.orders", "mssql://sql.example:1433/Shop.dbo.Orders", 0.9),
        ("sqlserver://sql.example [Shop].[Orders]", "mssql://sql.example:1433/Shop.dbo.Orders", 0.9),
        ("snowflake://acme-eu SALES.PUBLIC.ORDERS", "snowflake://acme-eu/SALES.PUBLIC.ORDERS", 1),
        (
            "snowflake://acme_EU.snowflakecomputing.com sales.public.orders",
            "snowflake://acme-eu/SALES.PUBLIC.ORDERS",
            0.9,
        ),
        ("snowflake://XY12345.us-west-1.aws sales.public.t", "snowflake://xy12345/SALES.PUBLIC.T", 0.9),
        (
            "snowflake://xy12345.eu-central-1.aws SALES.PUBLIC.T",
            "snowflake://xy12345.eu-central-1/SALES.PUBLIC.T",
            0.9,
        ),
        ("bigquery acme.sales.orders", "bigquery:acme.sales.orders", 1),
        (
            "abfss://raw@acme.dfs.core.windows.net topics/clicks",
            "wasbs://raw@acme.dfs.core.windows.net/topics/clicks",
            1,
        ),
        (
            "wasbs://raw@acme.blob.core.windows.net topics/clicks",
            "wasbs://raw@acme.dfs.core.windows.net/topics/clicks",
            1,
        ),
        ("mongodb+srv://c1.mongodb.net shop.carts", "mongodb://c1.mongodb.net:27017/shop.carts", 1),
        ("hdfs://nn /topics/clicks", "hdfs://nn:8020/topics/clicks", 1),
        ("file /data/out.txt", "file:///data/out.txt", 1),
        # Iceberg's catalogs in Spark: slashes for dots, quotes, a bucket for each table, addresses.
        (f"{ARN} table/`lkc-1`/`orders/v1`", "glue:lkc-1/orders.v1", 1),
        (f"{ARN} table/lkc-1/orders/v1", "glue:lkc-1/orders.v1", 1),
        (f"https://glue.{REGION}.amazonaws.com/iceberg `lkc-1`.orders", "glue:lkc-1/orders", 1),
        ("s3://63a8e430-6e0b--table-s3 /", "s3tables", 1),
        ("s3://63a8e430-6e0b--table-s3 metadata/00001.metadata.json", "s3tables", 0.8),
        (
            "https://polaris.example/api/catalog sales.orders",
            "iceberg://polaris.example/warehouse/sales.orders",
            0.9,
        ),
        (f"{ARN} lkc-1.orders.v1", "glue:lkc-1/orders.v1", 1),
        (f"{ARN} AwsDataCatalog.lkc-1.orders", "glue:lkc-1/orders", 1),
        (f"https://glue.{REGION}.amazonaws.com/iceberg `lkc-1`.`orders.v1`", "glue:lkc-1/orders.v1", 1),
        (
            "unity-catalog main.sales.Orders",
            "unitycatalog://dbc.cloud.databricks.com/main.sales.orders",
            0.9,
        ),
        ("cassandra://c.example shop.orders", "cassandra://c.example:9042/shop.orders", 1),
        (
            "sqlserver://sql.example/MYINSTANCE shop.dbo.orders",
            "mssql://sql.example:1433/Shop.dbo.Orders",
            0.9,
        ),
        (
            "redshift://dw.eu-west-1:5439 dev.public.T",
            "redshift://dw.abc123.eu-west-1.redshift.amazonaws.com:5439/dev.public.t",
            0.9,
        ),
        ("mysql://db.example:3306 shop.Orders", "mysql://db.example:3306/shop.Orders", 1),
        (
            "mysql://address=(host=other)(port=1111),address=(host=db.example)(port=3306) shop.Orders",
            "mysql://db.example:3306/shop.Orders",
            1,
        ),
        ("mysql://(host=db.example,port=3306) shop.Orders", "mysql://db.example:3306/shop.Orders", 1),
        ("oracle://ora.example:1521 xe.shop.orders", "oracle://ora.example:1521/XE.SHOP.ORDERS", 0.9),
        ("hive://meta.example:9083 Shop.Orders", "hive://meta.example:9083/shop.orders", 0.9),
        ("postgres://localhost:5432 shop.public.orders", "postgres://localhost:5432/shop.public.orders", 0.7),
    ],
)
def test_a_name_finds_its_node(name: str, node: str, confidence: float) -> None:
    found = find(name)
    assert (found.node_id, found.confidence, found.dataset) == (node, confidence, "")


@pytest.mark.parametrize(
    ("names", "dataset", "problem"),
    [
        (
            ["kafka://pkc-1.eu.confluent.cloud:9092 gone"],
            "kafka://pkc-1.eu.confluent.cloud:9092/gone",
            "no topic gone",
        ),
        (["kafka://pkc-9.eu.confluent.cloud:9092 shared"], None, "2 clusters"),
        (["kafka://pkc-9.eu.confluent.cloud:9092 gone"], None, ""),
        (["s3://bucket tableflow/orders/exports"], "s3://bucket/tableflow/orders/exports", ""),
        (["s3://bucket tableflow/orders2"], "s3://bucket/tableflow/orders2", ""),
        (["s3://whole anything"], "s3://whole/anything", ""),
        ([f"arn:aws:glue:{REGION}:{OTHER} table/lkc-1/orders"], None, ""),
        ([f"arn:aws:glue:us-east-1:{ACCOUNT} table/lkc-1/orders"], None, ""),
        (["mysql://db.example:3306 shop.ORDERS"], None, ""),
        (["postgres://pg.example:5432 shop.sales.orders"], None, ""),
        (["postgres://pg.example:6432 shop.public.orders"], None, ""),
        (["file /tmp/x"], "file:/tmp/x", ""),
        (["default table"], "default:table", ""),
        # A table's name in Flink is that job's own.
        (["kafka://new:9092 a", "kafka://pkc-1.eu.confluent.cloud:9092 orders"], "kafka://new:9092/a", ""),
        (["s3://x a/b", f"{ARN} table/db/new"], f"{ARN}/table/db/new", ""),
        # The database of a JDBC catalog holds no such table.
        (["s3://x a/b", "postgres://pg.example:5432 shop.orders"], "s3://x/a/b", ""),
    ],
)
def test_what_joins_to_nothing_is_a_dataset_named_as_it_came(
    names: list[str], dataset: str | None, problem: str
) -> None:
    found = find(*names)
    assert found.dataset == dataset or (dataset is None and found.dataset)
    assert found.node_id == f"external:external_dataset:{found.dataset}"
    assert problem in found.problem
    assert bool(problem) == bool(found.problem)


def test_other_names_are_tried_after_the_name() -> None:
    other_server = find("kafka://lb.example:9092 orders", "kafka://b1.example:9093 orders")
    assert other_server.node_id == "confluent:kafka_topic:env:own/orders"
    assert find("s3://elsewhere/x y", f"{ARN} table/lkc-1/orders").node_id == "glue:lkc-1/orders"
    assert find("s3://bucket raw/x", f"{ARN} table/lkc-1/orders").node_id == "glue:lkc-1/orders"
    bucket = "arn:aws:s3tables:eu-central-1:557690578487:bucket/metrics"
    assert find(f"{bucket} spark.sales.open", "s3://63a8e430-6e0b--table-s3 /").node_id == "s3tables"


@pytest.mark.parametrize("node", NODES, ids=lambda node: node.node_id)
def test_our_own_names_lead_back_to_the_node(node: Node) -> None:
    if (name := dataset_name(node)) is not None and node.qualified_name not in ("shared", "glue://x"):
        assert JOIN.find([name]).node_id == node.node_id


@pytest.mark.parametrize(
    ("region", "partition"),
    [
        ("eu-west-1", "aws"),
        ("cn-north-1", "aws-cn"),
        ("us-gov-west-1", "aws-us-gov"),
        ("eusc-de-east-1", "aws-eusc"),
    ],
)
def test_a_glue_table_of_any_partition_has_the_specifications_name_and_its_own_arn_in_datazone(
    region: str, partition: str
) -> None:
    table = GlueTableNode(
        node_id="table",
        qualified_name="glue://db/t",
        database="db",
        table_name="t",
        aws_region=region,
        catalog_id=ACCOUNT,
    )
    own = OpenLineageName(f"arn:aws:glue:{region}:{ACCOUNT}", "table/db/t")
    assert dataset_name(table) == own
    assert prepared(posted(own)).tables == (f"arn:{partition}:glue:{region}:{ACCOUNT}:table/db/t",)
    for name in (own, OpenLineageName(f"arn:{partition}:glue:{region}:{ACCOUNT}", "table/db/t")):
        assert DatasetJoin([table], ports={}).find([name]).node_id == "table"
        assert DatasetJoin([], ports={}).find([name]).dataset == "/".join(own)
    athena = OpenLineageName(f"awsathena://athena.{region}.{domain_of(region)}", "AwsDataCatalog.db.t")
    assert DatasetJoin([table], ports={}).find([athena]).node_id == "table"


def posted(output: OpenLineageName) -> dict[str, Any]:
    named = {"namespace": output.namespace, "name": output.name}
    return {"eventTime": "", "job": {"namespace": "n", "name": "j"}, "inputs": [], "outputs": [named]}
