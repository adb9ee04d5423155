"""A push whose threads live in virtual time: it passes only while all of them wait, and each run is the same.

One thread runs at a time, until it waits for a response or for its turn; then the next one goes on.
"""

from __future__ import annotations

import heapq
import itertools
import math
import random
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from typing import Any

import botocore.endpoint
import pytest

from lineage_bridge_dagster.catalogs import calls
from lineage_bridge_dagster.catalogs import table_push as runs

#: Seconds between two looks at a result that is not there yet.
_POLL = 0.01
#: The least that a wait takes, or rounding would make it last for ever.
_TICK = 1e-6


class VirtualTime:
    """A clock in seconds, and the threads that wait for it; the one that creates it is the first."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.running = threading.Event()
        self._order = itertools.count()
        self._waiting: list[tuple[float, int, threading.Event]] = []
        #: The entry of each waiting thread that counts; others were overtaken.
        self._entry: dict[threading.Event, int] = {}

    def time(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        """Wait, while others run."""
        this = self.running
        self.wake(this, seconds)
        self._go_on()
        this.wait()
        this.clear()

    def start(self, work: Callable[[], None]) -> None:
        """Run this in another thread."""
        turn = threading.Event()

        def run() -> None:
            turn.wait()
            turn.clear()
            try:
                work()
            finally:
                self._go_on()

        threading.Thread(target=run, daemon=True).start()
        self.wake(turn)

    def wake(self, sleeper: threading.Event, seconds: float = 0.0) -> None:
        """Let this thread go on after so many seconds, whatever it waits for."""
        self._entry[sleeper] = entry = next(self._order)
        heapq.heappush(self._waiting, (self.now + max(seconds, _TICK), entry, sleeper))

    def _go_on(self) -> None:
        while True:
            at, entry, sleeper = heapq.heappop(self._waiting)
            if self._entry.get(sleeper) == entry:
                del self._entry[sleeper]
                self.now, self.running = at, sleeper
                sleeper.set()
                return


@contextmanager
def virtual_time() -> Iterator[VirtualTime]:
    """Make the retries of botocore, the pace and the threads of a push use a virtual time."""
    time = VirtualTime()

    class Pool(Executor):
        def __init__(self, max_workers: int, thread_name_prefix: str = "") -> None:
            self._free = max_workers
            self._work: deque[Callable[[], None]] = deque()

        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            future = _Result(time)
            self._work.append(lambda: future.set_result(fn(*args, **kwargs)))
            if self._free:
                self._free -= 1
                time.start(self._drain)
            return future

        def _drain(self) -> None:
            while self._work:
                self._work.popleft()()
            self._free += 1

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(botocore.endpoint, "time", time)
        patch.setattr(calls, "Lock", lambda: _Lock(time))
        patch.setattr(runs, "ThreadPoolExecutor", Pool)
        # Waiting for a real semaphore would stop all.
        patch.setattr(runs, "_READ_AHEAD", 1_000_000)
        # The waits between attempts are random.
        state = random.getstate()
        random.seed(7)
        yield time
        random.setstate(state)


class _Lock:
    """A lock that one may wait for while another sleeps with it."""

    def __init__(self, time: VirtualTime) -> None:
        self._time = time
        self._sleepers: deque[threading.Event] = deque()
        self._locked = False

    def __enter__(self) -> None:
        if self._locked:
            self._sleepers.append(self._time.running)
            self._time.sleep(math.inf)
        self._locked = True

    def __exit__(self, *_: object) -> None:
        if self._sleepers:
            self._time.wake(self._sleepers.popleft())
        else:
            self._locked = False


class _Result(Future[Any]):
    def __init__(self, time: VirtualTime) -> None:
        super().__init__()
        self._time = time

    def result(self, timeout: float | None = None) -> Any:
        while not self.done():
            self._time.sleep(_POLL)
        return super().result()
