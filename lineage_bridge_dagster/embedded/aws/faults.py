"""Fault injection: makes the next calls of an operation fail, hang up, or take longer."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from lineage_bridge_dagster.embedded.faults import ActiveFaults, ScriptedFault


@dataclass
class Fault(ScriptedFault):
    """A failure or delay of the next matching calls, by default of one.

    Attributes:
        operation: such as `UpdateTable` (Glue) or `PutObject` (S3); `*` for all operations.
        code: the error's name; empty with `drop`, or to only delay the call.
        status: HTTP status of the error response.
        apply_first: apply the operation before failing the call, so that the caller can't know its outcome.
        drop: close the connection without a response.
        matching: only affect requests that contain this text (a table's name, a key).
        message: the error's text.
        region: only affect requests to this region.
    """

    operation: str
    code: str = ""
    status: int = 400
    times: int | None = field(default=1, kw_only=True)
    apply_first: bool = False
    drop: bool = False
    delay_seconds: float = 0.0
    matching: str = ""
    message: str = "Injected fault"
    region: str = ""


class Faults(ActiveFaults[Fault]):
    """The active faults and the call counts; thread-safe."""

    def __init__(self) -> None:
        super().__init__()
        self._calls: Counter[str] = Counter()

    def reset(self) -> None:
        """Remove all faults and reset the counts."""
        self.clear()
        with self._lock:
            self._calls.clear()

    def record_call(self, operation: str, request: str, region: str = "") -> Fault | None:
        """Count a call and return the fault that affects it, if any."""
        with self._lock:
            self._calls[operation] += 1
        return self.meet(
            lambda fault: (
                fault.operation in ("*", operation)
                and fault.matching in request
                and fault.region in ("", region)
            )
        )

    @property
    def calls(self) -> Counter[str]:
        """Number of calls so far by operation, including calls that failed by a fault."""
        with self._lock:
            return Counter(self._calls)
