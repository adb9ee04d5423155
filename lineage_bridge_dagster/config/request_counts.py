"""How many requests were sent to each API, and what came back."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

#: The outcome of a request without an answer.
UNREACHABLE, TIMEOUT = "unreachable", "timeout"


class RequestCounts:
    """Counts requests, each attempt on its own. Threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, str]] = Counter()
        self._retries: Counter[str] = Counter()

    def add(self, api: str, status: int | str) -> None:
        """Count a request by the status of its answer, or by why it got no answer."""
        with self._lock:
            self._requests[api, str(status)] += 1

    def retry(self, api: str) -> None:
        """Count a request that was sent again."""
        with self._lock:
            self._retries[api] += 1

    def take(self) -> tuple[dict[str, dict[str, int]], dict[str, int]]:
        """Return the requests by API and status, and the repeated ones by API, and start from zero again."""
        with self._lock:
            requests: dict[str, dict[str, int]] = {}
            for (api, status), number in sorted(self._requests.items()):
                requests.setdefault(api, {})[status] = number
            retries = dict(self._retries)
            self._requests.clear()
            self._retries.clear()
        return requests, retries

    @property
    def requests(self) -> Mapping[tuple[str, str], int]:
        """The number of requests by API and status."""
        with self._lock:
            return dict(self._requests)

    @property
    def retries(self) -> Mapping[str, int]:
        """The number of requests, by API, that repeated another one."""
        with self._lock:
            return dict(self._retries)


_COUNTS: ContextVar[RequestCounts | None] = ContextVar("lineage_bridge_request_counts", default=None)


@contextmanager
def counting(counts: RequestCounts) -> Iterator[RequestCounts]:
    """Have the clients that are made within the block count their requests here, as long as they live."""
    token = _COUNTS.set(counts)
    try:
        yield counts
    finally:
        _COUNTS.reset(token)


def current_counts() -> RequestCounts:
    """Where a new client counts its requests; without `counting`, nobody reads that."""
    return _COUNTS.get() or RequestCounts()
