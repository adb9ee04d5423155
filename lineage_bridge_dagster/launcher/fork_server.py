"""The process that runs are forked from: it has imported once what every run needs.

    python -m lineage_bridge_dagster.launcher FD MODULES...

`FD` is the connection to the launcher, and `MODULES` a group of modules, separated by commas. The server
only imports: it opens no connection, starts no thread and loads no definitions, so that a fork of it is as
good as a new process. It forks as long as the files of its modules are as they were, and exits when the
launcher does; runs go on then.
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
from collections import deque
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path

from lineage_bridge_dagster.launcher.messages import Exited, Stale, Start, Started

#: Seconds between two looks for processes that have ended.
_REAP_SECONDS = 0.5

_log = logging.getLogger(__name__)

#: What tells two versions of a file apart: time of its last change in ns, and bytes.
Stamp = tuple[int, int]


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


def serve(
    channel: Connection, groups: Iterable[Sequence[str]], fork: Callable[[], int] = os.fork
) -> Start | None:
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
            asked = channel.poll()
            # Beside the first run, both would import the same.
            if waiting and (not files or (asked and is_second) or not (asked or running)):
                for module in waiting.popleft():
                    _preload(module)
                files |= _stamps(files)
            elif channel.poll(_REAP_SECONDS if running else None):
                request: Start = channel.recv()
                if path := changed(files):
                    channel.send(Stale(path))
                else:
                    gc.freeze()
                    pid = fork()
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


def _preload(module: str) -> None:
    """Import a module. One that is missing is reported, and left to the runs that need it."""
    try:
        importlib.import_module(module)
    except Exception:
        _log.warning("Runs are forked without %s", module, exc_info=True)


def _stamps(known: Container[str]) -> dict[str, Stamp | None]:
    """The stamps of the files of imported modules that are not known yet; None for one that is not there."""
    found = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    return {path: _stamp(path) for path in found if path and path not in known}


def _ended(running: Mapping[int, str]) -> list[tuple[int, int]]:
    """Those of the processes that have ended, with their exit codes."""
    found = [os.waitpid(pid, os.WNOHANG) for pid in running]
    return [(pid, os.waitstatus_to_exitcode(status)) for pid, status in found if pid]


def _stamp(path: str) -> Stamp | None:
    try:
        status = Path(path).stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def _execute(run: Start) -> None:
    from lineage_bridge_dagster.dagster_internals import run_dagster_api

    # Otherwise all runs would wait equally long before they retry.
    random.seed()
    # Files may have been added since.
    importlib.invalidate_caches()
    if run.folder:
        os.chdir(run.folder)
    run_dagster_api(run.arguments)
