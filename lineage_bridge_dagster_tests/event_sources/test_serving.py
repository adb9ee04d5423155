"""The receiver starts only where nobody else can send or listen in, and loses nothing over a restart."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.event_sources.files import EventFiles
from lineage_bridge_dagster.event_sources.serving import ListenAddress
from lineage_bridge_dagster.event_sources.source import EventIntake
from lineage_bridge_dagster.openlineage.incoming.ledger import JobLedger
from lineage_bridge_dagster_tests.openlineage.incoming.producers import event

TOKEN = "t" * 32


@pytest.mark.parametrize(
    ("address", "token", "problem"),
    [
        (ListenAddress(), "", ""),
        (ListenAddress("localhost"), TOKEN, ""),
        (ListenAddress(), "short", "fewer than 16"),
        (ListenAddress("0.0.0.0"), "", "no token is set"),  # noqa: S104 - refused
        (ListenAddress("::", certificate=Path("c.pem")), "", "no token is set"),
        (ListenAddress("10.0.0.1"), TOKEN, "could read the token"),
        (ListenAddress("10.0.0.1", certificate=Path("c.pem")), TOKEN, ""),
        (ListenAddress("10.0.0.1", behind_proxy=True), TOKEN, ""),
    ],
)
def test_where_it_may_listen(address: ListenAddress, token: str, problem: str) -> None:
    if not problem:
        address.check(token)
        return
    with pytest.raises(ConfigurationError, match=problem) as caught:
        address.check(token)
    assert caught.value.hint


def test_a_receiver_that_is_killed_has_every_event_that_it_acknowledged(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    code = "from lineage_bridge_dagster.cli.main import main; main()"
    command = [
        sys.executable,
        "-c",
        code,
        "openlineage",
        "listen",
        "--folder",
        str(tmp_path),
        "--port",
        str(port),
    ]
    sent = []
    for number, ending in enumerate((signal.SIGKILL, signal.SIGTERM)):
        with subprocess.Popen(
            command, stderr=subprocess.PIPE, text=True, env={**os.environ, "NO_COLOR": "1"}
        ) as run:
            assert run.stderr is not None
            assert "Listening on" in run.stderr.readline()
            body = json.dumps(event(outputs=[f"s3://lake {number}"], run=str(number))).encode()
            with urlopen(Request(f"http://127.0.0.1:{port}/api/v1/lineage", body), timeout=60) as answer:
                assert answer.status == 201
            sent.append(str(number))
            run.send_signal(ending)
    intake = EventIntake(JobLedger(datetime(2026, 11, 27, tzinfo=UTC)))
    EventFiles(str(tmp_path)).read(intake)
    assert sorted(name.name for job in intake.ledger.active("") for name in job.writes) == sent
