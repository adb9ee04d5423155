"""The grammar that Java's and RE2/J's expressions share, translated into expressions of the `regex` module.

A translation uses no flag and no shorthand class of `regex`, whose meanings differ: every character set is
spelled out, and ignoring case becomes two letters.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

from lineage_bridge_dagster.confluent.connectors.java_regex import charsets
from lineage_bridge_dagster.confluent.connectors.java_regex.errors import BadRegexError

#: Limits of what `regex` compiles and runs within its time limit. It unrolls counted repeats.
MAX_CHARS, MAX_SIZE, MAX_GROUPS, MAX_DEPTH = 20_000, 20_000, 100, 50
#: Repeats from here on are unlimited: no name is that long.
UNLIMITED = 100_000


@dataclass(frozen=True, slots=True)
class Piece:
    """A translated part of an expression.

    Attributes:
        text: In the syntax of `regex`; a quantifier after it applies to all of it.
        size: Its elements, with counted repeats unrolled.
        longest: The number of characters that it matches at most; None for any number.
        nullable: Whether it may match the empty text.
        is_group: Whether it is a group, capturing or not.
        groups: The numbers of the capturing groups in it, if it is a group.
    """

    text: str
    size: int = 1
    longest: int | None = 1
    nullable: bool = False
    is_group: bool = False
    groups: range = range(0)


EMPTY = Piece("", 0, 0, nullable=True)


@dataclass(frozen=True, slots=True)
class Flags:
    """The inline flags in force."""

    ignore_case: bool = False
    unicode_case: bool = False
    multiline: bool = False
    dot_all: bool = False
    #: RE2's `U`: `*` is lazy, and `*?` is greedy.
    lazy: bool = False


@dataclass(frozen=True, slots=True)
class Translation:
    """An expression for `regex`, whose capturing groups are named `g1`, `g2` and so on.

    Attributes:
        text: The expression.
        names: Name -> number of its named groups.
        groups: What is inside each capturing group, from the first, in the language of the expression; empty
            if that means something else outside of it.
        unsure: The groups whose text after a match is not sure to be Java's.
    """

    text: str
    names: dict[str, int]
    groups: tuple[str, ...]
    unsure: frozenset[int] = frozenset()


@dataclass(slots=True)
class Parser(ABC):
    """A recursive descent over one expression."""

    source: str
    position: int = 0
    flags: Flags = field(default_factory=Flags)
    names: dict[str, int] = field(default_factory=dict)
    groups: list[str] = field(default_factory=list)
    referenced: set[int] = field(default_factory=set)
    unsure: set[int] = field(default_factory=set)
    depth: int = 0
    initial: Flags = field(init=False)

    #: What folds to ASCII letters where Unicode's case is ignored.
    folded: ClassVar[Mapping[str, str]]

    def __post_init__(self) -> None:
        self.initial = self.flags

    def translate(self) -> Translation:
        """Translate the whole expression.

        Raises:
            BadRegexError: It is invalid, or uses what we cannot translate.
        """
        if len(self.source) > MAX_CHARS:
            raise BadRegexError(f"it has {len(self.source):,} characters, more than {MAX_CHARS:,}")
        self.source = self.prepared(self.source)
        piece = self.alternation()
        if self.position < len(self.source):
            raise BadRegexError(f"unmatched ) at {self.position}")
        if self.referenced & self.unsure:
            raise BadRegexError("it refers to a group that is not sure to have the same text in Java")
        groups = tuple("" if self.referenced else group for group in self.groups)
        return Translation(piece.text, self.names, groups, frozenset(self.unsure))

    def prepared(self, source: str) -> str:
        return source

    @abstractmethod
    def atom(self) -> Piece | None:
        """Read what a quantifier may follow; None for inline flags."""

    @abstractmethod
    def quantified(self, piece: Piece) -> Piece:
        """Read the quantifiers of a piece, if it has any."""

    def peek(self, offset: int = 0) -> str:
        """A character ahead; empty at the end."""
        at = self.position + offset
        return self.source[at : at + 1]

    def read(self) -> str:
        """The next character, which is consumed; empty at the end."""
        char = self.peek()
        self.position += 1
        return char

    def take(self, text: str) -> bool:
        """Consume a text if it is next."""
        if not self.source.startswith(text, self.position):
            return False
        self.position += len(text)
        return True

    def take_digits(self) -> str:
        """Consume ASCII digits."""
        start = self.position
        while (char := self.peek()) and char in "0123456789":
            self.position += 1
        return self.source[start : self.position]

    def until(self, end: str) -> str:
        """Consume up to a terminator, and the terminator."""
        at = self.source.find(end, self.position)
        if at < 0:
            raise BadRegexError(f"missing {end} after {self.position}")
        text = self.source[self.position : at]
        self.position = at + len(end)
        return text

    def alternation(self) -> Piece:
        pieces = [self.sequence()]
        while self.take("|"):
            pieces.append(self.sequence())
        if len(pieces) == 1:
            return pieces[0]
        return Piece(
            "|".join(piece.text for piece in pieces),
            sum(piece.size for piece in pieces) + 1,
            _most(pieces, max),
            nullable=any(piece.nullable for piece in pieces),
        )

    def sequence(self) -> Piece:
        pieces: list[Piece] = []
        while (char := self.peek()) and char not in "|)":
            piece = self.atom()
            if piece is not None:
                pieces.append(self.quantified(piece))
        return Piece(
            "".join(piece.text for piece in pieces),
            sum(piece.size for piece in pieces),
            _most(pieces, sum),
            nullable=all(piece.nullable for piece in pieces),
        )

    def group(self, opening: str) -> Piece:
        """Read the rest of a group that captures nothing. Its flags end with it."""
        return self._closed(opening, self.flags)

    def capturing(self, name: str = "") -> Piece:
        """Read the rest of a capturing group."""
        if len(self.groups) == MAX_GROUPS:
            raise BadRegexError(f"it has more than {MAX_GROUPS} groups")
        self.groups.append("")
        number = len(self.groups)
        if name:
            if name in self.names:
                raise BadRegexError(f"two groups are named {name}")
            self.names[name] = number
        start, outer = self.position, self.flags
        piece = self._closed(f"(?P<g{number}>", outer)
        if outer == self.initial:
            self.groups[number - 1] = self.source[start : self.position - 1]
        return replace(piece, groups=range(number, len(self.groups) + 1))

    def _closed(self, opening: str, outer: Flags) -> Piece:
        first = len(self.groups) + 1
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise BadRegexError(f"its groups are nested more than {MAX_DEPTH} deep")
        inner = self.alternation()
        if not self.take(")"):
            raise BadRegexError("unclosed group")
        self.depth -= 1
        self.flags = outer
        return Piece(
            f"{opening}{inner.text})",
            inner.size + 1,
            inner.longest,
            nullable=inner.nullable,
            is_group=True,
            groups=range(first, len(self.groups) + 1),
        )

    def repeated(self, piece: Piece, low: int, high: int | None, mode: str) -> Piece:
        """A piece with a quantifier.

        Args:
            piece: What it repeats.
            low: At least so often.
            high: At most so often; None for any number of times.
            mode: Empty, `?` for lazy or `+` for possessive.
        """
        size = piece.size * max(low, 1) + 1
        if size > MAX_SIZE:
            raise BadRegexError(f"its repeats amount to more than {MAX_SIZE:,} elements")
        if piece is EMPTY:
            return piece
        if high is not None and high >= UNLIMITED:
            high = None
        times = "" if high is None else str(high)
        longest = 0 if piece.longest == 0 else None
        if piece.longest and high is not None:
            longest = piece.longest * high
        if mode == "+" or (piece.nullable and high != 1):
            # Engines differ in what a group has after it matched nothing, or after a failure beyond it.
            self.unsure.update(piece.groups)
        text = f"{piece.text}{{{low},{times}}}{mode}"
        return replace(piece, text=text, size=size, longest=longest, nullable=piece.nullable or low == 0)

    def char(self, char: str) -> Piece:
        """A literal character, with its other case if case is ignored."""
        members = self.chars(ord(char), ord(char))
        return Piece(members) if members == charsets.literal(char) else self.set(members)

    def chars(self, low: int, high: int) -> str:
        """The set of a range of characters, with their other cases if case is ignored."""
        text = charsets.literal(chr(low))
        if high > low:
            text += "-" + charsets.literal(chr(high))
        if self.flags.ignore_case:
            text += charsets.other_cases(low, high, self.folded if self.flags.unicode_case else None)
        return text

    @staticmethod
    def set(members: str) -> Piece:
        return Piece(f"[{members}]")

    @staticmethod
    def assertion(text: str) -> Piece:
        """What matches a position, not characters."""
        return Piece(f"(?:{text})", 1, 0, nullable=True)


def code_point(digits: str) -> int:
    """The code point of hexadecimal digits."""
    try:
        code = int(digits, 16) if digits.isascii() and digits.isalnum() else -1
    except ValueError:
        code = -1
    if not 0 <= code <= 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise BadRegexError(f"no character has the number {digits}")
    return code


def _most(pieces: list[Piece], combine: Callable[[list[int]], int]) -> int | None:
    longest = [piece.longest for piece in pieces if piece.longest is not None]
    return combine(longest) if len(longest) == len(pieces) else None
