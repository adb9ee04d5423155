"""Which event of each job a receiver has: so that the same one is not sent again.

It is kept in shards, so that a run over a few tables reads and writes little. If it is lost, all events are
sent again, which changes nothing: a run's id depends on its content alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple, Protocol

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.lineage.files import write_atomically
from lineage_bridge_dagster.openlineage.names import OpenLineageName

#: With 300,000 jobs, a shard has 45 kB: what a text column of any database takes.
SHARDS = 1024
#: Types of events after which a run is over.
ENDED = frozenset({"COMPLETE", "ABORT", "FAIL"})


class Sent(NamedTuple):
    """What a receiver has of a job: the run, the type of its last event, and its time as ISO 8601."""

    run_id: str
    event_type: str
    at: str

    @property
    def is_over(self) -> bool:
        return self.event_type in ENDED


#: By job.
Jobs = dict[OpenLineageName, Sent]


class SentEvents(Protocol):
    """Keeps what each receiver has. A lost update only has events sent again."""

    def read(self, receiver: str, shards: Collection[int] | None = None) -> Jobs:
        """What a receiver has of the jobs in these shards, or in all."""

    def write(self, receiver: str, jobs: Jobs, shards: Collection[int]) -> None:
        """Replace these shards by the jobs that are theirs."""


class NothingKept:
    """Keeps nothing: every event is sent."""

    def read(self, receiver: str, shards: Collection[int] | None = None) -> Jobs:  # noqa: ARG002
        return {}

    def write(self, receiver: str, jobs: Jobs, shards: Collection[int]) -> None:
        pass


class SentFile:
    """Keeps it in a JSON file, by receiver.

    Raises:
        ConfigurationError: The file exists, but was not written by this command.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._jobs: dict[str, Jobs] = {}
        if path.exists():
            try:
                found = json.loads(path.read_text(encoding="utf-8"))
                self._jobs = {receiver: read_jobs([json.dumps(rows)]) for receiver, rows in found.items()}
            except (OSError, ValueError, AttributeError) as error:
                raise ConfigurationError(
                    f"{path} does not tell which events were sent: {error}",
                    hint="Delete it: all events are then sent once more, which changes nothing.",
                ) from error

    def read(self, receiver: str, shards: Collection[int] | None = None) -> Jobs:
        found = self._jobs.get(receiver, {})
        return {job: sent for job, sent in found.items() if shards is None or shard_of(job) in shards}

    def write(self, receiver: str, jobs: Jobs, shards: Collection[int]) -> None:
        kept = {job: sent for job, sent in self.read(receiver).items() if shard_of(job) not in shards}
        self._jobs[receiver] = kept | {job: sent for job, sent in jobs.items() if shard_of(job) in shards}
        rows = {name: json.loads(jobs_text(found)) for name, found in self._jobs.items()}
        write_atomically(self._path, [json.dumps(rows, indent=1)])


def shard_of(job: OpenLineageName) -> int:
    """The shard that a job is kept in."""
    return (
        int.from_bytes(hashlib.sha256("\0".join(job).encode("utf-8", "surrogatepass")).digest()[:4], "big")
        % SHARDS
    )


def jobs_text(jobs: Mapping[OpenLineageName, Sent]) -> str:
    """Jobs as one JSON text: rows of namespace, name, run, type and time."""
    return json.dumps([[*job, *sent] for job, sent in sorted(jobs.items())], separators=(",", ":"))


def read_jobs(texts: Iterable[str]) -> Jobs:
    """The jobs in texts that `jobs_text` wrote; any other text is ignored, as if nothing was sent."""
    found: Jobs = {}
    for text in texts:
        try:
            rows = json.loads(text)
        except ValueError:
            continue
        for row in rows if isinstance(rows, list) else ():
            if isinstance(row, list) and len(row) == 5 and all(isinstance(each, str) for each in row):
                found[OpenLineageName(*row[:2])] = Sent(*row[2:])
    return found
