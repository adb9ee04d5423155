"""Java regular expressions, as used in connector configurations."""

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
    """The expression is invalid, or uses a feature that Python's `re` lacks."""


@lru_cache(maxsize=4096)
def compile_java(pattern: str) -> re.Pattern[str]:
    """Compile a Java expression, after translating the syntax that differs from Python's.

    Raises:
        BadRegexError: It is invalid, or uses a feature that Python's `re` lacks.
    """
    text = _NAMED_GROUP.sub(r"(?P<\1>", pattern)
    for java, python in _POSIX.items():
        text = text.replace(java, python)
    try:
        return re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        raise BadRegexError(f"{pattern!r}: {error}") from error


def full_matches(pattern: str, names: Iterable[str]) -> list[str]:
    """The names that the expression matches as a whole, like Java's `matches()`."""
    compiled = compile_java(pattern)
    return [name for name in names if compiled.fullmatch(name)]


def is_literal(item: str) -> bool:
    r"""Whether an include-list item is a plain name, perhaps with escaped dots (`public\.orders`)."""
    return not _META.search(item)


def literal(item: str) -> str:
    """A plain name without its escapes."""
    return item.replace("\\.", ".")


def replace_whole(pattern: str, replacement: str, name: str) -> str:
    """RegexRouter's rule: `replaceFirst` if the expression matches the whole name; else no change."""
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
