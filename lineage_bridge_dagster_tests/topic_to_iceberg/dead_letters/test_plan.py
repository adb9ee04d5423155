"""Which letters are sent again: each once, and none over a newer record of its key."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest

from lineage_bridge_dagster.confluent.api.topic_records import TopicRecord
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.headers import (
    LetterOrigin,
    letter_headers,
    milliseconds,
    replayed_headers,
    stored_letter,
)
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.letter import DeadLetter, Headers
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.plan import Rules
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.reading import Offsets, ReplayTarget
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.replay import Replay
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.survey import LetterSelection
from lineage_bridge_dagster_tests.topic_to_iceberg.dead_letters.letters import AT, letter

DAY = 86_400_000
STATE = ReplayTarget(letter().topic_id, {1: 0}, {1: 100}, compacted=False)


@dataclass
class Topics:
    """Topics in memory: a dead letter topic `errors`, and the records of `orders.v1` in partition 1."""

    letters: list[tuple[Headers, bytes | None, bytes | None]] = field(default_factory=list)
    records: list[TopicRecord] = field(default_factory=list)
    state: ReplayTarget | None = STATE

    def reject(self, one: DeadLetter, mode: str = "upsert", table: str = "sales.orders", **at: float) -> None:
        headers = letter_headers(one, LetterOrigin(table, mode, "lkc-abc123"), AT + timedelta(**at))
        self.letters.append((headers, one.key, one.value))

    def add(self, offset: int, key: bytes | None = b"k", headers: Headers = ()) -> None:
        self.records.append(TopicRecord(1, offset, key, b"v", headers))

    def describe(self, topic: str) -> ReplayTarget | None:
        return ReplayTarget("", {0: 0}, {0: len(self.letters)}) if topic == "errors" else self.state

    def read(
        self, topic: str, start: Offsets, end: Offsets, *, committed: bool = True
    ) -> Iterator[TopicRecord]:
        if topic == "errors":
            for offset, (headers, key, value) in enumerate(self.letters):
                yield TopicRecord(0, offset, key, value, headers)
            return
        for record in self.records:
            if start.get(record.partition, 100) <= record.offset < end[record.partition]:
                yield record

    def plan(self, **options: Any) -> dict[int, tuple[str, str]]:
        """The outcome and the reason of each letter, by its record's offset, in the order of sending."""
        rules = options.pop("rules", Rules())
        now = options.pop("now", AT.timestamp())
        cluster = options.pop("cluster", "lkc-abc123")
        work = Replay("errors", self, LetterSelection(**options), rules, cluster=cluster, clock=lambda: now)
        return {one.entry.offset: (one.outcome, one.reason) for one in work.plan().decisions}

    def outcomes(self, **options: Any) -> dict[int, str]:
        return {offset: outcome for offset, (outcome, _) in self.plan(**options).items()}


@pytest.fixture
def topics() -> Topics:
    return Topics()


class TestNewerRecords:
    def test_letter_whose_key_has_a_newer_record_is_superseded(self, topics: Topics) -> None:
        topics.reject(letter(7))
        topics.reject(letter(8, key=b"other"))
        topics.add(3)
        topics.add(20)
        assert topics.plan() == {
            7: ("superseded", "the record at offset 20 has its key, and is newer"),
            8: ("send", ""),
        }

    def test_table_with_a_row_for_each_record_takes_it_all_the_same(self, topics: Topics) -> None:
        topics.reject(letter(7), mode="append")
        topics.add(20)
        assert topics.outcomes() == {7: "send"}

    def test_compacted_topic_itself_keeps_the_newest_record_only(self, topics: Topics) -> None:
        topics.reject(letter(7), mode="append")
        topics.add(20)
        topics.state = replace(STATE, compacted=True)
        assert topics.outcomes() == {7: "superseded"}

    def test_table_of_an_unknown_mode_counts_as_one_with_keys(self, topics: Topics) -> None:
        topics.reject(letter(7), mode="")
        topics.add(20)
        assert topics.outcomes() == {7: "superseded"}

    def test_letter_of_two_tables_is_judged_by_the_one_with_keys(self, topics: Topics) -> None:
        topics.reject(letter(7), mode="append", table="sales.log")
        topics.reject(letter(7), table="sales.orders")
        topics.add(20)
        assert topics.outcomes(tables=frozenset({"sales.log"})) == {7: "superseded"}

    def test_other_letters_are_in_no_table_and_not_newer(self, topics: Topics) -> None:
        for offset in (9, 7, 8):
            topics.reject(letter(offset))
            topics.add(offset)
        assert list(topics.outcomes().items()) == [(7, "send"), (8, "send"), (9, "send")]

    def test_record_that_was_sent_again_counts_with_its_first_offset(self, topics: Topics) -> None:
        early, middle, late = letter(5), letter(7), letter(9)
        for one in (early, middle, late):
            topics.reject(one)
        stored = stored_letter(topics.letters[1][0], middle.key, middle.value)
        assert stored is not None
        topics.add(50, headers=stored.resent())
        topics.letters.append((replayed_headers(stored, 50), None, None))
        assert topics.outcomes() == {5: "superseded", 7: "replayed", 9: "send"}

    def test_record_without_a_key_replaces_nothing(self, topics: Topics) -> None:
        topics.reject(letter(7, key=None))
        topics.add(20, key=None)
        assert topics.outcomes() == {7: "send"}

    @pytest.mark.parametrize(
        ("key_schema_id", "newer", "outcome"),
        [
            (3, b"\0\0\0\0\x04key", "superseded"),
            (3, b"\0\0\0\0\x03another", "send"),
            # Without a schema the bytes are the key, whatever they look like.
            (None, b"\0\0\0\0\x04key", "send"),
            (None, b"\0\0\0\0\x03key", "superseded"),
        ],
    )
    def test_key_with_a_schema_is_compared_without_its_schema_id(
        self, topics: Topics, key_schema_id: int | None, newer: bytes, outcome: str
    ) -> None:
        topics.reject(letter(7, key=b"\0\0\0\0\x03key", key_schema_id=key_schema_id))
        topics.add(20, key=newer)
        assert topics.outcomes() == {7: outcome}


class TestDoubts:
    @pytest.mark.parametrize(
        ("state", "said"),
        [
            (replace(STATE, first={1: 9}), "now begins at offset 9"),
            (replace(STATE, topic_id="another"), "was deleted and created again since"),
            (replace(STATE, topic_id=""), "it is unknown whether orders.v1 was deleted"),
            (
                replace(STATE, compacted=True, delete_retention_ms=DAY),
                "forgets deletions after 1 day, so its key may have been deleted",
            ),
        ],
    )
    def test_letter_whose_key_may_have_a_newer_record_is_held(
        self, topics: Topics, state: ReplayTarget, said: str
    ) -> None:
        topics.reject(letter(7))
        topics.state = state
        now = AT.timestamp() + 2 * DAY / 1000
        [(outcome, reason)] = topics.plan(now=now).values()
        assert outcome == "held"
        assert said in reason
        assert topics.outcomes(now=now, rules=Rules(unchecked=True)) == {7: "send"}

    def test_letter_whose_next_record_is_the_first_one_is_compared(self, topics: Topics) -> None:
        topics.reject(letter(7))
        topics.state = replace(STATE, first={1: 8})
        assert topics.outcomes() == {7: "send"}

    def test_record_older_than_its_topic_keeps_records_needs_another_time(self, topics: Topics) -> None:
        topics.reject(letter(7), mode="append")
        topics.state = replace(STATE, retention_ms=DAY)
        now = AT.timestamp() + 2 * DAY / 1000
        [(outcome, reason)] = topics.plan(now=now).values()
        assert (outcome, "--timestamp now" in reason) == ("held", True)
        assert topics.outcomes(now=now, rules=Rules(original_time=False)) == {7: "send"}
        assert topics.outcomes(now=now - DAY / 1000) == {7: "send"}

    def test_letter_of_another_cluster_is_held(self, topics: Topics) -> None:
        topics.reject(letter(7))
        assert topics.plan(cluster="lkc-other")[7][0] == "held"

    @pytest.mark.parametrize(
        ("state", "said"), [(None, "does not exist"), (replace(STATE, end={0: 1}), "has no partition 1")]
    )
    def test_letter_without_a_topic_or_a_partition_fails(
        self, topics: Topics, state: ReplayTarget | None, said: str
    ) -> None:
        topics.reject(letter(7))
        topics.state = state
        outcome, reason = topics.plan()[7]
        assert (outcome, said in reason) == ("failed", True)


class TestSelection:
    @pytest.mark.parametrize(
        ("options", "taken"),
        [
            ({}, [1, 2, 3]),
            ({"topics": frozenset({"other"})}, []),
            ({"tables": frozenset({"sales.b"})}, [2]),
            ({"error": "SCHEMA id 9"}, [1]),
            ({"error": "missing_key"}, [3]),
            ({"since": AT + timedelta(hours=1)}, [2, 3]),
            ({"until": AT + timedelta(hours=1)}, [1]),
            ({"places": {0: (1, 1)}}, [2]),
            ({"places": {5: (0, 9)}}, []),
        ],
    )
    def test_conditions(self, topics: Topics, options: dict[str, Any], taken: list[int]) -> None:
        topics.reject(letter(1), table="sales.a")
        topics.reject(letter(2, error="other"), table="sales.b", hours=1)
        topics.reject(letter(3, error="no key", kind="MISSING_KEY"), table="sales.a", hours=2)
        assert list(topics.outcomes(**options)) == taken

    def test_letter_that_is_stored_twice_is_one_and_other_records_are_counted(self, topics: Topics) -> None:
        topics.reject(letter(7))
        topics.reject(letter(7), days=1)
        topics.letters.append(((("a", b"b"),), None, b"v"))
        report = Replay("errors", topics, LetterSelection(), clock=lambda: milliseconds(AT) / 1000).plan()
        assert (len(report.decisions), report.survey.repeated, report.survey.others) == (1, 1, 1)
