"""Documents, items, cells and graphs."""

from __future__ import annotations

import pytest

from .written import OPEN, PRIMITIVE, written

_MONGO = "com.mongodb.kafka.connect.MongoSinkConnector"
_IDS = "com.mongodb.kafka.connect.sink.processor.id.strategy."
_COSMOS = "com.azure.cosmos.kafka.connect.sink.CosmosDBSinkConnector"
_COUCHBASE = {"connector.class": "com.couchbase.connect.kafka.CouchbaseSinkConnector"}
_ELASTIC = "io.confluent.connect.elasticsearch.ElasticsearchSinkConnector"


@pytest.mark.parametrize(
    ("settings", "key", "value", "expected"),
    [
        ({}, "id", "a", {"_id": "", "a": "value.a"}),
        ({}, "id", "_id a", {"_id": "value._id", "a": "value.a"}),
        (
            {
                "document.id.strategy": _IDS + "UuidStrategy",
                "document.id.strategy.overwrite.existing": "true",
            },
            "",
            "_id a",
            {"_id": "", "a": "value.a"},
        ),
        (
            {"document.id.strategy": _IDS + "FullKeyStrategy"},
            "x y.z",
            "a",
            {"_id.x": "key.x", "_id.y.z": "key.y.z", "a": "value.a"},
        ),
        ({"document.id.strategy": _IDS + "FullKeyStrategy"}, PRIMITIVE, "a", {"_id": "key", "a": "value.a"}),
        ({"doc.id.strategy": "ProvidedInKeyStrategy"}, "_id x", "a", {"_id": "key._id", "a": "value.a"}),
        ({"doc.id.strategy": "ProvidedInKeyStrategy"}, "x", "a", {"_id": "?", "a": "value.a"}),
        (
            {
                "document.id.strategy": _IDS + "PartialValueStrategy",
                "document.id.strategy.partial.value.projection.type": "AllowList",
                "document.id.strategy.partial.value.projection.list": "a.b",
            },
            "",
            "a.b a.c d",
            {"_id.a.b": "value.a.b", "a.b": "value.a.b", "a.c": "value.a.c", "d": "value.d"},
        ),
        ({"document.id.strategy": "com.acme.Mine"}, "", "a", {"_id": "?", "a": "value.a"}),
        ({}, "", OPEN, {"_id": "", "*": "?"}),
        (
            {"writemodel.strategy": "x.UpdateOneTimestampsStrategy"},
            "",
            "a",
            {"_id": "", "a": "value.a", "_insertedTS": "", "_modifiedTS": ""},
        ),
        ({"post.processor.chain": "com.acme.Mine"}, "", "a", {"*": "?"}),
        (
            {"topic.override.t.document.id.strategy": _IDS + "ProvidedInValueStrategy"},
            "",
            "_id",
            {"_id": "value._id"},
        ),
    ],
)
def test_mongodb_sets_the_identifier_by_its_strategy(
    settings: dict[str, str], key: str, value: str, expected: dict[str, str]
) -> None:
    assert written({"connector.class": _MONGO, **settings}, key, value) == expected


@pytest.mark.parametrize(
    ("kind", "listed", "kept"),
    [
        ("BlockList", "a.b,d", "a.c e.f.g"),
        ("BlockList", "*", "a.b a.c e.f.g"),
        ("BlockList", "*.b", "a.c e.f.g"),
        ("BlockList", "**", ""),
        ("AllowList", "a.b,d", "a.b d"),
        ("AllowList", "a.*", "a.b a.c"),
        ("AllowList", "e.**", "e.f.g"),
        ("none", "a", "a.b a.c d e.f.g"),
    ],
)
def test_mongodb_projects_fields_by_their_paths(kind: str, listed: str, kept: str) -> None:
    config = {
        "connector.class": _MONGO,
        "post.processor.chain": f"x.{kind.replace('none', 'BlockList')}ValueProjector,x.DocumentIdAdder",
        "value.projection.type": kind,
        "value.projection.list": listed,
    }

    found = written(config, "", "a.b a.c d e.f.g")

    assert {path for path, sources in found.items() if sources} == {*kept.split()}


def test_mongodb_renames_by_the_paths_that_start_at_key_or_value() -> None:
    config = {
        "connector.class": _MONGO,
        "post.processor.chain": "x.RenameByMapping,x.RenameByRegExp",
        "field.renamer.mapping": '[{"oldName":"value.a","newName":"b"},{"oldName":"value.b.c","newName":"d"},'
        '{"oldName":"e","newName":"no"},{"oldName":"value.items.x","newName":"no"}]',
        "field.renamer.regexp": '[{"regexp":"value\\\\.f_g","pattern":"_","replace":"-"}]',
    }

    found = written(config, "", "a.c e f_g items[].x")

    assert found == {
        "_id": "",
        "b.d": "value.a.c",
        "e": "value.e",
        "f-g": "value.f_g",
        "items.x": "value.items.x",
    }


@pytest.mark.parametrize(
    ("handler", "key", "value", "expected"),
    [
        (
            "rdbms.postgres.PostgresHandler",
            "id",
            "after.id after.a op",
            {"_id.id": "key.id", "a": "value.after.a"},
        ),
        ("rdbms.mysql.MysqlHandler", "", "after.a", {"_id": "", "a": "value.after.a"}),
        (
            "mongodb.ChangeStreamHandler",
            "",
            "fullDocument._id fullDocument.a",
            {"_id": "value.fullDocument._id", "a": "value.fullDocument.a"},
        ),
        ("mongodb.MongoDbHandler", "id", "after", {"*": "?"}),
        ("com.acme.Mine", "id", "after.a", {"*": "?"}),
    ],
)
def test_mongodb_applies_a_handler_of_changes(
    handler: str, key: str, value: str, expected: dict[str, str]
) -> None:
    config = {"connector.class": _MONGO, "change.data.capture.handler": handler}

    assert written(config, key, value) == expected


def test_debezium_writes_rows_to_mongodb_as_its_handlers_do() -> None:
    config = {"connector.class": "io.debezium.connector.mongodb.MongoDbSinkConnector"}

    assert written(config, "id", "after.id after.a op") == {"_id.id": "key.id", "a": "value.after.a"}
    assert written(config, "id", "a") == {"*": "?"}


@pytest.mark.parametrize(
    ("config", "key", "value", "expected"),
    [
        ({"connector.class": _COSMOS}, PRIMITIVE, "id a", {"id": "key", "a": "value.a"}),
        ({"connector.class": "CosmosDbSinkV2"}, PRIMITIVE, "id a", {"id": "key", "a": "value.a"}),
        (
            {"connector.class": "CosmosDbSinkV2", "azure.cosmos.account.endpoint": "https://h"},
            PRIMITIVE,
            "id a",
            {"id": "value.id", "a": "value.a"},
        ),
        (
            {
                "connector.class": _COSMOS,
                "id.strategy": "x.ProvidedInValueStrategy",
                "id.strategy.jsonPath": "$.a['b']",
            },
            "",
            "a.b",
            {"id": "value.a.b", "a.b": "value.a.b"},
        ),
        (
            {
                "connector.class": _COSMOS,
                "id.strategy": "x.TemplateStrategy",
                "id.strategy.template": "${topic}-${key}",
            },
            "k l",
            "a",
            {"id": "key.k key.l", "a": "value.a"},
        ),
        (
            {"connector.class": _COSMOS, "id.strategy": "x.KafkaMetadataStrategy"},
            "k",
            "a",
            {"id": "", "a": "value.a"},
        ),
        (
            {
                **_COUCHBASE,
                "couchbase.document.id": "o::${/a}-${/b/c}",
                "couchbase.remove.document.id": "true",
            },
            PRIMITIVE,
            "a b.c d",
            {"_key": "value.a value.b.c", "d": "value.d"},
        ),
        ({**_COUCHBASE, "couchbase.document.id": "${/no}"}, PRIMITIVE, "a", {"_key": "key", "a": "value.a"}),
        (
            {
                **_COUCHBASE,
                "couchbase.sink.handler": "x.SubDocumentSinkHandler",
                "couchbase.subdocument.path": "lines",
            },
            PRIMITIVE,
            "a",
            {"_key": "key", "lines.a": "value.a"},
        ),
        (
            {**_COUCHBASE, "couchbase.document.mode": "SUBDOCUMENT", "couchbase.subdocument.path": "/p"},
            PRIMITIVE,
            "a",
            {"_key": "key", "*": "?"},
        ),
        ({"connector.class": "DynamoDbSink"}, "", "a", {"partition": "", "offset": "", "a": "value.a"}),
        (
            {
                "connector.class": "DynamoDbSink",
                "aws.dynamodb.pk.hash": "key.id:pk",
                "aws.dynamodb.pk.sort": "",
            },
            "id",
            "a.b",
            {"pk": "key.id", "a.b": "value.a.b"},
        ),
        (
            {
                "connector.class": "DynamoDbSink",
                "aws.dynamodb.pk.hash": "value.a.b",
                "aws.dynamodb.pk.sort": "",
            },
            "",
            "a.b",
            {"b": "value.a.b", "a.b": "value.a.b"},
        ),
        ({"connector.class": _ELASTIC}, PRIMITIVE, "a.b", {"_id": "key", "a.b": "value.a.b"}),
        ({"connector.class": _ELASTIC, "topic.key.ignore": "t"}, PRIMITIVE, "a", {"_id": "", "a": "value.a"}),
        (
            {
                "connector.class": _ELASTIC,
                "key.ignore": "true",
                "data.stream.type": "logs",
                "data.stream.dataset": "d",
                "data.stream.timestamp.field": "no,at",
            },
            "",
            "at a",
            {"_id": "", "at": "value.at", "a": "value.a", "@timestamp": "value.at"},
        ),
        ({"connector.class": "OpenSearchSink"}, "", "a", {"a": "value.a"}),
        (
            {
                "connector.class": "io.aiven.kafka.connect.opensearch.OpenSearchSinkConnector",
                "key.ignore": "true",
                "key.ignore.id.strategy": "record.key",
                "data.stream.enabled": "true",
            },
            PRIMITIVE,
            "@timestamp",
            {"_id": "key", "@timestamp": "value.@timestamp"},
        ),
        (
            {"connector.class": "io.confluent.connect.cassandra.CassandraSinkConnector"},
            "id",
            "id a",
            {"id": "value.id", "a": "value.a"},
        ),
        (
            {"connector.class": "BigTableSink", "row.key.definition": "a,b"},
            "a b c",
            "f.q g.h.i plain",
            {"_key": "key.a key.b", "f.q": "value.f.q", "g.h": "value.g.h.i", "plain": "?"},
        ),
        (
            {"connector.class": "com.google.cloud.kafka.connect.bigtable.BigtableSinkConnector"},
            "a b",
            "f.q plain",
            {"_key": "key.a key.b", "f.q": "value.f.q", "t.plain": "value.plain"},
        ),
    ],
)
def test_stores_of_documents_and_cells(
    config: dict[str, str], key: str, value: str, expected: dict[str, str]
) -> None:
    assert written(config, key, value) == expected


@pytest.mark.parametrize(
    ("settings", "key", "value", "expected"),
    [
        (
            {"neo4j.pattern.topic.t": "(:User{!id, full: name, a.b})"},
            "",
            "id name a.b rest",
            {"User.id": "value.id", "User.full": "value.name", "User.a.b": "value.a.b"},
        ),
        (
            {"neo4j.pattern.topic.t": "User{!id, *, -secret}"},
            "id",
            "name secret.x rows[].x",
            {"User.id": "key.id", "User.name": "value.name", "User.rows": "value.rows.x"},
        ),
        (
            {"neo4j.pattern.topic.t": "(:User{!uid})-[:BOUGHT{!day, price}]->(:Product{!sku, title})"},
            "",
            "uid day price sku title rest",
            {
                "User.uid": "value.uid",
                "BOUGHT.day": "value.day",
                "BOUGHT.price": "value.price",
                "Product.sku": "value.sku",
                "Product.title": "value.title",
            },
        ),
        (
            {"neo4j.pattern.topic.t": "(:User{!id: __key.id, *})"},
            "id",
            OPEN,
            {"User.id": "key.id", "User.*": "?"},
        ),
        (
            {
                "neo4j.cypher.topic.t": "MERGE (p:Person {id: __key.id}) ON CREATE SET p.at = timestamp() "
                "SET p.name = event.first + ' ' + event.last MERGE (c:City {name: __value.city}) "
                "MERGE (p)-[r:LIVES_IN {since: event.since}]->(c)"
            },
            "id",
            "first last city since",
            {
                "Person.id": "key.id",
                "Person.at": "",
                "Person.name": "value.first value.last",
                "City.name": "value.city",
                "LIVES_IN.since": "value.since",
            },
        ),
        (
            {"neo4j.cypher.topic.t": "MERGE (p:P {id: event.id}) SET p += event.props"},
            "",
            "id props.a",
            {"P.id": "value.id", "P.a": "value.props.a"},
        ),
        (
            {"neo4j.cypher.topic.t": "MERGE (p:P {id: event.id}) SET p += event"},
            "",
            OPEN,
            {"P.id": "?", "P.*": "?"},
        ),
        (
            {"neo4j.cypher.topic.t": "UNWIND event.rows AS row CREATE (:R {x: row.x})"},
            "",
            "rows[].x",
            {"R.x": "value.rows.x"},
        ),
        ({"neo4j.cypher.topic.t": "RETURN 1"}, "", "op", {"*": "?"}),
        ({"neo4j.cypher.topic.t": "?"}, "", "op", {"*": "?"}),
        ({"neo4j.cud.topics": "t"}, "", "op", {"*": "?"}),
        ({}, "", "op", {"*": "?"}),
    ],
)
def test_neo4j_sets_properties_by_the_strategy_of_the_topic(
    settings: dict[str, str], key: str, value: str, expected: dict[str, str]
) -> None:
    assert (
        written({"connector.class": "org.neo4j.connectors.kafka.sink.Neo4jConnector", **settings}, key, value)
        == expected
    )
