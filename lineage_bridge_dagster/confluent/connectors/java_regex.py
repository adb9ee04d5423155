"""Java regular expressions, as connectors' configurations hold them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

_NAMED_GROUP = re.compile(r"\(\?<([A-Za-z][A-Za-z0-9]*)>")
_POSIX = {
    r"\p{Alpha}": "[A-Za-z]",
    r"\p{Digit}": "[0-9]",
    r"\p{Alnum}": "[A-Za-z0-9]",
    r"\p{Lower}": "[a-z]",
    r"\p{Upper}": "[A-Z]",
    r"\p{L}": r"[^\W\d_]",
    r"\p{N}": r"\d",
}
_META = re.compile(r"[\[\](){}*+?|^$]|\\[^.]|(?<!\\)\.[*+?]")
_REFERENCE = re.compile(r"\\(.)|\$(?:(\d)|\{([A-Za-z][A-Za-z0-9]*)\})")


class BadRegexError(ValueError):
    """The expression is not one that can be understood here."""


@lru_cache(maxsize=4096)
def compile_java(pattern: str) -> re.Pattern[str]:
    """Compile what the two dialects share, after the spellings that differ.

    Raises:
        BadRegexError: it is not a regular expression, or uses what Python's have no word for.
    """
    text = _NAMED_GROUP.sub(r"(?P<\1>", pattern)
    for java, python in _POSIX.items():
        text = text.replace(java, python)
    try:
        return re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        raise BadRegexError(f"{pattern!r}: {error}") from error


def full_matches(pattern: str, names: Iterable[str]) -> list[str]:
    """The names that the whole expression matches, as Java's `matches()` does."""
    compiled = compile_java(pattern)
    return [name for name in names if compiled.fullmatch(name)]


def is_literal(item: str) -> bool:
    r"""Whether an include-list item is a plain name; a plain or an escaped dot is one (`public\.orders`)."""
    return not _META.search(item)


def literal(item: str) -> str:
    return item.replace("\\.", ".")


def replace_whole(pattern: str, replacement: str, name: str) -> str:
    """RegexRouter's rule: only when the expression matches the whole name, `replaceFirst`; else unchanged."""
    match = compile_java(pattern).fullmatch(name)
    if match is None:
        return name

    def group(reference: re.Match[str]) -> str:
        escaped, number, label = reference.groups()
        if escaped is not None:
            return str(escaped)
        try:
            return match.group(int(number) if number else str(label)) or ""
        except (IndexError, KeyError) as error:
            raise BadRegexError(f"{replacement!r} names a group that {pattern!r} lacks") from error

    return _REFERENCE.sub(group, replacement)
