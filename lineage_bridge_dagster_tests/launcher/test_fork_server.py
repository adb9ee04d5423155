"""The process that runs are forked from."""

from __future__ import annotations

import os
import queue
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.launcher.client import ForkServer
from lineage_bridge_dagster.launcher.fork_server import Stamp, changed
from lineage_bridge_dagster.launcher.messages import Exited, Start

#: Seconds until a process has ended: far more than it takes.
PATIENCE = 120


class Served:
    """A fork server that imports a module, which notes each import in a file."""

    def __init__(self, folder: Path) -> None:
        self.noted = folder / "imports.txt"
        self.module = folder / "noting_module.py"
        self.module.write_text(f"open({str(self.noted)!r}, 'a').write('imported\\n')\n")
        self.exits: queue.SimpleQueue[Exited] = queue.SimpleQueue()
        self.server = ForkServer(["a_module_that_is_missing", "noting_module", "json"], self.exits.put)

    def start(self, run_id: str, *arguments: str) -> int | None:
        return self.server.start(Start(run_id, arguments))

    def exit_of(self, run_id: str, *arguments: str) -> Exited:
        pid = self.start(run_id, *arguments)
        found = self.exits.get(timeout=PATIENCE)
        assert (found.run_id, found.pid) == (run_id, pid)
        return found


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(tmp_path), *sys.path)))
    found = Served(tmp_path)
    yield found
    found.server.close()


def test_each_run_is_a_process_of_its_own_and_imports_nothing_again(served: Served) -> None:
    first, second = served.exit_of("a", "--help"), served.exit_of("b", "--help")
    assert first.pid != second.pid
    assert (first.code, second.code) == (0, 0)
    assert served.noted.read_text() == "imported\n"


def test_exit_codes_are_told(served: Served) -> None:
    assert served.exit_of("a", "no-such-command").code == 2


def test_server_does_not_fork_when_a_file_has_changed(served: Served) -> None:
    assert served.exit_of("a", "--help").code == 0
    served.module.write_text("version = 2\n")
    assert served.start("b", "--help") is None


def test_server_that_was_killed_is_an_error(served: Served) -> None:
    served.server._process.kill()
    with pytest.raises(LineageBridgeError, match=f"exited with code -{signal.SIGKILL:d}"):
        served.start("a", "--help")


def test_server_exits_when_its_launcher_does(served: Served) -> None:
    served.exit_of("a", "--help")
    served.server.close()
    assert served.server._process.wait(PATIENCE) == 0


def test_file_that_changed_while_it_was_imported_is_not_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in the middle of an installation."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(tmp_path), *sys.path)))
    module = tmp_path / "replaced_module.py"
    module.write_text("from pathlib import Path\nPath(__file__).write_text('version = 2\\n')\n")
    server = ForkServer(["replaced_module"], lambda _: None)
    assert server.start(Start("a", ("--help",))) is None
    server.close()


def test_exits_are_told_although_one_could_not_be_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as while the database restarts."""
    noted: queue.SimpleQueue[str] = queue.SimpleQueue()

    def note(exited: Exited) -> None:
        noted.put(exited.run_id)
        raise RuntimeError("the database is gone")

    server = ForkServer(["json"], note)
    assert server.start(Start("a", ("--help",)))
    assert noted.get(timeout=PATIENCE) == "a"
    assert server.start(Start("b", ("--help",)))
    assert noted.get(timeout=PATIENCE) == "b"
    server.close()


def test_removed_file_has_changed(tmp_path: Path) -> None:
    assert changed({}) is None
    assert changed({str(tmp_path / "missing"): None}) is None
    assert changed({str(tmp_path / "missing"): Stamp(1, 1, 1)}) == str(tmp_path / "missing")
