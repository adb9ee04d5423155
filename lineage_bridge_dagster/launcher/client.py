"""The launcher's side of the fork server."""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from multiprocessing import Pipe

from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.launcher.messages import Exited, Reply, Stale, Start

#: Seconds until the server has imported its modules and forked: far more than a slow disk needs.
_ANSWER_SECONDS = 120.0

#: Seconds until a server that was killed is gone.
_EXIT_SECONDS = 10.0

_log = logging.getLogger(__name__)


class ForkServerError(LineageBridgeError):
    """The server could not be started, has exited, or does not answer."""


class ForkServer:
    """A running fork server, started with this object and used from any thread.

    Args:
        modules: modules to import before the first fork.
        on_exit: called for each process that has ended, one after the other, in a thread of its own.

    Raises:
        ForkServerError: it could not be started.
    """

    def __init__(self, modules: Sequence[str], on_exit: Callable[[Exited], None]) -> None:
        self._on_exit = on_exit
        self._replies: queue.SimpleQueue[Reply | None] = queue.SimpleQueue()
        self._exits: queue.SimpleQueue[Exited | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        try:
            self._channel, theirs = Pipe()
            with theirs:
                number = theirs.fileno()
                command = [sys.executable, "-m", "lineage_bridge_dagster.launcher", str(number), *modules]
                self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=[number])
        except OSError as error:
            raise ForkServerError(f"The run fork server could not be started: {error}.") from error
        for work in (self._read, self._tell_exits):
            threading.Thread(target=work, name=f"fork-server{work.__name__}", daemon=True).start()

    def start(self, run: Start) -> int | None:
        """Start a process that executes a run.

        Returns:
            Its pid, or None if the imported files have changed since: then another server is needed.

        Raises:
            ForkServerError: the server has exited, or does not answer.
        """
        with self._lock:
            try:
                self._channel.send(run)
                reply = self._replies.get(timeout=_ANSWER_SECONDS)
            except OSError:
                reply = None
            except queue.Empty:
                reply = self._killed()
        if reply is None:
            raise ForkServerError(f"The run fork server has exited with code {self._exit_code()}.")
        return None if isinstance(reply, Stale) else reply.pid

    def close(self) -> None:
        """Let the server exit. Runs go on."""
        # A mere close would wait for the thread that reads.
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(self._channel.fileno())) as connection:
            connection.shutdown(socket.SHUT_RDWR)

    def _killed(self) -> Reply:
        """Kill the server, so that it forks no more. If it has just done so, its answer is still there."""
        self._process.kill()
        with contextlib.suppress(queue.Empty):
            if reply := self._replies.get(timeout=_EXIT_SECONDS):
                return reply
        raise ForkServerError(
            f"The run fork server did not answer within {_ANSWER_SECONDS:.0f} s and was killed."
        )

    def _exit_code(self) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process.wait(_EXIT_SECONDS)
        return None

    def _read(self) -> None:
        try:
            with contextlib.suppress(OSError, EOFError):
                while True:
                    message: Reply | Exited = self._channel.recv()
                    if isinstance(message, Exited):
                        self._exits.put(message)
                    else:
                        self._replies.put(message)
        finally:
            self._replies.put(None)
            self._exits.put(None)
            self._channel.close()
            self._process.wait()

    def _tell_exits(self) -> None:
        while (exited := self._exits.get()) is not None:
            try:
                self._on_exit(exited)
            except Exception:
                _log.exception("The exit of the process of run %s could not be noted", exited.run_id)
