"""Fault injection: makes the next calls of an operation fail, hang up, or take longer."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Fault:
    """A failure or delay of the next matching calls.

    Attributes:
        operation: such as `UpdateTable` (Glue) or `PutObject` (S3); `*` for all operations.
        code: the error's name; empty with `drop`, or to only delay the call.
        status: HTTP status of the error response.
        times: how many calls are affected; -1 for all.
        apply_first: apply the operation before failing the call, so that the caller can't know its outcome.
        drop: close the connection without a response.
        matching: only affect requests that contain this text (a table's name, a key).
        message: the error's text.
        region: only affect requests to this region.
    """

    operation: str
    code: str = ""
    status: int = 400
    times: int = 1
    apply_first: bool = False
    drop: bool = False
    delay_seconds: float = 0.0
    matching: str = ""
    message: str = "Injected fault"
    region: str = ""

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Fault:
        """Build from a request to the admin API; unknown keys raise `TypeError`."""
        return cls(**value)


class Faults:
    """The active faults and the call counts; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._active: list[Fault] = []
        self._calls: Counter[str] = Counter()

    def add(self, fault: Fault) -> None:
        """Activate a fault until it has affected its number of calls."""
        with self._lock:
            self._active.append(fault)

    def clear(self) -> None:
        """Remove all faults and reset the counts."""
        with self._lock:
            self._active.clear()
            self._calls.clear()

    def record_call(self, operation: str, request: str, region: str = "") -> Fault | None:
        """Count a call and return the fault that affects it, if any."""
        with self._lock:
            self._calls[operation] += 1
            for index, fault in enumerate(self._active):
                if fault.operation not in ("*", operation) or fault.matching not in request:
                    continue
                if fault.region not in ("", region):
                    continue
                if fault.times > 0:
                    if fault.times == 1:
                        del self._active[index]
                    else:
                        self._active[index] = replace(fault, times=fault.times - 1)
                return fault
        return None

    @property
    def pending(self) -> int:
        """Number of faults that have not affected all of their calls yet."""
        with self._lock:
            return len(self._active)

    @property
    def calls(self) -> Counter[str]:
        """Number of calls so far by operation, including calls that failed by a fault."""
        with self._lock:
            return Counter(self._calls)

    def active(self) -> list[dict[str, Any]]:
        """Return the active faults as JSON."""
        with self._lock:
            return [asdict(fault) for fault in self._active]
