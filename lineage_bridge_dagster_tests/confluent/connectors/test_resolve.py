from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage_bridge_dagster.confluent.connectors import ConnectorLineage, ConnectorRecord, resolve
from lineage_bridge_dagster.confluent.connectors.families import family_of
from lineage_bridge_dagster_tests.conftest import shared

POSTGRES = {
    "database.hostname": "PG1.example",
    "database.port": "5432",
    "database.dbname": "shop",
    "topic.prefix": "cdc",
}


def read(
    class_name: str,
    config: Mapping[str, str],
    topics: tuple[str, ...] = (),
    *,
    kind: str = "",
    connector_id: str | None = "lcc-1",
) -> ConnectorLineage:
    record = ConnectorRecord("c1", kind, connector_id, {"connector.class": class_name, **config})
    return resolve(record, topics)


def test_debezium_postgres_names_topics_by_prefix_schema_and_table() -> None:
    found = read(
        "PostgresCdcSourceV2", POSTGRES | {"table.include.list": r"public.orders, public\.customers"}
    )
    assert found.topics_written == ("cdc.public.orders", "cdc.public.customers")
    assert found.datasets_read == (
        "postgres://pg1.example:5432/shop.public.orders",
        "postgres://pg1.example:5432/shop.public.customers",
    )


def test_an_include_list_of_expressions_is_resolved_against_the_topics_there_are() -> None:
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
def test_expressions_over_qualified_names_find_the_topics_of_bare_ones(
    include: str, exclude: str, expected: set[str]
) -> None:
    config = {"connection.host": "h", "db.name": "shop", "topic.prefix": "pg_"}
    config |= {"table.include.list": include, "table.exclude.list": exclude}
    found = read("PostgresSource", config, ("pg_orders", "pg_items", "else"))
    assert set(found.datasets_read) == {f"postgres://h:5432/{name}" for name in expected}
    assert set(found.topics_written) == {"pg_" + name.rpartition(".")[2] for name in expected}


def test_an_expression_that_no_topic_fits_is_told() -> None:
    config = {"connection.host": "h", "db.name": "shop", "topic.prefix": "pg_"}
    found = read("PostgresSource", config | {"table.include.list": "public.no.*"}, ("pg_orders",))
    assert found.topics_written == ()
    assert any("public.no.*" in warning for warning in found.warnings)


def test_a_topic_that_a_router_made_is_not_taken_for_a_table() -> None:
    """`cdc.public.orders` became `cdc.public_orders`: there is no table of that name in no schema."""
    routed = {
        "transforms": "route",
        "transforms.route.type": "org.apache.kafka.connect.transforms.RegexRouter",
        "transforms.route.regex": r"(.*)\.(.*)",
        "transforms.route.replacement": "$1_$2",
    }
    found = read("PostgresCdcSourceV2", POSTGRES | routed, ("cdc.public_orders",))
    assert found.topics_written == found.datasets_read == ()
    assert any("rename topics" in warning for warning in found.warnings)
    named = POSTGRES | routed | {"table.include.list": "public.orders"}
    assert read("PostgresCdcSourceV2", named, ("cdc.public_orders",)).topics_written == ("cdc.public_orders",)


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
def test_oracles_expression_is_read_over_the_topics_that_fit_its_template(
    include: str, exclude: str, template: str, topics: set[str]
) -> None:
    config = {"oracle.server": "h", "oracle.pdb.name": "ORCLPDB1", "table.inclusion.regex": include}
    config |= {"table.exclusion.regex": exclude, "table.topic.name.template": template}
    there = ("ORCLPDB1.HR.EMP", "ORCLPDB1.HR.DEPT", "ORCLPDB1.FIN.PAY", "ora-HR.EMP", "all-changes")
    found = read("OracleCdcSource", config, there)
    assert set(found.topics_written) == topics
    if template != "all-changes":
        tables = {"HR." + topic.rpartition(".")[2] for topic in topics}
        assert set(found.datasets_read) == {f"oracle://h:1521/ORCLPDB1.{table}" for table in tables}


def test_both_of_oracles_connectors_meet_in_a_table() -> None:
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


def test_a_source_and_a_sink_of_one_broker_name_it_alike() -> None:
    source = read(
        "MqttSource", {"kafka.topic": "t", "mqtt.server.uri": "tcp://u:pw@h:1883", "mqtt.topics": "t"}
    )
    sink = read("MqttSink", {"topics": "t", "mqtt.server.uri": "tcp://h:1883"})
    assert source.datasets_read == sink.datasets_written == ("mqtt://h:1883/t",)


def test_without_a_table_list_the_clusters_own_topics_tell_but_not_its_bookkeeping() -> None:
    topics = ("cdc.public.orders", "cdc.audit.log", "cdc.transaction", "dbhistory.cdc", "cdcx.public.no")
    found = read("PostgresCdcSourceV2", POSTGRES | {"schema.include.list": "public"}, topics)
    assert found.topics_written == ("cdc.public.orders",)
    found = read("PostgresCdcSourceV2", POSTGRES | {"table.exclude.list": "audit.*"}, topics)
    assert found.topics_written == ("cdc.public.orders",)
    assert "cdc.transaction" in found.internal_topics


def test_debezium_v1_takes_the_server_name_as_prefix() -> None:
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


def test_a_router_applies_only_when_it_matches_the_whole_topic() -> None:
    config = {
        **POSTGRES,
        "topic.prefix": "pg-ecommerce",
        "table.include.list": "public.orders",
        "transforms": "route",
        "transforms.route.type": "org.apache.kafka.connect.transforms.RegexRouter",
        "transforms.route.regex": r"(.*)\.(.*)",
        "transforms.route.replacement": "$1_$2",
    }
    assert read("PostgresCdcSourceV2", config).topics_written == ("pg-ecommerce.public_orders",)
    config["transforms.route.regex"] = "public"
    assert read("PostgresCdcSourceV2", config).topics_written == ("pg-ecommerce.public.orders",)


def test_transforms_apply_in_their_order_and_unknown_ones_warn() -> None:
    router = "io.confluent.connect.cloud.transforms.TopicRegexRouter"
    found = read(
        "DatagenSource",
        {
            "kafka.topic": "a",
            "transforms": "one,two,three",
            "transforms.one.type": router,
            "transforms.one.regex": "a",
            "transforms.one.replacement": "b",
            "transforms.two.type": router,
            "transforms.two.regex": "b",
            "transforms.two.replacement": "c",
            "transforms.three.type": "com.example.Mine",
        },
    )
    assert found.topics_written == ("c",)
    assert found.datasets_read == ()
    assert any("com.example.Mine" in warning for warning in found.warnings)


def test_an_outbox_router_matches_topics_by_name_with_low_confidence() -> None:
    found = read(
        "PostgresCdcSourceV2",
        POSTGRES
        | {
            "table.include.list": "public.outbox",
            "transforms": "o",
            "transforms.o.type": "io.debezium.transforms.outbox.EventRouter",
        },
        ("outbox.event.order", "outbox.event.customer", "cdc.public.outbox"),
    )
    assert set(found.topics_written) == {"outbox.event.order", "outbox.event.customer"}
    assert found.confidence < 1


def test_jdbc_sources_put_prefix_and_table_together_without_a_separator() -> None:
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


def test_a_jdbc_url_gives_the_dataset_and_none_of_its_secrets() -> None:
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


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("jdbc:sqlserver://h:1433;databaseName=d;user=u;password=p", "mssql://h:1433/d.dbo.t"),
        ("jdbc:oracle:thin:@h:1521/svc", "oracle://h:1521/svc.t"),
        ("jdbc:oracle:thin:scott/tiger@//h:1521/svc", "oracle://h:1521/svc.t"),
        ("jdbc:oracle:thin:@h:1521:SID", "oracle://h:1521/SID.t"),
        ("jdbc:mysql://h/d?user=u", "mysql://h:3306/d.t"),
    ],
)
def test_jdbc_urls_of_each_kind(url: str, expected: str) -> None:
    found = read(
        "io.confluent.connect.jdbc.JdbcSinkConnector", {"connection.url": url, "topics": "t"}, kind="sink"
    )
    assert found.datasets_written == (expected,)


def test_mongodb_source_topics_hold_database_and_collection() -> None:
    base = {"connection.host": "cluster0.example", "database": "shop", "topic.prefix": "m"}
    found = read("MongoDbAtlasSource", base | {"collection": "orders"})
    assert found.topics_written == ("m.shop.orders",)
    assert found.datasets_read == ("mongodb://cluster0.example:27017/shop.orders",)
    whole = read("MongoDbAtlasSource", base, ("m.shop.a", "m.shop.b", "m.other.c"))
    assert whole.topics_written == ("m.shop.a", "m.shop.b")
    mapped = read(
        "MongoDbAtlasSource",
        base | {"collection": "orders", "topic.namespace.map": json.dumps({"shop.orders": "o"})},
    )
    assert mapped.topics_written == ("o",)


def test_a_managed_sink_reads_its_topics_and_writes_its_dead_letters() -> None:
    config = {"topics": "a, b", "s3.bucket.name": "lake", "topics.dir": "raw"}
    found = read("S3_SINK", config, ("a", "b", "dlq-lcc-1"), kind="sink")
    assert found.topics_read == ("a", "b")
    assert found.datasets_written == ("s3://lake/raw/a", "s3://lake/raw/b")
    assert found.topics_written == found.dlq_topics == ("dlq-lcc-1",)


def test_a_dead_letter_topic_that_was_never_made_is_not_invented() -> None:
    config = {"topics": "a", "s3.bucket.name": "lake"}
    assert read("S3_SINK", config, ("a",)).topics_written == ()
    named = read("S3_SINK", config | {"errors.deadletterqueue.topic.name": "my-dlq"}, ("a",))
    assert named.dlq_topics == ("my-dlq",)
    own = read("io.confluent.connect.s3.S3SinkConnector", config, ("a", "dlq-c1"), connector_id=None)
    assert own.dlq_topics == ()


def test_topics_regex_must_match_the_whole_topic() -> None:
    found = read("S3_SINK", {"topics.regex": "ord.*", "s3.bucket.name": "b"}, ("orders", "my-orders"))
    assert found.topics_read == ("orders",)


def test_the_apis_word_on_direction_goes_before_the_configurations_own_type() -> None:
    found = read("S3_SINK", {"type": "source", "topics": "a", "s3.bucket.name": "b"}, kind="sink")
    assert found.direction == "sink"
    assert found.topics_read == ("a",)


@pytest.mark.parametrize(
    ("name", "config", "dataset"),
    [
        ("GcsSink", {"gcs.bucket.name": "b"}, "gs://b/topics/o.v-1"),
        (
            "AzureBlobSink",
            {"azblob.account.name": "acc", "azblob.container.name": "con"},
            "https://acc.blob.core.windows.net/con/topics/o.v-1",
        ),
        (
            "SnowflakeSink",
            {
                "snowflake.url.name": "https://ab12345.snowflakecomputing.com:443",
                "snowflake.database.name": "db",
                "snowflake.schema.name": "raw",
            },
            "snowflake://ab12345/DB.RAW.O_V_1",
        ),
        ("BigQueryStorageSink", {"project": "p", "datasets": "d"}, "bigquery://p.d.o_v_1"),
        (
            "BigQueryStorageSink",
            {"project": "p", "datasets": "d", "sanitize.topics": "false"},
            "bigquery://p.d.o.v-1",
        ),
        (
            "BigQueryStorageSink",
            {"project": "p", "datasets": "d", "topic2table.map": "o.v-1:orders"},
            "bigquery://p.d.orders",
        ),
        (
            "RedshiftSink",
            {"aws.redshift.domain": "c.r.redshift.amazonaws.com", "aws.redshift.database": "d"},
            "redshift://c.r.redshift.amazonaws.com:5439/d.o.v-1",
        ),
        (
            "MongoDbAtlasSink",
            {"connection.uri": "mongodb+srv://u:p@h.example/x", "database": "d"},
            "mongodb://h.example:27017/d.o.v-1",
        ),
        ("ElasticsearchSink", {"connection.url": "https://es:9200"}, "elasticsearch://es:9200/o.v-1"),
        (
            "DatabricksDeltaLakeSink",
            {"delta.lake.host.name": "dbc.example", "delta.lake.catalog": "main"},
            "databricks://dbc.example/main.default.o.v-1",
        ),
        (
            "HttpSink",
            {"http.api.url": "https://u:p@api.example/in/${topic}?key=1"},
            "https://api.example/in/o.v-1",
        ),
        (
            "LambdaSink",
            {"aws.lambda.function.name": "f", "aws.lambda.region": "us-east-1"},
            "lambda://us-east-1/f",
        ),
        ("DynamoDbSink", {"kafka.region": "eu-west-1"}, "dynamodb://eu-west-1/o.v-1"),
    ],
)
def test_sinks_name_their_dataset(name: str, config: dict[str, str], dataset: str) -> None:
    found = read(name, {"topics": "o.v-1", **config}, kind="sink")
    assert found.datasets_written == (dataset,)
    assert found.warnings == ()


def test_two_connectors_to_one_table_meet() -> None:
    sink = read(
        "PostgresSink",
        {
            "topics": "t",
            "connection.host": "PG1.example",
            "connection.port": "5432",
            "db.name": "shop",
            "table.name.format": "public.orders",
        },
    )
    source = read("PostgresCdcSourceV2", POSTGRES | {"table.include.list": "public.orders"})
    assert sink.datasets_written == source.datasets_read


def test_an_unknown_class_warns_and_keeps_what_every_connector_says() -> None:
    found = read("com.example.MySink", {"topics": "a"}, kind="sink", connector_id=None)
    assert found.topics_read == ("a",)
    assert found.confidence < 1
    assert "com.example.MySink" in found.warnings[0]


def test_every_managed_template_has_a_family() -> None:
    templates = json.loads(shared("confluent", "managed_connectors.json").read_text())["connectors"]
    assert len(templates) > 100
    for template in templates:
        direction = template["type"][0].lower()
        for name in (template["file"], *template["connector_class"]):
            family = family_of(name)
            assert family is not None, name
            assert family.direction == direction, name


_KEYS = st.sampled_from(
    [
        *("topics", "topics.regex", "kafka.topic", "topic.prefix", "table.include.list", "transforms"),
        *("query", "transforms.a.type", "transforms.a.regex", "connection.url", "topic.namespace.map"),
    ]
)


@given(
    st.sampled_from(["PostgresCdcSourceV2", "S3_SINK", "PostgresSource", "MongoDbAtlasSource", "X", ""]),
    st.dictionaries(_KEYS, st.text(max_size=20)),
)
def test_no_configuration_raises(name: str, config: dict[str, str]) -> None:
    read(name, config, ("a", "b.c"))
