"""The records that sources make of their datasets, before transforms, as the documentation tells."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from lineage_bridge_dagster.confluent.connectors.columns.records import RecordNode
from lineage_bridge_dagster.confluent.connectors.columns.sources import SourceTopic, source_record
from lineage_bridge_dagster.confluent.connectors.columns.sources.relational import query_row
from lineage_bridge_dagster.confluent.connectors.config import Config

TABLE = "postgres://pg:5432/shop.public.orders"
OTHER = "postgres://pg:5432/shop.public.customers"
MONGODB = "com.mongodb.kafka.connect.MongoSourceConnector"
COLUMNS = {TABLE: ["id", "total", "customer_id"], OTHER: ["id", "name"]}


def topic(
    family: str, config: Mapping[str, str], *datasets: str, name: str = "t", **tables: Any
) -> SourceTopic:
    return SourceTopic(Config(config), family, name, datasets or (TABLE,), tables or COLUMNS)


def at(node: RecordNode | None, path: str) -> str:
    """What a field is made of: names of columns, `-` for nothing, `?` if it is not known or not there."""
    found = node.at(*path.split(".")) if node is not None and path else node
    if found is None:
        return "?"
    whole = found.whole()
    return "?" if whole.unknown else " ".join(sorted(short(each) for each in whole.sources)) or "-"


def short(source: str) -> str:
    return source.removeprefix(f"{TABLE}.").removeprefix(f"{OTHER.rpartition('.')[0]}.")


@pytest.mark.parametrize(
    ("family", "config", "fields"),
    [
        (
            "debezium-postgres",
            {},
            {
                "before.id": "id",
                "after.total": "total",
                "source.lsn": "-",
                "op": "-",
                "transaction.id": "-",
                "after.gone": "?",
            },
        ),
        (
            "debezium-postgres",
            {"column.exclude.list": "public.orders.total"},
            {"after.total": "?", "after.id": "id"},
        ),
        (
            "debezium-postgres",
            {"column.include.list": r"public\.orders\.(id|total)"},
            {"after.total": "total", "after.customer_id": "?"},
        ),
        (
            "debezium-mongodb",
            {"field.renames": "shop.orders.total:sum", "field.exclude.list": "shop.orders.customer_id"},
            {"after.sum": "total", "after.total": "?", "after.customer_id": "?", "after.id": "id"},
        ),
        ("debezium-postgres", {"after.state.only": "true"}, {"id": "id", "__deleted": "-", "after.id": "?"}),
        ("debezium-mysql", {"connector.class": "MySqlCdcSource"}, {"id": "id", "after.id": "?"}),
        ("debezium-cassandra", {}, {"after.id.value": "id", "after.id.set": "-"}),
        ("jdbc", {}, {"id": "id", "total": "total", "other": "?"}),
        (
            "oracle-cdc",
            {"output.scn.field": "change", "output.before.state.field": "old"},
            {"id": "id", "change": "-", "op_type": "-", "old.id": "id"},
        ),
        (
            "mongodb",
            {},
            {"fullDocument.id": "id", "documentKey._id": "_id", "ns.coll": "-", "operationType": "-"},
        ),
        ("mongodb", {"publish.full.document.only": "true"}, {"id": "id", "fullDocument": "?"}),
        (
            "mongodb",
            {
                "publish.full.document.only": "true",
                "pipeline": json.dumps(
                    [
                        {"$match": {"operationType": "insert"}},
                        {"$unset": "fullDocument.total"},
                        {"$set": {"fullDocument.both": {"$concat": ["$fullDocument.id", "-"]}}},
                    ]
                ),
            },
            {"id": "id", "total": "?", "both": "id"},
        ),
        (
            "mongodb",
            {"pipeline": '[{"$project": {"fullDocument.id": 1, "copy": "$fullDocument.total"}}]'},
            {"fullDocument.id": "id", "fullDocument.total": "?", "copy": "total", "operationType": "?"},
        ),
        ("mongodb", {"pipeline": '[{"$lookup": {}}]'}, {"fullDocument.id": "?"}),
        ("mongodb", {"pipeline": "[" * 100_000}, {"fullDocument.id": "?"}),
        (
            "couchbase",
            {},
            {"key": "_key", "content": "customer_id id total", "cas": "-"},
        ),
        (
            "couchbase",
            {"couchbase.source.handler": "com.couchbase.connect.kafka.handler.source.RawJsonSourceHandler"},
            {"id": "id"},
        ),
        ("dynamodb", {}, {"after.document": "customer_id id total", "op": "-", "source.table": "-"}),
        ("salesforce-events", {}, {"id": "id", "ReplayId": "-", "ChangeEventHeader.entityName": "-"}),
        ("ibm-mq", {}, {"messageID": "-", "properties.any": "-", "text": "?"}),
        ("kinesis", {}, {"any": "?"}),
        ("datagen", {}, {"any.field": "-"}),
        ("github", {}, {"id": "id"}),
    ],
)
def test_fields_of_a_value(family: str, config: dict[str, str], fields: dict[str, str]) -> None:
    value = source_record(topic(family, config)).value
    assert {path: at(value, path) for path in fields} == fields


@pytest.mark.parametrize(
    ("family", "config", "fields"),
    [
        ("jdbc", {}, {"id": "?"}),
        ("debezium-postgres", {}, {"id": "id"}),
        (
            "debezium-postgres",
            {"message.key.columns": "public.orders:id,customer_id;public.other:x"},
            {"id": "id", "customer_id": "customer_id", "total": "?"},
        ),
        ("debezium-mongodb", {}, {"id": "_id"}),
        ("mongodb", {}, {"_id": "-"}),
        ("mongodb", {"connector.class": MONGODB}, {"_id": "_id"}),
        ("mongodb", {"connector.class": MONGODB, "output.format.key": "schema"}, {"_id": "-"}),
        (
            "mongodb",
            {"output.format.key": "schema", "output.schema.key": "{}"},
            {"documentKey._id": "_id", "fullDocument.total": "total", "ns.coll": "-"},
        ),
        ("couchbase", {}, {"": "_key"}),
        ("cosmosdb", {}, {"": "id"}),
    ],
)
def test_fields_of_a_key(family: str, config: dict[str, str], fields: dict[str, str]) -> None:
    key = source_record(topic(family, config)).key
    assert {path: at(key, path) for path in fields} == fields


def test_topic_of_several_tables_has_the_columns_of_all_of_them() -> None:
    value = source_record(topic("jdbc", {}, TABLE, OTHER)).value
    assert at(value, "id") == "customers.id id"
    assert at(value, "name") == "customers.name"


def test_fields_of_a_copied_topic_are_those_of_its_source() -> None:
    record = source_record(topic("replicator", {}, "kafka://k:9092/orders"))
    assert at(record.value, "a.b") == "kafka://k:9092/orders.value.a.b"
    assert at(record.key, "") == "kafka://k:9092/orders.key"


def test_log_of_all_tables_has_no_columns() -> None:
    config = {"redo.log.topic.name": "redo"}
    assert at(source_record(topic("oracle-cdc", config, name="redo")).value, "id") == "?"


@pytest.mark.parametrize(
    ("query", "fields"),
    [
        ("SELECT id, total * 2 AS double FROM orders WHERE customer_id > 3", {"id": "id", "double": "total"}),
        ("SELECT * FROM orders", {"id": "id", "total": "total"}),
        (
            "SELECT o.id, c.name AS customer FROM public.orders o JOIN public.customers c "
            "ON c.id = o.customer_id",
            {"id": "id", "customer": "customers.name"},
        ),
        (
            "SELECT o.total, name FROM orders o JOIN customers c ON c.id = o.customer_id",
            {"total": "total", "name": "customers.name"},
        ),
        (
            "WITH big AS (SELECT id, total FROM orders WHERE total > 9) SELECT id, total AS t FROM big",
            {"id": "id", "t": "total"},
        ),
        (
            "SELECT id, 'order' AS kind FROM orders UNION ALL SELECT id, name FROM customers",
            {"id": "customers.id id", "kind": "customers.name"},
        ),
        (
            "SELECT o.id, (SELECT max(c.name) FROM customers c WHERE c.id = o.customer_id) AS n "
            "FROM orders o",
            {"id": "id", "n": "customers.name"},
        ),
        ("SELECT CASE WHEN total > 1 THEN id ELSE 0 END AS x FROM orders", {"x": "id total"}),
        ("SELEC id", {"id": "?"}),
    ],
)
def test_columns_of_a_query(query: str, fields: dict[str, str]) -> None:
    row = query_row(topic("jdbc", {"query": query}, TABLE, OTHER), query)
    assert {path: at(row, path) for path in fields} == fields


def test_columns_of_each_branch_of_a_union_need_no_catalog() -> None:
    query = "SELECT id, email FROM users UNION ALL SELECT lead_id, mail FROM crm.leads"
    users, leads = "postgres://pg:5432/shop.public.users", "postgres://pg:5432/shop.crm.leads"
    row = query_row(topic("jdbc", {"query": query}, users, leads), query)
    assert row.fields
    assert row.fields["email"].sources == {f"{users}.email", f"{leads}.mail"}


def test_names_in_a_query_of_sql_server_keep_their_case() -> None:
    table = "mssql://sql:1433/erp.dbo.Line"
    query = (
        "SELECT * FROM (SELECT L.[Id], SUM(l.Amount) AS Total, lineNo FROM dbo.Line l (nolock) "
        "JOIN dbo.Other o ON o.Id = l.Id GROUP BY l.Id, lineNo) AS x"
    )
    row = query_row(topic("jdbc", {"query": query}, table, **{table: ["id", "Amount", "LineNo"]}), query)
    assert {name: at(row, name).removeprefix(table) for name in ("Id", "Total", "lineNo")} == {
        "Id": ".id",
        "Total": ".Amount",
        "lineNo": ".LineNo",
    }


def test_unqualified_columns_over_tables_of_unknown_columns_are_not_known() -> None:
    query = "SELECT id, o.total FROM orders o JOIN customers c ON c.id = o.customer_id"
    row = query_row(topic("jdbc", {"query": query}, TABLE, OTHER, none=()), query)
    assert (at(row, "id"), at(row, "total")) == ("?", "total")
