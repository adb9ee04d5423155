"""A discovery with events: what each source tells is merged, carried over outages, aged out and named."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from lineage_bridge_dagster.event_sources.enrichment import CACHE, enrich, read_source, without_other_sources
from lineage_bridge_dagster.event_sources.files import EventFiles
from lineage_bridge_dagster.event_sources.source import EventIntake, EventSourceError
from lineage_bridge_dagster.lineage.carried import carried_over
from lineage_bridge_dagster.lineage.carry import carry_forward
from lineage_bridge_dagster.lineage.chains import chain_of
from lineage_bridge_dagster.lineage.coverage import OPENLINEAGE, Scope, ScopeReport, Status
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.gaps import Gaps
from lineage_bridge_dagster.lineage.graph_digest import graph_digest
from lineage_bridge_dagster.lineage.graph_json import dumps, loads
from lineage_bridge_dagster.lineage.nodes import ExternalJobNode
from lineage_bridge_dagster.lineage.times import iso
from lineage_bridge_dagster.lineage.unknowns import note_lines
from lineage_bridge_dagster_tests.assets.world import EAST
from lineage_bridge_dagster_tests.openlineage.incoming.producers import event
from lineage_bridge_dagster_tests.openlineage.incoming.test_merging import GLUE, RAW, TABLE, shop

START = datetime(2026, 11, 27, tzinfo=UTC)
TABLE_ID = f"aws:glue_table:env-abc123:glue://{EAST}/orders"


@dataclass
class FakeSource:
    """Gives each event once, as a topic does."""

    name: str = "jobs"
    events: list[dict[str, Any] | str] = field(default_factory=list)
    error: EventSourceError | None = None

    def probe(self) -> str:
        return ""

    def read(self, intake: EventIntake) -> None:
        at = int(intake.position.get("at", 0))
        for number, each in enumerate(self.events[at:], at):
            intake.take(each if isinstance(each, str) else json.dumps(each), f"event {number}")
        if self.error is None or self.error.partial:
            intake.position = {"at": len(self.events)}
        if self.error is not None:
            raise self.error


def discover(
    sources: Sequence[FakeSource],
    last: Discovery | None = None,
    *,
    after: float = 0,
    found: Discovery | None = None,
    lines: list[str] | None = None,
) -> Discovery:
    """One discovery, so many days after the first, stored and loaded again."""
    now = START + timedelta(days=after)
    found = found or shop().discovery(iso(now))
    last = last and without_other_sources(last, [source.name for source in sources])
    enriched = enrich(
        replace(found, discovered_at=iso(now)),
        sources,
        max_age=timedelta(days=30),
        ports={"postgres": "5432"},
        clock=lambda: now,
        last=last,
        progress=(lines if lines is not None else []).append,
    )
    return loads(dumps(carry_forward(enriched, last), with_caches=True))


def jobs(discovery: Discovery) -> list[str]:
    return sorted(node.label for node in discovery.graph.of_kind(ExternalJobNode))


def report(discovery: Discovery, name: str = "jobs") -> ScopeReport:
    found = discovery.coverage.get(Scope(OPENLINEAGE, "", name))
    assert found is not None
    return found


def loading(day: str, **fields: Any) -> dict[str, Any]:
    return event(inputs=[RAW], outputs=[TABLE], time=f"{day}T10:00:00Z", run=day, **fields)


def unreadable(**how: bool) -> EventSourceError:
    return EventSourceError("The brokers did not answer.", hint="Wait.", **how)


def test_what_was_read_once_lasts_until_no_run_confirms_it() -> None:
    source = FakeSource(
        events=[loading("2026-11-20"), event(inputs=["s3://x a"], outputs=["s3://x b"], job="etl x")]
    )
    lines: list[str] = []
    last = discover([source], lines=lines)
    assert lines == ["Events of jobs: 2 new events, 1 job; left out as unconnected: 1 job"]
    assert (report(last).status, report(last).count, jobs(last)) == (Status.COMPLETE, 1, ["nightly.orders"])
    first = next(last.graph.of_kind(ExternalJobNode))

    # A run confirms it ten days later.
    source.events.append(loading("2026-12-05", job="spark nightly.orders"))
    last = discover([source], last, after=10)
    again = next(last.graph.of_kind(ExternalJobNode))
    assert (first.last_run_on, again.last_run_on, again.first_seen) == (
        "2026-11-20",
        "2026-12-05",
        first.first_seen,
    )

    last = discover([source], last, after=37)
    assert jobs(last) == ["nightly.orders"]
    last = discover([source], last, after=39)
    assert (jobs(last), report(last).count) == ([], 0)
    assert last.graph.nodes.keys() == shop().graph.nodes.keys()
    assert [text for _, text in note_lines(last.coverage)] == [
        "1 flow left out, as no run shows it any more: spark/nightly.orders (last shown 2026-12-05)"
    ]
    assert [*report(discover([source], last, after=70)).notes] == []


@pytest.mark.parametrize(
    ("error", "status"),
    [(unreadable(), Status.FAILED), (unreadable(denied=True), Status.DENIED)],
)
def test_an_outage_keeps_what_the_last_state_has_and_marks_it(
    error: EventSourceError, status: Status
) -> None:
    source = FakeSource(events=[loading("2026-11-20")])
    last = discover([source])
    source.error = error
    # Longer than edges last: it is not known whether a run has confirmed them.
    stale = discover([source], last, after=40)
    assert (report(stale).status, report(stale).reason) == (status, "The brokers did not answer. Wait.")
    job = next(stale.graph.of_kind(ExternalJobNode))
    assert job.stale_since == iso(START)
    [carried] = carried_over(stale)
    assert (carried.scope, carried.edges) == (Scope(OPENLINEAGE, "", "jobs"), 2)
    assert Gaps(stale.graph, stale.coverage).of([TABLE_ID]) == (Scope(OPENLINEAGE, "", "jobs"),)
    assert not chain_of(stale.graph, TABLE_ID, coverage=stale.coverage).complete

    source.error = None
    source.events.append(loading("2027-01-01"))
    back = discover([source], stale, after=41)
    assert (jobs(back), next(back.graph.of_kind(ExternalJobNode)).stale_since) == (["nightly.orders"], "")
    assert back.coverage.complete


def test_a_source_that_was_read_in_part_ages_nothing() -> None:
    source = FakeSource(events=[loading("2026-11-20")])
    last = discover([source])
    source.error = unreadable(partial=True)
    source.events.append(
        event(inputs=[GLUE], outputs=["s3://marts m"], job="dbt mart", run="m", time=iso(START))
    )
    found = discover([source], last, after=40)
    assert (report(found).status, jobs(found)) == (Status.PARTIAL, ["mart", "nightly.orders"])


def test_a_source_that_is_taken_out_takes_its_jobs_along() -> None:
    both = [FakeSource("a", [loading("2026-11-20")]), FakeSource("b", [loading("2026-11-21")])]
    last = discover(both)
    assert next(last.graph.of_kind(ExternalJobNode)).scopes == ("openlineage::a", "openlineage::b")
    assert jobs(discover(both[:1], last, after=1)) == ["nightly.orders"]
    without = discover([], last, after=1)
    assert without.graph.nodes.keys() == shop().graph.nodes.keys()
    assert CACHE not in without.caches


def test_jobs_of_several_sources_make_one_chain() -> None:
    first = FakeSource("ingest", [event(inputs=["s3://a a"], outputs=[RAW], job="airflow ingest")])
    last = discover([first, FakeSource("spark", [loading("2026-11-20")])])
    assert jobs(last) == ["ingest", "nightly.orders"]
    assert [hop.node.label for hop in chain_of(last.graph, TABLE_ID).hops][-1] == "s3://a/a"


def test_what_is_joined_follows_the_graph() -> None:
    """A table is found once Glue has it, and though Glue is out later."""
    source = FakeSource(events=[event(inputs=[GLUE], outputs=["s3://marts m"], job="dbt mart")])
    without_glue = shop()
    without_glue.graph.nodes.pop(TABLE_ID)
    first = discover([source], found=without_glue.discovery())
    assert jobs(first) == []
    last = discover([source], first)
    assert jobs(last) == ["mart"]
    # Glue cannot be read now: its table is carried over, and so is what reads it.
    out = shop()
    out.graph.nodes.pop(TABLE_ID)
    out.reports = [
        replace(each, status=Status.FAILED) if each.scope.api == "glue" else each for each in out.reports
    ]
    again = discover([source], last, after=1, found=out.discovery())
    assert (jobs(again), TABLE_ID in again.graph) == (["mart"], True)
    assert (TABLE_ID, "external:external_job:dbt/mart", "consumes") in again.graph.edges


def test_refused_events_are_named_and_change_no_status() -> None:
    source = FakeSource(events=[loading("2026-11-20"), "{oops", json.dumps({"job": {}})])
    last = discover([source])
    assert report(last).status is Status.COMPLETE
    [(_, text)] = note_lines(last.coverage)
    assert text.startswith("2 events without lineage: event 1: invalid JSON")
    # They are still named when nothing is new, and not for ever.
    assert note_lines(discover([source], last, after=2).coverage) == note_lines(last.coverage)
    assert note_lines(discover([source], last, after=31).coverage)[0][1].startswith("1 flow")


def test_a_new_run_on_the_same_day_changes_no_digest() -> None:
    """Or each run of an outside job would have the definitions loaded again."""
    source = FakeSource(events=[loading("2026-11-26")])
    last = discover([source])
    source.events.append(
        {**loading("2026-11-26"), "eventTime": "2026-11-26T18:00:00Z", "run": {"runId": "later"}}
    )
    same = discover([source], last)
    assert graph_digest(same) == graph_digest(last)
    assert next(same.graph.of_kind(ExternalJobNode)).last_run == "later"
    source.events.append(loading("2026-11-27"))
    assert graph_digest(discover([source], same, after=1)) != graph_digest(last)


@pytest.mark.parametrize("saved", [None, 3, {"jobs": 3}, {"jobs": {"ledger": {"version": 99}}}])
def test_a_malformed_cache_has_everything_read_again(saved: Any) -> None:
    source = FakeSource(events=[loading("2026-11-20")])
    last = discover([source])
    assert jobs(discover([source], replace(last, caches={CACHE: saved}))) == ["nightly.orders"]


def test_what_is_refused_again_is_named_once(tmp_path: Path) -> None:
    file, age = tmp_path / "events.ndjson", timedelta(days=30)
    file.write_text("7\n")
    first = read_source(EventFiles(str(file)), None, START, age)
    # Of a file this short, all is read again when it grows.
    file.write_text("7\n8\n")
    second = read_source(EventFiles(str(file)), json.loads(json.dumps(first.saved)), START, age)
    [note] = second.report.notes
    assert [text.partition(": ")[0] for text in note.names] == [
        "events.ndjson, line 1",
        "events.ndjson, line 2",
    ]
