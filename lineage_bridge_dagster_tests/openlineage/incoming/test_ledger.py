"""A ledger has what runs have shown, in whatever order and however often their events come."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import pytest

from lineage_bridge_dagster.openlineage.incoming import ledger as ledgers
from lineage_bridge_dagster.openlineage.incoming.ledger import JobLedger
from lineage_bridge_dagster.openlineage.incoming.ledger_json import ledger_from_json, ledger_to_json
from lineage_bridge_dagster.openlineage.incoming.parsing import parse_event
from lineage_bridge_dagster_tests.openlineage.incoming.producers import (
    columns,
    dataset,
    event,
    facet,
    of_dataset,
    of_job,
    schema,
    source,
    symlink,
)

NOW = datetime(2026, 11, 27, tzinfo=UTC)
A, B, X, Y = "s3://lake a", "s3://lake b", "s3://lake x", "s3://lake y"
EVER = ""


def told(events: Iterable[dict[str, Any]]) -> JobLedger:
    ledger = JobLedger(NOW)
    for each in events:
        ledger.add(parse_event(each))
    return ledger


def flows(ledger: JobLedger, since: str = EVER) -> dict[str, list[str]]:
    """Output -> its inputs, of all jobs; what is only read is under `-`."""
    found: dict[str, list[str]] = {}
    for job in ledger.active(since):
        for name, each in job.writes.items():
            inputs = job.reads if each.made_of is None else each.made_of
            found[name.name] = sorted({*found.get(name.name, ()), *(source.name for source in inputs)})
        if not job.writes:
            found["-"] = sorted(name.name for name in job.reads)
    return found


def changed(state: str, **more: Any) -> dict[str, Any]:
    return dataset(X, facet("lifecycleStateChange", lifecycleStateChange=state, **more))


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([event("COMPLETE", [A], [X])], {"x": ["a"]}),
        # Producers tell inputs and outputs at any time of a run.
        ([event("START", [A]), event("RUNNING", [B]), event("COMPLETE", [], [X])], {"x": ["a", "b"]}),
        ([event("START"), event("COMPLETE", [A], [X])], {"x": ["a"]}),
        ([event("START", [A], [X]), event("COMPLETE")], {"x": ["a"]}),
        # A batch shows nothing until it has completed, unless statistics do.
        ([event("START", [A], [X])], {}),
        ([event("START", [A], [X]), event("RUNNING")], {}),
        ([event("START", [A], [X]), event("FAIL")], {}),
        ([event("START", [A], [X]), event("ABORT")], {}),
        ([event("START", [A], [X]), event("FAIL", [], [dataset(Y, written=3)])], {"y": ["a"]}),
        ([event("START", [A], [X]), event("FAIL", [], [dataset(Y, written=0)])], {}),
        # A stream works as long as it runs, and ends by being aborted.
        ([event("START", [A], [X], processing="STREAMING")], {"x": ["a"]}),
        (
            [
                event("START", [A], [X], processing="STREAMING"),
                event("ABORT", processing="STREAMING", time="2026-11-02T10:00:00Z"),
            ],
            {"x": ["a"]},
        ),
        ([event("START", [A], [X], processing=""), event("RUNNING", processing="")], {"x": ["a"]}),
        ([of_job([A], [X])], {"x": ["a"]}),
        ([event("COMPLETE", [A])], {"-": ["a"]}),
        ([event("OTHER", [A], [X])], {}),
        # What happens to a table itself moves no data, but for a new name.
        *(([event(outputs=[changed(state)])], {}) for state in ("ALTER", "DROP", "RENAME", "TRUNCATE")),
        *(([event("COMPLETE", [A], [changed(state)])], {"x": ["a"]}) for state in ("CREATE", "TRUNCATE")),
        ([event("START", [], [changed("TRUNCATE")]), event("COMPLETE", [A], [X])], {"x": ["a"]}),
        ([of_job([], [changed("RENAME", previousIdentifier=dataset(A))])], {"x": ["a"]}),
    ],
)
def test_what_counts_as_shown(events: list[dict[str, Any]], expected: dict[str, list[str]]) -> None:
    for order in itertools.permutations(events):
        ledger = told([*order, *order])
        assert flows(ledger) == expected
        again = ledger_from_json(json.loads(json.dumps(ledger_to_json(ledger))), NOW)
        assert flows(again) == expected
        assert ledger_to_json(again) == ledger_to_json(ledger)


def test_runs_of_a_job_do_not_mix_what_they_read() -> None:
    found = told([event(inputs=[A], outputs=[X], run="1"), event(inputs=[B], outputs=[Y], run="2")])
    assert flows(found) == {"x": ["a"], "y": ["b"]}


def test_columns_tell_inputs_of_several_outputs_apart() -> None:
    outputs = [
        dataset(X, columns(id=[source(A, "id")])),
        dataset(Y, columns(id=[source(B, "id")])),
    ]
    assert flows(told([event(inputs=[A, B], outputs=outputs)])) == {"x": ["a"], "y": ["b"]}
    # What has no columns anywhere may feed each; and a single output is made of all that is read.
    lookup = "s3://lake lookup"
    assert flows(told([event(inputs=[A, B, lookup], outputs=outputs)])) == {
        "x": ["a", "lookup"],
        "y": ["b", "lookup"],
    }
    assert flows(told([event(inputs=[A, B], outputs=outputs[:1])])) == {"x": ["a", "b"]}
    # Spark does not name an Iceberg table as an input that it reads by its location.
    assert flows(told([event(outputs=outputs[:1])])) == {"x": ["a"]}
    assert flows(told([event(inputs=[lookup], outputs=outputs)])) == {
        "x": ["a", "lookup"],
        "y": ["b", "lookup"],
    }


def test_the_lineage_facet_is_taken_as_it_is() -> None:
    facets = facet("lineage", inputs=[{"namespace": "s3://lake", "name": "b", "type": "DATASET"}])
    assert flows(told([event(inputs=[A, B], outputs=[dataset(X, facets)])])) == {"x": ["b"]}
    nothing = facet("lineage", inputs=[])
    assert flows(told([event(inputs=[A], outputs=[dataset(X, nothing)])])) == {"x": []}


def test_a_job_is_named_by_its_last_event() -> None:
    """Spark appends the name of the table once it knows it."""
    start = event("START", [A], job="spark nightly.append", time="2026-11-01T10:00:00Z")
    end = event("COMPLETE", [], [X], job="spark nightly.append.orders", time="2026-11-01T10:05:00Z")
    assert [job.name.name for job in told([start, end]).active(EVER)] == ["nightly.append.orders"]
    assert flows(told([start, end])) == flows(told([end, start])) == {"x": ["a"]}


def test_flows_age_out_each_for_itself_and_are_named() -> None:
    ledger = told(
        [
            event(inputs=[A, B], outputs=[X], run="1", time="2026-10-01T10:00:00Z"),
            event(inputs=[A], outputs=[X], run="2", time="2026-11-20T10:00:00Z"),
            event(inputs=[A], outputs=[Y], run="3", time="2026-10-02T10:00:00Z", job="dbt old"),
        ]
    )
    assert flows(ledger, "2026-11-01") == {"x": ["a"]}
    assert ledger.aged_out("2026-11-01") == [
        "dbt/old (last shown 2026-10-02)",
        "s3://lake/b of spark/nightly.orders (last shown 2026-10-01)",
    ]
    ledger.prune("2026-11-01")
    assert flows(ledger) == {"x": ["a"]}
    assert ledger.aged_out("2026-11-01") == []


def test_a_clock_that_is_ahead_keeps_nothing_for_ever() -> None:
    [job] = told([event(outputs=[X], time="2099-01-01T00:00:00Z")]).active(EVER)
    assert job.last == "2026-11-27T00:00:00.000Z"


def test_other_names_and_facts_are_those_told_last() -> None:
    def named(alias: str, time: str) -> dict[str, Any]:
        return of_dataset(A, symlink(f"hive://meta:9083 {alias}"), time=time)

    early, late = named("old.a", "2026-11-01T10:00:00Z"), named("new.a", "2026-11-02T10:00:00Z")
    for order in ([early, late], [late, early]):
        ledger = told(order)
        [described] = ledger.datasets.values()
        assert described.aliases == (("hive://meta:9083", "new.a"),)


def test_a_deleted_facet_tells_that_what_was_known_is_gone() -> None:
    gone = {name: {"_deleted": True} for name in ("symlinks", "schema", "columnLineage")}
    known = dataset(X, symlink("hive://meta:9083 x"), schema("id"), columns(id=[source(A, "id")]))
    early = event(inputs=[A], outputs=[known], run="1", time="2026-11-01T10:00:00Z")
    late = event(inputs=[A], outputs=[dataset(X, gone)], run="2", time="2026-11-02T10:00:00Z")
    for order in ([early, late], [late, early]):
        ledger = told(order)
        [described] = ledger.datasets.values()
        assert (described.aliases, described.fields) == ((), ())
        assert [each.columns for job in ledger.active(EVER) for each in job.writes.values()] == [()]


def test_memory_is_bounded_by_what_was_heard_of_last(monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in ("MAX_RUNS", "MAX_JOBS", "MAX_INPUTS"):
        monkeypatch.setattr(ledgers, limit, 3)
    many = [event(inputs=[f"s3://lake i{i}"], outputs=[X], run=str(i)) for i in range(9)]
    others = [event(outputs=[Y], run=f"o{i}", job=f"dbt m{i}") for i in range(9)]
    ledger = told([*others, *many])
    assert len(ledger.runs) == len(ledger.jobs) == 3
    assert flows(ledger)["x"] == sorted(f"i{i}" for i in range(9))


@pytest.mark.parametrize("document", [None, [], {}, {"version": 9}, {"version": 1, "names": [3]}])
def test_a_ledger_of_another_version_or_shape_is_read_anew(document: object) -> None:
    with pytest.raises(ValueError, match=r"version|malformed"):
        ledger_from_json(document, NOW)
