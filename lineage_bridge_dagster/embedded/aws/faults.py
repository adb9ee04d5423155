"""Faults on request: what a test or a person makes the next calls of an operation meet."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Fault:
    """What the next matching calls meet.

    Attributes:
        operation: such as `UpdateTable` (Glue) or `PutObject` (S3); `*` for all of them.
        code: the error's name; empty with `drop` or a mere `delay_seconds`.
        status: HTTP status of the answer.
        times: how many calls meet it; -1 for all.
        apply_first: carry the call out before failing it: the caller can't know that it was.
        drop: close the connection without an answer.
        delay_seconds: wait before answering.
        matching: only calls whose request has these words anywhere (a table's name, a key).
        message: the error's words.
    """

    operation: str
    code: str = ""
    status: int = 400
    times: int = 1
    apply_first: bool = False
    drop: bool = False
    delay_seconds: float = 0.0
    matching: str = ""
    message: str = "made to fail"

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Fault:
        """From what the admin address was sent; unknown keys raise `TypeError`."""
        return cls(**value)


class Faults:
    """The faults that stand, and the count of calls; safe from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._standing: list[Fault] = []
        self._calls: Counter[str] = Counter()

    def add(self, fault: Fault) -> None:
        """Let it stand until it was met as often as it says."""
        with self._lock:
            self._standing.append(fault)

    def clear(self) -> None:
        """Take away all faults and start the counts anew."""
        with self._lock:
            self._standing.clear()
            self._calls.clear()

    def meet(self, operation: str, request: str) -> Fault | None:
        """Count a call, and tell which fault it meets."""
        with self._lock:
            self._calls[operation] += 1
            for index, fault in enumerate(self._standing):
                if fault.operation not in ("*", operation) or fault.matching not in request:
                    continue
                if fault.times > 0:
                    if fault.times == 1:
                        del self._standing[index]
                    else:
                        self._standing[index] = replace(fault, times=fault.times - 1)
                return fault
        return None

    @property
    def calls(self) -> Counter[str]:
        """Calls so far, by operation: those that met a fault too."""
        with self._lock:
            return Counter(self._calls)

    def standing(self) -> list[dict[str, Any]]:
        """The faults still to be met, as JSON."""
        with self._lock:
            return [asdict(fault) for fault in self._standing]
