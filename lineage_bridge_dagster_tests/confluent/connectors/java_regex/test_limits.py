"""Hostile expressions end with an error that says why."""

from __future__ import annotations

import pytest

from lineage_bridge_dagster.confluent.connectors.java_regex import (
    BadRegexError,
    SlowRegexError,
    check,
    full_matches,
    jvm,
    replace_whole,
)


@pytest.mark.parametrize(
    ("expression", "name"),
    [("(a|aa)+bc?(?=\\1)", "a" * 249), ("(.*?,){60}P", "1," * 120)],
    ids=["alternatives", "repeats"],
)
def test_expression_that_takes_too_long_says_so(expression: str, name: str) -> None:
    with pytest.raises(SlowRegexError, match="takes too long on"):
        full_matches(expression, [name])


def test_fast_names_are_run_even_after_the_time_of_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jvm, "CALL_READS", 0)
    assert full_matches("a+", ["aa", "b"]) == ["aa"]


def test_expression_that_was_too_slow_on_several_names_is_given_up() -> None:
    slow, names = r"(a|ab|aa)+b(?=\1)", ["a" * length for length in range(100, 104)]
    for name in names:
        with pytest.raises(SlowRegexError):
            full_matches(slow, [name])
    with pytest.raises(SlowRegexError):
        full_matches(slow, ["abab"])


@pytest.mark.parametrize("expression", ["(a+)+$", "([a-zA-Z]+)*", "(.*)*z"])
def test_nested_repeats_are_run(expression: str) -> None:
    assert full_matches(expression, ["a" * 248 + "!"]) == []


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("a" * 20_001, "20,000 characters"),
        ("(" * 5_000, "nested|Unclosed"),
        ("[" * 5_000, "nested|Unclosed"),
        ("a{99999999999999999999}", "repeat|repetition"),
        (r"\p{Nope}\n", "Unknown character property"),
    ],
    ids=["length", "groups in groups", "classes in classes", "no number", "two lines"],
)
def test_invalid_expression_is_an_error_of_one_short_line(expression: str, reason: str) -> None:
    with pytest.raises(BadRegexError, match=reason) as raised:
        check(expression)
    assert len(str(raised.value)) < 400
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("expression", "name"),
    [
        ("(a)" * 3_000, "a" * 3_000),
        ("((a{1000}){10}){10}", "a" * 100_000),
        ("(?:ab){1,2147483647}", "ab" * 1_000),
        ("(" * 300 + "a" + ")" * 300, "a"),
    ],
    ids=["groups", "repeats", "many times", "groups in groups"],
)
def test_large_expressions_are_evaluated(expression: str, name: str) -> None:
    assert full_matches(expression, [name, f"{name}b"]) == [name]


def test_expression_that_ends_the_process_fails_alone() -> None:
    with pytest.raises(BadRegexError):
        replace_whole("(.*)", "$1" * 20_000, "a" * 50_000)
    assert full_matches("a+", ["aa", "b"]) == ["aa"]


def test_newlines_and_control_characters_are_ordinary() -> None:
    assert full_matches("a\n\x00\t(.*)", ["a\n\x00\tb", "ab"]) == ["a\n\x00\tb"]


def test_large_expression_within_the_limits() -> None:
    tables = "|".join(f"public\\.table_{number}" for number in range(700))
    assert full_matches(tables, ["public.table_699", "public.table_700"]) == ["public.table_699"]
