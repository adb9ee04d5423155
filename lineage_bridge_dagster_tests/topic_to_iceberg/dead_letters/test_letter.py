"""What tells dead letters apart, and how they are summed up."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from lineage_bridge_dagster.topic_to_iceberg.dead_letters import letter as module
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.letter import Rejection, Rejections, batches
from lineage_bridge_dagster_tests.topic_to_iceberg.dead_letters.letters import AT, letter


def test_identity_is_that_of_the_record_and_not_of_its_rejection() -> None:
    again = replace(letter(), error="another", kind="MISSING_KEY", topic_id="", value_schema_id=None)
    assert again.identity == letter().identity


@pytest.mark.parametrize(
    "change",
    [
        {"topic": "orders.v2"},
        {"partition": 2},
        {"offset": 8},
        {"timestamp": AT + timedelta(milliseconds=1)},
        {"key": None},
        {"value": None},
        {"value": b""},
        {"headers": ()},
        {"headers": (("trace", b"a"), ("trace", b""))},
        # The same bytes, shared out in another way.
        {"key": b"kk", "value": b"\x00\x00\x00\x00\x09"},
        {"headers": (("trace", b"atrace"), ("", None))},
    ],
)
def test_each_part_of_a_record_is_part_of_its_identity(change: dict[str, Any]) -> None:
    assert replace(letter(), **change).identity != letter().identity


def test_summary_counts_kinds_and_keeps_the_last_examples() -> None:
    found = [letter(offset).rejection for offset in range(4)] + [letter(9, kind="MISSING_KEY").rejection]
    first, later = Rejections.of(found[:3], limit=2), Rejections.of(found[3:], limit=2)
    both = first.plus(later, limit=3)
    assert both.counts == {"UNDECODABLE_VALUE": 4, "MISSING_KEY": 1}
    assert both.total == 5
    assert [example.offset for example in both.examples] == [2, 3, 9]


def test_example_says_where_the_record_is_and_nothing_of_its_content() -> None:
    rejection = letter(value=b"top secret", headers=(("h", b"hidden"),), key=b"private").rejection
    assert rejection == Rejection(
        "orders.v1",
        1,
        7,
        "UNDECODABLE_VALUE",
        "schema id 9 is not of subject orders.v1-value",
        None,
        9,
    )
    assert str(rejection) == ("orders.v1 partition 1 offset 7: schema id 9 is not of subject orders.v1-value")


def test_batches_are_bounded_by_number_and_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BATCH", 3)
    monkeypatch.setattr(module, "BATCH_BYTES", 10)
    sizes = [1, 1, 1, 1, 8, 50, 2, 2]
    letters = [letter(key=None, value=bytes(size)) for size in sizes]
    assert [[one.size for one in batch] for batch in batches(letters)] == [[1, 1, 1], [1, 8], [50], [2, 2]]
