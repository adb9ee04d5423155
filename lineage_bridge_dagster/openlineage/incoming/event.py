"""What an event of OpenLineage tells, as far as it matters to lineage.

Source: https://openlineage.io/spec, core 1-x and 2-0-2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from lineage_bridge_dagster.lineage.nodes import Field
from lineage_bridge_dagster.openlineage.names import OpenLineageName
from lineage_bridge_dagster.redaction.redact import redact_text

#: Schemes whose addresses name a container before the `@`.
_CONTAINERS = frozenset({"abfs", "abfss", "wasb", "wasbs"})


@lru_cache(maxsize=16_384)
def event_name(namespace: str, name: str) -> OpenLineageName:
    """A name as an event has it, without secrets."""
    return OpenLineageName(without_secrets(namespace.strip()), without_secrets(name.strip()))


def without_secrets(text: str) -> str:
    """A name without user, password and parameters, which belong to a connection and not to a dataset."""
    scheme, separator, rest = text.partition("://")
    if not separator:
        return redact_text(text) if "=" in text else text
    authority, slash, path = rest.partition("/")
    # Azure's containers stand where others have a user: `abfss://container@account`.
    if scheme not in _CONTAINERS:
        authority = authority.rpartition("@")[2]
    shown = f"{scheme}://{authority}{slash}{path}"
    return redact_text(shown.partition("?")[0].partition(";")[0])


class Transition(StrEnum):
    """The `eventType` of a run's event. An event of a job or a dataset has none."""

    START = "START"
    RUNNING = "RUNNING"
    COMPLETE = "COMPLETE"
    ABORT = "ABORT"
    FAIL = "FAIL"
    OTHER = "OTHER"


#: A run that has one of these has ended.
ENDS = frozenset({Transition.COMPLETE, Transition.ABORT, Transition.FAIL})


class FieldSource(NamedTuple):
    """A column that an output's column is made of, and how: a `How`, or the role of a `ColumnUses`."""

    dataset: OpenLineageName
    column: str
    how: str
    direct: bool = True


class FieldLineage(NamedTuple):
    """What a column of an output is made of; without a column, what decides on its rows."""

    column: str
    sources: tuple[FieldSource, ...]


@dataclass(frozen=True, slots=True)
class ToldDataset:
    """A dataset as an event tells of it.

    Of aliases, fields and columns, None is not told, and empty is deleted.

    Attributes:
        aliases: Its other names, from the facet `symlinks`.
        made_of: Of an output, the datasets that it is made of, if the event tells.
        explicit: Whether `made_of` is all that it is made of (facet `lineage`), and not only what its columns
            are made of (facet `columnLineage`).
        columns: Of an output.
        written: Whether statistics show that the run wrote to it.
        only_changed: Whether the run altered, truncated or dropped it, which alone moves no data.
    """

    name: OpenLineageName
    aliases: tuple[OpenLineageName, ...] | None = None
    fields: Sequence[Field] | None = None
    made_of: frozenset[OpenLineageName] | None = None
    explicit: bool = False
    columns: tuple[FieldLineage, ...] | None = None
    written: bool = False
    only_changed: bool = False


@dataclass(frozen=True, slots=True)
class JobFacts:
    """What an event tells of its job.

    Attributes:
        producer: The URI of the program that made the event.
        integration: Such as `SPARK`.
        processing: `BATCH`, `STREAMING` or empty.
        kind: Such as `SQL_JOB` or `TASK`.
        parent: The job that started it, such as a dbt run or an Airflow task.
        sql: Redacted.
        owners: As they came, such as `team:x`.
    """

    producer: str = ""
    integration: str = ""
    processing: str = ""
    kind: str = ""
    parent: str = ""
    sql: str = ""
    description: str = ""
    owners: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class IncomingEvent:
    """An event of a run, a job or a dataset.

    Attributes:
        time: ISO 8601 UTC.
        job: None for the event of a dataset.
        run: The id of the run; empty for the event of a job or a dataset.
        transition: None for the event of a job or a dataset.
        inputs: What is read; of the event of a dataset, that dataset.
    """

    time: str
    job: OpenLineageName | None
    facts: JobFacts
    run: str = ""
    transition: Transition | None = None
    inputs: tuple[ToldDataset, ...] = ()
    outputs: tuple[ToldDataset, ...] = ()

    @property
    def written(self) -> Iterator[ToldDataset]:
        """The outputs that data goes into."""
        return (each for each in self.outputs if self.inputs or each.written or not each.only_changed)
