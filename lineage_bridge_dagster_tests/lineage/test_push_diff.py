"""The diff of a push."""

from __future__ import annotations

import json

from lineage_bridge_dagster.lineage.documents import KEY_UPSTREAM_CHAIN
from lineage_bridge_dagster.lineage.push_diff import diff_lines


def chain(*names: str) -> str:
    return json.dumps(
        [
            {"hop": number, "kind": "topic", "qualified_name": name, "display_name": name}
            for number, name in enumerate(names, start=1)
        ]
    )


def test_keys_are_added_changed_and_removed() -> None:
    before = {"lineage_bridge.a": "1", "lineage_bridge.b": "2", "theirs": "x"}
    after = {"lineage_bridge.b": "3", "lineage_bridge.c": "4", "theirs": "y"}
    assert diff_lines(before, after, "", "") == (
        "- lineage_bridge.a: 1",
        "- lineage_bridge.b: 2",
        "+ lineage_bridge.b: 3",
        "+ lineage_bridge.c: 4",
    )


def test_chain_is_compared_hop_by_hop() -> None:
    before = {KEY_UPSTREAM_CHAIN: chain("a", "b", "c")}
    after = {KEY_UPSTREAM_CHAIN: chain("a", "x", "c")}
    assert diff_lines(before, after, "", "") == (
        "  lineage_bridge.upstream_chain:",
        "-   hop 2  topic: b",
        "+   hop 2  topic: x",
    )


def test_other_word_for_a_kind_is_one_line_and_hides_no_other_change() -> None:
    before = {KEY_UPSTREAM_CHAIN: chain("a", "b", "c").replace('"topic"', '"kafka_topic"')}
    assert diff_lines(before, {KEY_UPSTREAM_CHAIN: chain("a", "x", "c")}, "", "") == (
        "  lineage_bridge.upstream_chain:",
        "-   kind of 3 hops: kafka_topic",
        "+   kind of 3 hops: topic",
        "-   hop 2  topic: b",
        "+   hop 2  topic: x",
    )


def test_chain_that_cannot_be_parsed_is_shown_unchanged() -> None:
    lines = diff_lines({KEY_UPSTREAM_CHAIN: "[1"}, {KEY_UPSTREAM_CHAIN: chain("a")}, "", "")
    assert lines[1:] == ("-   [1", "+   hop 1  topic: a")


def test_only_changed_lines_of_the_description_are_shown() -> None:
    assert diff_lines({}, {}, "mine\n--- old\n@@ x", "mine\n+++ new\n@@ x") == (
        "  description:",
        "-   --- old",
        "+   +++ new",
    )


def test_no_change_has_no_lines() -> None:
    assert diff_lines({"lineage_bridge.a": "1"}, {"lineage_bridge.a": "1"}, "d", "d") == ()
