"""Streams, tables and topics in ksqlDB's SQL."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage_bridge_dagster.sql.ksql.derivation import derive_columns
from lineage_bridge_dagster.sql.ksql.parser import TopicFlow, parse, parse_text, topic_flows
from lineage_bridge_dagster.sql.statement import Position


@pytest.mark.parametrize(
    ("sql", "reads", "writes", "kind"),
    [
        ("SELECT * FROM orders EMIT CHANGES;", ["ORDERS"], [], "SELECT"),
        ("select a from Orders o where a > 1", ["ORDERS"], [], "SELECT"),
        ("CREATE STREAM big AS SELECT * FROM orders WHERE qty > 9;", ["ORDERS"], ["BIG"], "CREATE STREAM AS"),
        (
            "CREATE OR REPLACE TABLE IF NOT EXISTS `by.Day` WITH (KAFKA_TOPIC='by-day', PARTITIONS=3) AS "
            "SELECT k, COUNT(*) AS n FROM `Orders-v1` WINDOW TUMBLING (SIZE 1 DAY, GRACE PERIOD 1 HOUR) "
            "GROUP BY k HAVING COUNT(*) > 1 EMIT FINAL",
            ["Orders-v1"],
            ["by.Day"],
            "CREATE TABLE AS",
        ),
        (
            "INSERT INTO audit SELECT 'FROM x' AS f FROM \"Quoted Name\" q EMIT CHANGES",
            ["Quoted Name"],
            ["AUDIT"],
            "INSERT",
        ),
        ("INSERT INTO audit WITH (QUERY_ID='q') SELECT * FROM a PARTITION BY k", ["A"], ["AUDIT"], "INSERT"),
        ("INSERT INTO t (a, b) VALUES (1 + 2, UCASE('x'))", [], ["T"], "INSERT VALUES"),
        ("INSERT INTO t VALUES (1 < 2, STRUCT(a := 1))", [], ["T"], "INSERT VALUES"),
        (
            "CREATE STREAM s AS SELECT o.id, c.name FROM orders AS o "
            "LEFT OUTER JOIN customers c ON o.cid = c.id "
            "INNER JOIN payments WITHIN (1 HOUR, 2 HOURS) GRACE PERIOD 5 MINUTES ON payments.oid = o.id "
            "FULL JOIN shipments sh WITHIN 7 DAYS ON sh.oid = o.id RIGHT JOIN z ON z.k = o.id "
            "JOIN y ON y.k = o.id WHERE c.name LIKE '%x' EMIT CHANGES",
            ["ORDERS", "CUSTOMERS", "PAYMENTS", "SHIPMENTS", "Z", "Y"],
            ["S"],
            "CREATE STREAM AS",
        ),
        ("CREATE STREAM s AS SELECT a IS DISTINCT FROM b AS d FROM t", ["T"], ["S"], "CREATE STREAM AS"),
        (
            "SELECT a IS NOT DISTINCT FROM b FROM t JOIN u ON t.a IS DISTINCT FROM u.a",
            ["T", "U"],
            [],
            "SELECT",
        ),
        ("SELECT * FROM t WHERE a IS DISTINCT FROM b AND c = 'FROM d'", ["T"], [], "SELECT"),
        ("SELECT EXTRACT(DAY FROM ts), TRIM(x FROM y) FROM t", ["T"], [], "SELECT"),
        (
            "SELECT CASE WHEN a THEN 'JOIN' ELSE b END, ARRAY[1, 2][1], m->f, (x) => x FROM t",
            ["T"],
            [],
            "SELECT",
        ),
        ("SELECT a -- FROM old\n, b /* FROM older; */ FROM t -- JOIN u", ["T"], [], "SELECT"),
        ("SELECT 'it''s; FROM x', `from` FROM t", ["T"], [], "SELECT"),
        ("SELECT * FROM t t JOIN t u ON t.a = u.a", ["T"], [], "SELECT"),
        ("SELECT * FROM within_7 ON_", ["WITHIN_7"], [], "SELECT"),
        ("INSERT INTO t SELECT * FROM t", ["T"], ["T"], "INSERT"),
        ("SELECT * FROM 2020_orders", ["2020_ORDERS"], [], "SELECT"),
        ("SELECT 1.5E3, .5, -1 FROM t LIMIT 3", ["T"], [], "SELECT"),
        ("SELECT * FROM emit EMIT CHANGES", ["EMIT"], [], "SELECT"),
        ("CREATE STREAM s (a INT KEY, b STRING) WITH (KAFKA_TOPIC='t')", [], [], "CREATE STREAM"),
        ("CREATE SOURCE TABLE s (a INT PRIMARY KEY) WITH (KAFKA_TOPIC='t')", [], [], "CREATE SOURCE TABLE"),
        ("CREATE TYPE address AS STRUCT<city STRING>", [], [], "CREATE TYPE"),
        (
            "CREATE SINK CONNECTOR c WITH ('connector.class'='X', 'from'='SELECT * FROM t')",
            [],
            [],
            "CREATE CONNECTOR",
        ),
        ("DROP STREAM IF EXISTS s DELETE TOPIC", [], [], "DROP STREAM"),
        ("SHOW QUERIES EXTENDED", [], [], "SHOW QUERIES"),
        ("TERMINATE CSAS_S_1", [], [], "TERMINATE"),
        ("EXPLAIN SELECT * FROM t", [], [], "EXPLAIN"),
        ("PRINT 'orders' FROM BEGINNING", [], [], "PRINT"),
        ("SET 'auto.offset.reset' = 'earliest'", [], [], "SET"),
        ("ALTER STREAM s ADD COLUMN c INT", [], [], "ALTER STREAM"),
    ],
)
def test_streams_and_tables_of_a_statement(sql: str, reads: list[str], writes: list[str], kind: str) -> None:
    (lineage,) = parse([sql])
    assert lineage.error is None
    assert [path for (path,) in lineage.reads] == reads
    assert [path for (path,) in lineage.writes] == writes
    assert lineage.kind == kind


@pytest.mark.parametrize(
    ("sql", "error", "where"),
    [
        ("", "no statement", (1, 1)),
        ("-- nothing", "no statement", (1, 1)),
        ("SELECT 1", "ends where FROM was expected", (1, 8)),
        ("SELECT * FROM WHERE a = 1", "'WHERE' where a name was expected", (1, 15)),
        ("SELECT * FROM a UNION SELECT * FROM b", "'SELECT' where", (1, 23)),
        ("SELECT * FROM (SELECT * FROM a)", "'(' where a name was expected", (1, 15)),
        ("SELECT * FROM a, b", "',' where JOIN", (1, 16)),
        ("WITH a AS (SELECT 1) SELECT * FROM a", "'WITH' where a statement", (1, 1)),
        ("SELECT * FROM a\nJOIN b WHERE x", "'WHERE' where ON was expected", (2, 8)),
        ("SELECT F(a FROM t", "closing parenthesis", (1, 17)),
        ("SELECT a) FROM t", "')' where an expression", (1, 9)),
        ("SELECT 'hunter2 FROM t", "where an expression", (1, 8)),
        ("CREATE STREAM s WITH (KAFKA_TOPIC 'hunter2')", "where = was expected", (1, 35)),
        ("CREATE STREAM s EXTRA", "'EXTRA' where the end", (1, 17)),
        ("CREATE VIEW v AS SELECT * FROM t", "'VIEW' where TABLE", (1, 8)),
        ("INSERT t SELECT * FROM a", "'T' where INTO", (1, 8)),
    ],
)
def test_invalid_text_is_an_error_with_its_position(sql: str, error: str, where: tuple[int, int]) -> None:
    (lineage,) = parse([sql])
    assert lineage.error is not None
    assert error in lineage.error
    assert "hunter2" not in lineage.error
    assert lineage.position == Position(*where)
    assert (lineage.reads, lineage.writes) == ((), ())


def test_rejected_statement_leaves_the_others_of_its_text() -> None:
    (lineage,) = parse(["CREATE STREAM a AS SELECT * FROM x; SELEC; INSERT INTO b SELECT * FROM y;"])
    assert lineage.error is not None
    assert (lineage.reads, lineage.writes) == ((("X",), ("Y",)), (("A",), ("B",)))


def test_variables_that_multiply_are_the_error_of_their_statement() -> None:
    bomb = ["DEFINE a0 = 'xxxxxxxxxx'", *(f"DEFINE a{n} = '{f'${{a{n - 1}}}' * 10}'" for n in range(1, 15))]
    rest = ["CREATE STREAM s AS SELECT '${a14}' AS x, a FROM t", "INSERT INTO u SELECT b FROM v"]
    text = parse_text("; ".join([*bomb, *rest]))
    assert text.lineage.error is not None
    assert "its variables expand to over 100,000 characters" in text.lineage.error
    assert (text.lineage.reads, text.lineage.writes) == ((("T",), ("V",)), (("S",), ("U",)))
    columns = {column.column: column for column in derive_columns(text).written}
    assert (columns["A"].complete, columns["B"].open) == (False, columns["A"].open)


def test_statement_has_the_variables_of_its_moment() -> None:
    text = parse_text(
        "DEFINE t = 'one'; INSERT INTO a SELECT * FROM ${t};"
        "DEFINE t = 'two'; INSERT INTO a SELECT * FROM ${t};"
        "INSERT INTO b SELECT ${c} AS x FROM two; DEFINE c = 'late';"
    )
    assert text.lineage.reads == (("ONE",), ("TWO",))
    assert [form.query.variables.get("${C}") for form in text.forms if form and form.query] == [None] * 3


DEEP = 20_000


def selected(expression: str) -> str:
    return f"CREATE STREAM s AS SELECT {expression} FROM t;"  # noqa: S608


@pytest.mark.parametrize(
    ("sql", "has_error"),
    [
        pytest.param(selected("- " * DEEP + "1"), False, id="signs"),
        pytest.param("DEFINE a = " + "- " * DEEP, True, id="signs of a variable"),
        pytest.param(selected("(" * DEEP + "a" + ")" * DEEP), False, id="parentheses"),
        pytest.param(selected("F(" * DEEP + "a" + ")" * DEEP), False, id="calls"),
        pytest.param(selected("a" + "+b" * DEEP), False, id="operators"),
        pytest.param(selected("a" + "->b" * DEEP), False, id="fields"),
        pytest.param(selected("1" * DEEP), False, id="digits"),
        pytest.param(selected(",".join(f"c{n}" for n in range(6_000))), False, id="columns"),
        pytest.param(f"CREATE STREAM s (a {'ARRAY<' * DEEP}INT{'>' * DEEP});", False, id="types"),
        pytest.param(
            selected("*").replace(";", " JOIN u WITHIN 1 HOUR ON t.a = u.a" * 300), False, id="joins"
        ),
        pytest.param("x;\n" * DEEP, True, id="rejected"),
        pytest.param("SELECT '" + "''" * DEEP, True, id="quotes"),
        pytest.param("/*" * DEEP, True, id="comments"),
    ],
)
def test_long_and_deep_texts_end(sql: str, has_error: bool) -> None:
    text = parse_text(sql)
    assert (text.lineage.error is not None) == has_error
    derive_columns(text)


def test_declaration_has_topic_keys_and_values() -> None:
    text = parse_text(
        "CREATE TABLE `Users` (id INT PRIMARY KEY, `Name` STRING, a STRUCT<city STRING, m MAP<STRING, INT>>, "
        "d DECIMAL(4, 2), h BYTES HEADER('x')) WITH (kafka_topic = 'users.v1', 'VALUE_FORMAT'='AVRO');"
    )
    (declaration,) = text.declarations
    assert (declaration.name, declaration.relation, declaration.topic) == ("Users", "TABLE", "users.v1")
    assert (declaration.key, declaration.value) == (("ID",), ("Name", "A", "D"))
    assert not declaration.source


def test_topics_are_resolved_through_the_declarations_of_all_texts() -> None:
    texts = [
        "INSERT INTO audit SELECT * FROM orders",
        "CREATE STREAM orders (id INT KEY) WITH (KAFKA_TOPIC='orders.v1', VALUE_FORMAT='AVRO')",
        "CREATE STREAM audit (id INT KEY) WITH (KAFKA_TOPIC='Audit')",
        "CREATE STREAM big AS SELECT * FROM orders JOIN gone ON orders.id = gone.id",
        "CREATE TABLE n WITH (KAFKA_TOPIC='counts') AS SELECT id, COUNT(*) FROM big GROUP BY id",
        "CREATE SOURCE TABLE s (id INT PRIMARY KEY) WITH (KAFKA_TOPIC='counts')",
        "CREATE SOURCE STREAM t WITH (KAFKA_TOPIC='other')",
        "DROP STREAM orders; CREATE STREAM orders WITH (KAFKA_TOPIC='orders.v2');"
        "INSERT INTO big SELECT * FROM orders",
    ]
    assert topic_flows(map(parse_text, texts)) == [
        TopicFlow(("orders.v1",), ("Audit",)),
        TopicFlow(),
        TopicFlow(),
        TopicFlow(("orders.v1",), ("BIG",), ("GONE",)),
        TopicFlow(("BIG",), ("counts",)),
        TopicFlow(("counts",)),
        TopicFlow(),
        TopicFlow(("orders.v2",), ("BIG",)),
    ]


def test_variables_are_substituted() -> None:
    text = parse_text(
        "DEFINE src = 'orders'; DEFINE dst = '`Big One`'; DEFINE env = 'prod';"
        "CREATE STREAM ${dst} WITH (KAFKA_TOPIC='${env}.big') AS SELECT * FROM ${SRC} JOIN ${unset} ON 1 = 1;"
    )
    assert text.lineage.error is None
    assert text.lineage.reads == (("ORDERS",), ("${unset}",))
    assert text.lineage.writes == (("Big One",),)
    assert text.declarations[0].topic == "prod.big"


WORDS = st.sampled_from(
    [
        *("SELECT", "FROM", "CREATE", "STREAM", "TABLE", "INSERT", "INTO", "AS", "JOIN", "ON", "WITHIN"),
        *(
            "WITH",
            "(",
            ")",
            "[",
            "<",
            ">",
            ",",
            ";",
            ".",
            "*",
            "=",
            "a",
            "`b`",
            '"c"',
            "'d'",
            "${e}",
            "1",
            "-",
        ),
        *(
            "/*",
            "*/",
            "--",
            "\n",
            "'",
            "`",
            '"',
            "\0",
            "\ud800",
            "😀",
            "DISTINCT",
            "DEFINE",
            "VALUES",
            "SOURCE",
        ),
    ]
)


@given(st.lists(WORDS, max_size=40).map(" ".join) | st.text())
def test_any_text_has_a_result(sql: str) -> None:
    text = parse_text(sql)
    assert text.lineage.kind
    topic_flows([text])


@pytest.mark.parametrize("unit", ["/*", "'", "''", "`", '"', "(", "a ", "${", "--", "1e"])
def test_parse_time_is_linear_in_the_length(unit: str) -> None:
    # A quadratic parser would run into the suite's timeout.
    assert parse([unit * 200_000])[0].kind
