"""Requests that a server of the stack fails because it was asked to: which ones, and how many."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Generic, TypeVar


@dataclass(kw_only=True)
class ScriptedFault:
    """What the faults of all servers have.

    Attributes:
        name: what `lineage-bridge local break` calls it; empty for any other.
        after: number of matching requests that succeed first.
        times: number of requests that then fail; None for all, until the fault is cleared.
        met: number of matching requests so far.
    """

    name: str = ""
    after: int = 0
    times: int | None = None
    met: int = 0

    @property
    def left(self) -> int | None:
        """Number of matching requests until it is spent; None if it never is."""
        return None if self.times is None else max(0, self.after + self.times - self.met)

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "left": self.left}


F = TypeVar("F", bound=ScriptedFault)


class ActiveFaults(Generic[F]):
    """The faults in force in order of creation; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._faults: list[F] = []

    def add(self, fault: F) -> None:
        with self._lock:
            self._faults.append(fault)

    def clear(self, selects: Callable[[F], bool] = lambda _: True) -> int:
        """Remove some faults, or all, and return how many."""
        with self._lock:
            before = len(self._faults)
            self._faults = [fault for fault in self._faults if not selects(fault)]
            return before - len(self._faults)

    def meet(self, matches: Callable[[F], bool]) -> F | None:
        """Return the first fault that matches a request and applies to it; the request is counted."""
        with self._lock:
            for fault in filter(matches, list(self._faults)):
                fault.met += 1
                if fault.left == 0:
                    self._faults.remove(fault)
                if fault.met > fault.after:
                    return fault
        return None

    def as_json(self) -> list[dict[str, Any]]:
        with self._lock:
            return [fault.as_json() for fault in self._faults]
