"""`lineage-bridge collect`, stopped half-way as a scheduler stops a job."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from lineage_bridge_dagster_tests.http_server import Answering, served


@pytest.fixture
def endless() -> Iterator[str]:
    """The endpoint of a Glue with one database, whose pages never end."""
    numbers = count()

    class Handler(Answering):
        def do_POST(self) -> None:
            self.body()
            answer: dict[str, Any] = {"DatabaseList": [{"Name": "sales"}]}
            if self.headers["X-Amz-Target"].endswith("GetTables"):
                number = next(numbers)
                time.sleep(0.01)
                answer = {"TableList": [{"Name": f"t{number}"}], "NextToken": str(number)}
            self.reply(200, json.dumps(answer).encode())

    with served(Handler) as url:
        yield url


def _listen() -> None:
    """Take signals as a program does that a terminal started: shells have background jobs ignore some."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_stopped_extract_leaves_neither_files_nor_a_mark(
    endless: str, tmp_path: Path, number: signal.Signals
) -> None:
    config = {"regions": ["us-east-1"], "endpoint_url": endless, "output_path": str(tmp_path / "files")}
    (tmp_path / "config.json").write_text(json.dumps(config))
    main = "from lineage_bridge_dagster.cli.main import main; main()"
    command = [sys.executable, "-c", main, "collect", "-c", "config.json"]
    keys = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}
    with subprocess.Popen(
        command, cwd=tmp_path, env=os.environ | keys, stderr=subprocess.PIPE, preexec_fn=_listen
    ) as run:
        deadline = time.monotonic() + 60
        while not list(tmp_path.glob("files/.glue_*.partial/glue_tables_*")):
            assert time.monotonic() < deadline
            assert run.poll() is None
            time.sleep(0.05)
        run.send_signal(number)
        errors = run.communicate(timeout=60)[1].decode()
    assert run.returncode == (143 if number == signal.SIGTERM else 1)
    assert "Traceback" not in errors
    assert list((tmp_path / "files").iterdir()) == []
    assert not list(tmp_path.glob("glue_*"))
