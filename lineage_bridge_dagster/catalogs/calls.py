"""Calls to a service: the pace of calls to one that refuses what comes too fast, and many calls at once."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import TypeVar

#: What is left of the pace after a refusal, and after another one within a second.
_CUT, _CUT_AGAIN = 0.9, 0.7
#: The pace grows by exp(_GROWTH * t * t), t being the seconds since the last refusal: it is back where it was
#: after two seconds, and ten times as high after ten.
_GROWTH = 0.025
#: Calls a second: the slowest pace, and one that no longer counts as a limit.
_SLOWEST, _UNLIMITED = 1.0, 1_000.0
_WINDOW = 1.0

#: Pages of a list: more than the million tables that an AWS account may have by default need, at 20 a page;
#: bounds a list that a server never ends.
MAX_PAGES = 50_000


class Pace:
    """Calls a second, without a limit until the first refusal. Thread-safe.

    The limit of a service is not known, and others use it up as well. So the pace starts from the calls that
    were served in the second before a refusal, is cut at each further refusal, and grows in between. Calls
    that were on their way at a refusal do not count again.
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._clock = clock
        self._sleep = sleep
        self._turn = Lock()
        self._lock = Lock()
        self._served: deque[float] = deque()
        self._last_start = -math.inf
        #: The time of the last refusal, and the pace from then on; none if there is no limit.
        self._cut: tuple[float, float] | None = None

    @property
    def limit(self) -> float:
        """Calls a second; infinity without a limit."""
        if self._cut is None:
            return math.inf
        at, limit = self._cut
        growth = _GROWTH * (self._clock() - at) ** 2
        return limit * math.exp(growth) if growth < math.log(_UNLIMITED / limit) else math.inf

    def start(self) -> float:
        """Wait until the next call may start, and return the time of its start."""
        if self._cut is None:
            return self._clock()
        with self._turn:
            while (wait := self._last_start + 1 / self.limit - self._clock()) > 0:
                self._sleep(wait)
            self._last_start = self._clock()
            return self._last_start

    def served(self) -> None:
        """Count a call that was not refused."""
        with self._lock:
            self._served.append(self._clock())
            self._forget()

    def refused(self, started: float) -> None:
        """Slow down after a call that was refused; `start` returned when it started."""
        with self._lock:
            now = self._clock()
            self._forget()
            since = math.inf
            if self._cut is not None:
                since = now - self._cut[0]
                if started <= self._cut[0]:
                    return
            seen = min(self.limit, len(self._served) / _WINDOW)
            self._cut = now, max(_SLOWEST, seen * (_CUT_AGAIN if since < _WINDOW else _CUT))

    def _forget(self) -> None:
        while self._served and self._served[0] < self._clock() - _WINDOW:
            self._served.popleft()


A = TypeVar("A")
B = TypeVar("B")
E = TypeVar("E", bound=Exception)


def answers(
    call: Callable[[A], B], asked: Iterable[A], errors: tuple[type[E], ...], *, max_concurrency: int
) -> list[B | E]:
    """The answer of each call in order; the error in place of the answer of one that raised such an error."""

    def answer_or_error(each: A) -> B | E:
        try:
            return call(each)
        except errors as error:
            return error

    with ThreadPoolExecutor(max_concurrency, thread_name_prefix="catalog") as pool:
        return list(pool.map(answer_or_error, asked))
