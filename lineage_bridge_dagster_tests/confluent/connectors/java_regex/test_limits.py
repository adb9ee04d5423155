"""Hostile expressions end with an error that says why."""

from __future__ import annotations

import pytest

from lineage_bridge_dagster.confluent.connectors.java_regex import (
    BadRegexError,
    SlowRegexError,
    compile_java,
    full_matches,
    pattern,
)


@pytest.mark.parametrize(
    ("expression", "name"),
    [("(a|aa)+b", "a" * 249), ("(.*?,){60}P", "1," * 120)],
    ids=["alternatives", "repeats"],
)
def test_expression_that_takes_too_long_says_so(expression: str, name: str) -> None:
    with pytest.raises(SlowRegexError, match="takes too long on"):
        full_matches(expression, [name])


def test_fast_names_are_run_even_after_the_time_of_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pattern, "CALL_SECONDS", 0.0)
    assert full_matches("a+", ["aa", "b"]) == ["aa"]


@pytest.mark.parametrize("expression", ["(a+)+$", "([a-zA-Z]+)*", "(.*)*z"])
def test_nested_repeats_are_run(expression: str) -> None:
    assert full_matches(expression, ["a" * 248 + "!"]) == []


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("a" * 100_000, "100,000 characters"),
        ("(" * 5_000, "nested"),
        ("[" * 5_000, "nested|unclosed"),
        ("(a)" * 3_000, "groups"),
        ("((a{1000}){1000}){1000}", "repeats amount"),
        ("(?:ab){2147483647}", "repeats amount"),
        ("a{99999999999999999999}", "repeat"),
    ],
    ids=["length", "groups in groups", "classes in classes", "groups", "repeats", "many times", "no number"],
)
def test_expression_that_is_too_large_is_refused_before_it_is_compiled(expression: str, reason: str) -> None:
    with pytest.raises(BadRegexError, match=reason) as raised:
        compile_java(expression)
    assert len(str(raised.value)) < 400


def test_newlines_and_control_characters_are_ordinary() -> None:
    assert full_matches("a\n\x00\t(.*)", ["a\n\x00\tb", "ab"]) == ["a\n\x00\tb"]


def test_large_expression_within_the_limits() -> None:
    tables = "|".join(f"public\\.table_{number}" for number in range(700))
    assert full_matches(tables, ["public.table_699", "public.table_700"]) == ["public.table_699"]
