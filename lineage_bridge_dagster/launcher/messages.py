"""What the launcher and its fork server tell each other."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Start:
    """Asks for a new process that executes a run by these arguments of `dagster api`."""

    run_id: str
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Started:
    """The run has a process."""

    run_id: str
    pid: int


@dataclass(frozen=True, slots=True)
class Stale:
    """The server forks no more: files that it has imported have changed, such as `path`."""

    path: str


@dataclass(frozen=True, slots=True)
class Exited:
    """The process of a run has ended, with this exit code, or minus the number of the signal."""

    run_id: str
    pid: int
    code: int


Reply = Started | Stale
