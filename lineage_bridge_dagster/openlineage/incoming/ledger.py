"""What still counts of all events: for each job, what went into what, and when a run last showed it.

Events may come twice and in any order: times only grow, and a run that has ended takes what comes late. What
a run reads and writes is the sum of its events, for producers tell it at its start, on the way or at its end.

What counts as shown:

- all that a run named which completed;
- all that a streaming run named so far, from its start on: it works as long as it runs;
- an output of any run, with the run's inputs, if statistics show that something was written;
- what the event of a job declares.

A run that fails or is aborted shows nothing else, and removes nothing: what earlier runs showed stays until
it is too old.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta
from typing import NamedTuple

from lineage_bridge_dagster.lineage.nodes import Field
from lineage_bridge_dagster.lineage.times import iso, parse_iso
from lineage_bridge_dagster.openlineage.incoming.event import (
    ENDS,
    FieldLineage,
    IncomingEvent,
    JobFacts,
    ToldDataset,
    Transition,
)
from lineage_bridge_dagster.openlineage.names import OpenLineageName

#: Runs and jobs that are kept; of more, those that were heard of last.
MAX_RUNS = 20_000
MAX_JOBS = 50_000
#: Inputs of an output that are kept apart; with more, all that the job reads count.
MAX_INPUTS = 1_000
#: How long before the last event a run that has ended may have been, to take events that come late.
LATE = timedelta(days=1)


class Shown(NamedTuple):
    """When something was last shown, ISO 8601, and by which run; empty if a job's event declares it."""

    time: str
    run: str


@dataclass(slots=True)
class WrittenRecord:
    """An output of a job.

    Attributes:
        made_of: When each input was last shown to go into it; None if there are too many to tell apart.
    """

    shown: Shown
    made_of: dict[OpenLineageName, str] | None = field(default_factory=dict)
    columns: tuple[FieldLineage, ...] = ()
    told: str = ""


@dataclass(slots=True)
class JobRecord:
    """What is known of a job; `told` is the time of the event that the facts are from."""

    name: OpenLineageName
    facts: JobFacts
    told: str
    reads: dict[OpenLineageName, Shown] = field(default_factory=dict)
    writes: dict[OpenLineageName, WrittenRecord] = field(default_factory=dict)

    @property
    def last(self) -> str:
        """When it last showed anything; empty if never."""
        times = [shown.time for shown in self.reads.values()]
        return max((*times, *(each.shown.time for each in self.writes.values())), default="")


@dataclass(slots=True)
class DatasetRecord:
    """The other names and the columns of a dataset, None if never told, and when they were."""

    aliases: tuple[OpenLineageName, ...] | None = None
    fields: tuple[Field, ...] | None = None
    told: str = ""


@dataclass(slots=True)
class RunRecord:
    """A run: what its events named so far, and how and when it ended, if it has."""

    job: OpenLineageName
    last: str
    streaming: bool = False
    batch: bool = False
    end: str = ""
    ended: str = ""
    inputs: dict[OpenLineageName, None] = field(default_factory=dict)
    outputs: dict[OpenLineageName, ToldDataset] = field(default_factory=dict)


class JobLedger:
    """All jobs, and the runs that events may still come for.

    Args:
        now: The time of the reading: no event counts as later, whatever the clock of its producer said.
    """

    def __init__(self, now: datetime) -> None:
        self.now = iso(now)
        self.jobs: dict[OpenLineageName, JobRecord] = {}
        self.runs: dict[str, RunRecord] = {}
        self.datasets: dict[OpenLineageName, DatasetRecord] = {}

    def add(self, event: IncomingEvent) -> None:
        """Take what an event tells."""
        time = min(event.time, self.now)
        for dataset in (*event.inputs, *event.outputs):
            self._describe(dataset, time)
        if event.job is None:
            return
        if not event.run:
            if event.inputs or event.outputs:
                outputs = {each.name: each for each in event.written}
                inputs = {each.name: None for each in event.inputs}
                self._show(event.job, event.facts, time, inputs, outputs, Shown(time, ""))
            return
        self._add_to_run(event, event.job, time)

    def _add_to_run(self, event: IncomingEvent, job: OpenLineageName, time: str) -> None:
        run = self.runs.pop(event.run, None) or RunRecord(job, time)
        self.runs[event.run] = run
        if len(self.runs) > MAX_RUNS:
            del self.runs[next(iter(self.runs))]
        if time >= run.last:
            # The name may grow on the way: Spark appends what is written once it is known.
            run.job, run.last = job, time
        run.streaming |= event.facts.processing == "STREAMING"
        run.batch |= event.facts.processing == "BATCH"
        for each in event.inputs:
            run.inputs[each.name] = None
        for each in event.written:
            told = replace(each, aliases=None, fields=None)
            run.outputs[each.name] = _united(run.outputs.get(each.name), told)
        if event.transition in ENDS and (not run.end or time >= run.ended):
            run.end, run.ended = str(event.transition), time
        if run.end == Transition.COMPLETE:
            self._show(
                run.job, event.facts, time, run.inputs, run.outputs, Shown(max(run.ended, time), event.run)
            )
            run.outputs = {name: replace(each, columns=None) for name, each in run.outputs.items()}
        elif _is_working(event, run):
            self._show(run.job, event.facts, time, run.inputs, run.outputs, Shown(time, event.run))
        elif written := {name: each for name, each in run.outputs.items() if each.written}:
            self._show(run.job, event.facts, time, run.inputs, written, Shown(time, event.run))
        elif run.job in self.jobs:
            self.jobs[run.job] = _with_facts(self.jobs[run.job], event.facts, time)

    def _describe(self, dataset: ToldDataset, time: str) -> None:
        if dataset.aliases is None and dataset.fields is None:
            return
        known = self.datasets.get(dataset.name)
        if known is None:
            known = self.datasets[dataset.name] = DatasetRecord()
        newer = time >= known.told
        if dataset.aliases is not None and (newer or known.aliases is None):
            known.aliases = dataset.aliases
        if dataset.fields is not None and (newer or known.fields is None):
            known.fields = tuple(dataset.fields)
        known.told = max(known.told, time)

    def _show(
        self,
        name: OpenLineageName,
        facts: JobFacts,
        told: str,
        inputs: Mapping[OpenLineageName, None],
        outputs: Mapping[OpenLineageName, ToldDataset],
        shown: Shown,
    ) -> None:
        if not (inputs or outputs):
            return
        job = self.jobs.pop(name, None)
        # At the end: those that were heard of last are kept.
        job = JobRecord(name, facts, told) if job is None else _with_facts(job, facts, told)
        self.jobs[name] = job
        if len(self.jobs) > MAX_JOBS:
            del self.jobs[next(iter(self.jobs))]
        for each in inputs:
            job.reads[each] = max(job.reads.get(each, shown), shown)
        for each, sources in _feeds(inputs, outputs).items():
            for source in sources:
                job.reads[source] = max(job.reads.get(source, shown), shown)
            record = job.writes.get(each)
            if record is None:
                record = job.writes[each] = WrittenRecord(shown)
            record.shown = max(record.shown, shown)
            if record.made_of is not None:
                for source in sources:
                    record.made_of[source] = max(record.made_of.get(source, ""), shown.time)
                if len(record.made_of) > MAX_INPUTS:
                    record.made_of = None
            if (columns := outputs[each].columns) is not None and told >= record.told:
                record.columns, record.told = columns, told

    def merge(self, other: JobLedger) -> None:
        """Take what another ledger has, as if its events had been added."""
        for name, described in other.datasets.items():
            self._describe(ToldDataset(name, described.aliases, described.fields), described.told)
        for name, job in other.jobs.items():
            if (known := self.jobs.get(name)) is None:
                self.jobs[name] = job
                continue
            _with_facts(known, job.facts, job.told)
            for each, shown in job.reads.items():
                known.reads[each] = max(known.reads.get(each, shown), shown)
            for each, written in job.writes.items():
                known.writes[each] = _both(known.writes.get(each), written)
        for key, run in other.runs.items():
            if (mine := self.runs.get(key)) is None:
                self.runs[key] = run
                continue
            mine.inputs.update(run.inputs)
            for each, told in run.outputs.items():
                mine.outputs[each] = _united(mine.outputs.get(each), told)
            if run.end and (not mine.end or run.ended >= mine.ended):
                mine.end, mine.ended = run.end, run.ended
            if run.last >= mine.last:
                mine.job, mine.last = run.job, run.last
            if mine.end == Transition.COMPLETE:
                shown = Shown(mine.ended, key)
                self._show(mine.job, JobFacts(), "", mine.inputs, mine.outputs, shown)

    def active(self, since: str) -> Iterator[JobRecord]:
        """The jobs with what was shown at this time or later."""
        for job in self.jobs.values():
            reads = {name: shown for name, shown in job.reads.items() if shown.time >= since}
            writes = {
                name: _since(each, since) for name, each in job.writes.items() if each.shown.time >= since
            }
            if reads or writes:
                yield replace(job, reads=reads, writes=writes)

    def aged_out(self, since: str) -> list[str]:
        """What no run has shown since a time, as phrases, sorted: whole jobs, and flows of others."""
        found = []
        for job in self.jobs.values():
            shown = f"{job.name.namespace}/{job.name.name}"
            if job.last < since:
                found.append(f"{shown} (last shown {job.last[:10]})")
                continue
            old = [(name, each.time) for name, each in job.reads.items()]
            old += [(name, each.shown.time) for name, each in job.writes.items()]
            found += [
                f"{name.namespace}/{name.name} of {shown} (last shown {time[:10]})"
                for name, time in old
                if time < since
            ]
        return sorted(found)

    def prune(self, before: str) -> None:
        """Remove what was last shown before a time, runs that ended long ago, and what then is unused."""
        for name, job in list(self.jobs.items()):
            job.reads = {each: shown for each, shown in job.reads.items() if shown.time >= before}
            job.writes = {each: _since(w, before) for each, w in job.writes.items() if w.shown.time >= before}
            if not (job.reads or job.writes):
                del self.jobs[name]
        newest = max((run.last for run in self.runs.values()), default="")
        late = _earlier(newest, LATE)
        self.runs = {key: run for key, run in self.runs.items() if run.last >= (late if run.end else before)}
        used = {name for job in self.jobs.values() for name in (*job.reads, *job.writes)}
        used |= {name for run in self.runs.values() for name in (*run.inputs, *run.outputs)}
        self.datasets = {name: each for name, each in self.datasets.items() if name in used}


def _both(known: WrittenRecord | None, written: WrittenRecord) -> WrittenRecord:
    if known is None:
        return written
    newer = written if written.told >= known.told else known
    made_of = None
    if known.made_of is not None and written.made_of is not None:
        names = {**known.made_of, **written.made_of}
        made_of = {name: max(known.made_of.get(name, ""), written.made_of.get(name, "")) for name in names}
    return WrittenRecord(max(known.shown, written.shown), made_of, newer.columns, newer.told)


def _is_working(event: IncomingEvent, run: RunRecord) -> bool:
    """Whether an event shows that the run reads and writes by now, whatever becomes of it."""
    if event.transition is Transition.RUNNING:
        return run.streaming or not run.batch
    return run.streaming and event.transition is Transition.START


def _united(known: ToldDataset | None, told: ToldDataset) -> ToldDataset:
    if known is None:
        return told
    return replace(
        told,
        made_of=told.made_of if told.made_of is not None else known.made_of,
        explicit=told.explicit if told.made_of is not None else known.explicit,
        columns=known.columns if told.columns is None else told.columns,
        written=told.written or known.written,
    )


def _feeds(
    inputs: Mapping[OpenLineageName, None], outputs: Mapping[OpenLineageName, ToldDataset]
) -> dict[OpenLineageName, list[OpenLineageName]]:
    """What each output of a run is made of.

    Columns tell it only where a run has several outputs: an input without columns in any of them feeds all.
    Their sources feed it even if the run does not name them as inputs.
    """
    named = {source for each in outputs.values() for source in each.made_of or ()}
    found = {}
    for name, each in outputs.items():
        if each.explicit:
            made_of = sorted(each.made_of or ())
        elif each.made_of is None:
            made_of = [*inputs]
        else:
            rest = inputs if len(outputs) == 1 else (source for source in inputs if source not in named)
            others = (source for source in sorted(each.made_of) if source in inputs or source != name)
            made_of = [*dict.fromkeys((*rest, *others))]
        found[name] = made_of
    return found


def _since(record: WrittenRecord, since: str) -> WrittenRecord:
    if record.made_of is None or all(time >= since for time in record.made_of.values()):
        return record
    made_of = {name: time for name, time in record.made_of.items() if time >= since}
    return replace(record, made_of=made_of)


def _with_facts(job: JobRecord, facts: JobFacts, told: str) -> JobRecord:
    """The job, with newer facts over older ones; what is empty keeps what is known."""
    older, newer = (job.facts, facts) if told >= job.told else (facts, job.facts)
    job.facts = JobFacts(
        *(getattr(newer, each.name) or getattr(older, each.name) for each in fields(JobFacts))
    )
    job.told = max(job.told, told)
    return job


def _earlier(time: str, by: timedelta) -> str:
    found = parse_iso(time)
    return iso(found - by) if found else ""
