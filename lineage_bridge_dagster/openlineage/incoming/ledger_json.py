"""A ledger as JSON, in which each name stands once: what a discovery or a receiver keeps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any

from lineage_bridge_dagster.lineage.nodes import Field
from lineage_bridge_dagster.openlineage.incoming.event import (
    FieldLineage,
    FieldSource,
    JobFacts,
    ToldDataset,
)
from lineage_bridge_dagster.openlineage.incoming.ledger import (
    DatasetRecord,
    JobLedger,
    JobRecord,
    RunRecord,
    Shown,
    WrittenRecord,
)
from lineage_bridge_dagster.openlineage.names import OpenLineageName

_VERSION = 1
#: Runs that have ended and are kept for events that come late.
_MAX_ENDED = 2_000
_FACTS = tuple(each.name for each in fields(JobFacts))


def ledger_to_json(ledger: JobLedger) -> dict[str, Any]:
    """The ledger as JSON."""
    index: dict[OpenLineageName, int] = {}

    def at(name: OpenLineageName) -> int:
        return index.setdefault(name, len(index))

    def columns(lineage: Iterable[FieldLineage] | None) -> list[Any]:
        return [
            [each.column, [[at(s.dataset), s.column, s.how, s.direct] for s in each.sources]]
            for each in lineage or ()
        ]

    jobs = [
        [
            at(job.name),
            [getattr(job.facts, name) for name in _FACTS],
            job.told,
            [[at(name), *shown] for name, shown in job.reads.items()],
            [
                [
                    at(name),
                    *each.shown,
                    None if each.made_of is None else [[at(n), time] for n, time in each.made_of.items()],
                    columns(each.columns),
                    each.told,
                ]
                for name, each in job.writes.items()
            ],
        ]
        for job in ledger.jobs.values()
    ]
    forgotten = {*[key for key, run in ledger.runs.items() if run.end][:-_MAX_ENDED]}
    runs = [
        [
            key,
            at(run.job),
            run.last,
            run.streaming,
            run.batch,
            run.end,
            run.ended,
            [*map(at, run.inputs)],
            [
                [
                    at(each.name),
                    None if each.made_of is None else sorted(map(at, each.made_of)),
                    each.explicit,
                    columns(each.columns),
                    each.written,
                ]
                for each in run.outputs.values()
            ],
        ]
        for key, run in ledger.runs.items()
        if key not in forgotten
    ]
    datasets = [
        [at(name), [*map(at, each.aliases or ())], [*map(list, each.fields or ())], each.told]
        for name, each in ledger.datasets.items()
    ]
    names = [list(name) for name in index]
    return {"version": _VERSION, "jobs": jobs, "runs": runs, "datasets": datasets, "names": names}


def ledger_from_json(document: object, now: datetime) -> JobLedger:
    """Read a ledger.

    Raises:
        ValueError: It is of another version, or malformed; all events have to be read again.
    """
    try:
        return _read(document, now)
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise ValueError(f"malformed: {error}") from error


def _read(document: Any, now: datetime) -> JobLedger:
    if not isinstance(document, Mapping) or document["version"] != _VERSION:
        raise ValueError("of another version")
    names = [OpenLineageName(str(namespace), str(name)) for namespace, name in document["names"]]

    def columns(rows: Any) -> tuple[FieldLineage, ...]:
        return tuple(
            FieldLineage(column, tuple(FieldSource(names[at], *rest) for at, *rest in sources))
            for column, sources in rows
        )

    ledger = JobLedger(now)
    for at, facts, told, reads, writes in document["jobs"]:
        values: list[Any] = [tuple(value) if isinstance(value, list) else value for value in facts]
        job = JobRecord(names[at], JobFacts(*values), told)
        job.reads = {names[each]: Shown(*shown) for each, *shown in reads}
        for each, time, run, made_of, lineage, written_at in writes:
            sources = None if made_of is None else {names[source]: when for source, when in made_of}
            job.writes[names[each]] = WrittenRecord(Shown(time, run), sources, columns(lineage), written_at)
        ledger.jobs[job.name] = job
    for key, at, last, streaming, batch, end, ended, inputs, outputs in document["runs"]:
        run = RunRecord(names[at], last, streaming, batch, end, ended)
        run.inputs = {names[each]: None for each in inputs}
        for each, made_of, explicit, lineage, written in outputs:
            known = None if made_of is None else frozenset(names[source] for source in made_of)
            run.outputs[names[each]] = ToldDataset(
                names[each], None, None, known, explicit, columns(lineage) or None, written
            )
        ledger.runs[key] = run
    for at, aliases, described, told in document["datasets"]:
        others, found = tuple(names[each] for each in aliases), tuple(Field(*each) for each in described)
        ledger.datasets[names[at]] = DatasetRecord(others or None, found or None, told)
    return ledger
