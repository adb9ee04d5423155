# ruff: noqa: S608
"""The parser's process: its life, and its failures."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from lineage_bridge_dagster.errors import ConfigurationError, LineageBridgeError
from lineage_bridge_dagster.jars import worker
from lineage_bridge_dagster.jars.worker import WorkerProcess
from lineage_bridge_dagster.sql.flink import parser as flink_parser
from lineage_bridge_dagster.sql.flink.parser import FlinkSqlParser

pytestmark = pytest.mark.xdist_group("flink")

GOOD = "INSERT INTO d SELECT * FROM t"


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


def test_only_the_statement_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    impatient = replace(flink_parser.PROGRAM, milliseconds=1000)
    monkeypatch.setattr(flink_parser, "PROGRAM", impatient)
    with FlinkSqlParser() as parser:
        slow = "SELECT * FROM t WHERE " + " OR ".join(f"a = {i}" for i in range(60_000))
        before, odd, after = parser.parse([GOOD, slow, "INSERT INTO e SELECT * FROM u"])
        assert odd.error == "the parser took longer than 1000 ms"
        assert before.reads == (("t",),)
        assert after.reads == (("u",),)


def test_statement_that_fills_the_memory_is_given_up_as_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    small = replace(flink_parser.PROGRAM, milliseconds=1000, options=("-Xmx48m",))
    monkeypatch.setattr(flink_parser, "PROGRAM", small)
    with FlinkSqlParser() as parser:
        parser.parse([GOOD])
        assert parser.pid is not None
        started = sum(psutil.Process(parser.pid).cpu_times()[:2])
        before = psutil.Process().cpu_times()
        large = "SELECT * FROM t WHERE a IN (" + ",".join(map(str, range(160_000))) + ")"
        assert parser.parse([large])[0].error == "the parser took longer than 1000 ms"
        after = psutil.Process().cpu_times()
    ended = after.children_user + after.children_system - before.children_user - before.children_system
    # Its own half of a second, and as much again for each processor until it is looked at.
    assert ended - started < 4


def test_nesting_too_deep_is_named(parser: FlinkSqlParser) -> None:
    assert parser.parse(["SELECT " + "(" * 500_000 + "1" + ")" * 500_000])[0].error == "nested too deeply"


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
    real = WorkerProcess.answers

    def deadly(self: WorkerProcess, texts: list[str]) -> list[dict[str, object]]:
        if any("deadly" in text for text in texts):
            os.kill(self.pid, signal.SIGKILL)
        return real(self, texts)

    monkeypatch.setattr(WorkerProcess, "answers", deadly)
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

    monkeypatch.setattr(worker, "java", no_java)
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
