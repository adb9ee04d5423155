"""The syntax and the rules of Java's expressions."""

from __future__ import annotations

import pytest

from lineage_bridge_dagster.confluent.connectors.java_regex import (
    BadRegexError,
    compile_java,
    full_matches,
    replace_whole,
)


def test_router_replaces_only_if_the_whole_name_matches() -> None:
    assert replace_whole("b", "x", "abc") == "abc"
    assert replace_whole("a(.*)", "x$1", "abc") == "xbc"


def test_replacement_is_of_the_first_match_found_which_may_be_less_than_the_whole_name() -> None:
    assert replace_whole("(a|ab)", "<$1>", "ab") == "<a>b"
    assert replace_whole("(.*?)", "x-", "orders") == "x-orders"


@pytest.mark.parametrize(
    ("replacement", "result"),
    [
        ("$1", "a"),
        ("$2$1", "ba"),
        ("$12", "a2"),
        ("${second}", "b"),
        (r"\$1", "$1"),
        (r"\\", "\\"),
        ("$0!", "ab!"),
        ("$3", ""),
    ],
)
def test_replacements(replacement: str, result: str) -> None:
    assert replace_whole("(a)(?<second>b)(c)?", replacement, "ab") == result


@pytest.mark.parametrize("replacement", ["$4", "${third}", "$", "$x", "a\\", "${", "${}", "${1a}"])
def test_replacements_that_java_refuses(replacement: str) -> None:
    with pytest.raises(BadRegexError):
        replace_whole("(a)(?<second>b)(c)?", replacement, "ab")


def test_wrong_replacement_does_no_harm_to_names_that_do_not_match() -> None:
    assert replace_whole("(a)", "$2", "b") == "b"


@pytest.mark.parametrize(
    ("expression", "matched"),
    [
        (r"\Qa.b\E", ["a.b"]),
        (r"a\Q.b", ["a.b"]),
        (r"\p{Upper}+", ["AB"]),
        (r"\p{L}+", ["AB", "abc", "äé"]),
        (r"\p{IsAlphabetic}+", ["AB", "abc", "äé"]),
        (r"\p{javaLowerCase}+", ["abc", "äé"]),
        (r"\w+", ["AB", "abc", "a_1"]),
        (r"[a-z&&[^b]]+", []),
        (r"[a-c&&[^x]]+", ["abc"]),
        (r"(?i)ABC", ["abc"]),
        (r"(?i)ÄÉ", []),
        (r"a(?-i)BC|(?i:ab)", ["AB"]),
        (r".", ["\t"]),
        (r"(?s).\h?", ["\n", "\t"]),
        (r"\R", ["\n"]),
        (r"\x{61}\x62\u0063", ["abc"]),
        (r"\0101\102", []),
        (r"\0101B", ["AB"]),
        (r"a++bc", ["abc"]),
        (r".*+c", []),
        (r"(?>a|ab)c", []),
        (r"(?<first>a)\k<first>?bc", ["abc"]),
        (r"abc\z|AB\Z", ["AB", "abc"]),
    ],
)
def test_syntax(expression: str, matched: list[str]) -> None:
    names = ["a.b", "AB", "abc", "äé", "a_1", "\n", "\t"]
    assert full_matches(expression, names) == matched


def test_quantifier_after_a_quantifier_repeats_nothing_in_java() -> None:
    assert full_matches("a{2}{3}", ["aa", "aaaaaa"]) == ["aa"]


@pytest.mark.parametrize(
    "expression",
    [
        "(",
        ")",
        "[",
        "a**",
        "*a",
        "[b-a]",
        r"\q",
        "(?P<n>a)",
        "(?<1>a)",
        "(?<n>a)(?<n>b)",
        "a{2,1}",
        r"\p{Nope}",
    ],
)
def test_invalid_expressions(expression: str) -> None:
    with pytest.raises(BadRegexError):
        compile_java(expression)


@pytest.mark.parametrize(
    "expression",
    [
        "(?x)a b",
        r"(?U)\w",
        r"\N{LATIN SMALL LETTER A}",
        r"\X",
        r"(?i)(a)\1",
        r"(\2)(a)",
        r"(?:(a?)b?)*\1",
        r"(?:a*b?+){2}.",
        r"[ab&&[&]&]",
        r"(?<!a?+)b",
        r"(?<=(?>a|ab))b",
    ],
)
def test_what_we_cannot_run_as_java_does_is_refused(expression: str) -> None:
    with pytest.raises(BadRegexError):
        compile_java(expression)


def test_group_that_engines_fill_differently_cannot_be_used_in_a_replacement() -> None:
    assert replace_whole("(a*)*", "x", "aa") == "x"
    with pytest.raises(BadRegexError, match="not sure"):
        replace_whole("(a*)*", "$1", "aa")


def test_two_alternatives_that_exclude_a_character_each() -> None:
    assert full_matches("[^a]|[^b]", ["a", "b"]) == ["a", "b"]


def test_re2_has_its_own_syntax() -> None:
    router = compile_java(r"(?P<db>[[:alpha:]]+)\.(?P<rest>.*)", "re2")
    assert router.replace_whole("${rest}-${db}", "shop.orders") == "orders-shop"
    assert compile_java("[a&&b]+", "re2").matches("a&b")
    assert compile_java("a{", "re2").matches("a{")
    for unsupported in ("(?=a)", r"(a)\1", "a++", "a{2}{3}", "a{1001}", r"\h", r"\Z"):
        with pytest.raises(BadRegexError):
            compile_java(unsupported, "re2")
