"""A run's process, as a tag of the run names it for every process of this machine."""

from __future__ import annotations

import json
import os
import platform
import signal
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self


@dataclass(frozen=True, slots=True)
class RunProcess:
    """A process of a machine.

    Attributes:
        host: the machine.
        pid: the process.
        started: when it started, in clock ticks since the machine started. A pid is used again.
    """

    host: str
    pid: int
    started: int

    @classmethod
    def of(cls, pid: int) -> Self | None:
        """The process on this machine that has the pid; None if it has ended."""
        started = _started(pid)
        return None if started is None else cls(platform.node(), pid, started)

    @classmethod
    def from_tag(cls, tag: str) -> Self:
        """The opposite of `to_tag`."""
        return cls(**json.loads(tag))

    def to_tag(self) -> str:
        """A text for a run's tag."""
        return json.dumps(asdict(self))

    @property
    def is_here(self) -> bool:
        """Whether it is, or was, a process of this machine."""
        return self.host == platform.node()

    @property
    def is_alive(self) -> bool:
        """Whether it is still there. Ask only for a process that `is_here`."""
        return _started(self.pid) == self.started

    def terminate(self, number: int = signal.SIGTERM) -> bool:
        """Send it a signal to end; False if it has ended already."""
        if not self.is_alive:
            return False
        try:
            os.kill(self.pid, number)
        except ProcessLookupError:
            return False
        return True


def _started(pid: int) -> int | None:
    """When a process started; None for one that has ended, even if nobody has collected its exit code."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # The name of the program, in parentheses, can contain anything.
    state, *fields = text.rpartition(")")[2].split()
    return None if state in "ZX" else int(fields[18])
