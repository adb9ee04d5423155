"""Starts, finds and stops the processes of a stack, and no others.

A process belongs to the stack if its environment contains a variable with the home's path, which all its
children inherit. This works after `kill -9` of the parent, cannot go stale like a file, and cannot match a
recycled pid. The pid files are for people.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import psutil

from lineage_bridge_dagster.embedded.paths import StackPaths

#: In the environment of every process that a stack starts.
HOME_MARK = "LINEAGE_BRIDGE_STACK_HOME"
COMPONENT_MARK = "LINEAGE_BRIDGE_STACK_COMPONENT"

#: Seconds for child processes to exit after their leader.
_CHILDREN_EXIT_SECONDS = 4.0

_LARGEST_LOG = 20 * 1024 * 1024

#: Processes that this process started; it must collect their exit codes, or they remain as zombies.
_children: dict[int, subprocess.Popen[bytes]] = {}


@dataclass(frozen=True, slots=True)
class Running:
    """A component's leading process."""

    component: str
    process: psutil.Process

    @property
    def pid(self) -> int:
        return int(self.process.pid)

    @property
    def since(self) -> datetime:
        return datetime.fromtimestamp(self.process.create_time(), UTC)


def start(
    paths: StackPaths,
    component: str,
    command: Sequence[str | Path],
    env: Mapping[str, str],
    *,
    log: str = "",
    user: str | None = None,
) -> Running:
    """Start a component in its own process group.

    Args:
        env: Variables beside those of this process.
        log: Name of the log of its output, if not its own.
        user: Whom it runs as; only root can choose.
    """
    file = log_of(paths, log or component)
    _rotate(file)
    with file.open("ab") as sink:
        sink.write(f"--- started {datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC\n".encode())
        sink.flush()
        child = subprocess.Popen(
            [str(part) for part in command],
            cwd=paths.run,
            env={**os.environ, **env, HOME_MARK: str(paths.home), COMPONENT_MARK: component},
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=sink,
            start_new_session=True,
            user=user,
            extra_groups=None if user is None else [],
        )
    _children[child.pid] = child
    running = Running(component, psutil.Process(child.pid))
    _wait_for_mark(running.process)
    record = {"pid": child.pid, "create_time": running.process.create_time(), "command": child.args}
    _pid_file(paths, component).write_text(json.dumps(record, default=str), encoding="utf-8")
    return running


def python(module: str, *arguments: str | Path) -> list[str | Path]:
    """The command that runs a module in this very Python."""
    return [sys.executable, "-u", "-m", module, *arguments]


def find(paths: StackPaths) -> dict[str, Running]:
    """The leading process of each running component."""
    running: dict[str, Running] = {}
    owned = _own_processes(paths)
    pids = {(process.pid, component) for process, component in owned}
    for process, component in owned:
        # A leader leads its session; its children are members, though some lead groups (PySpark's daemon) or
        # sessions of their own (a JVM that Ctrl-C must not reach).
        with contextlib.suppress(OSError, psutil.Error):
            if os.getsid(process.pid) == process.pid and (process.ppid(), component) not in pids:
                running[component] = Running(component, process)
    return running


def arguments_with(paths: StackPaths, prefix: str) -> list[str]:
    """The arguments of the stack's processes that begin with a text, without it."""
    found = []
    for process, _ in _own_processes(paths):
        with contextlib.suppress(psutil.Error):
            found += [each.removeprefix(prefix) for each in process.cmdline() if each.startswith(prefix)]
    return found


def terminate(paths: StackPaths, components: Sequence[str] | None = None, *, patience: float = 20.0) -> None:
    """Ask components to exit, and wait up to `patience` seconds for their leading processes."""
    leaders = [
        running.process for name, running in find(paths).items() if components is None or name in components
    ]
    for leader in leaders:
        # Only the leader: a driver that shuts down cleanly stops its JVM.
        with contextlib.suppress(psutil.NoSuchProcess):
            leader.send_signal(signal.SIGTERM)
    wait(leaders, patience)


def stop(
    paths: StackPaths,
    components: Sequence[str] | None = None,
    *,
    patience: float = 20.0,
    children_patience: float = _CHILDREN_EXIT_SECONDS,
) -> list[str]:
    """Stop components: terminate them, then kill whatever is left of them.

    Args:
        components: The components to stop; None for every process of the stack.
        patience: Seconds to wait for leaders before they are killed.
        children_patience: Seconds that their children may take to exit after them.

    Returns:
        The components that had to be killed.
    """
    terminate(paths, components, patience=patience)
    # A JVM exits by itself shortly after its driver.
    wait(
        [p for p, name in _own_processes(paths) if components is None or name in components],
        children_patience,
    )
    killed = set()
    # Repeat until none is left: a process may start another while it is being killed.
    for _ in range(20):
        left = [
            (process, name)
            for process, name in _own_processes(paths)
            if components is None or name in components
        ]
        if not left:
            break
        for process, name in left:
            killed.add(name)
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        wait([process for process, _ in left], 5.0)
    for name in components if components is not None else _recorded(paths):
        _pid_file(paths, name).unlink(missing_ok=True)
    return sorted(killed)


def is_alive(process: psutil.Process) -> bool:
    """Whether a process is running. A zombie is not."""
    child = _children.get(process.pid)
    if child is not None and child.poll() is not None:
        return False
    try:
        return bool(process.is_running()) and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def log_of(paths: StackPaths, component: str) -> Path:
    """The component's log file."""
    return paths.logs / f"{component}.log"


def end_of_log(paths: StackPaths, component: str) -> str:
    """The last 12 lines of a component's log since its last start."""
    try:
        with log_of(paths, component).open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - 64 * 1024))
            text = file.read().decode(errors="replace")
    except OSError:
        return ""
    return "\n".join(text.rpartition("--- started ")[2].splitlines()[1:][-12:])


def _own_processes(paths: StackPaths) -> list[tuple[psutil.Process, str]]:
    owned = []
    own_pid = os.getpid()
    for process in psutil.process_iter():
        if process.pid == own_pid:
            continue
        try:
            env = process.environ()
        except (psutil.Error, OSError):
            # Another user's process, or one that has just exited.
            continue
        if env.get(HOME_MARK) == str(paths.home) and is_alive(process):
            owned.append((process, env.get(COMPONENT_MARK, "")))
    return owned


def _wait_for_mark(process: psutil.Process) -> None:
    """Wait until the process shows its environment; for a moment after the start it shows none."""
    until = time.monotonic() + 1.0
    while is_alive(process) and time.monotonic() < until:
        with contextlib.suppress(psutil.Error, OSError):
            if HOME_MARK in process.environ():
                return
        time.sleep(0.01)


def wait(processes: Sequence[psutil.Process], seconds: float) -> None:
    """Wait until all of them have exited, but no longer than this."""
    until = time.monotonic() + seconds
    while any(is_alive(process) for process in processes) and time.monotonic() < until:
        time.sleep(0.05)


def _recorded(paths: StackPaths) -> list[str]:
    return [file.stem for file in paths.run.glob("*.pid")]


def _pid_file(paths: StackPaths, component: str) -> Path:
    return paths.run / f"{component}.pid"


def _rotate(log: Path) -> None:
    """Rename a large log, and keep one older file."""
    with contextlib.suppress(FileNotFoundError):
        if log.stat().st_size > _LARGEST_LOG:
            log.replace(log.with_suffix(".log.1"))


class Tail:
    """The last lines of a file, then the lines that are added."""

    def __init__(self, path: Path, lines: int) -> None:
        self._path = path
        self._lines: int | None = lines
        self._at = 0

    def read(self) -> list[str]:
        try:
            with self._path.open("rb") as file:
                if os.fstat(file.fileno()).st_size < self._at:
                    self._at = 0
                file.seek(self._at)
                data = file.read()
        except FileNotFoundError:
            return []
        complete = data.rpartition(b"\n")[0]
        self._at += len(complete) + 1 if complete else 0
        lines = complete.decode(errors="replace").splitlines()
        if self._lines is not None:
            lines, self._lines = lines[-self._lines :] if self._lines else [], None
        return lines
