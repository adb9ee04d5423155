"""The syntax and the rules of Java's expressions."""

from __future__ import annotations

import pytest

from lineage_bridge_dagster.confluent.connectors.java_regex import (
    BadRegexError,
    check,
    finds,
    full_matches,
    matched_groups,
    of_re2,
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
        check(expression)


@pytest.mark.parametrize(
    ("expression", "matched"),
    [
        ("(?x)a b # letters", ["ab"]),
        (r"(?U)\w", ["ä"]),
        (r"\N{LATIN SMALL LETTER A WITH DIAERESIS}", ["ä"]),
        (r"\X", ["ä", "a\u0308"]),
        (r"(?i)(a)\1", ["aA"]),
        (r"(?iu)Ä", ["ä"]),
        (r"(\2)(a)", []),
        (r"(?:(a?)b?)*\1", ["ab"]),
        (r"(?:a*b?+){2}.", ["aA", "ä", "a\u0308"]),
        (r"[ab&&[&]&]", []),
        (r"a(?<!c?+)b", []),
        (r"a(?<=(?>a|ab))b", ["ab"]),
    ],
)
def test_syntax_that_only_java_has(expression: str, matched: list[str]) -> None:
    assert full_matches(expression, ["aA", "ab", "ä", "a\u0308"]) == matched


def test_group_in_a_repeated_group_has_the_text_that_java_gives_it() -> None:
    assert replace_whole("(a*)*", "x", "aa") == "x"
    assert replace_whole("(a*)*", "<$1>", "aa") == "<>"


def test_expression_may_match_a_part_of_a_name() -> None:
    assert finds("b", "abc")
    assert not finds("^b", "abc")


def test_groups_of_a_matched_name() -> None:
    assert matched_groups("(a)(b)?(c)", "ac") == ["ac", "a", "", "c"]
    assert matched_groups("(a)", "ac") is None


def test_two_alternatives_that_exclude_a_character_each() -> None:
    assert full_matches("[^a]|[^b]", ["a", "b"]) == ["a", "b"]


def test_expressions_of_re2_are_read_as_java_s_or_refused() -> None:
    assert (
        replace_whole(of_re2(r"(?P<db>\w+)\.(?P<rest>.*)"), "${rest}-${db}", "shop.orders") == "orders-shop"
    )
    for other in ("[[:alpha:]]+", "[^[:alpha:]]", "[a&&b]", "[[x]"):
        with pytest.raises(BadRegexError):
            of_re2(other)
