"""Our results are those of Java's and RE2/J's own classes, or an error."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage_bridge_dagster.confluent.connectors.java_regex import BadRegexError, compile_java
from lineage_bridge_dagster.confluent.connectors.java_regex.pattern import Syntax
from lineage_bridge_dagster_tests.confluent.connectors.java_oracle import JavaOracle, java_oracle
from lineage_bridge_dagster_tests.confluent.connectors.java_regex.strategies import (
    java_expressions,
    names,
    re2_expressions,
    replacements,
)

#: Expressions as users write them, with special cases of Java's syntax.
EXPRESSIONS = (
    r"(.*)\.(.*)",
    r"([^.]+)\.([^.]+)\.([^.]+)",
    r"^a(.*)$",
    r"(?i)A(.*)",
    r"(?<db>\w+)[-.](?<t>\w+)",
    r"\Qa.b\E(.*)",
    r"a\Q.b",
    r"(a|ab)(.*)",
    r"(a|ab)",
    r"(.*?)",
    r".*",
    r"a{2}{3}",
    r"{2}",
    r"[a-c&&[^b]]+",
    r"[^a&&b]+",
    r"[a-c&&[^b]&&a]+",
    r"[a[b-c]]*",
    r"[]a]+",
    r"[^]a]+",
    r"[&&a]+",
    r"[a&]+",
    r"(?:a|b)++.*",
    r"a*+b",
    r"(a)(b)?(c)?",
    r"(([ab])\2)+",
    r"\p{Alpha}+",
    r"[\p{L}&&[^\p{Lu}]]+",
    r"\p{javaLowerCase}+",
    r"\p{IsAlphabetic}+\P{Digit}*",
    r"(?=a)(.*)",
    r"(.*)(?<=b)",
    r"(?!b)(.*)",
    r"a$",
    r"a\Z.*",
    r"a\z",
    r"(?s)(.*)",
    r"\061|\x61|\x{62}|\u0063",
    r"\0",
    r"[b-a]",
    r"(",
    r")",
    r"a**",
    r"(?<1>a)",
    r"(?P<n>a)",
    r"(?<n>a)(?<n>b)",
    r"\q",
    r"\8",
    r"[",
    r"a{3,2}",
    r"a{,2}",
)
REPLACEMENTS = ("$1_$2", "x$0", "$1", "${db}.${t}", r"\$1", "$", "$3", "$12", "a\\", "${n}", "${", "$x")
NAMES = ("a", "ab", "a.b", "a.b.c", "aab", "abab", "ABC", "c", "", "a\n", "1", "db-t", "aaaaaa", "]")


@pytest.fixture(scope="module")
def oracle() -> Iterator[JavaOracle]:
    with java_oracle() as running:
        yield running


def outcome(expression: str, replacement: str, name: str, syntax: Syntax = "java") -> str:
    try:
        return "=" + compile_java(expression, syntax).replace_whole(replacement, name)
    except BadRegexError:
        return "!"


def test_common_expressions_have_javas_results(oracle: JavaOracle) -> None:
    for expression in EXPRESSIONS:
        for replacement in REPLACEMENTS:
            for name in NAMES:
                due = oracle.java(expression, replacement, name)
                found = outcome(expression, replacement, name)
                assert found == due or (found == due[0] == "!"), (expression, replacement, name)


@settings(max_examples=250)
@given(java_expressions, st.lists(st.tuples(replacements, names), min_size=3, max_size=3))
def test_random_expressions_have_javas_results_or_are_refused(
    oracle: JavaOracle, expression: str, inputs: list[tuple[str, str]]
) -> None:
    for replacement, name in inputs:
        found = outcome(expression, replacement, name)
        assert found == "!" or found == oracle.java(expression, replacement, name)


@settings(max_examples=150)
@given(re2_expressions, st.lists(st.tuples(replacements, names), min_size=3, max_size=3))
def test_random_expressions_have_the_results_of_re2j_or_are_refused(
    oracle: JavaOracle, expression: str, inputs: list[tuple[str, str]]
) -> None:
    for replacement, name in inputs:
        found = outcome(expression, replacement, name, "re2")
        assert found == "!" or found == oracle.re2(expression, replacement, name)
