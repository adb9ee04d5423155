"""Kafka Connect Query Language."""

from __future__ import annotations

import pytest

from lineage_bridge_dagster.confluent.connectors.families.kcql import KcqlStatement, for_topic, statements


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("INSERT INTO orders SELECT * FROM topic-a", [KcqlStatement("topic-a", "orders")]),
        (
            "insert into a select x, y as z from t1; UPSERT INTO b SELECT * FROM t2 PK id;",
            [KcqlStatement("t1", "a"), KcqlStatement("t2", "b")],
        ),
        ("INSERT INTO `my;table` SELECT * FROM `/sensors/+`", [KcqlStatement("/sensors/+", "my;table")]),
        ("INSERT INTO bucket:`a b` SELECT * FROM t", [KcqlStatement("t", "bucket:a b")]),
        (
            "INSERT INTO a SELECT * FROM t STOREAS `JSON` PROPERTIES('k.one'=10, 'k.two'='x,y')",
            [KcqlStatement("t", "a", {"k.one": "10", "k.two": "x,y"})],
        ),
        ("SELECT * FROM t PK id", [KcqlStatement("t")]),
        ("INSERT INTO a SELECT `from` FROM\n t WITHTYPE into", [KcqlStatement("t", "a")]),
        ("", []),
        ("INSERT INTO a", []),
        ("SELECT * FROM", []),
    ],
)
def test_statements_name_source_and_target(text: str, expected: list[KcqlStatement]) -> None:
    found = [KcqlStatement(item.source, item.target, item.properties) for item in statements(text)]

    assert found == expected


def test_clauses_name_the_fields_that_a_sink_writes() -> None:
    [found] = statements(
        "INSERT INTO m SELECT a, _key.b.c AS `d e`, * FROM t IGNORE x, y.z PK a, b "
        "STOREAS SortedSet(score=ts) WITHTAG (host, dc=eu, a.b AS c) WITHTIMESTAMP ts BATCH = 10"
    )

    assert found.fields == ("a", "_key.b.c AS `d e`", "*")
    assert found.ignored == ("x", "y.z")
    assert found.keys == ("a", "b")
    assert (found.store, found.store_settings) == ("SortedSet", {"score": "ts"})
    assert found.tags == ("host", "dc=eu", "a.b AS c")
    assert found.timestamp == "ts"


def test_a_statement_for_a_topic_goes_before_one_for_all() -> None:
    text = "INSERT INTO rest SELECT * FROM *; INSERT INTO orders SELECT * FROM t1"

    assert [item.target for item in for_topic(text, "t1")] == ["orders"]
    assert [item.target for item in for_topic(text, "t2")] == ["rest"]


def test_a_target_that_is_not_named_is_the_topic() -> None:
    assert [item.target for item in for_topic("INSERT INTO * SELECT * FROM *", "t1")] == ["t1"]
    assert [item.target for item in for_topic("SELECT * FROM t1 PK id", "t1")] == ["t1"]


@pytest.mark.parametrize(
    "text", ["`" * 100_000, "INSERT INTO a SELECT '" * 5_000, "from " * 20_000, "';" * 50_000]
)
def test_malformed_text_is_parsed_in_linear_time(text: str) -> None:
    assert isinstance(statements(text), list)
