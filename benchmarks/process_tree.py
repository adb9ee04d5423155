"""Peak memory and CPU time of a process with all that it starts."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import Self

import psutil

_INTERVAL_SECONDS = 0.2


class ProcessTree:
    """Samples a process tree from a thread. A context manager.

    Args:
        pid: its root.

    Attributes:
        peak_bytes: the largest sum of proportional set sizes: what several processes share counts once.
        samples: time in epoch seconds, bytes in memory, and CPU seconds so far, one each second.
    """

    def __init__(self, pid: int) -> None:
        self.peak_bytes = 0
        self.samples: list[tuple[float, int, float]] = []
        self._root = psutil.Process(pid)
        self._ignored: set[int] = set()
        self._cpu: dict[int, float] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample_until_stopped, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def ignore(self, pid: int) -> None:
        """Do not count a process of the tree, such as one that stands in for a service."""
        self._ignored.add(pid)

    @property
    def cpu_seconds(self) -> float:
        """User and system time of all processes so far."""
        return sum(self._cpu.copy().values())

    def mean_bytes(self, start: float, end: float) -> float:
        """Mean bytes in memory between two times in epoch seconds, 0 without a sample."""
        found = [size for at, size, _ in self.samples if start <= at <= end]
        return sum(found) / len(found) if found else 0.0

    def busy_until(self, start: float, share: float) -> float:
        """The time, in epoch seconds, by which this share of the CPU time since a start had been used."""
        used = [(at, cpu) for at, _, cpu in self.samples if at >= start]
        if not used:
            return start
        before, total = used[0][1], used[-1][1]
        return next(at for at, cpu in used if cpu - before >= share * (total - before))

    def cpu_between(self, start: float, end: float) -> float:
        """CPU seconds between two times in epoch seconds, as near as the samples tell."""
        at_start, at_end = (
            min(self.samples, key=lambda sample: abs(sample[0] - at))[2] for at in (start, end)
        )
        return at_end - at_start

    def _sample_until_stopped(self) -> None:
        while not self._stop.wait(_INTERVAL_SECONDS):
            with contextlib.suppress(psutil.Error):
                self._sample([self._root, *self._root.children(recursive=True)])

    def _sample(self, processes: list[psutil.Process]) -> None:
        used = 0
        for process in processes:
            if process.pid in self._ignored:
                continue
            with contextlib.suppress(psutil.Error):
                times = process.cpu_times()
                self._cpu[process.pid] = times.user + times.system
                memory = process.memory_full_info()
                # Only Linux has the first one.
                used += getattr(memory, "pss", memory.rss)
        self.peak_bytes = max(self.peak_bytes, used)
        now = time.time()
        if not self.samples or now - self.samples[-1][0] >= 1.0:
            self.samples.append((now, used, self.cpu_seconds))
