"""External tables, error logs, and tables that were dropped or replaced.

Sources: Confluent's pages "CREATE CONNECTION", "Key Search", "Vector Search", "CREATE TABLE"
(`error-handling.*`) and "DROP TABLE", and public demos of external tables.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from lineage_bridge_dagster.confluent.discovery import discover
from lineage_bridge_dagster.confluent.graph.flink_jobs import External, external_of
from lineage_bridge_dagster.lineage import ids
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.model import EdgeType
from lineage_bridge_dagster.lineage.unknowns import Unknown
from lineage_bridge_dagster.sql.flink.options import kept_address
from lineage_bridge_dagster.sql.flink.parser import FlinkSqlParser
from lineage_bridge_dagster_tests.confluent.fake import (
    FakeConfluent,
    connect_path,
    connector,
    flink_path,
    kafka_path,
    listing,
    settings,
    statement,
    topic,
)

pytestmark = pytest.mark.xdist_group("flink")

TOPICS = ("q", "dst", "other", "error_log", "dlq")
MONGO = "mongodb://c1.example.net:27017/store.products"
CONNECTION = (
    "CREATE CONNECTION `mc` WITH ('type' = 'mongodb', 'endpoint' = 'mongodb+srv://me:p4ss@c1.example.net/', "
    "'username' = 'me', 'password' = 's3cret-word')"
)
PRODUCTS = (
    "CREATE TABLE products (t STRING, vector ARRAY<FLOAT>) WITH ('connector' = 'mongodb', "
    "'mongodb.connection' = 'mc', 'mongodb.database' = 'store', 'mongodb.collection' = 'products', "
    "'mongodb.index' = 'vi')"
)
SEARCH = "SELECT * FROM q, LATERAL TABLE(VECTOR_SEARCH_AGG(products, DESCRIPTOR(vector), q.v, 3))"


def found(world: FakeConfluent, parser: FlinkSqlParser, *texts: str | tuple[str, str]) -> Discovery:
    """A discovery of statements that are created one after another: completed ones, and the last running."""
    phased = [text if isinstance(text, tuple) else (text, "COMPLETED") for text in texts[:-1]]
    last = texts[-1] if isinstance(texts[-1], tuple) else (texts[-1], "RUNNING")
    world.routes[kafka_path("lkc-a", "/topics")] = listing(*map(topic, TOPICS))
    world.routes[flink_path("eu-west-1")] = listing()
    world.routes[flink_path("us-east-1")] = listing(
        *(
            statement(f"s{number}", sql, phase, created_at=f"2025-01-{number:02}T00:00:00Z")
            for number, (sql, phase) in enumerate([*phased, last], 1)
        )
    )
    return discover(settings(), transport=world.transport, parser=parser)


def upstream(discovery: Discovery, name: str) -> dict[str, list[str]]:
    """The statements that write a topic, each with what that topic is made of, by short names."""
    graph, topic_id = discovery.graph, ids.topic_id("env-1", "lkc-a", name)
    return {
        graph.nodes[src].display_name: sorted(
            graph.nodes[source].qualified_name for source in (edge.inputs or ())
        )
        for (src, dst, kind), edge in graph.edges.items()
        if dst == topic_id and kind == EdgeType.PRODUCES
    }


def open_points(discovery: Discovery, name: str) -> tuple[list[str], list[str]]:
    attributes = discovery.graph.nodes[ids.flink_job_id("env-1", "aws", "us-east-1", name)].attributes
    return attributes.get("unknown", []), attributes.get("warnings", [])


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ((CONNECTION, PRODUCTS, f"CREATE TABLE dst AS {SEARCH}"), ["q", MONGO]),
        ((CONNECTION, PRODUCTS, f"INSERT INTO dst {SEARCH}"), ["q", MONGO]),
        # Through a view, in a statement set, by a string, and with a table that is created later.
        (
            (CONNECTION, PRODUCTS, f"CREATE VIEW v AS {SEARCH}", "INSERT INTO dst SELECT * FROM v"),
            ["q", MONGO],
        ),
        (
            (
                CONNECTION,
                PRODUCTS,
                "EXECUTE STATEMENT SET BEGIN INSERT INTO other SELECT * FROM q; "  # noqa: S608
                f"INSERT INTO dst {SEARCH}; END",
            ),
            ["q", MONGO],
        ),
        (
            (CONNECTION, PRODUCTS, "INSERT INTO dst " + SEARCH.replace("(products", "('products'")),
            ["q", MONGO],
        ),
        ((f"CREATE TABLE dst AS {SEARCH}", CONNECTION, PRODUCTS), ["q", MONGO]),
        # A lookup join, and a read.
        (
            (
                CONNECTION,
                PRODUCTS,
                "INSERT INTO dst SELECT q.* FROM q "
                "JOIN products FOR SYSTEM_TIME AS OF q.ts AS p ON p.t = q.t",
            ),
            ["q", MONGO],
        ),
        ((CONNECTION, PRODUCTS, "INSERT INTO dst SELECT t FROM products"), [MONGO]),
        # Options that are set later, and a connection of the same name that is replaced.
        (
            (
                CONNECTION,
                PRODUCTS,
                "ALTER TABLE products SET ('mongodb.collection' = 'shoes')",
                "ALTER CONNECTION mc SET ('endpoint' = 'mongodb://c2.example.net:27018')",
                f"INSERT INTO dst {SEARCH}",
            ),
            ["mongodb://c2.example.net:27018/store.shoes", "q"],
        ),
        (
            (CONNECTION, PRODUCTS, "CREATE TABLE more LIKE products", "INSERT INTO dst SELECT t FROM more"),
            [MONGO],
        ),
        # The connectors of Apache Flink and Flink CDC, whose options have no prefix.
        (
            (
                "CREATE TABLE f (a INT) WITH ('connector' = 'filesystem', 'format' = 'csv', "
                "'path' = 'abfss://me@acc.dfs.core.windows.net/a?sig=s3cret-word')",
                "CREATE TABLE m (a INT) WITH ('connector' = 'mongodb', 'database' = 'store', "
                "'uri' = 'mongodb://me:p4ss@c1.example.net', 'collection' = 'products')",
                "CREATE TABLE c (a INT) WITH ('connector' = 'mongodb-cdc', 'hosts' = 'c2.example.net:27018', "
                "'username' = 'me', 'password' = 's3cret-word', 'database' = 'd', 'collection' = 'e')",
                "INSERT INTO dst SELECT a FROM f UNION ALL SELECT a FROM m UNION ALL SELECT a FROM c",
            ),
            ["abfss://me@acc.dfs.core.windows.net/a", MONGO, "mongodb://c2.example.net:27018/d.e"],
        ),
        # Generated rows come from nothing.
        (("CREATE TABLE f (a INT) WITH ('connector' = 'faker')", "INSERT INTO dst SELECT a FROM f"), []),
    ],
)
def test_external_tables_are_sources(
    world: FakeConfluent, parser: FlinkSqlParser, texts: tuple[str, ...], expected: list[str]
) -> None:
    discovery = found(world, parser, *texts)
    ((job, sources),) = upstream(discovery, "dst").items()
    assert sources == sorted(expected)
    assert open_points(discovery, job) == ([], [])
    # What is kept for the next discovery has no credentials; the statements' text is limited by `sql`.
    kept = json.dumps(discovery.caches) + " ".join(discovery.graph.nodes)
    assert "p4ss" not in kept
    assert "s3cret-word" not in kept


@pytest.mark.parametrize(
    ("name", "dataset"),
    [("mc", MONGO), ("`env-1`.`lkc-b`.`mc`", "mongodb://c2.example.net:27017/store.products")],
)
def test_a_connection_is_that_of_the_tables_own_database(
    world: FakeConfluent, parser: FlinkSqlParser, name: str, dataset: str
) -> None:
    other = CONNECTION.replace("c1", "c2").replace("`mc`", "`prod`.`analytics`.`mc`")
    table = PRODUCTS.replace("'mc'", f"'{name}'")
    for texts in ((CONNECTION, other), (other, CONNECTION)):
        discovery = found(world, parser, *texts, table, "INSERT INTO dst SELECT t FROM products")
        assert upstream(discovery, "dst") == {"s4": [dataset]}


def test_a_connectors_collection_and_an_external_table_are_one_dataset(
    world: FakeConfluent, parser: FlinkSqlParser
) -> None:
    world.routes[connect_path("lkc-a")] = connector(
        "mongo",
        "sink",
        {
            "connector.class": "MongoDbAtlasSink",
            "topics": "other",
            "connection.host": "c1.example.net",
            "database": "store",
            "collection": "products",
        },
    )
    discovery = found(world, parser, CONNECTION, PRODUCTS, f"INSERT INTO dst {SEARCH}")
    dataset = ids.external_dataset_id(MONGO)
    assert (ids.connector_id("env-1", "lkc-a", "mongo"), dataset, EdgeType.PRODUCES) in discovery.graph.edges
    assert (dataset, ids.flink_job_id("env-1", "aws", "us-east-1", "s3"), EdgeType.CONSUMES) in (
        discovery.graph.edges
    )


@pytest.mark.parametrize(
    ("texts", "warning"),
    [
        ((f"INSERT INTO dst {SEARCH}",), "no statement that is listed creates it"),
        ((PRODUCTS, f"INSERT INTO dst {SEARCH}"), "creates its connection 'mc'"),
        (
            ("CREATE TABLE products (a INT) WITH ('connector' = 'new-one')", f"INSERT INTO dst {SEARCH}"),
            "what its connector 'new-one' leads to is not known",
        ),
        (
            (CONNECTION, PRODUCTS.replace("'mongodb.database' = 'store', ", ""), f"INSERT INTO dst {SEARCH}"),
            "do not name what 'mongodb' leads to",
        ),
    ],
)
def test_what_an_external_table_stands_for_is_never_left_out_silently(
    world: FakeConfluent, parser: FlinkSqlParser, texts: tuple[str, ...], warning: str
) -> None:
    discovery = found(world, parser, *texts)
    ((job, sources),) = upstream(discovery, "dst").items()
    unknown, warnings = open_points(discovery, job)
    assert (sources, unknown) == (["q"], [Unknown.EXTERNAL])
    assert len(warnings) == 1
    assert warning in warnings[0]


CONNECTIONS = {
    "mongo": {"type": "mongodb", "endpoint": "mongodb+srv://c1.example.net/"},
    "couch": {"type": "couchbase", "endpoint": "couchbases://cb.x.cloud.couchbase.com"},
    "pine": {"type": "pinecone", "endpoint": "https://docs-a1b2c3.svc.aped-4627-b74a.pinecone.io"},
    "es": {"type": "elastic", "endpoint": "https://es1.example:9243"},
    "pg": {"type": "confluent_jdbc", "endpoint": "jdbc:postgresql://pg1.example:5432/shop"},
    "mssql": {"type": "confluent_jdbc", "endpoint": "jdbc:sqlserver://db1:1433?databaseName=shop"},
    "api": {"type": "rest", "endpoint": "https://api.example/v1/"},
}


@pytest.mark.parametrize(
    ("options", "dataset"),
    [
        (
            "connector=mongodb mongodb.connection=mongo mongodb.database=d mongodb.collection=c",
            "mongodb://c1.example.net:27017/d.c",
        ),
        (
            "connector=couchbase couchbase.connection=couch couchbase.bucket=b couchbase.scope=s "
            "couchbase.collection=c",
            "couchbase://cb.x.cloud.couchbase.com/b.s.c",
        ),
        ("connector=pinecone pinecone.connection=pine", "pinecone://a1b2c3/docs"),
        (
            "connector=elastic elastic.connection=`cat`.`db`.`es` elastic.index=i",
            "elasticsearch://es1.example:9243/i",
        ),
        (
            "connector=confluent-jdbc confluent-jdbc.connection=pg confluent-jdbc.table-name=Users",
            "postgres://pg1.example:5432/shop.public.users",
        ),
        (
            "connector=confluent-jdbc confluent-jdbc.connection=mssql confluent-jdbc.table-name=u",
            "mssql://db1:1433/shop.dbo.u",
        ),
        ("connector=rest rest.connection=api rest.path=search.json", "https://api.example/v1/search.json"),
        ("connector=rest rest.connection=api", "https://api.example/v1"),
        ("connector=jdbc url=jdbc:mysql://db/shop table-name=o", "mysql://db:3306/shop.o"),
        ("connector=kafka topic=t properties.bootstrap.servers=k1:9092,k2:9092", "kafka://k1:9092/t"),
        (
            "connector=postgres-cdc hostname=pg database-name=d schema-name=s table-name=t",
            "postgres://pg:5432/d.s.t",
        ),
        ("connector=mysql-cdc hostname=h port=3307 database-name=d table-name=t", "mysql://h:3307/d.t"),
        ("connector=elasticsearch-7 hosts=http://e:9200 index=i", "elasticsearch://e:9200/i"),
        ("connector=filesystem path=s3://bucket/a/b", "s3://bucket/a/b"),
        (
            "connector=filesystem path=abfss://c@acc.dfs.core.windows.net/a",
            "abfss://c@acc.dfs.core.windows.net/a",
        ),
    ],
)
def test_external_tables_have_the_names_of_connectors_datasets(options: str, dataset: str) -> None:
    given = {key: kept_address(value) for key, _, value in (pair.partition("=") for pair in options.split())}
    assert external_of(given, CONNECTIONS) == External(dataset)


@pytest.mark.parametrize("options", [{}, {"connector": "confluent"}, {"value.format": "raw"}])
def test_tables_of_topics_are_not_external(options: dict[str, str]) -> None:
    assert external_of(options, {}) is None


@pytest.mark.parametrize(
    ("address", "kept"),
    [
        ("mongodb+srv://u:p@h.example/?x=y", "mongodb+srv://h.example/"),
        ("mongodb://u:p/w@h1:1,h2:2/db", ""),
        ("mongodb://u:p?w@h/db", ""),
        ("https://es1:9243/_search?apikey=k#f", "https://es1:9243/_search"),
        ("https://token@host/x", "https://host/x"),
        (
            "jdbc:postgresql://u:p@h:5432/d?password=p&currentSchema=s",
            "jdbc:postgresql://h:5432/d?currentSchema=s",
        ),
        (
            "jdbc:sqlserver://h:1433;user=a@b;password=p@ss;databaseName=d",
            "jdbc:sqlserver://h:1433?databaseName=d",
        ),
        ("jdbc:sqlserver://h\\sql1:1433;databaseName=d", "jdbc:sqlserver://h\\sql1:1433?databaseName=d"),
        ("jdbc:db2://h:50000/d:password=s3cret;user=me;", "jdbc:db2://h:50000/d"),
        ("jdbc:db2://h:50000/d:user=me;currentSchema=S;", "jdbc:db2://h:50000/d?currentSchema=S"),
        ("jdbc:teradata://h/DATABASE=d,USER=me,PASSWORD=s3cret", "jdbc:teradata://h?DATABASE=d"),
        ("s3://bucket/day=2025-01-01/", "s3://bucket/day=2025-01-01/"),
        ("wasbs://c@acc.blob.core.windows.net/a?sig=x", "wasbs://c@acc.blob.core.windows.net/a"),
        ("jdbc:oracle:thin:scott/tiger@//h:1521/svc", "jdbc:oracle:thin:@//h:1521/svc"),
        ("jdbc:oracle:thin:scott/t@ger@h:1521:sid", "jdbc:oracle:thin:@h:1521:sid"),
        ("search.json?key=k", "search.json"),
        ("me:secret@host", ""),
        ("products", "products"),
    ],
)
def test_addresses_are_kept_without_credentials(address: str, kept: str) -> None:
    assert kept_address(address) == kept


LOG = "'error-handling.mode' = 'log'"


@pytest.mark.parametrize(
    ("texts", "logs"),
    [
        ((f"ALTER TABLE q SET ({LOG}, 'error-handling.log.target' = 'dlq')",), {"dlq": ["q"]}),
        ((f"ALTER TABLE q SET ({LOG})",), {"error_log": ["q"]}),
        ((f"CREATE TABLE q (a INT) WITH ({LOG}, 'error-handling.log.target' = 'dlq')",), {"dlq": ["q"]}),
        (
            (
                "CREATE TABLE q (a INT)",
                "DROP TABLE q",
                f"CREATE TABLE IF NOT EXISTS q (a INT) WITH ({LOG}, 'error-handling.log.target' = 'dlq')",
            ),
            {"dlq": ["q"]},
        ),
        # The mode is `fail` unless it is set.
        (("ALTER TABLE q SET ('error-handling.log.target' = 'dlq')",), {}),
        (("ALTER TABLE q SET ('error-handling.mode' = 'ignore')",), {}),
        ((f"ALTER TABLE q SET ({LOG})", "ALTER TABLE q RESET ('error-handling.mode')"), {}),
        # Its own records are not what a table writes.
        ((f"ALTER TABLE dst SET ({LOG})",), {}),
        (
            (f"ALTER TABLE q SET ({LOG}, 'error-handling.log.target' = '`prod`.`orders`.`dlq`')",),
            {"dlq": ["q"]},
        ),
        ((f"ALTER TABLE q SET ({LOG}, 'error-handling.log.target' = 'not_there')",), {}),
    ],
)
def test_records_that_cannot_be_read_go_to_the_error_log(
    world: FakeConfluent, parser: FlinkSqlParser, texts: tuple[str, ...], logs: dict[str, list[str]]
) -> None:
    discovery = found(world, parser, *texts, "INSERT INTO dst SELECT a FROM q")
    job = f"s{len(texts) + 1}"
    written = {
        name: sources
        for name in TOPICS
        if name != "dst" and (sources := upstream(discovery, name).get(job)) is not None
    }
    assert written == logs
    assert upstream(discovery, "dst") == {job: ["q"]}
    assert open_points(discovery, job) == ([], [])
    roles = {
        edge.attributes.get("role")
        for (_, dst, _), edge in discovery.graph.edges.items()
        if dst in {ids.topic_id("env-1", "lkc-a", name) for name in logs}
    }
    assert roles == ({"dlq"} if logs else set())


OLD = ("CREATE TABLE dst AS SELECT * FROM q", "STOPPED")
NEW = "CREATE TABLE dst AS SELECT * FROM other"
KEPT = "CREATE TABLE IF NOT EXISTS dst AS SELECT * FROM other"


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ((OLD, "DROP TABLE dst", NEW), {"s3": ["other"]}),
        ((OLD, "DROP TABLE IF EXISTS `prod`.`lkc-a`.`dst`", NEW), {"s3": ["other"]}),
        ((OLD, NEW.replace("CREATE", "CREATE OR REPLACE")), {"s2": ["other"]}),
        # A plain CREATE TABLE succeeds only where there is no such table any longer.
        ((OLD, NEW), {"s2": ["other"]}),
        ((OLD, "CREATE TABLE dst (a INT)", "INSERT INTO dst SELECT * FROM other"), {"s3": ["other"]}),
        (
            (
                ("INSERT INTO dst SELECT * FROM q", "COMPLETED"),
                "DROP TABLE dst",
                "INSERT INTO dst SELECT * FROM other",
            ),
            {"s3": ["other"]},
        ),
        # What is left as it is.
        (
            (OLD, "CREATE TABLE IF NOT EXISTS dst (a INT)", "INSERT INTO dst SELECT * FROM other"),
            {"s1": ["q"], "s3": ["other"]},
        ),
        ((OLD, (KEPT, "COMPLETED")), {"s1": ["q"]}),
        # It has created the table: a statement without a record has dropped it before.
        ((OLD, (KEPT, "RUNNING")), {"s1": ["q"], "s2": ["other"]}),
        ((OLD, (KEPT, "STOPPED")), {"s1": ["q"], "s2": ["other"]}),
        ((OLD, "DROP TABLE dst", (KEPT, "COMPLETED")), {"s3": ["other"]}),
        (
            (OLD, ("DROP TABLE dst", "FAILED"), "INSERT INTO dst SELECT * FROM other"),
            {"s1": ["q"], "s3": ["other"]},
        ),
        (
            (OLD, ("DROP TABLE dst", "PENDING"), "INSERT INTO dst SELECT * FROM other"),
            {"s1": ["q"], "s3": ["other"]},
        ),
        ((OLD, (NEW, "FAILED")), {"s1": ["q"]}),
        ((OLD, "DROP TABLE other", "INSERT INTO dst SELECT * FROM other"), {"s1": ["q"], "s3": ["other"]}),
        ((OLD, "DROP VIEW dst", "INSERT INTO dst SELECT * FROM other"), {"s1": ["q"], "s3": ["other"]}),
        # A statement that still runs writes the table as it is now.
        (
            (
                ("INSERT INTO dst SELECT * FROM q", "RUNNING"),
                "CREATE OR REPLACE TABLE dst AS SELECT * FROM other",
            ),
            {"s1": ["q"], "s2": ["other"]},
        ),
        # Dropped again before it was written.
        (
            (OLD, ("CREATE TABLE dst AS SELECT * FROM dlq", "STOPPED"), "DROP TABLE dst", NEW),
            {"s4": ["other"]},
        ),
    ],
)
def test_what_a_table_had_before_it_began_anew_is_gone(
    world: FakeConfluent, parser: FlinkSqlParser, texts: tuple[Any, ...], expected: dict[str, list[str]]
) -> None:
    discovery = found(world, parser, *texts)
    assert upstream(discovery, "dst") == expected


def test_an_ended_statement_keeps_what_it_wrote_elsewhere(
    world: FakeConfluent, parser: FlinkSqlParser
) -> None:
    both = "EXECUTE STATEMENT SET BEGIN INSERT INTO dst SELECT * FROM q; INSERT INTO dlq SELECT * FROM q; END"
    discovery = found(world, parser, (both, "STOPPED"), "DROP TABLE dst", NEW)
    assert upstream(discovery, "dst") == {"s3": ["other"]}
    assert upstream(discovery, "dlq") == {"s1": ["q"]}
    alone = found(world, parser, OLD, "DROP TABLE dst", NEW)
    assert ids.flink_job_id("env-1", "aws", "us-east-1", "s1") not in alone.graph


def test_times_are_compared_whatever_their_zone(world: FakeConfluent, parser: FlinkSqlParser) -> None:
    drop = statement("drop", "DROP TABLE dst", "COMPLETED", created_at="2026-02-02T00:30:00+02:00")
    old = statement("old", *OLD, created_at="2026-02-01T23:00:00Z")
    found(world, parser, NEW)
    world.routes[flink_path("us-east-1")] = listing(drop, old)
    discovery = discover(settings(), transport=world.transport, parser=parser)
    assert list(upstream(discovery, "dst")) == ["old"]
