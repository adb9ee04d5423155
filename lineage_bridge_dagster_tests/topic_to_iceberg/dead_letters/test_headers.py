"""A dead letter holds its record byte for byte, and its account apart from the record's own headers."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage_bridge_dagster.topic_to_iceberg.dead_letters.headers import (
    REPLAY,
    REPLAYED_TO,
    VERSION,
    LetterOrigin,
    ReplayMark,
    letter_headers,
    replay_of,
    replayed_headers,
    replayed_letter,
    stored_letter,
)
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.letter import DeadLetter, Headers
from lineage_bridge_dagster_tests.topic_to_iceberg.dead_letters.letters import AT, letter

ORIGIN = LetterOrigin("lake.sales.orders", "upsert", "lkc-abc123")
ERROR_AT = AT + timedelta(days=9)


def stored(one: DeadLetter) -> Any:
    found = stored_letter(letter_headers(one, ORIGIN, ERROR_AT), one.key, one.value)
    assert found is not None
    return found


_BYTES = st.none() | st.binary(max_size=20)
_NAMES = st.text(max_size=8) | st.sampled_from([VERSION, REPLAY, "__connect.errors.topic"])
_TEXT = st.text(st.characters(codec="utf-8"), max_size=30)
_LETTERS = st.builds(
    DeadLetter,
    topic=st.from_regex(r"[A-Za-z0-9._-]{1,20}", fullmatch=True),
    partition=st.integers(0, 2**31 - 1),
    offset=st.integers(0, 2**63 - 1),
    timestamp=st.none()
    | st.integers(0, 2**42).map(lambda ms: datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)),
    timestamp_type=st.sampled_from(["CREATE_TIME", "LOG_APPEND_TIME", ""]),
    headers=st.lists(st.tuples(_NAMES, _BYTES), max_size=4).map(tuple),
    key=_BYTES,
    value=_BYTES,
    error=_TEXT,
    kind=st.sampled_from(["UNDECODABLE_KEY", "UNDECODABLE_VALUE", "MISSING_KEY"]),
    key_schema_id=st.none() | st.integers(0, 2**31 - 1),
    value_schema_id=st.none() | st.integers(0, 2**31 - 1),
    topic_id=_TEXT,
)


@given(_LETTERS)
def test_letter_is_read_as_it_was_written(one: DeadLetter) -> None:
    found = stored(one)
    assert found.letter == one
    assert found.identity == one.identity
    assert (found.origin, found.at) == (ORIGIN, ERROR_AT)


def test_account_is_in_the_names_that_tools_for_dead_letters_know() -> None:
    headers = letter_headers(letter(), ORIGIN, ERROR_AT)
    assert headers[:2] == letter().headers
    account = {name: value.decode() for name, value in headers[2:] if value is not None}
    assert account == {
        "__topic_to_iceberg.version": "1",
        "__connect.errors.topic": "orders.v1",
        "__connect.errors.partition": "1",
        "__connect.errors.offset": "7",
        "__connect.errors.connector.name": "lake.sales.orders",
        "__connect.errors.stage": "VALUE_CONVERTER",
        "__connect.errors.exception.class.name": "UNDECODABLE_VALUE",
        "__connect.errors.exception.message": "schema id 9 is not of subject orders.v1-value",
        "__topic_to_iceberg.identity": letter().identity,
        "__topic_to_iceberg.topic.id": "SpVHS7MYT8aw1cF20FE",
        "__topic_to_iceberg.cluster": "lkc-abc123",
        "__topic_to_iceberg.mode": "upsert",
        "__topic_to_iceberg.timestamp": "1767323045678",
        "__topic_to_iceberg.timestamp.type": "CREATE_TIME",
        "__topic_to_iceberg.value.schema.id": "9",
        "__topic_to_iceberg.time": "1768100645678",
        "__topic_to_iceberg.attempt": "1",
    }


def test_letter_of_a_dead_letter_keeps_both_accounts_apart() -> None:
    inner = letter()
    outer = letter(3, topic="error_log", headers=letter_headers(inner, ORIGIN, AT), error="second")
    found = stored(outer)
    assert found.letter == outer
    within = stored_letter(found.letter.headers, inner.key, inner.value)
    assert within is not None
    assert within.letter == inner


def test_long_error_is_cut() -> None:
    assert len(stored(letter(error="x" * 100_000)).letter.error) == 4000


@pytest.mark.parametrize(
    "headers",
    [
        (),
        (("a", b"1"),),
        ((VERSION, b"2"), ("__connect.errors.topic", b"t")),
        ((VERSION, b"1"),),
        ((VERSION, None),),
        ((VERSION, b"1"), ("__connect.errors.topic", b"t"), ("__connect.errors.partition", b"x")),
        # A dead letter of Kafka Connect.
        (("__connect.errors.topic", b"t"), ("__connect.errors.partition", b"1")),
    ],
)
def test_other_records_are_no_dead_letters(headers: Headers) -> None:
    assert stored_letter(headers, b"k", b"v") is None


class TestReplays:
    def test_record_that_is_sent_again_has_its_own_headers_and_one_that_counts(self) -> None:
        headers = stored(letter()).resent()
        assert headers[:-1] == letter().headers
        assert replay_of(headers) == ReplayMark(1, 7, letter().topic_id, letter().identity)

    def test_second_replay_counts_on_and_keeps_the_first_offset(self) -> None:
        again = letter(40, headers=stored(letter()).resent())
        found = stored(again)
        assert (found.attempt, found.rank) == (2, 7)
        assert found.resent()[:-1] == letter().headers
        assert replay_of(found.resent()) == ReplayMark(2, 7, letter().topic_id, again.identity)

    def test_offset_of_another_topic_of_that_name_is_no_rank(self) -> None:
        again = replace(letter(40, headers=stored(letter()).resent()), topic_id="created-again")
        assert stored(again).rank == 40

    def test_header_of_that_name_that_is_not_ours_is_kept(self) -> None:
        foreign = ((REPLAY, b"yes"), (REPLAY, None), (REPLAY, b"[" * 9999), (REPLAY, b'{"count": "1"}'))
        found = stored(letter(headers=foreign))
        assert (found.attempt, found.rank) == (1, 7)
        assert found.resent()[:-1] == foreign

    def test_record_of_a_replay_names_the_letter_and_where_it_is_now(self) -> None:
        headers = replayed_headers(stored(letter()), 99)
        assert replayed_letter(headers) == letter().identity
        assert dict(headers)[REPLAYED_TO] == b"orders.v1/1/99"
        assert stored_letter(headers, None, None) is None

    def test_letter_of_the_record_of_a_replay_is_a_letter(self) -> None:
        one = letter(headers=replayed_headers(stored(letter()), 99))
        assert replayed_letter(letter_headers(one, ORIGIN, AT)) is None
