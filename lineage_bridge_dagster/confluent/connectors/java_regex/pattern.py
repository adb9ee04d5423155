"""Compiled expressions that match as Java's or RE2/J's do, within a limit of time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import regex

from lineage_bridge_dagster.confluent.connectors.java_regex.errors import BadRegexError, SlowRegexError
from lineage_bridge_dagster.confluent.connectors.java_regex.java import JavaParser
from lineage_bridge_dagster.confluent.connectors.java_regex.parser import Translation
from lineage_bridge_dagster.confluent.connectors.java_regex.re2 import Re2Parser
from lineage_bridge_dagster.confluent.connectors.java_regex.replacement import Parts, java_parts, re2_parts

#: Processor time for one name, and time for all names of one call, after which each gets a millisecond. A
#: sound expression needs a microsecond.
NAME_SECONDS, CALL_SECONDS = 0.5, 2.0

Syntax = Literal["java", "re2"]


@dataclass(frozen=True, slots=True)
class JavaRegex:
    """A compiled expression. All its methods raise `SlowRegexError` after `NAME_SECONDS`.

    Attributes:
        pattern: The expression, as configured.
        syntax: Java's own, or RE2/J's.
        translation: Its translation.
        compiled: The translation, compiled.
    """

    pattern: str
    syntax: Syntax
    translation: Translation
    compiled: regex.Pattern[str]

    def fullmatch(self, name: str, seconds: float = NAME_SECONDS) -> regex.Match[str] | None:
        """The match of the whole name, like Java's `matches()`. Its groups have numbers only."""
        return self._run(self.compiled.fullmatch, name, seconds)

    def search(self, name: str, seconds: float = NAME_SECONDS) -> regex.Match[str] | None:
        """The first match in a name, like Java's `find()`."""
        return self._run(self.compiled.search, name, seconds)

    def matches(self, name: str) -> bool:
        """Whether it matches the whole name."""
        return self.fullmatch(name) is not None

    def replace_whole(self, replacement: str, name: str) -> str:
        """RegexRouter's rule: `replaceFirst` if it matches the whole name; else no change.

        Java's `replaceFirst` searches again and may match less than the whole name: `(a|ab)` matches `a` in
        `ab`.

        Raises:
            BadRegexError: The replacement is wrong, too.
        """
        if not self.matches(name):
            return name
        match = self.search(name)
        if match is None:
            # A search is never anchored to the end, so it finds what the whole name matches, or less.
            return name
        parts = self.parts(replacement)
        unsure = self.translation.unsure.intersection(part for part in parts if isinstance(part, int))
        if unsure:
            raise BadRegexError(
                f"{replacement!r} names group {min(unsure)}, which is not sure to have the same text in Java"
            )
        replaced = "".join(part if isinstance(part, str) else match.group(part) or "" for part in parts)
        return name[: match.start()] + replaced + name[match.end() :]

    def parts(self, replacement: str) -> Parts:
        """A replacement's texts, and the numbers of the groups between them.

        Raises:
            BadRegexError: It is invalid, or names a group that the expression lacks.
        """
        read = java_parts if self.syntax == "java" else re2_parts
        return read(replacement, len(self.translation.groups), self.translation.names)

    def group_source(self, number: int) -> str:
        """The expression inside a group, or all of it for group 0; `.*` if it cannot stand alone."""
        return (self.translation.groups[number - 1] or ".*") if number else self.pattern

    def _run(
        self, method: Callable[..., regex.Match[str] | None], name: str, seconds: float
    ) -> regex.Match[str] | None:
        try:
            return method(name, timeout=max(seconds, 0.001), concurrent=True)
        except TimeoutError:
            raise SlowRegexError(
                f"{self.pattern[:200]!r} takes too long on {name[:200]!r}; write it without nested repeats"
            ) from None
        except MemoryError:
            raise BadRegexError(f"{self.pattern[:200]!r} takes too much memory") from None


@lru_cache(maxsize=1024)
def compile_java(pattern: str, syntax: Syntax = "java") -> JavaRegex:
    """Compile an expression.

    Raises:
        BadRegexError: It is invalid, or uses what we cannot run as Java does.
    """
    parser = JavaParser(pattern) if syntax == "java" else Re2Parser(pattern)
    try:
        translation = parser.translate()
    except BadRegexError as error:
        raise BadRegexError(f"{pattern[:200]!r}: {error}") from error
    except RecursionError:
        raise BadRegexError(f"{pattern[:200]!r} is nested too deep") from None
    return JavaRegex(pattern, syntax, translation, _compiled(translation.text, pattern))


def _compiled(text: str, pattern: str) -> regex.Pattern[str]:
    try:
        return regex.compile(text, regex.VERSION1)
    except (regex.error, RecursionError, OverflowError, MemoryError, ValueError) as error:
        raise BadRegexError(f"{pattern[:200]!r} is not supported: {error}") from error


def full_matches(pattern: str, names: Iterable[str]) -> list[str]:
    """The names that the expression matches as a whole, like Java's `matches()`.

    Raises:
        BadRegexError: It is invalid, or takes too long.
    """
    compiled = compile_java(pattern)
    end = time.monotonic() + CALL_SECONDS
    return [name for name in names if compiled.fullmatch(name, min(NAME_SECONDS, end - time.monotonic()))]


def replace_whole(pattern: str, replacement: str, name: str) -> str:
    """RegexRouter's rule: `replaceFirst` if the expression matches the whole name; else no change.

    Raises:
        BadRegexError: The expression or the replacement is wrong, or it takes too long.
    """
    return compile_java(pattern).replace_whole(replacement, name)
