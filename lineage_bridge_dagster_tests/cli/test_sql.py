"""`lineage-bridge sql`, as a readable report and as JSON lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from lineage_bridge_dagster.cli.sql import sql
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster_tests.conftest import shared

pytestmark = pytest.mark.xdist_group("flink")


def run(*args: str, stdin: str | bytes = "") -> Result:
    return CliRunner().invoke(sql, args, input=stdin, catch_exceptions=False)


def records(result: Result) -> list[dict[str, Any]]:
    assert result.exit_code == 0
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_report_of_a_file_names_tables_and_columns(tmp_path: Path) -> None:
    file = tmp_path / "job.sql"
    file.write_text(
        "CREATE VIEW v AS SELECT id, price * qty AS total FROM `orders.v1`;\n"
        "INSERT INTO sums (id, total) SELECT id, SUM(total) FROM v GROUP BY id;\n"
    )
    result = run("--columns", "--catalog", "prod", "--database", "main", str(file))
    assert result.exit_code == 0
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert lines == [
        "1. CREATE VIEW",
        "reads prod.main.`orders.v1`",
        "creates view prod.main.v",
        "columns of prod.main.v",
        "id <- prod.main.`orders.v1`.id identity",
        "total <- prod.main.`orders.v1`.price expression, prod.main.`orders.v1`.qty expression",
        "2. INSERT",
        "reads prod.main.v",
        "writes prod.main.sums",
        "columns of prod.main.sums",
        "id <- prod.main.`orders.v1`.id identity",
        "total <- prod.main.`orders.v1`.price aggregate, prod.main.`orders.v1`.qty aggregate",
        "total",
        "reads prod.main.`orders.v1`",
        "writes prod.main.sums",
        "via prod.main.v",
    ]


def test_report_from_stdin_keeps_names_as_written() -> None:
    result = run(stdin="INSERT INTO c.d SELECT * FROM t")
    assert result.exit_code == 0
    assert [line.split() for line in result.stdout.splitlines()] == [
        ["INSERT"],
        ["reads", "t"],
        ["writes", "c.d"],
    ]


def test_columns_of_an_unknown_table_are_numbered() -> None:
    result = run("--columns", stdin="INSERT INTO d SELECT a AS x, COUNT(*), t.*, b FROM t")
    assert "unknown without its CREATE TABLE" in result.stdout
    assert "1 (x)  <- t.a identity" in result.stdout
    assert "2 (`EXPR$1`)  <- no column" in result.stdout
    assert "all columns of t, names unknown" in result.stdout


def test_rejected_statement_is_shown_with_its_place_and_exits_1() -> None:
    result = run(stdin="INSERT INTO d SELECT * FROM t;\nINSERT INTO e SELEC 'hunter2'")
    assert result.exit_code == 1
    assert "could not parse" in result.stdout
    assert "line 2, column" in result.stdout
    assert "writes   d" in result.stdout
    assert "hunter2" not in result.stdout


def test_names_cannot_control_the_terminal() -> None:
    result = run(stdin="SELECT * FROM `a\x1b[2J[bold]b`")
    assert "\x1b" not in result.stdout
    assert "`a\\x1b[2J[bold]b`" in result.stdout


def test_lines_keep_their_order_and_malformed_ones_stop_nothing() -> None:
    lines = [
        b'\xef\xbb\xbf{"id": 1, "sql": "INSERT INTO d SELECT * FROM a.b.t"}',
        b"not json",
        b"",
        b'{"id": 2, "sql": "SELEC"}',
        b'{"id": 3}',
        b"[1]",
        b'{"id": "\xff", "sql": "SELECT 1"}',
        b"[" * 100_000,
        b'{"id": {"a": 4}, "sql": "SELECT * FROM `\\ud800`"}',
        b'{"id": 5, "sql": "SELECT * FROM t", "unreadable": "x"}',
    ]
    found = records(run("--jsonl", stdin=b"\n".join(lines)))
    assert [line["id"] for line in found] == [1, None, 2, 3, None, None, None, {"a": 4}, 5]
    assert [line["error"] is None for line in found] == [True, *[False] * 6, True, True]
    assert found[0] == {
        "id": 1,
        "reads": ["t"],
        "writes": ["d"],
        "reads_fq": [["a", "b", "t"]],
        "writes_fq": [["d"]],
        "error": None,
    }
    assert "line 2 is not JSON" in found[1]["error"]
    assert found[7]["reads"] == ["\ud800"]


def test_lines_use_the_catalog_and_database_options() -> None:
    line = json.dumps({"id": 1, "sql": "USE `other`; INSERT INTO d SELECT * FROM x.t"})
    (found,) = records(run("--jsonl", "--catalog", "c", "--database", "m", stdin=line))
    assert found["reads_fq"] == [["c", "x", "t"]]
    assert found["writes_fq"] == [["c", "other", "d"]]
    assert found["reads"] == ["t"]


@pytest.mark.parametrize(
    ("option", "paths"),
    [("--catalog", [["c", "x", "t"], ["t"]]), ("--database", [["c", "t"], ["x", "t"]])],
)
def test_catalog_or_database_alone_completes_only_what_it_can(option: str, paths: list[list[str]]) -> None:
    line = json.dumps({"id": 1, "sql": "SELECT * FROM t, x.t"})
    (found,) = records(run("--jsonl", option, "c", stdin=line))
    assert found["reads_fq"] == paths
    shown = run(option, "c", stdin="SELECT * FROM t, x.t").stdout.split()
    assert sorted(word for word in shown if word.endswith("t")) == [".".join(path) for path in paths]


def test_lines_derive_columns_with_their_own_schemas() -> None:
    schemas = {"t": ["a", "b"], "c.m.d": ["x", "y"], "junk": 3}
    lines = [
        {"id": 1, "sql": "INSERT INTO d SELECT * FROM t", "schemas": schemas},
        {"id": 2, "sql": "INSERT INTO d SELECT * FROM t"},
        {"id": 3, "sql": "SELEC"},
        {"id": 4},
    ]
    stdin = "\n".join(map(json.dumps, lines))
    found = records(run("--jsonl", "--columns", "--catalog", "c", "--database", "m", stdin=stdin))
    t = ["c", "m", "t"]
    assert found[0]["columns"] == [
        {
            "table": ["c", "m", "d"],
            "column": name,
            "sources": [{"table": t, "column": source, "how": "identity"}],
            "complete": True,
        }
        for name, source in (("x", "a"), ("y", "b"))
    ]
    assert found[1]["columns"] == []
    assert found[2]["columns"] == []
    assert found[3]["error"]


@pytest.mark.shared
def test_reference_lines_pass_through_the_command() -> None:
    text = shared("sql", "flink_hard.jsonl").read_text("utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    found = records(run("--jsonl", stdin=text))
    keys = ("id", "reads", "writes", "reads_fq", "writes_fq")
    assert [{k: g[k] for k in keys} for g in found] == [{k: row[k] for k in keys} for row in rows]


def test_ksqldb_report_names_topics() -> None:
    result = run(
        "--dialect",
        "ksql",
        stdin="CREATE STREAM a (x INT KEY, y STRING) WITH (KAFKA_TOPIC='a.v1');"
        "CREATE STREAM big AS SELECT * FROM a JOIN c ON a.x = c.x;",
    )
    assert result.exit_code == 0
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert "creates stream A on topic a.v1" in lines
    assert lines[lines.index("topics") :] == [
        "topics",
        "reads `a.v1`",
        "writes BIG",
        "unknown C: no CREATE STREAM or TABLE in this text names its topic",
    ]


def test_ksqldb_lines_need_no_java(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lineage_bridge_dagster.jars.java", lambda: pytest.fail("Java was looked up"))
    stdin = '{"id": 1, "sql": "INSERT INTO b SELECT * FROM a;"}\n{"id": 2, "sql": "SELEC"}'
    found = records(run("--jsonl", "--dialect", "ksql", stdin=stdin))
    assert (found[0]["reads"], found[0]["writes_fq"], found[0]["error"]) == (["A"], [["B"]], None)
    assert found[1]["error"]


def test_ksqldb_report_has_columns_writers_and_what_is_open() -> None:
    result = run(
        "--dialect",
        "ksqldb",
        "--columns",
        stdin="CREATE STREAM s (id INT KEY, a STRING) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');"
        "CREATE STREAM d AS SELECT id, UCASE(a) FROM s; INSERT INTO d SELECT * FROM u;"
        "CREATE STREAM e AS SELECT * FROM u; SELECT *, ROWTIME FROM s;",
    )
    assert result.exit_code == 0
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    start = lines.index("2. CREATE STREAM AS")
    assert lines[start : lines.index("creates stream S on topic s")] == [
        "2. CREATE STREAM AS",
        "reads S",
        "writes D",
        "columns of D",
        "ID <- S.ID identity",
        "KSQL_COL_0 <- S.A expression",
        "3. INSERT",
        "reads U",
        "writes D",
        "columns of D",
        "ID <- U.ID identity",
        "KSQL_COL_0 <- U.KSQL_COL_0 identity",
        "4. CREATE STREAM AS",
        "reads U",
        "writes E",
        "columns of E",
        "further columns open: the columns of U are unknown",
        "5. SELECT",
        "reads S",
        "columns of the result",
        "1 (ID) <- S.ID identity",
        "2 (A) <- S.A identity",
        "3 (ROWTIME) <- S.ROWTIME identity",
        "columns of D, from 2 writers",
        "ID <- S.ID identity, U.ID identity",
        "KSQL_COL_0 <- S.A expression, U.KSQL_COL_0 identity",
    ]


def test_a_replaced_query_is_no_second_writer() -> None:
    create = "CREATE {}STREAM d AS SELECT id, {} AS x FROM s;"
    sql = create.format("", "a") + create.format("OR REPLACE ", "b")
    result = run("--dialect", "ksqldb", "--columns", stdin=sql)
    assert result.stdout.count("columns  of D") == 2
    assert "writers" not in result.stdout
    assert (
        run("--dialect", "ksqldb", "--columns", stdin=sql.replace("OR REPLACE ", "")).stdout.count("writers")
        == 1
    )


def test_ksqldb_lines_have_columns_with_schemas() -> None:
    line = {
        "id": 1,
        "sql": "CREATE STREAM d AS SELECT *, MY_UDF(x) FROM s; INSERT INTO d SELECT * FROM u;",
        "schemas": {"S": ["ID", "X"], "U": ["ID"]},
    }
    (found,) = records(run("--jsonl", "--columns", "--dialect", "ksqldb", stdin=json.dumps(line)))
    assert (found["reads"], found["writes"]) == (["S", "U"], ["D"])
    columns = {
        c["column"]: ([[*s["table"], s["column"]] for s in c["sources"]], c["complete"])
        for c in found["columns"]
    }
    assert columns == {
        "ID": ([["S", "ID"], ["U", "ID"]], False),
        "X": ([["S", "X"]], False),
        "KSQL_COL_0": ([["S", "X"]], False),
    }
    assert {o["column"] for o in found["open"]} == {"ID", "X", "KSQL_COL_0"}
    assert "ksqlDB rejects" in found["open"][0]["reason"]
    assert [(w["statement"], w["kind"], len(w["columns"])) for w in found["writers"]] == [
        (1, "CREATE STREAM AS", 3),
        (2, "INSERT", 3),
    ]


@pytest.mark.parametrize(
    "args",
    [
        ["--dialect", "spark"],
        ["no-such-file.sql"],
        ["--dialect", "ksqldb", "--database", "d"],
        ["--dialect", "ksql", "--catalog", "c"],
    ],
)
def test_wrong_usage_exits_2(args: list[str]) -> None:
    assert run(*args).exit_code == 2


def test_text_in_another_encoding_is_a_configuration_error() -> None:
    with pytest.raises(ConfigurationError, match="not UTF-8"):
        run(stdin="SELECT * FROM tä".encode("latin-1"))


def test_help_shows_examples() -> None:
    result = run("--help")
    assert result.exit_code == 0
    assert "Examples:" in result.stdout
    assert "--jsonl" in result.stdout


@pytest.mark.parametrize("dialect", ["flink", "ksql"])
def test_text_without_statement_exits_1(dialect: str) -> None:
    result = run("--dialect", dialect, stdin="-- nothing\n")
    assert result.exit_code == 1
    assert "no statement" in result.stdout
