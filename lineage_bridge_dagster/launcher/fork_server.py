"""The process that runs are forked from: it has imported once what every run needs.

    python -m lineage_bridge_dagster.launcher FD MODULE...

`FD` is the connection to the launcher. The server only imports: it opens no connection, starts no thread and
loads no definitions, so that a fork of it is as good as a new process. It forks as long as the files of its
modules are unchanged, and exits when the launcher does; the processes of runs do not.
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
from collections.abc import Iterable, Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

from lineage_bridge_dagster.launcher.messages import Exited, Stale, Start, Started
from lineage_bridge_dagster.launcher.process import PROCESS_TAG, RunProcess

#: Seconds between checks for processes that have ended.
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
    run = serve(channel, arguments[1:])
    if run is not None:
        gc.enable()
        signal.signal(signal.SIGINT, handler)
        _execute(run)


def serve(channel: Connection, modules: Iterable[str]) -> Start | None:
    """Import the modules, and answer the launcher until it closes its end.

    Returns:
        None in the server itself; in a forked process the run that it has to execute.
    """
    running: dict[int, str] = {}
    files = _preload(modules)
    gc.freeze()
    # The launcher can go away at any time.
    with channel, contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            if channel.poll(_REAP_SECONDS if running else None):
                request: Start = channel.recv()
                if path := changed(files):
                    channel.send(Stale(path))
                else:
                    # Or each run would print what is left in the buffers.
                    sys.stdout.flush()
                    sys.stderr.flush()
                    pid = os.fork()
                    if not pid:
                        return request
                    running[pid] = request.run_id
                    channel.send(Started(request.run_id, pid))
            for pid, code in _ended(running):
                channel.send(Exited(running.pop(pid), pid, code))
    return None


def changed(before: Mapping[str, Stamp | None]) -> str | None:
    """A file that differs from its stamp."""
    return next((path for path, stamp in before.items() if _stamp(path) != stamp), None)


def _preload(modules: Iterable[str]) -> dict[str, Stamp | None]:
    """Import modules. One that is missing is reported, and left to the runs that need it.

    Returns:
        The stamps of all imported files; None for one that is missing, or that has changed meanwhile, so that
        nobody knows which version was imported.
    """
    began = time.time_ns()
    for module in modules:
        try:
            importlib.import_module(module)
        except Exception:
            _log.warning("Runs are forked without %s", module, exc_info=True)
    found = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    stamps = {path: _stamp(path) for path in found if path}
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
    from lineage_bridge_dagster.dagster_internals.runs import run_dagster_api, tag_run

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
