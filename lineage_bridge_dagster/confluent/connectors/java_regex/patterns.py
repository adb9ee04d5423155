"""Questions to ask of an expression, and `evaluated`, which has many of them answered at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeVar

from lineage_bridge_dagster.confluent.connectors.java_regex.groups import (
    BadRegexError,
    SlowRegexError,
)
from lineage_bridge_dagster.confluent.connectors.java_regex.jvm import (
    ExpressionsJvm,
    Failure,
    PatternQuery,
    Result,
)

_MOST_CHARS = 20_000
#: Times that a function is run with assumed answers. Each transform of a chain may need one.
_MOST_ROUNDS = 10

#: The process that all of this package's functions ask.
EXPRESSIONS = ExpressionsJvm()

T = TypeVar("T")


@dataclass(slots=True)
class _Answers:
    """The answers within one call of `evaluated`."""

    found: dict[PatternQuery, Result] = field(default_factory=dict)
    missing: dict[PatternQuery, None] = field(default_factory=dict)
    #: Equal lists of names are kept once.
    names: dict[tuple[str, ...], tuple[str, ...]] = field(default_factory=dict)
    is_assuming: bool = True
    has_assumed: bool = False


_ANSWERS: ContextVar[_Answers | None] = ContextVar("answers", default=None)


def evaluated(functions: Sequence[Callable[[], T]]) -> list[T]:
    """Run functions that evaluate expressions, with few requests to the JVM for all of them.

    Each runs with assumed answers first (nothing matches), which shows what it asks. The JVM answers those
    questions in one batch, and the function runs again, until it no longer assumes anything. It must have no
    effect but its result.
    """
    if _ANSWERS.get() is not None:
        return [function() for function in functions]
    answers = _Answers()
    token = _ANSWERS.set(answers)
    try:
        results: dict[int, T] = {}
        left = dict(enumerate(functions))
        for number in range(_MOST_ROUNDS + 1):
            answers.is_assuming = number < _MOST_ROUNDS
            for key, function in list(left.items()):
                answers.has_assumed = False
                results[key] = function()
                if not answers.has_assumed:
                    del left[key]
            if not left:
                break
            answers.found |= EXPRESSIONS.results(answers.missing)
            answers.missing.clear()
        return [results[key] for key in range(len(functions))]
    finally:
        _ANSWERS.reset(token)


def check(pattern: str, replacement: str | None = None) -> None:
    """Raise what is wrong with an expression or with its replacement.

    Raises:
        BadRegexError: It is invalid, or the replacement names a group that it lacks.
    """
    if replacement is None:
        _result(PatternQuery("matches", pattern, "", ()))
    else:
        # Reads the replacement, as the empty text always matches.
        _result(PatternQuery("replaced", f"{pattern}|", replacement, ("",)), shown=replacement)


def full_matches(pattern: str, names: Iterable[str]) -> list[str]:
    """The names that the expression matches as a whole, like Java's `matches()`.

    Raises:
        BadRegexError: It is invalid, or takes too long.
    """
    listed = tuple(names)
    return [listed[at] for at in _result(PatternQuery("matches", pattern, "", listed))]


def finds(pattern: str, name: str) -> bool:
    """Whether the expression matches a part of a name, like Java's `find()`.

    Raises:
        BadRegexError: It is invalid, or takes too long.
    """
    return bool(_result(PatternQuery("finds", pattern, "", (name,))))


def matched_groups(pattern: str, name: str) -> list[str] | None:
    """The name and the text of each group if the expression matches the whole name; else None.

    Raises:
        BadRegexError: It is invalid, or takes too long.
    """
    groups: list[str] | None = _result(PatternQuery("groups", pattern, "", (name,)))[0]
    return groups


def replace_whole(pattern: str, replacement: str, name: str) -> str:
    """RegexRouter's rule: `replaceFirst` if the expression matches the whole name; else no change.

    Java's `replaceFirst` searches again and may match less than the whole name: `(a|ab)` matches `a` in `ab`.

    Raises:
        BadRegexError: The expression or the replacement is wrong, or it takes too long.
    """
    return str(_result(PatternQuery("replaced", pattern, replacement, (name,)))[0])


def _result(query: PatternQuery, *, shown: str = "") -> list[Any]:
    result = _answer(query) if len(query.pattern) <= _MOST_CHARS else _TOO_LONG
    if isinstance(result, Failure):
        error = SlowRegexError if result.is_slow else BadRegexError
        raise error(f"{(shown or query.pattern)[:200]!r}: {result.reason}")
    return result


_TOO_LONG = Failure(f"it has more than {_MOST_CHARS:,} characters")


def _answer(query: PatternQuery) -> Result:
    answers = _ANSWERS.get()
    if answers is None:
        return EXPRESSIONS.results([query])[query]
    query = query._replace(names=answers.names.setdefault(query.names, query.names))
    if query not in answers.found:
        if answers.is_assuming:
            answers.missing[query] = None
            answers.has_assumed = True
            return _assumed(query)
        answers.found |= EXPRESSIONS.results([query])
    return answers.found[query]


def _assumed(query: PatternQuery) -> list[Any]:
    if query.kind == "replaced":
        return list(query.names)
    return [None] * len(query.names) if query.kind == "groups" else []
