"""Encoding any names as names that Dagster accepts."""

from __future__ import annotations

import re

from dagster import AssetKey, AssetSpec
from hypothesis import given
from hypothesis import strategies as st

from lineage_bridge_dagster.specs import keys

TEXTS = st.text(st.characters(), max_size=80) | st.text('abAB01._- /"\\%|~*:@x', max_size=30)
PAIRS = st.tuples(TEXTS, TEXTS)


@given(PAIRS)
def test_key_part_is_injective_and_contains_nothing_that_breaks_the_ui(pair: tuple[str, str]) -> None:
    one, other = map(keys.key_part, pair)
    assert (one == other) == (pair[0] == pair[1])
    assert one
    assert not re.search(r'[/"\\%*\x00-\x1f]', one)
    one.encode("utf-8")


@given(PAIRS)
def test_names_groups_tags_and_owners_are_injective(pair: tuple[str, str]) -> None:
    for encode in (
        keys.group_segment,
        keys.tag_value,
        keys.tag_name,
        keys.owner,
        lambda t: keys.op_name("out", t),
    ):
        one, other = encode(pair[0]), encode(pair[1])
        assert (one == other) == (pair[0] == pair[1])


@given(TEXTS)
def test_dagster_accepts_the_encoding_of_any_text(text: str) -> None:
    spec = AssetSpec(
        key=AssetKey(keys.key_parts("kafka", text)),
        group_name=keys.group_name("kafka", text),
        owners=[keys.owner(text)],
        tags={"lineage_bridge/cluster": keys.tag_value(text), keys.tag_name(text): ""},
    )
    assert spec.key.path[0] == "kafka"
    assert re.fullmatch(r"[A-Za-z0-9_]+", keys.op_name("in", text))


def test_names_that_differ_only_in_punctuation_stay_distinct() -> None:
    for encode in (keys.key_part, keys.group_segment, keys.tag_value, lambda t: keys.op_name("in", t)):
        assert len({encode(name) for name in ("o.v1", "o-v1", "o_v1", "O.v1")}) == 4


def test_confluents_ids_stay_legible_as_groups() -> None:
    assert keys.group_name("kafka", "lkc-abc123") == "kafka/lkc_abc123"
    assert keys.group_segment("lkc_abc123") != "lkc_abc123"
    assert keys.group_name("glue", "sales_db") == "glue/sales_db"


def test_dots_hyphens_and_capitals_stay_in_key_parts() -> None:
    assert keys.key_part("Orders-EU.v1") == "Orders-EU.v1"


@given(st.lists(st.tuples(st.text(max_size=12), st.from_regex(r"(lkc|env)-[a-z0-9]{1,6}", fullmatch=True))))
def test_a_named_segment_is_a_group_segment_and_distinct_for_each_id(
    named: list[tuple[str, str]],
) -> None:
    segments = {keys.named_segment(name, ident): ident for name, ident in named}
    for segment, ident in segments.items():
        assert AssetSpec("a", group_name=f"kafka/{segment}").group_name == f"kafka/{segment}"
        # A database of another name never has the segment of a cluster.
        assert keys.group_segment(segment) != segment or segment == ident
    assert len({keys.named_segment(name, ident) for name, ident in dict.fromkeys(named)}) >= len(
        {ident for _, ident in named}
    )
