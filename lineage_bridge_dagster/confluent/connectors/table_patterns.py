r"""The tables that an expression in a table list stands for.

Lists of tables are expressions over qualified names (`public\.(orders|users)`). One that stands for a few
names is expanded, so that its tables are known without a look at the topics; any other is matched with the
names that the topics tell.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from lineage_bridge_dagster.confluent.connectors.java_regex import BadRegexError, full_matches

#: Limits of an expansion: its names, its depth, and the length of an expression.
_MOST_NAMES, _MOST_DEPTH, _MOST_CHARS = 500, 20, 10_000
#: Characters of one kind in a sample; a topic's name has no more.
_MOST_REPEATED = 249
#: Names matched with the expressions of a list, which takes seconds.
_MOST_MATCHES = 2_000_000

_RANGE = re.compile(r"\\?(.)(?:-\\?([^\]]))?", re.DOTALL)
#: A name part with characters that a topic's name cannot have.
_WORD = re.compile(r"(?:[\w$#@ -]|\\[$# -])+")
_IGNORE_CASE = "(?i)"
#: What an expression leaves open: characters of a kind, and how many.
_OPEN = re.compile(
    r"(?P<kind>\\[dw]|\[[^]]+\]|(?<!\\)\.)(?P<several>[*+]|\{(?P<least>\d+)[^}]*\}|\?)|(?P<one>\\[dw])"
)
#: What may be in its place: each time digits, or else letters.
_SAMPLES = (("7", "q", "Q"), ("12", "ab", "AB"), ("2024", "cdef", "CDEF"))


class _InfiniteError(ValueError):
    """The expression stands for too many names, or for more than can be listed."""


@dataclass(frozen=True, slots=True)
class PatternExpansion:
    """The names that an expression matches as a whole.

    Attributes:
        names: All of them.
        spelled: Whether it is meant to name tables that exist. `orders?` has one that need not.
        product: Whether it combines several choices, `(a|b)[.](x|y)`, not all of which need to exist.
    """

    names: list[str]
    spelled: bool
    product: bool


def expand(pattern: str) -> PatternExpansion | None:
    r"""Return the names that an expression stands for; None if they are not few.

    A dot that no quantifier follows is taken as a separator of name parts: `public.orders` is meant as
    `public\.orders`.
    """
    if len(pattern) > _MOST_CHARS:
        return None
    text = pattern.removeprefix(_IGNORE_CASE).removeprefix("^")
    if text.endswith("$") and not text.endswith("\\$"):
        text = text[:-1]
    reader = _Reader(text)
    try:
        names = reader.alternatives()
    except _InfiniteError:
        return None
    if reader.position < len(text):
        return None
    return PatternExpansion(list(dict.fromkeys(names)), reader.spelled, reader.product)


def spelled_names(pattern: str) -> list[str]:
    r"""The names that an expression spells out (`public\.(orders|users)`); none for any other."""
    found = expand(pattern)
    return found.names if pattern and found is not None and found.spelled else []


def samples(pattern: str) -> list[str]:
    """Return names that an expression may match, whose open parts differ; empty if they are hard to find."""
    texts = [_OPEN.sub(partial(_sample, parts), pattern[:_MOST_CHARS]) for parts in _SAMPLES]
    return [name for text in texts if (found := expand(text)) for name in found.names]


def _sample(parts: Iterable[str], place: re.Match[str]) -> str:
    """The first of these parts of the kind that is open there, as long as it must be."""
    kind = place["kind"] or place["one"]
    try:
        part = next((part for part in parts if re.fullmatch(f"{kind}+", part)), "")
    except re.error:
        return ""
    if place["several"] in ("*", "+"):
        return part
    length = min(int(place["least"] or 1), _MOST_REPEATED) or len(part)
    return (part * length)[:length]


@dataclass(slots=True)
class _Reader:
    """A recursive descent over an expression that yields all its names."""

    text: str
    position: int = 0
    depth: int = 0
    spelled: bool = True
    product: bool = False

    def alternatives(self) -> list[str]:
        names = self._sequence()
        while self._take("|"):
            names += self._sequence()
        return names

    def _sequence(self) -> list[str]:
        names = [""]
        while self.position < len(self.text) and self.text[self.position] not in "|)":
            parts = self._item()
            if len(names) * len(parts) > _MOST_NAMES:
                raise _InfiniteError
            self.product = self.product or (len(names) > 1 and len(parts) > 1)
            names = [name + part for name in names for part in parts]
        return names

    def _item(self) -> list[str]:
        char = self.text[self.position]
        self.position += 1
        if char == "(":
            parts = self._group()
        elif char == "[":
            parts = self._characters()
        elif char == "\\":
            parts = self._escaped()
        elif char in "*+?{}^$":
            raise _InfiniteError
        else:
            parts = [char]
            if char == "." and self._quantified():
                raise _InfiniteError
        if self._take("?"):
            parts, self.spelled = [*parts, ""], False
        if self._quantified():
            raise _InfiniteError
        return parts

    def _group(self) -> list[str]:
        if self._take("?") and not self._take(":"):
            raise _InfiniteError
        self.depth += 1
        if self.depth > _MOST_DEPTH:
            raise _InfiniteError
        names = self.alternatives()
        if not self._take(")"):
            raise _InfiniteError
        self.depth -= 1
        return names

    def _characters(self) -> list[str]:
        end = self.text.find("]", self.position + 1)
        inner = self.text[self.position : end]
        if end < 0 or inner.startswith("^") or "[" in inner or "&&" in inner or re.search(r"\\\w", inner):
            raise _InfiniteError
        self.position = end + 1
        found: list[str] = []
        for low, high in _RANGE.findall(inner):
            last = min(ord(high or low), ord(low) + _MOST_NAMES)
            found += [chr(code) for code in range(ord(low), last + 1)]
        self.spelled = self.spelled and len(found) == 1
        return found

    def _escaped(self) -> list[str]:
        char = self._next()
        if char == "Q":
            end = self.text.find("\\E", self.position)
            quoted = self.text[self.position + 1 : end if end >= 0 else None]
            self.position = len(self.text) if end < 0 else end + 2
            return [quoted]
        if not char or char.isalnum():
            raise _InfiniteError
        self.position += 1
        return [char]

    def _next(self) -> str:
        """The next character; empty at the end."""
        return self.text[self.position : self.position + 1]

    def _quantified(self) -> bool:
        return self._next() in ("*", "+", "?", "{")

    def _take(self, char: str) -> bool:
        if self._next() != char:
            return False
        self.position += 1
        return True


def split_patterns(value: str) -> list[str]:
    r"""Split a list of expressions as Debezium does: at commas that no backslash precedes."""
    items = re.findall(r"(?:\\.|[^,\\])+", value, re.DOTALL)
    return [item for part in items if (item := part.strip().replace("\\,", ","))]


class TableList:
    """A list of expressions over names, for many names.

    An expression that is not valid, too long or takes too much time is left out with a warning, as are the
    last ones of a list that would take too much time in all.

    Attributes:
        spelled: The expressions that spell out their names.
        open: The others, whose names only a look at existing ones tells.
    """

    def __init__(self, patterns: Iterable[str], warnings: list[str], *, ignore_case: bool = False) -> None:
        self.spelled: dict[str, PatternExpansion] = {}
        self.open: list[str] = []
        self._warnings = warnings
        self._ignore_case = ignore_case
        self._left = _MOST_MATCHES
        self._known: dict[str, bool] = {}
        for pattern in dict.fromkeys(patterns):
            expansion = expand(pattern)
            if expansion is not None and expansion.spelled:
                self.spelled[pattern] = expansion
            else:
                self.open.append(pattern)
        self._is_given = bool(self.spelled or self.open)
        self._names = {self._folded(name) for found in self.spelled.values() for name in found.names}

    def __bool__(self) -> bool:
        """Whether there is any expression, be it one that is left out."""
        return self._is_given

    def matches(self, names: Collection[str]) -> bool:
        """Whether an expression matches one of these names as a whole."""
        self.learn(names)
        return any(self._known[name] for name in names)

    def learn(self, names: Iterable[str]) -> None:
        """Match names at once, which is faster than one by one."""
        new = [name for name in dict.fromkeys(names) if name not in self._known]
        matched = {name for name in new if self._folded(name) in self._names}
        for pattern in list(self.open) if new else ():
            matched.update(self.matching(pattern, new))
        self._known.update((name, name in matched) for name in new)

    def matching(self, pattern: str, names: Collection[str]) -> list[str]:
        """The names that one of the open expressions matches as a whole."""
        self._left -= len(names)
        if len(pattern) > _MOST_CHARS:
            problem = f"{pattern[:80]!r}: it has more than {_MOST_CHARS:,} characters"
        elif self._left < 0:
            problem = f"{pattern[:80]!r}: its list has too many expressions for so many topics"
        else:
            try:
                return full_matches(_IGNORE_CASE + pattern if self._ignore_case else pattern, names)
            except BadRegexError as error:
                problem = str(error)
        self._warnings.append(f"cannot apply {problem}")
        if pattern in self.open:
            self.open.remove(pattern)
        return []

    def _folded(self, name: str) -> str:
        return name.lower() if self._ignore_case else name


def odd_words(patterns: Iterable[str]) -> Iterator[str]:
    """The names in expressions that hold a character which topics replace, such as `C##APP`."""
    for pattern in patterns:
        for word in _WORD.findall(pattern[:_MOST_CHARS]):
            plain = word.replace("\\", "").strip()
            if re.search(r"[^\w.-]", plain):
                yield plain
