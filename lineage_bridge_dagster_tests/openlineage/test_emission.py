"""What is sent to receivers: what they lack, the ends of runs, and what one did not take before."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.lineage.coverage import Status
from lineage_bridge_dagster.openlineage.emission import (
    Arrival,
    EmissionReport,
    EventRefused,
    ReceiverDown,
    emit,
    end_all,
)
from lineage_bridge_dagster.openlineage.events import Event
from lineage_bridge_dagster.openlineage.names import OpenLineageName
from lineage_bridge_dagster.openlineage.sent import NothingKept, SentFile
from lineage_bridge_dagster_tests.assets.world import EAST, World, world
from lineage_bridge_dagster_tests.openlineage.test_events import halves, problems, set_attributes, shop


class FakeReceiver:
    """Keeps what it takes; `fail` raises for an event that it does not."""

    url, at_once = "", 1

    def __init__(self, name: str = "a", fail: Callable[[Event], None] = lambda _: None) -> None:
        self.name = self.key = name
        self.fail = fail
        self.events: list[Event] = []
        self.lost = False
        self.told: Mapping[OpenLineageName, Arrival] = {}

    def send(self, event: Event) -> None:
        self.fail(event)
        self.events.append(event)

    def confirm(self) -> Mapping[OpenLineageName, Arrival]:
        if self.lost:
            raise ReceiverDown("not delivered")
        return self.told

    def close(self) -> None:
        pass

    def taken(self) -> list[tuple[str, str]]:
        """The events since the last call, as job and type."""
        found, self.events = self.events, []
        assert [problem for event in found for problem in problems(event)] == []
        return [(event["job"]["name"], event["eventType"]) for event in found]


@pytest.fixture
def kept(tmp_path: Path) -> SentFile:
    return SentFile(tmp_path / "sent.json")


def node(w: World, end: str) -> str:
    return next(n for n in w.graph.nodes if n.endswith(end))


FIRST = [
    ("cdc", "RUNNING"),
    ("cleaning", "COMPLETE"),
    ("tableflow.clean", "RUNNING"),
    ("mirror.clean", "RUNNING"),
]


def test_second_emission_sends_nothing_and_a_change_ends_the_old_run(tmp_path: Path) -> None:
    receiver, path = FakeReceiver(), tmp_path / "sent.json"
    assert emit(shop().discovery(), [receiver], SentFile(path)).ok
    first = {event["job"]["name"]: event["run"]["runId"] for event in receiver.events}
    assert receiver.taken() == FIRST
    report = emit(shop().discovery(), [receiver], SentFile(path)).receivers[0]
    assert (report.sent, report.unchanged, receiver.taken()) == (0, 4, [])
    w = shop()
    set_attributes(w, node(w, "cdc"), connector_class="MySqlCdcSourceV2")
    assert emit(w.discovery(), [receiver], SentFile(path)).ok
    end, new = receiver.events
    assert (end["eventType"], end["run"]["runId"]) == ("COMPLETE", first["cdc"])
    assert new["run"]["runId"] != first["cdc"]
    assert receiver.taken() == [("cdc", "COMPLETE"), ("cdc", "RUNNING")]


def test_change_of_state_is_sent_for_the_same_run(kept: SentFile) -> None:
    receiver, w = FakeReceiver(), shop()
    emit(w.discovery(), [receiver], kept)
    receiver.taken()
    set_attributes(w, node(w, "cdc"), state="FAILED")
    emit(w.discovery(), [receiver], kept)
    assert receiver.taken() == [("cdc", "FAIL")]


@pytest.mark.parametrize(
    ("whole", "ended"), [(True, [("cdc", "ABORT")]), (False, [])], ids=["whole", "partly read"]
)
def test_run_of_a_job_that_is_gone_is_ended_once_and_only_if_that_is_proved(
    kept: SentFile, whole: bool, ended: list[tuple[str, str]]
) -> None:
    receiver, w = FakeReceiver(), shop()
    emit(w.discovery(), [receiver], kept)
    receiver.taken()
    w.graph.nodes.pop(node(w, "cdc"))
    if not whole:
        w.report("connect", EAST, Status.FAILED, "HTTP 500")
    for expected in (ended, []):
        emit(w.discovery(), [receiver], kept)
        assert receiver.taken() == expected


def test_part_of_the_tables_sends_what_is_upstream_of_them_and_ends_nothing(kept: SentFile) -> None:
    receiver, w = FakeReceiver(), world()
    emit(w.discovery(), [receiver], kept)
    receiver.taken()
    small = shop()
    table = next(n for n in small.graph.nodes if n.startswith("aws:"))
    emit(small.discovery(), [receiver], kept, tables=[table])
    assert sorted(receiver.taken()) == sorted(FIRST[:3])
    assert emit(small.discovery(), [receiver], kept, tables=["unknown"]).receivers[0].unchanged == 0


def test_run_with_an_older_discovery_takes_nothing_back(kept: SentFile) -> None:
    receiver, old = FakeReceiver(), shop()
    new = shop()
    set_attributes(new, node(new, "cdc"), connector_class="MySqlCdcSourceV2")
    emit(new.discovery(), [receiver], kept)
    receiver.taken()
    tables = [next(n for n in old.graph.nodes if n.startswith("aws:"))]
    assert emit(old.discovery(), [receiver], kept, tables=tables).ok
    assert receiver.taken() == []


def refuse(*jobs: str) -> Callable[[Event], None]:
    def fail(event: Event) -> None:
        if event["job"]["name"] in jobs:
            raise EventRefused("HTTP 422")

    return fail


def down(_event: Event) -> None:
    raise ReceiverDown("connection refused")


def test_receivers_stand_alone_and_get_what_they_lack_the_next_time(kept: SentFile) -> None:
    good, dead, picky = (
        FakeReceiver("good"),
        FakeReceiver("dead", down),
        FakeReceiver("picky", refuse("cleaning")),
    )
    report = emit(shop().discovery(), [dead, good, picky], kept)
    assert good.taken() == FIRST
    assert picky.taken() == [FIRST[0], *FIRST[2:]]
    assert [str(each) for each in report.receivers] == [
        "dead: 0 sent, 0 unchanged, 4 left for the next time (connection refused)",
        "good: 4 sent, 0 unchanged",
        "picky: 3 sent, 0 unchanged, 1 refused (HTTP 422)",
    ]
    for receiver in (dead, picky):
        receiver.fail = lambda _: None
    assert emit(shop().discovery(), [dead, good, picky], kept).ok
    assert (dead.taken(), good.taken(), picky.taken()) == (FIRST, [], [FIRST[1]])


def test_events_that_are_not_confirmed_count_as_not_sent(kept: SentFile) -> None:
    receiver = FakeReceiver()
    receiver.lost = True
    report = emit(shop().discovery(), [receiver], kept).receivers[0]
    assert (report.sent, report.not_sent, report.reason) == (0, 4, "not delivered")
    receiver.lost, receiver.events = False, []
    assert emit(shop().discovery(), [receiver], kept).ok
    assert receiver.taken() == FIRST


def test_what_a_receiver_tells_later_is_shown_and_what_it_refuses_then_is_sent_again(kept: SentFile) -> None:
    receiver, w = FakeReceiver(), shop()
    emit(w.discovery(), [receiver], NothingKept())
    names = {event["job"]["name"]: event["job"]["namespace"] for event in receiver.events}
    jobs = {name: OpenLineageName(namespace, name) for name, namespace in names.items()}
    receiver.events = []
    receiver.told = {jobs["cdc"]: Arrival("not processed"), jobs["cleaning"]: Arrival(note="linked")}
    report = emit(w.discovery(), [receiver], kept).receivers[0]
    assert (report.sent, report.refused) == (3, {node(w, "cdc"): "not processed"})
    assert report.state_of([node(w, "cleaning")]).endswith("; linked")
    assert receiver.taken() == FIRST
    receiver.told = {}
    assert emit(w.discovery(), [receiver], kept).ok
    assert receiver.taken() == FIRST[:1]


def test_end_of_a_run_that_is_not_taken_is_sent_again(kept: SentFile) -> None:
    receiver, w = FakeReceiver(), shop()
    emit(w.discovery(), [receiver], kept)
    receiver.taken()
    w.graph.nodes.pop(node(w, "cdc"))
    receiver.fail = down
    assert not emit(w.discovery(), [receiver], kept).ok
    receiver.fail = lambda _: None
    emit(w.discovery(), [receiver], kept)
    assert receiver.taken() == [("cdc", "ABORT")]


def test_receiver_that_refuses_all_is_not_asked_for_ever() -> None:
    w, asked = World(), []
    for number in range(50):
        w.edge(w.connector(EAST, f"c{number}", "X"), w.topic(EAST, f"t{number}"), "produces")

    def fail(event: Event) -> None:
        asked.append(event)
        raise EventRefused("HTTP 400")

    report = emit(w.discovery(), [FakeReceiver("a", fail)], NothingKept()).receivers[0]
    assert (len(asked), len(report.refused), report.not_sent) == (10, 10, 40)


def test_dry_run_counts_and_sends_nothing(kept: SentFile) -> None:
    receiver = FakeReceiver()
    for _ in range(2):
        report = emit(shop().discovery(), [receiver], kept, dry_run=True).receivers[0]
        assert (str(report), receiver.events) == ("a: 4 would be sent, 0 unchanged", [])


@pytest.mark.parametrize(
    ("fail", "state"),
    [
        (lambda _: None, "sent, the last change at 20"),
        (down, "not sent: connection refused"),
        (refuse("cdc"), "refused: HTTP 422"),
    ],
)
def test_state_of_a_table_tells_what_the_receiver_has_of_its_upstream(fail: Any, state: str) -> None:
    w = shop()
    report: EmissionReport = emit(w.discovery(), [FakeReceiver("a", fail)], NothingKept())
    found = report.receivers[0].state_of([node(w, "cdc"), node(w, "cleaning"), node(w, "raw")])
    assert found.startswith(state)


def test_file_of_sent_events_that_is_none_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "sent.json"
    path.write_text("[1]")
    with pytest.raises(ConfigurationError, match="does not tell which events were sent"):
        SentFile(path)


def test_the_end_of_all_ends_what_runs_and_forgets_it(kept: SentFile) -> None:
    receiver, down = FakeReceiver(), FakeReceiver("down")
    assert end_all([receiver], kept).receivers[0].sent == 0
    emit(shop().discovery(), [receiver, down], kept)
    receiver.taken()
    assert end_all([receiver], kept, dry_run=True).receivers[0].sent == 3
    assert receiver.taken() == []
    down.lost = True
    report = end_all([receiver, down], kept)
    assert [each.ok for each in report.receivers] == [True, False]
    # What a statement that has ended sent is over already.
    assert receiver.taken() == [(name, "ABORT") for name, kind in FIRST if kind == "RUNNING"]
    assert (len(kept.read("a")), len(kept.read("down"))) == (0, 3)
    # Nothing is left to end, and what is sent from now on is new.
    assert end_all([receiver], kept).receivers[0].sent == 0
    assert emit(shop().discovery(), [receiver], kept).receivers[0].sent == 4


def test_names_that_are_no_utf8_are_kept_too(tmp_path: Path) -> None:
    discovery, path = halves().discovery(), tmp_path / "sent.json"
    assert emit(discovery, [FakeReceiver()], SentFile(path)).receivers[0].sent == 1
    assert emit(discovery, [FakeReceiver()], SentFile(path)).receivers[0].unchanged == 1


def test_two_installations_send_one_receiver_the_same_runs_and_end_none_of_each_other(tmp_path: Path) -> None:
    receiver, first, second = FakeReceiver(), SentFile(tmp_path / "a"), SentFile(tmp_path / "b")
    assert emit(shop().discovery(), [receiver], first).ok
    runs = {event["job"]["name"]: event["run"]["runId"] for event in receiver.events}
    assert receiver.taken() == FIRST
    assert emit(shop().discovery("2026-05-01T00:00:00Z"), [receiver], second).ok
    assert {event["job"]["name"]: event["run"]["runId"] for event in receiver.events} == runs
    assert receiver.taken() == FIRST
    # One that discovers none of this any more ends what it sent itself, and a third one nothing.
    assert emit(World().discovery(), [receiver], SentFile(tmp_path / "c")).receivers[0].sent == 0
    assert emit(World().discovery(), [receiver], second).receivers[0].sent == 3
    assert {kind for _, kind in receiver.taken()} == {"ABORT"}
