"""The process that runs are forked from: it has imported once what every run needs.

    python -m lineage_bridge_dagster.launcher FD MODULES...

`FD` is the connection to the launcher, and `MODULES` a group of modules, separated by commas. The server
only imports: it opens no connection, starts no thread and loads no definitions, so that a fork of it is as
good as a new process. It forks as long as the files of its modules are as they were, and exits when the
launcher does; the processes of runs do not.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import logging
import os
import random
import signal
import sys
import time
from collections import deque
from collections.abc import Container, Iterable, Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

from lineage_bridge_dagster.launcher.messages import Exited, Stale, Start, Started
from lineage_bridge_dagster.launcher.process import PROCESS_TAG, RunProcess

#: Seconds between two looks for processes that have ended.
_REAP_SECONDS = 0.5

_log = logging.getLogger(__name__)


class Stamp(NamedTuple):
    """What tells two versions of a file apart: when it was written and when it got here, in ns; its bytes."""

    written: int
    changed: int
    size: int


def main(arguments: Sequence[str]) -> None:
    """Serve, and in each forked process execute its run."""
    channel = Connection(int(arguments[0]))
    # Ctrl-C reaches each process of the terminal; the launcher decides when this one ends.
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A collection would touch, and so copy, the memory that all runs share.
    gc.disable()
    run = serve(channel, [group.split(",") for group in arguments[1:]])
    if run is not None:
        gc.enable()
        signal.signal(signal.SIGINT, handler)
        _execute(run)


def serve(channel: Connection, groups: Iterable[Sequence[str]]) -> Start | None:
    """Answer the launcher until it closes its end, and import the groups of modules.

    The first group is imported before the first fork, the others while nothing runs, or before the second.

    Returns:
        None in the server itself; in a forked process the run that it has to execute.
    """
    running: dict[int, str] = {}
    waiting = deque(groups)
    files: dict[str, Stamp | None] = {}
    is_second = False
    # The launcher can go away at any time.
    with channel, contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            # Not beside the first run, which would import the same.
            if waiting and (not files or not (running or channel.poll())):
                files |= _preload(waiting.popleft(), files)
            elif channel.poll(_REAP_SECONDS if running else None):
                request: Start = channel.recv()
                while waiting and is_second:
                    files |= _preload(waiting.popleft(), files)
                if path := changed(files):
                    channel.send(Stale(path))
                else:
                    gc.freeze()
                    # Or each run would print what is left in the buffers.
                    sys.stdout.flush()
                    sys.stderr.flush()
                    pid = os.fork()
                    if not pid:
                        return request
                    running[pid] = request.run_id
                    channel.send(Started(request.run_id, pid))
                    is_second = True
            for pid, code in _ended(running):
                channel.send(Exited(running.pop(pid), pid, code))
    return None


def changed(before: Mapping[str, Stamp | None]) -> str | None:
    """A file that differs from its stamp."""
    return next((path for path, stamp in before.items() if _stamp(path) != stamp), None)


def _preload(modules: Sequence[str], known: Container[str]) -> dict[str, Stamp | None]:
    """Import modules. One that is missing is reported, and left to the runs that need it.

    Returns:
        The stamps of the files that are not known yet; None for one that is not there, or that has changed
        while the modules were imported, so that nobody knows what was.
    """
    began = time.time_ns()
    for module in modules:
        try:
            importlib.import_module(module)
        except Exception:
            _log.warning("Runs are forked without %s", module, exc_info=True)
    found = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    stamps = {path: _stamp(path) for path in found if path and path not in known}
    now = time.time_ns()
    return {
        path: None if stamp is not None and began <= stamp.changed <= now else stamp
        for path, stamp in stamps.items()
    }


def _ended(running: Mapping[int, str]) -> list[tuple[int, int]]:
    """Those of the processes that have ended, with their exit codes."""
    found = [os.waitpid(pid, os.WNOHANG) for pid in running]
    return [(pid, os.waitstatus_to_exitcode(status)) for pid, status in found if pid]


def _stamp(path: str) -> Stamp | None:
    try:
        status = Path(path).stat()
    except OSError:
        return None
    return Stamp(status.st_mtime_ns, status.st_ctime_ns, status.st_size)


def _execute(run: Start) -> None:
    from lineage_bridge_dagster.dagster_internals import run_dagster_api, tag_run

    # Otherwise all runs would wait equally long before they retry, and draw the same samples.
    random.seed()
    if numpy_random := sys.modules.get("numpy.random"):
        numpy_random.seed()
    # Files may have been added since.
    importlib.invalidate_caches()
    process = RunProcess.of(os.getpid(), run.run_id)
    if process is not None:
        tag_run(run.arguments, {PROCESS_TAG: process.to_tag()})
    run_dagster_api(run.arguments)
