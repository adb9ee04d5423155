"""Datasets of sink connectors."""

from __future__ import annotations

import pytest

from lineage_bridge_dagster_tests.confluent.connectors.conftest import POSTGRES, read


@pytest.mark.parametrize(
    ("name", "config", "dataset"),
    [
        ("GcsSink", {"gcs.bucket.name": "b"}, "gs://b/topics/o.v-1"),
        (
            "AzureBlobSink",
            {"azblob.account.name": "acc", "azblob.container.name": "con"},
            "wasbs://con@acc.dfs.core.windows.net/topics/o.v-1",
        ),
        (
            "SnowflakeSink",
            {
                "snowflake.url.name": "https://ab12345.snowflakecomputing.com:443",
                "snowflake.database.name": "db",
                "snowflake.schema.name": "raw",
            },
            "snowflake://ab12345/DB.RAW.O_V_1_103996059",
        ),
        ("BigQueryStorageSink", {"project": "p", "datasets": "d"}, "bigquery:p.d.o_v_1"),
        (
            "BigQueryStorageSink",
            {"project": "p", "datasets": "d", "sanitize.topics": "false"},
            "bigquery:p.d.o.v-1",
        ),
        (
            "BigQueryStorageSink",
            {"project": "p", "datasets": "d", "topic2table.map": "o.v-1:orders"},
            "bigquery:p.d.orders",
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
            "unitycatalog://dbc.example/main.default.o.v-1",
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
def test_dataset_of_a_sink(name: str, config: dict[str, str], dataset: str) -> None:
    found = read(name, {"topics": "o.v-1", **config}, kind="sink")
    assert found.datasets_written == (dataset,)
    assert found.warnings == ()


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("jdbc:sqlserver://h:1433;databaseName=d;user=u;password=p", "mssql://h:1433/d.dbo.t"),
        ("jdbc:oracle:thin:@h:1521/svc", "oracle://h:1521/svc.t"),
        ("jdbc:oracle:thin:scott/tiger@//h:1521/svc", "oracle://h:1521/svc.SCOTT.t"),
        ("jdbc:oracle:thin:@h:1521:SID", "oracle://h:1521/SID.t"),
        (
            "jdbc:oracle:thin:@(DESCRIPTION=(ADDRESS=(PROTOCOL=TCP)(HOST=h)(PORT=1521))"
            "(CONNECT_DATA=(SERVICE_NAME=svc)))",
            "oracle://h:1521/svc.t",
        ),
        (
            "jdbc:oracle:thin:scott/tiger@(description=(retry_count=20)(address=(protocol=tcps)(port=1522)"
            '(host=h))(connect_data=(service_name=svc))(security=(ssl_server_cert_dn="CN=a@b, O=c")))',
            "oracle://h:1522/svc.SCOTT.t",
        ),
        (
            "jdbc:oracle:oci:@\n (DESCRIPTION_LIST =\n  (DESCRIPTION =\n   (ADDRESS_LIST = "
            "(LOAD_BALANCE = on)(ADDRESS = (HOST = 'h')(PROTOCOL = TCP)(PORT = 1521)))\n"
            "   (CONNECT_DATA = (SID = ORCL))))",
            "oracle://h:1521/ORCL.t",
        ),
        # The first address has no port, and the second one's is not its own.
        (
            "jdbc:oracle:thin:@(DESCRIPTION=(ADDRESS_LIST=(ADDRESS=(HOST=h))(ADDRESS=(PORT=1522)(HOST=i)))"
            "(CONNECT_DATA=(SID=ORCL)))",
            "oracle://h:1521/ORCL.t",
        ),
        ("jdbc:mysql://h/d?user=u", "mysql://h:3306/d.t"),
    ],
)
def test_dataset_from_a_jdbc_url_of_each_kind(url: str, expected: str) -> None:
    found = read(
        "io.confluent.connect.jdbc.JdbcSinkConnector", {"connection.url": url, "topics": "t"}, kind="sink"
    )
    assert found.datasets_written == (expected,)


def test_source_and_sink_name_a_broker_alike() -> None:
    source = read(
        "MqttSource", {"kafka.topic": "t", "mqtt.server.uri": "tcp://u:pw@h:1883", "mqtt.topics": "t"}
    )
    sink = read("MqttSink", {"topics": "t", "mqtt.server.uri": "tcp://h:1883"})
    assert source.datasets_read == sink.datasets_written == ("mqtt://h:1883/t",)


def test_source_and_sink_name_a_table_alike() -> None:
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
