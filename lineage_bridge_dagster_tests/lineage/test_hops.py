from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage_bridge_dagster.lineage.chains import Chain, to_json
from lineage_bridge_dagster.lineage.hops import MAX_CHAIN_BYTES, chain_json, drop_order, join_names
from lineage_bridge_dagster.lineage.text import MAX_VALUE_BYTES
from lineage_bridge_dagster_tests.lineage.graphs import chains


def test_drop_order_starts_in_the_middle_and_ends_at_the_table() -> None:
    shape = [
        (1, "tableflow_table"),
        (2, "kafka_topic"),
        (3, "a"),
        (4, "b"),
        (5, "c"),
        (6, "external_dataset"),
    ]

    assert drop_order(shape) == [3, 2, 4, 5, 1, 0]


def test_external_datasets_near_the_table_are_sources_too() -> None:
    shape = [(1, "t"), (2, "t"), (3, "external_dataset"), (3, "x"), (4, "x"), (5, "external_dataset")]

    assert drop_order(shape) == [3, 4, 2, 5, 1, 0]


@pytest.mark.parametrize("name", ["a,b", "a%2Cb", "a\nb", "a\x00b", "a b", "日本", "100%"])
def test_joined_names_split_at_commas(name: str) -> None:
    from urllib.parse import unquote

    text, truncated = join_names([name, "other", name], MAX_VALUE_BYTES)

    assert [unquote(part) for part in text.split(",")] == [name, "other"]
    assert not truncated
    assert "\n" not in text


def test_overlong_list_keeps_the_nearest_complete_names() -> None:
    text, truncated = join_names((f"topic-{i:06}" for i in range(100_000)), MAX_VALUE_BYTES)

    assert truncated
    assert len(text) <= MAX_VALUE_BYTES
    assert text.split(",") == [f"topic-{i:06}" for i in range(len(text.split(",")))]


@settings(max_examples=40)
@given(chains(max_hops=12), st.integers(2, 3000))
def test_no_more_is_dropped_than_necessary(source: Chain, limit: int) -> None:
    records = [dict(hop) for hop in to_json(source)["hops"]]
    text, truncated = chain_json(records, limit)
    complete = json.dumps(records, ensure_ascii=False, separators=(",", ":"))

    assert len(text.encode()) <= limit
    assert truncated == (len(complete.encode()) > limit)
    if not any("schema_fields" in record for record in json.loads(text)) and len(json.loads(text)) < len(
        records
    ):
        assert not any("sql" in record for record in json.loads(text))


#: Characters of one to four bytes in UTF-8, one that is made of several, and those that JSON escapes.
_LETTERS = st.sampled_from(["a", "é", "注", "🦆", "👩\u200d🚀", '"', "\\", "\n"])


@settings(max_examples=60)
@given(st.lists(_LETTERS, min_size=8, max_size=8), st.integers(0, 40))
def test_a_long_chain_of_any_script_is_cut_between_hops_and_texts(letters: list[str], spare: int) -> None:
    """Around the limit, byte by byte: what remains is whole."""
    records = [
        {
            "hop": i,
            "kind": "flink_job",
            "qualified_name": letter * 600,
            "display_name": letter,
            "sql": letter * 900,
        }
        for i, letter in enumerate(letters * 8, start=1)
    ]
    sizes = [len(json.dumps(record, ensure_ascii=False).encode()) for record in records]
    for limit in (MAX_CHAIN_BYTES, sum(sizes) // 2 + spare):
        text, truncated = chain_json(records, limit)
        assert len(text.encode()) <= limit
        assert truncated
        for hop in json.loads(text):
            whole = records[hop["hop"] - 1]
            assert hop == {key: value for key, value in whole.items() if key in hop}
            assert whole.keys() - hop.keys() <= {"sql"}
