"""Topics and datasets of source connectors."""

from __future__ import annotations

import json

import pytest

from lineage_bridge_dagster.lineage.unknowns import Unknown
from lineage_bridge_dagster_tests.confluent.connectors.conftest import POSTGRES, read


def test_debezium_postgres_names_topics_by_prefix_schema_and_table() -> None:
    found = read(
        "PostgresCdcSourceV2", POSTGRES | {"table.include.list": r"public.orders, public\.customers"}
    )
    assert found.topics_written == ("cdc.public.orders", "cdc.public.customers")
    assert found.datasets_read == (
        "postgres://pg1.example:5432/shop.public.orders",
        "postgres://pg1.example:5432/shop.public.customers",
    )


def test_include_list_expressions_are_resolved_against_the_clusters_topics() -> None:
    topics = ("cdc.public.orders", "cdc.public.order_items", "cdc.audit.orders", "other")
    found = read("PostgresCdcSourceV2", POSTGRES | {"table.include.list": "public.order.*"}, topics)
    assert found.topics_written == ("cdc.public.order_items", "cdc.public.orders")


@pytest.mark.parametrize(
    ("include", "exclude", "expected"),
    [
        (r"public[.]ord.*", "", {"shop.public.orders"}),
        (r"public.it.*", "", {"shop.public.items"}),
        (r"sales\.(orders|items)", "", {"shop.sales.orders", "shop.sales.items"}),
        (r"shop.sales.o.*", "", {"shop.sales.orders"}),
        (r"sales.*", "", {"shop.sales.orders", "shop.sales.items"}),
        (r".*orders", "", {"shop.public.orders"}),
        ("", r"public\.it.*", {"shop.public.orders"}),
        ("public.orders,public.items", r".*[.]items", {"shop.public.orders"}),
    ],
)
def test_expressions_over_qualified_names_find_topics_of_unqualified_tables(
    include: str, exclude: str, expected: set[str]
) -> None:
    config = {"connection.host": "h", "db.name": "shop", "topic.prefix": "pg_"}
    config |= {"table.include.list": include, "table.exclude.list": exclude}
    found = read("PostgresSource", config, ("pg_orders", "pg_items", "else"))
    assert set(found.datasets_read) == {f"postgres://h:5432/{name}" for name in expected}
    assert set(found.topics_written) == {"pg_" + name.rpartition(".")[2] for name in expected}


def test_expression_that_matches_no_topic_is_a_warning() -> None:
    config = {"connection.host": "h", "db.name": "shop", "topic.prefix": "pg_"}
    found = read("PostgresSource", config | {"table.include.list": "public.no.*"}, ("pg_orders",))
    assert found.topics_written == ()
    assert any("public.no.*" in warning for warning in found.warnings)


def test_topic_renamed_by_a_router_tells_its_table_if_only_one_fits() -> None:
    """The router made `cdc.public.orders` into `cdc.public_orders`; of two underscores, either was a dot."""
    routed = {
        "transforms": "route",
        "transforms.route.type": "org.apache.kafka.connect.transforms.RegexRouter",
        "transforms.route.regex": r"(.*)\.(.*)",
        "transforms.route.replacement": "$1_$2",
    }
    found = read("PostgresCdcSourceV2", POSTGRES | routed, ("cdc.public_orders", "cdc.public_line_items"))
    assert found.topics_written == ("cdc.public_orders",)
    assert [dataset.rpartition("/")[2] for dataset in found.datasets_read] == ["shop.public.orders"]
    assert found.unknown == (Unknown.TRANSFORM,)
    unclear = read("PostgresCdcSourceV2", POSTGRES | routed, ("cdc.public_line_items",))
    assert unclear.topics_written == unclear.datasets_read == ()
    assert any("rename topics" in warning for warning in unclear.warnings)
    named = POSTGRES | routed | {"table.include.list": "public.line_items"}
    by_list = read("PostgresCdcSourceV2", named, ("x",))
    assert by_list.topics_written == ("cdc.public_line_items",)
    assert by_list.unknown == ()


def test_topic_in_which_a_router_merges_tables_is_not_silently_missing() -> None:
    """`cdc.orders` is made of shards that no list names; a plain table beside it does not hide that."""
    merged = {
        "transforms": "shards",
        "transforms.shards.type": "io.debezium.transforms.ByLogicalTableRouter",
        "transforms.shards.topic.regex": r"(.*)\.public\.(.*)_shard\d+",
        "transforms.shards.topic.replacement": "$1.$2",
    }
    topics = ("cdc.orders", "cdc.public.items")
    by_pattern = POSTGRES | merged | {"table.include.list": "public\\.(orders|items).*"}
    found = read("PostgresCdcSourceV2", by_pattern, topics)
    assert found.topics_written == ("cdc.public.items",)
    assert found.unknown == (Unknown.TRANSFORM,)
    assert any("rename topics" in warning for warning in found.warnings)
    by_name = POSTGRES | merged | {"table.include.list": "public.orders_shard1,public.items"}
    found = read("PostgresCdcSourceV2", by_name, topics)
    assert found.topics_written == topics
    assert found.unknown == ()


def test_excluded_schemas_are_left_out() -> None:
    topics = ("cdc.public.orders", "cdc.audit.log")
    found = read("PostgresCdcSourceV2", POSTGRES | {"schema.exclude.list": "aud.*"}, topics)
    assert found.topics_written == ("cdc.public.orders",)


@pytest.mark.parametrize(
    ("include", "exclude", "template", "topics"),
    [
        ("ORCLPDB1[.]HR[.](EMP|DEPT)", "", "", {"ORCLPDB1.HR.EMP", "ORCLPDB1.HR.DEPT"}),
        ("ORCLPDB1[.]HR[.].*", ".*[.]DEPT", "", {"ORCLPDB1.HR.EMP"}),
        (r"ORCLPDB1\.HR\.EMP", "", "", {"ORCLPDB1.HR.EMP"}),
        (".*[.]HR[.].*", "", "ora-${schemaName}.${tableName}", {"ora-HR.EMP"}),
        (".*[.]HR[.].*", "", "all-changes", {"all-changes"}),
    ],
)
def test_oracle_expression_is_matched_with_the_topics_of_its_template(
    include: str, exclude: str, template: str, topics: set[str]
) -> None:
    config = {"oracle.server": "h", "oracle.pdb.name": "ORCLPDB1", "table.inclusion.regex": include}
    config |= {"table.exclusion.regex": exclude}
    config |= {"table.topic.name.template": template} if template else {}
    there = ("ORCLPDB1.HR.EMP", "ORCLPDB1.HR.DEPT", "ORCLPDB1.FIN.PAY", "ora-HR.EMP", "all-changes")
    found = read("OracleCdcSource", config, there)
    assert set(found.topics_written) == topics
    if template != "all-changes":
        tables = {"HR." + topic.rpartition(".")[2] for topic in topics}
        assert set(found.datasets_read) == {f"oracle://h:1521/ORCLPDB1.{table}" for table in tables}


def test_both_oracle_connectors_name_a_table_alike() -> None:
    xstream = {
        "database.hostname": "h",
        "database.dbname": "ORCLCDB",
        "database.pdb.name": "ORCLPDB1",
        "topic.prefix": "x",
        "table.include.list": "HR.EMP",
    }
    log_miner = {
        "oracle.server": "h",
        "oracle.pdb.name": "ORCLPDB1",
        "table.inclusion.regex": "ORCLPDB1[.]HR[.]EMP",
    }
    assert (
        read("OracleXStreamSource", xstream).datasets_read
        == read("OracleCdcSource", log_miner).datasets_read
        == ("oracle://h:1521/ORCLPDB1.HR.EMP",)
    )


def test_without_a_table_list_the_clusters_topics_count_except_internal_ones() -> None:
    topics = ("cdc.public.orders", "cdc.audit.log", "cdc.transaction", "dbhistory.cdc", "cdcx.public.no")
    found = read("PostgresCdcSourceV2", POSTGRES | {"schema.include.list": "public"}, topics)
    assert found.topics_written == ("cdc.public.orders",)
    found = read("PostgresCdcSourceV2", POSTGRES | {"table.exclude.list": "audit.*"}, topics)
    assert found.topics_written == ("cdc.public.orders",)
    assert "cdc.transaction" in found.internal_topics


def test_debezium_v1_uses_the_server_name_as_prefix() -> None:
    config = {**POSTGRES, "database.server.name": "v1", "table.include.list": "public.orders"}
    del config["topic.prefix"]
    assert read("PostgresCdcSource", config).topics_written == ("v1.public.orders",)


def test_debezium_mysql_names_topics_by_prefix_database_and_table() -> None:
    config = {
        "database.hostname": "my1",
        "database.port": "3306",
        "topic.prefix": "m",
        "table.include.list": "shop.orders",
    }
    for name in ("MySqlCdcSourceV2", "io.debezium.connector.mysql.MySqlConnector"):
        found = read(name, config)
        assert found.topics_written == ("m.shop.orders",)
        assert found.datasets_read == ("mysql://my1:3306/shop.orders",)


def test_debezium_sql_server_puts_each_database_before_schema_and_table() -> None:
    found = read(
        "SqlServerCdcSourceV2",
        {
            "database.hostname": "ms",
            "database.port": "1433",
            "database.names": "sales,hr",
            "topic.prefix": "s",
            "table.include.list": "dbo.t",
        },
    )
    assert found.topics_written == ("s.sales.dbo.t", "s.hr.dbo.t")
    assert found.datasets_read == ("mssql://ms:1433/sales.dbo.t", "mssql://ms:1433/hr.dbo.t")


def test_jdbc_topics_are_prefix_and_table_without_a_separator() -> None:
    config = {
        "connection.host": "h",
        "connection.port": "5432",
        "db.name": "d",
        "topic.prefix": "jdbc-",
        "table.include.list": "public.accounts",
    }
    found = read("PostgresSource", config)
    assert found.topics_written == ("jdbc-accounts",)
    assert found.datasets_read == ("postgres://h:5432/d.public.accounts",)
    assert read("PostgresSource", {**config, "query": "SELECT 1"}).topics_written == ("jdbc-",)


def test_dataset_from_a_jdbc_url_has_no_secrets() -> None:
    found = read(
        "io.confluent.connect.jdbc.JdbcSourceConnector",
        {
            "connection.url": "jdbc:postgresql://bob:hunter2@db:6432/shop?password=hunter2",
            "topic.prefix": "p_",
            "table.whitelist": "t",
        },
        connector_id=None,
    )
    assert found.datasets_read == ("postgres://db:6432/shop.public.t",)


def test_mongodb_topics_have_database_and_collection() -> None:
    base = {"connection.host": "cluster0.example", "database": "shop", "topic.prefix": "m"}
    found = read("MongoDbAtlasSource", base | {"collection": "orders"})
    assert found.topics_written == ("m.shop.orders",)
    assert found.datasets_read == ("mongodb://cluster0.example:27017/shop.orders",)
    database = read("MongoDbAtlasSource", base, ("m.shop.a", "m.shop.b", "m.other.c"))
    assert database.topics_written == ("m.shop.a", "m.shop.b")
    mapped = read(
        "MongoDbAtlasSource",
        base | {"collection": "orders", "topic.namespace.map": json.dumps({"shop.orders": "o"})},
    )
    assert mapped.topics_written == ("m.o",)
