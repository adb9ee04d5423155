"""The PostgreSQL of a deployment: a real server, of this machine's packages."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg2
import pytest

from lineage_bridge_dagster.embedded import processes
from lineage_bridge_dagster.embedded.paths import StackPaths
from lineage_bridge_dagster.embedded.production import postgres
from lineage_bridge_dagster.embedded.production.postgres import PostgresServer
from lineage_bridge_dagster.errors import ConfigurationError

is_installed = bool(shutil.which("initdb") or list(Path("/usr/lib/postgresql").glob("*/bin/initdb")))


@pytest.fixture
def paths(tmp_path: Path) -> StackPaths:
    found = StackPaths(tmp_path / "home")
    found.prepare()
    return found


@pytest.fixture
def server(paths: StackPaths) -> Iterator[PostgresServer]:
    found = PostgresServer(paths, "postgres")
    yield found
    found.stop()


def _connect(server: PostgresServer, **other: str) -> Any:
    env = server.env
    given = {
        "host": env["DAGSTER_PG_HOST"],
        "port": env["DAGSTER_PG_PORT"],
        "dbname": env["DAGSTER_PG_DB"],
        "user": env["DAGSTER_PG_USERNAME"],
        "passfile": env["PGPASSFILE"],
    }
    return psycopg2.connect(**{**given, **other})


@pytest.mark.skipif(not is_installed, reason="PostgreSQL is not installed (make postgres)")
def test_server_keeps_data_over_kill_9_and_leaves_nothing_behind(server: PostgresServer) -> None:
    running = server.start()
    with _connect(server) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE kept AS SELECT 42 AS answer")
        cursor.execute("SELECT rolsuper OR rolcreatedb OR rolcreaterole FROM pg_roles WHERE rolname = user")
        assert cursor.fetchone() == (False,)
    passwords = Path(server.env["PGPASSFILE"])
    assert passwords.stat().st_mode & 0o077 == 0
    password = passwords.read_text().strip().rpartition(":")[2]
    assert all(password not in part for part in running.process.cmdline())
    assert running.process.uids().effective != 0
    with pytest.raises(psycopg2.OperationalError, match="password authentication failed"):
        _connect(server, password="another")
    server.change_password()
    assert password not in passwords.read_text()
    _connect(server).close()

    processes_of_it = [running.process, *running.process.children(recursive=True)]
    os.kill(running.pid, signal.SIGKILL)
    processes.wait(processes_of_it, 30)
    server.start()
    connected = _connect(server)
    cursor = connected.cursor()
    cursor.execute("SELECT answer FROM kept")
    assert cursor.fetchone() == (42,)
    # Whoever is connected does not hold up the stop.
    server.stop()
    connected.close()
    assert processes.find(server.paths) == {}
    assert not list(server.folder.glob("*")) or os.geteuid() != 0


def test_error_where_postgresql_is_missing_says_how_to_install_it(
    paths: StackPaths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "_VERSIONS", tmp_path / "none")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigurationError, match="not installed") as caught:
        PostgresServer(paths, "postgres").start()
    assert "make postgres" in str(caught.value.hint)
