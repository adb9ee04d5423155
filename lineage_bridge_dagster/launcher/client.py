"""The launcher's side of the fork server."""

from __future__ import annotations

import contextlib
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


class ForkServer:
    """A running fork server, started with this object and used from any thread.

    Args:
        groups: modules to import; the first group before the first fork.
        on_exit: called, in a thread of its own, for each process that has ended.
    """

    def __init__(self, groups: Sequence[Sequence[str]], on_exit: Callable[[Exited], None]) -> None:
        self._on_exit = on_exit
        self._replies: queue.SimpleQueue[Reply | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._channel, theirs = Pipe()
        with theirs:
            number = theirs.fileno()
            texts = [",".join(modules) for modules in groups]
            command = [sys.executable, "-m", "lineage_bridge_dagster.launcher", str(number), *texts]
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=[number])
        threading.Thread(target=self._read, name="fork-server", daemon=True).start()

    def start(self, run: Start) -> int | None:
        """Start a process that executes a run.

        Returns:
            Its pid, or None if the imported files have changed since: then another server is needed.

        Raises:
            LineageBridgeError: the server has exited, or does not answer.
        """
        with self._lock:
            try:
                self._channel.send(run)
                reply = self._replies.get(timeout=_ANSWER_SECONDS)
            except queue.Empty:
                # It must not fork any more. If it has just done so, its answer is still there.
                self._process.kill()
                reply = self._replies.get()
            except OSError:
                reply = None
        if reply is None:
            code = self._process.wait()
            raise LineageBridgeError(f"The fork server of runs has exited with code {code}.")
        return None if isinstance(reply, Stale) else reply.pid

    def close(self) -> None:
        """Let the server exit. Runs go on."""
        # A mere close would wait for the thread that reads.
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(self._channel.fileno())) as connection:
            connection.shutdown(socket.SHUT_RDWR)

    def _read(self) -> None:
        with contextlib.suppress(OSError, EOFError):
            while True:
                message: Reply | Exited = self._channel.recv()
                if isinstance(message, Exited):
                    self._on_exit(message)
                else:
                    self._replies.put(message)
        self._replies.put(None)
        self._channel.close()
        self._process.wait()
