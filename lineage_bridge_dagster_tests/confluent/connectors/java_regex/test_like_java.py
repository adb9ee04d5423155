"""Results are those of Java's own classes, whatever an expression, a replacement or a name contains."""

from __future__ import annotations

from functools import partial
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from lineage_bridge_dagster.confluent.connectors.java_regex import (
    BadRegexError,
    evaluated,
    full_matches,
    replace_whole,
)
from lineage_bridge_dagster_tests.confluent.connectors.java_oracle import JavaOracle

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


def outcome(expression: str, replacement: str, name: str) -> str:
    try:
        return "=" + replace_whole(expression, replacement, name)
    except BadRegexError:
        return "!"


def test_common_expressions_have_javas_results(oracle: JavaOracle) -> None:
    cases = list(product(EXPRESSIONS, REPLACEMENTS, NAMES))
    for case, found in zip(cases, evaluated([partial(outcome, *case) for case in cases]), strict=True):
        due = oracle.java(*case)
        assert found == due or (found == due[0] == "!"), case


#: Also lone surrogates, which a configuration in JSON can contain.
texts = st.text(st.characters(exclude_categories=[]), max_size=6).filter(lambda text: "\\" not in text)


@settings(max_examples=30)
@given(st.lists(texts, min_size=20, max_size=20))
def test_any_characters_reach_java(names: list[str]) -> None:
    found = evaluated([partial(full_matches, rf"\Q{name}\E", [name, f"{name}a"]) for name in names])
    assert found == [[name] for name in names]
