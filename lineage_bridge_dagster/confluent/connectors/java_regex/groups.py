"""What is inside an expression's groups, what a replacement is made of, and which items are plain names."""

from __future__ import annotations

import re
from collections.abc import Iterator


class BadRegexError(ValueError):
    """An expression that is invalid, that runs for too long, or that nobody could evaluate."""


class SlowRegexError(BadRegexError):
    """An expression that runs for too long on a name."""


#: Quoted text, an escape, and the beginning or the end of a group or of a class.
_STEP = re.compile(
    r"\\Q.*?(?:\\E|\Z)|\\.|(?P<open>\[)|(?P<close>\])"
    r"|\((?:\?<(?P<name>[A-Za-z]\w*)>|(?P<plain>(?!\?))|\?)|(?P<end>\))",
    re.DOTALL,
)
#: What Java reads in another way than RE2.
_OTHERWISE = re.compile(r"\[\^?\[|\[:\^?\w+:\]|&&")
#: With one of these, a group may mean something else on its own.
_DEPENDENT = re.compile(r"\\[1-9k]|\(\?[a-zA-Z]*[-idmsuxU]")
_REPLACEMENT = re.compile(r"\\(?P<escaped>.)|\$(?P<number>\d)|\$\{(?P<name>\w+)\}|(?P<open>\$\{)", re.DOTALL)


def of_re2(pattern: str) -> str:
    """An expression of RE2/J, as Confluent Cloud's own transforms take, in Java's syntax.

    Raises:
        BadRegexError: Java would read it in another way.
    """
    if _OTHERWISE.search(pattern):
        raise BadRegexError(f"{pattern[:200]!r}: its classes of characters are those of RE2, not of Java")
    return pattern.replace("(?P<", "(?<")


def _brackets(pattern: str) -> Iterator[re.Match[str]]:
    """The beginnings and ends of groups in an expression."""
    classes = 0
    for step in _STEP.finditer(pattern):
        if step["open"] or step["close"]:
            classes = max(0, classes + (1 if step["open"] else -1))
        elif not classes and step[0][0] in "()":
            yield step


def capturing_groups(pattern: str) -> list[tuple[str, str]]:
    r"""The name (empty without) and the inside of each capturing group of a valid expression.

    The first is the whole expression. The inside is `.*` if it might mean something else on its own.

    >>> capturing_groups(r"(?<db>[)\w]+)[.](?:x|(y))")[1:]
    [('db', '[)\\w]+'), ('', 'y')]
    """
    found = [("", pattern)]
    opened: list[tuple[int, int]] = []
    for step in _brackets(pattern):
        if step["end"]:
            number, start = opened.pop() if opened else (0, 0)
            if number:
                found[number] = (found[number][0], pattern[start : step.start()])
            continue
        is_capturing = step["name"] is not None or step["plain"] is not None
        opened.append((len(found) if is_capturing else 0, step.end()))
        found += [(step["name"] or "", ".*")] if is_capturing else []
    if _DEPENDENT.search(pattern):
        return [found[0], *((name, ".*") for name, _ in found[1:])]
    return found


def replacement_parts(replacement: str, groups: list[tuple[str, str]]) -> list[str | int]:
    r"""The texts of a replacement, and the numbers of the groups between them.

    >>> replacement_parts(r"\$x-${db}.$12", [("", ""), ("db", ".*")])
    ['$x-', 1, '.', 1, '2']

    Raises:
        BadRegexError: It names a group that the expression lacks.
    """
    numbers = {name: number for number, (name, _) in enumerate(groups) if name}
    parts: list[str | int] = []
    text, at = "", 0
    while at < len(replacement):
        step = _REPLACEMENT.match(replacement, at)
        at = step.end() if step else at + 1
        if step is None or step["escaped"]:
            text += step["escaped"] if step else replacement[at - 1]
            continue
        number = int(step["number"]) if step["number"] else numbers.get(step["name"], len(groups))
        if number >= len(groups):
            raise BadRegexError(f"{replacement!r} names the group {step[0]}, which the expression lacks")
        while step["number"] and replacement[at : at + 1].isdigit():
            longer = number * 10 + int(replacement[at])
            if longer >= len(groups):
                break
            number, at = longer, at + 1
        parts += [text, number] if text else [number]
        text = ""
    return [*parts, text] if text else parts


_META = re.compile(r"[\[\](){}*+?|^$]|\\[^.]|(?<!\\)\.[*+?]")


def is_literal(item: str) -> bool:
    r"""Whether an include-list item is a plain name, perhaps with escaped dots (`public\.orders`)."""
    return not _META.search(item)


def literal(item: str) -> str:
    """A plain name without its escapes."""
    return item.replace("\\.", ".")
