# ruff: noqa: S608
"""The parser and its process, with any input and any failure."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from lineage_bridge_dagster import jars
from lineage_bridge_dagster.errors import ConfigurationError, LineageBridgeError
from lineage_bridge_dagster.sql.flink import parser as flink_parser
from lineage_bridge_dagster.sql.flink import process
from lineage_bridge_dagster.sql.flink.parser import FlinkSqlParser, error_message
from lineage_bridge_dagster.sql.statement import Position

pytestmark = pytest.mark.xdist_group("flink")

GOOD = "INSERT INTO d SELECT * FROM t"
WORDS = st.sampled_from(
    [
        *(
            "SELECT",
            "FROM",
            "INSERT",
            "INTO",
            "WITH",
            "AS",
            "JOIN",
            "ON",
            "UNION",
            "ALL",
            "CASE",
            "WHEN",
            "LATERAL",
        ),
        *(
            "BEGIN",
            "STATEMENT",
            "SET",
            "END",
            "EXECUTE",
            "TABLE",
            "CREATE",
            "VIEW",
            "OR",
            "ALTER",
            "MATERIALIZED",
        ),
        *("(", ")", ",", ";", ".", "*", "=", "a", "`b`", "'c'", "/*+", "*/", "/*", "--", "\n", "1", "1.5e"),
        *("\0", "\ud800", "😀", "'", "`", '"', "#", "$", "\\"),
    ]
)


def gone(pid: int) -> bool:
    """Whether a process has ended; a zombie counts."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def wait_until_gone(pid: int) -> bool:
    for _ in range(600):
        if gone(pid):
            return True
        time.sleep(0.05)
    return False


@given(text=st.one_of(st.text(st.characters()), st.lists(WORDS, max_size=25).map(" ".join)))
@example(text="\0")
@example(text="\ud800 \udfff")
@example(text="SELECT '\ud800', '\0' FROM t")
@example(text=";" * 5000)
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_has_a_result_and_does_not_affect_others(parser: FlinkSqlParser, text: str) -> None:
    before = parser.pid
    odd, good = parser.parse([text, GOOD])
    assert good.reads == (("t",),)
    assert odd.error is not None or odd.statements
    assert before in (None, parser.pid)


def test_identifiers_are_returned_as_written(parser: FlinkSqlParser) -> None:
    name = "a.b-C d\t😀\ud800é\\\"'"
    (lineage,) = parser.parse([f"INSERT INTO `{name}` SELECT * FROM `x``y`"])
    assert lineage.writes == ((name,),)
    assert lineage.reads == (("x`y",),)


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("SELECT FROM t", Position(1, 8)),
        ("SELECT a FROM t;\n\n  SELECT '😀😀', $ FROM t", Position(3, 16)),
        ("CREATE OR ALTER MATERIALIZED TABLE m START_MODE = X AS\nSELECT * FORM t", Position(2, 15)),
        ("SELECT 'never closed", Position(1, 8)),
        ("", Position(1, 1)),
    ],
)
def test_error_of_a_rejected_text_has_its_position(
    parser: FlinkSqlParser, text: str, position: Position
) -> None:
    (lineage,) = parser.parse([text])
    assert lineage.error is not None
    assert lineage.position == position
    assert lineage.statements[-1].reads == ()


def test_rejected_statement_leaves_the_others_of_its_text(parser: FlinkSqlParser) -> None:
    (lineage,) = parser.parse(["INSERT INTO a SELECT * FROM x; INSERT INTO; INSERT INTO b SELECT * FROM y"])
    assert lineage.reads == (("x",), ("y",))
    assert lineage.writes == (("a",), ("b",))
    assert lineage.error is not None
    assert [s.error is None for s in lineage.statements] == [True, False, True]


def test_errors_contain_no_literal() -> None:
    for raw in (
        r'Encountered "\'hunter2\' \'x" at line 1, column 3.' + "\nWas expecting one of:\n 'hunter2'",
        "Illegal DATE literal 'hunter2': not in format at line 1, column 2",
        'Lexical error at line 1, column 20.  Encountered: <EOF> after : "\'hunter2"',
    ):
        assert "hunter2" not in error_message(raw)
        assert "line" not in error_message(raw)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM t WHERE " + " OR ".join(f"a = {i}" for i in range(3000)),
        "SELECT " + "(" * 3000 + "1" + ")" * 3000 + " FROM t",
        "SELECT * FROM " + "(SELECT * FROM " * 3000 + "t" + ")" * 3000,
        " UNION ALL ".join(["SELECT * FROM t"] * 3000),
        "SELECT '" + "x" * 300_000 + "' FROM t",
    ],
    ids=["or", "parentheses", "subqueries", "union", "literal"],
)
def test_long_and_deep_statements_are_parsed(parser: FlinkSqlParser, text: str) -> None:
    (lineage,) = parser.parse([text])
    assert lineage.error is None
    assert lineage.reads == (("t",),)


def test_overflow_affects_only_its_own_statement(parser: FlinkSqlParser) -> None:
    deep = "SELECT * FROM t WHERE " + "NOT (" * 400_000 + "a" + ")" * 400_000
    before, odd, after = parser.parse([GOOD, deep, GOOD])
    assert odd.error is not None
    assert before.reads == after.reads == (("t",),)


def test_text_over_the_limit_is_refused_with_the_limit(parser: FlinkSqlParser) -> None:
    odd, good = parser.parse(["-" * (flink_parser.MAX_CHARS + 1), GOOD])
    assert odd.error is not None
    assert f"{flink_parser.MAX_CHARS:,}" in odd.error
    assert good.error is None


def test_only_the_statement_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    with FlinkSqlParser() as parser:
        parser.parse([GOOD])
        monkeypatch.setattr(process, "STATEMENT_MILLISECONDS", 1000)
        slow = "SELECT * FROM t WHERE " + " OR ".join(f"a = {i}" for i in range(60_000))
        before, odd, after = parser.parse([GOOD, slow, "INSERT INTO e SELECT * FROM u"])
        assert odd.error == "the parser took longer than 1000 ms"
        assert before.reads == (("t",),)
        assert after.reads == (("u",),)


def test_parser_recovers_from_its_process_being_killed() -> None:
    with FlinkSqlParser() as parser:
        parser.parse([GOOD])
        pid = parser.pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        assert wait_until_gone(pid)
        assert parser.parse([GOOD])[0].reads == (("t",),)
        assert parser.pid not in (None, pid)


def test_process_killed_during_a_batch_loses_no_statement() -> None:
    texts = [f"INSERT INTO d{i} SELECT * FROM t{i} JOIN u ON t{i}.a = u.a" for i in range(4000)]
    with FlinkSqlParser() as parser, ThreadPoolExecutor(1) as pool:
        parser.parse([GOOD])
        pid = parser.pid
        assert pid is not None
        running = pool.submit(parser.parse, texts)
        time.sleep(0.2)
        os.kill(pid, signal.SIGKILL)
        lineages = running.result()
    assert [line.writes for line in lineages] == [((f"d{i}",),) for i in range(4000)]


def test_only_the_statement_that_kills_the_process_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    real = process.ParserProcess.parse

    def deadly(self: process.ParserProcess, texts: list[str]) -> list[dict[str, object]]:
        if any("deadly" in text for text in texts):
            os.kill(self.pid, signal.SIGKILL)
        return real(self, texts)

    monkeypatch.setattr(process.ParserProcess, "parse", deadly)
    with FlinkSqlParser() as parser:
        lineages = parser.parse([GOOD, "SELECT deadly FROM t", "SELECT * FROM u"])
    assert [line.error for line in lineages] == [None, "the parser's process died on this statement", None]


def test_threads_share_one_process(parser: FlinkSqlParser) -> None:
    parser.parse([GOOD])
    pid = parser.pid
    with ThreadPoolExecutor(4) as pool:
        texts = [[f"INSERT INTO d{i} SELECT * FROM t{i}"] * 20 for i in range(40)]
        results = list(pool.map(parser.parse, texts))
    assert [r[0].reads for r in results] == [((f"t{i}",),) for i in range(40)]
    assert parser.pid == pid


def test_two_parsers_are_independent() -> None:
    with FlinkSqlParser() as first, FlinkSqlParser() as second:
        first.parse([GOOD])
        second.parse([GOOD])
        pids = first.pid, second.pid
        assert None not in pids
        assert pids[0] != pids[1]
        first.close()
        assert pids[0] is not None
        assert wait_until_gone(pids[0])
        assert second.parse(["SELECT * FROM u"])[0].reads == (("u",),)
        assert second.pid == pids[1]


def test_process_starts_with_the_first_statement_and_ends_with_close() -> None:
    parser = FlinkSqlParser()
    pids = [parser.pid]
    assert parser.parse([]) == []
    pids.append(parser.pid)
    assert pids == [None, None]
    parser.parse([GOOD])
    pid = parser.pid
    assert pid is not None
    listening = [c.laddr.ip for c in psutil.Process(pid).net_connections() if c.status == psutil.CONN_LISTEN]
    assert listening
    assert all(ip in ("127.0.0.1", "::ffff:127.0.0.1", "::1") for ip in listening)
    parser.close()
    parser.close()
    assert wait_until_gone(pid)


@pytest.mark.parametrize("how", ["kill -9", "forgotten", "exception"])
def test_no_process_outlives_its_parent(how: str, tmp_path: Path) -> None:
    script = (
        "import sys, time\n"
        "from lineage_bridge_dagster.sql.flink.parser import FlinkSqlParser\n"
        "parser = FlinkSqlParser()\n"
        "parser.parse(['SELECT 1'])\n"
        "print(parser.pid, flush=True)\n"
        "sys.stdin.readline()\n"
        "if sys.argv[1] == 'exception': raise SystemError\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", script, how],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert parent.stdin is not None
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    assert not gone(pid)
    if how == "kill -9":
        parent.kill()
    parent.stdin.close()
    parent.wait(60)
    parent.stdout.close()
    assert wait_until_gone(pid)


def _parse_in_child(
    parser: FlinkSqlParser, parent_pid: int, out: multiprocessing.SimpleQueue[object]
) -> None:
    lineage = parser.parse([GOOD])[0]
    out.put((lineage.reads, parser.pid != parent_pid))
    parser.close()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forked_child_has_a_process_of_its_own() -> None:
    context = multiprocessing.get_context("fork")
    with FlinkSqlParser() as parser:
        parser.parse([GOOD])
        pid = parser.pid
        out: multiprocessing.SimpleQueue[object] = context.SimpleQueue()
        child = context.Process(target=_parse_in_child, args=(parser, pid, out))
        child.start()
        assert out.get() == ((("t",),), True)
        child.join()
        assert parser.parse(["SELECT * FROM u"])[0].reads == (("u",),)
        assert parser.pid == pid


def test_missing_java_is_a_configuration_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_java() -> Path:
        raise ConfigurationError("no Java", hint="apt-get install openjdk-17-jre-headless")

    monkeypatch.setattr(jars, "java", no_java)
    with FlinkSqlParser() as parser, pytest.raises(ConfigurationError, match="no Java"):
        parser.parse([GOOD])


def test_java_that_does_not_run_is_named_with_its_output(tmp_path: Path) -> None:
    java = tmp_path / "java"
    java.write_text("#!/bin/sh\necho broken in some way >&2\nexit 3\n")
    java.chmod(0o755)
    with (
        FlinkSqlParser(java=java) as parser,
        pytest.raises(LineageBridgeError, match="broken in some way") as caught,
    ):
        parser.parse([GOOD])
    assert str(java) in caught.value.message
