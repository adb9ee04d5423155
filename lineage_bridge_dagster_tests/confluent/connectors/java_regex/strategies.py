"""Random expressions, replacements and names, for comparison with Java."""

from __future__ import annotations

from hypothesis import strategies as st

CHARS = "aaabbc.A-_1"
_QUANTIFIERS = ("*", "+", "?", "{2}", "{1,2}", "{0,1}", "{1,}", "{0}")

names = st.text(CHARS + "\n", max_size=6)
replacements = st.lists(
    st.sampled_from(["$0", "$1", "$1", "$2", "x", "_", "-", "$12", r"\$", "\\", "$", "{", "a"]), max_size=3
).map("".join)


@st.composite
def _java_class(draw: st.DrawFn, depth: int = 0) -> str:
    member = st.sampled_from(
        [
            *"abcAB1_.&^",
            *("a-c", "A-Z", "0-9", "b-", "-c"),
            *(r"\d", r"\W", r"\s", r"\.", r"\-", r"\x61", r"\h", r"\v"),
            *(r"\p{Alpha}", r"\P{Lu}", r"\p{L}", r"\Q-]\E"),
        ]
    )
    if depth < 2:
        nested = _java_class(depth + 1)
        intersection = st.one_of(nested, st.sampled_from(["ab", "^a", "a-c"])).map("&&{}".format)
        member = st.one_of(member, member, nested, intersection)
    members = draw(st.lists(member, min_size=1, max_size=3))
    return f"[{draw(st.sampled_from(['', '', '', '^']))}{''.join(members)}]"


_java_atoms = st.one_of(
    st.sampled_from([*"aabbcAB1-_", r"\."]),
    st.just("."),
    _java_class(),
    st.sampled_from(
        [
            *(r"\d", r"\w", r"\W", r"\S", r"\R", r"\h", r"\H", r"\cA", r"\Qa.\E"),
            *(r"\p{Lower}", r"\p{Upper}", r"\pL", r"\p{IsAlphabetic}", r"\p{javaLowerCase}", r"\p{IsLatin}"),
            *(r"\x62", r"\u0061", r"\061", r"\x{63}"),
        ]
    ),
    st.sampled_from(["^", "$", r"\b", r"\B", r"\A", r"\z", r"\Z", r"\G"]),
    st.sampled_from([r"\1", r"\2", r"\12"]),
)
_re2_atoms = st.one_of(
    st.sampled_from([*"aabbcAB1-_{}", r"\."]),
    st.just("."),
    st.sampled_from(
        ["[a-c]", "[^a]", "[]a]", "[^]a-]", "[[:alpha:]_]", "[[:^digit:]]", "[a&&b]", r"[\d.-]", "[[a]"]
    ),
    st.sampled_from(
        [r"\d", r"\w", r"\W", r"\S", r"\pL", r"\PN", r"\p{Latin}", r"\x62", r"\x{63}", r"\061", r"\Qa.\E"]
    ),
    st.sampled_from(["^", "$", r"\b", r"\B", r"\A", r"\z", r"\Z"]),
)


def _expressions(
    atoms: st.SearchStrategy[str], groups: list[str], suffixes: list[str]
) -> st.SearchStrategy[str]:
    def quantified(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        quantifier = st.tuples(st.sampled_from(_QUANTIFIERS), st.sampled_from(suffixes)).map("".join)
        return st.tuples(parts, st.one_of(st.just(""), st.just(""), quantifier)).map("".join)

    def alternatives(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        sequences = st.lists(quantified(parts), max_size=3).map("".join)
        return st.lists(sequences, min_size=1, max_size=3).map("|".join)

    def grouped(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        inner = alternatives(parts)
        return st.one_of(
            parts, inner.map("({})".format), st.builds(str.__mod__, st.sampled_from(groups), inner)
        )

    return alternatives(st.recursive(atoms, grouped, max_leaves=6))


_noise = st.text(r"ab(){}[]\^$.|*+?-&<>=!:0123,QEp ", max_size=8)
java_expressions = st.one_of(
    _expressions(
        _java_atoms,
        [
            *("(?:%s)", "(?<n>%s)", "(?>%s)"),
            *("(?=%s)", "(?!%s)", "(?<=%s)", "(?<!%s)"),
            *("(?i:%s)", "(?i)%s", "(?s)%s", "(?m)%s", "(?-i)%s"),
        ],
        ["", "", "?", "+"],
    ),
    _noise,
)
re2_expressions = st.one_of(
    _expressions(
        _re2_atoms, ["(?:%s)", "(?P<n>%s)", "(?i:%s)", "(?i)%s", "(?s)%s", "(?m)%s", "(?U)%s"], ["", "", "?"]
    ),
    _noise,
)
