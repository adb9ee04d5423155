"""A run's process, as a tag of the run names it for every process of this machine."""

from __future__ import annotations

import json
import os
import platform
import signal
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

#: Tag of a run with its process. Dagster hides the tags of this prefix.
PROCESS_TAG = ".dagster/lineage_bridge_run_process"


@dataclass(frozen=True, slots=True)
class RunProcess:
    """The process of a run.

    Attributes:
        run_id: the run. A run that repeats another one gets all of its tags.
        started: when it started, in clock ticks since the machine started. A pid is used again.
    """

    run_id: str
    host: str
    pid: int
    started: int

    @classmethod
    def of(cls, pid: int, run_id: str) -> Self | None:
        """The process on this machine that has the pid; None if it has ended."""
        started = _started(pid)
        return None if started is None else cls(run_id, platform.node(), pid, started)

    @classmethod
    def of_run(cls, run_id: str, tags: Mapping[str, str]) -> Self | None:
        """The process that a run's tags name; None if they name none of its own."""
        if (tag := tags.get(PROCESS_TAG)) is None:
            return None
        found = cls(**json.loads(tag))
        return found if found.run_id == run_id else None

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
