"""Character classes of Java and RE2/J, as sets in the syntax of the `regex` module (version 1).

A set is the text between brackets, without them: `a-z0-9`, or `[a-z]&&[^b]`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from lineage_bridge_dagster.confluent.connectors.java_regex.errors import BadRegexError

DIGIT = "0-9"
WORD = "0-9A-Z_a-z"
SPACE = r"\t\n\x0b\x0c\r\x20"
HORIZONTAL = r"\t\x20\xa0\u1680\u180e\u2000-\u200a\u202f\u205f\u3000"
VERTICAL = r"\n\x0b\x0c\r\x85\u2028\u2029"
LINE_END = r"\n\r\x85\u2028\u2029"

#: `java.util.regex.Pattern` and `CharPredicates` of Java 17: the names that mean ASCII characters.
_POSIX = {
    "ASCII": r"\x00-\x7f",
    "Alnum": "0-9A-Za-z",
    "Alpha": "A-Za-z",
    "Blank": r"\t\x20",
    "Cntrl": r"\x00-\x1f\x7f",
    "Digit": DIGIT,
    "Graph": r"\x21-\x7e",
    "Lower": "a-z",
    "Print": r"\x20-\x7e",
    "Punct": r"\x21-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e",
    "Space": SPACE,
    "Upper": "A-Z",
    "XDigit": "0-9A-Fa-f",
}
_ANY_CASE = {"Lower": "A-Za-z", "Upper": "A-Za-z"}
#: Methods of `java.lang.Character`.
_CHARACTER = {
    "javaLowerCase": r"\p{Lowercase}",
    "javaUpperCase": r"\p{Uppercase}",
    "javaTitleCase": r"\p{Lt}",
    "javaAlphabetic": r"\p{Alphabetic}",
    "javaIdeographic": r"\p{Ideographic}",
    "javaDigit": r"\p{Nd}",
    "javaDefined": r"\P{Cn}",
    "javaLetter": r"\p{L}",
    "javaLetterOrDigit": r"\p{L}\p{Nd}",
    "javaSpaceChar": r"\p{Z}",
    "javaWhitespace": r"\t-\r\x1c-\x1f[\p{Z}--[\xa0\u2007\u202f]]",
    "javaISOControl": r"\x00-\x1f\x7f-\x9f",
}
#: Binary properties, by their names in upper case after `Is`.
_BINARY = {
    "ALPHABETIC": r"\p{Alphabetic}",
    "LETTER": r"\p{L}",
    "IDEOGRAPHIC": r"\p{Ideographic}",
    "LOWERCASE": r"\p{Lowercase}",
    "UPPERCASE": r"\p{Uppercase}",
    "TITLECASE": r"\p{Lt}",
    "WHITE_SPACE": r"\p{White_Space}",
    "WHITESPACE": r"\p{White_Space}",
    "CONTROL": r"\p{Cc}",
    "PUNCTUATION": r"\p{P}",
    "HEX_DIGIT": r"\p{Hex_Digit}",
    "HEXDIGIT": r"\p{Hex_Digit}",
    "ASSIGNED": r"\P{Cn}",
    "DIGIT": r"\p{Nd}",
    "JOIN_CONTROL": r"\u200c\u200d",
    "JOINCONTROL": r"\u200c\u200d",
}
_CASED = r"\p{Lu}\p{Ll}\p{Lt}"
_CASE_PROPERTIES = frozenset({r"\p{Lu}", r"\p{Ll}", r"\p{Lt}", r"\p{Lowercase}", r"\p{Uppercase}"})
_CATEGORY = re.compile(r"Cn|L[ultmo]|M[nec]|N[dlo]|Z[slp]|C[cfos]|P[dsecoif]|S[mcko]|[LMNZCPS]")
_SPECIAL_CATEGORIES = {"LC": _CASED, "LD": r"\p{L}\p{Nd}", "L1": r"\x00-\xff", "all": r"\x00-\U0010ffff"}
_NAME = re.compile(r"[A-Za-z0-9_ -]+")
_SCRIPT = re.compile(r"[A-Z][A-Za-z_]+")

#: POSIX classes of RE2/J, `[[:alpha:]]`.
RE2_NAMED = {
    "alnum": _POSIX["Alnum"],
    "alpha": _POSIX["Alpha"],
    "ascii": _POSIX["ASCII"],
    "blank": _POSIX["Blank"],
    "cntrl": _POSIX["Cntrl"],
    "digit": DIGIT,
    "graph": _POSIX["Graph"],
    "lower": "a-z",
    "print": _POSIX["Print"],
    "punct": _POSIX["Punct"],
    "space": SPACE,
    "upper": "A-Z",
    "word": WORD,
    "xdigit": _POSIX["XDigit"],
}


def negated(members: str) -> str:
    """The complement of a set, but for the last code point, which is no character.

    `regex` 2026.11 merges alternatives that each exclude a single character into one that excludes both, as
    in `[^a]|[^b]`. A second excluded character avoids that.
    """
    return rf"^{members}\U0010ffff"


def literal(char: str) -> str:
    """A character, in a set or outside."""
    if char.isascii() and char.isalnum():
        return char
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


#: The characters beyond ASCII that fold to an ASCII letter, with Java's flag `u` and in RE2.
JAVA_FOLDED = {"k": r"\u212a", "s": r"\u017f", "i": r"\u0130\u0131"}
RE2_FOLDED = {"k": r"\u212a", "s": r"\u017f"}


def other_cases(low: int, high: int, folded: Mapping[str, str] | None = None) -> str:
    """What case-insensitive matching adds to a range of characters: the other case of its ASCII letters.

    Args:
        low: First code point.
        high: Last code point.
        folded: What else folds to ASCII letters; None if characters beyond ASCII keep their case.

    Raises:
        BadRegexError: The range is beyond ASCII and must be folded, which languages do differently.
    """
    if folded is not None and high > 0x7F:
        raise BadRegexError("it ignores the case of characters beyond ASCII")
    letters = [chr(code) for code in range(low, min(high, ord("z")) + 1) if chr(code).isalpha()]
    return "".join(letter.swapcase() + (folded or {}).get(letter.lower(), "") for letter in letters)


def java_property(name: str, *, ignore_case: bool) -> str:
    r"""The set of `\p{name}`.

    Raises:
        BadRegexError: Java has no such property, or we do not know it.
    """
    found = _java_property(name, ignore_case)
    if not found:
        raise BadRegexError(f"unknown property {name}")
    return _CASED + found if ignore_case and found in _CASE_PROPERTIES else found


def _java_property(name: str, ignore_case: bool) -> str:
    key, equals, value = name.partition("=")
    if equals:
        if not _NAME.fullmatch(value):
            return ""
        if key.lower() in ("sc", "script"):
            return f"\\p{{Script={value}}}"
        if key.lower() in ("blk", "block"):
            return f"\\p{{Block={value}}}"
        return _category(value) if key.lower() in ("gc", "general_category") else ""
    if not _NAME.fullmatch(name):
        return ""
    if name.startswith("In"):
        return f"\\p{{Block={name[2:]}}}"
    if name.startswith("Is"):
        short = name[2:]
        return _BINARY.get(short.upper()) or _category(short) or f"\\p{{Script={short}}}"
    if ignore_case and name in _ANY_CASE:
        return _ANY_CASE[name]
    return _POSIX.get(name) or _CHARACTER.get(name) or _category(name)


def _category(name: str) -> str:
    return f"\\p{{{name}}}" if _CATEGORY.fullmatch(name) else _SPECIAL_CATEGORIES.get(name, "")


def re2_property(name: str) -> str:
    r"""The set of `\p{name}`: a general category or a script."""
    if name == "Any":
        return _SPECIAL_CATEGORIES["all"]
    if _CATEGORY.fullmatch(name):
        return f"\\p{{{name}}}"
    if not _SCRIPT.fullmatch(name):
        raise BadRegexError(f"unknown property {name}")
    return f"\\p{{Script={name}}}"
