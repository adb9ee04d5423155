"""A text of Flink SQL -> its statements, each with where it stands. Pure.

The rules are those of Flink's lexer: `'...'` with `''` for a quote, `` `...` `` with two backticks for one,
`-- ...` and `// ...` to the end of the line, `/* ... */`; `/*+` begins a hint, whose inside is not a comment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lineage_bridge_dagster.sql.statement import Position

# A quote or comment that is never closed runs to the end: the parser then says where it began.
_TOKEN = re.compile(
    r"""
      (?P<skip>    \s+ | --[^\n\r]* | //[^\n\r]* | /\*(?!\+)(?:.*?\*/|.*) )
    | (?P<quoted>  '(?:[^']|'')*(?:'|\Z) | `(?:[^`]|``)*(?:`|\Z) )
    | (?P<word>    [^\W\d][\w$]* )
    | (?P<number>  \d[\w.]* )
    | (?P<sign>    /\*\+ | \*/ | . )
    """,
    re.VERBOSE | re.DOTALL,
)
_NEWLINE = re.compile(r"\r\n|\r|\n")
_SET_HEAD = ("STATEMENT", "SET", "BEGIN")


@dataclass(frozen=True, slots=True)
class Token:
    """A word (upper-cased), sign, number or quoted text, and where it stands in its piece."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Piece:
    """One statement of a text, without its semicolon.

    Attributes:
        text: As it is written, from its first token on.
        tokens: Its tokens, without comments and blanks.
        line: The line of the text that it begins in, from 1.
        column: The column that it begins in, from 1, in characters.
    """

    text: str
    tokens: tuple[Token, ...]
    line: int
    column: int

    @property
    def words(self) -> tuple[str, ...]:
        """Its first tokens, enough to tell what kind of statement it is."""
        return tuple(token.text for token in self.tokens[:8])

    def position(self, line: int, utf16_column: int) -> Position:
        """Where in the whole text a position of the parser's is.

        Args:
            line: Line in this piece, from 1.
            utf16_column: Column in that line, from 1, in UTF-16 units, as Java counts.
        """
        lines = _NEWLINE.split(self.text)
        row = lines[line - 1] if 0 < line <= len(lines) else ""
        units = column = 0
        for char in row:
            if units >= utf16_column - 1:
                break
            units += 2 if ord(char) > 0xFFFF else 1
            column += 1
        column += max(0, utf16_column - 1 - units)
        return Position(self.line + line - 1, column + (self.column if line == 1 else 1))


def split(text: str) -> list[Piece]:
    """The statements of a text, in order; none for a text of blanks and comments.

    A statement set in one piece (`EXECUTE STATEMENT SET BEGIN ...; ...; END`) stays one statement; the form
    that opens with a statement of its own (`BEGIN STATEMENT SET; ...; END;`) is as many as it has semicolons.
    """
    return list(_pieces(text))


def _pieces(text: str) -> Iterator[Piece]:
    tokens: list[Token] = []
    place = _Place(text)
    in_set = False
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        if kind == "skip":
            continue
        raw = match.group()
        if raw == ";" and not in_set:
            if tokens:
                yield place.piece(tokens)
            tokens = []
            continue
        upper = raw.upper() if kind == "word" else raw
        if in_set and upper == "END" and tokens[-1].text in (";", "BEGIN"):
            in_set = False
        tokens.append(Token(upper, match.start(), match.end()))
        if upper == "BEGIN" and tuple(t.text for t in tokens[-3:]) == _SET_HEAD:
            in_set = True
    if tokens:
        yield place.piece(tokens)


class _Place:
    """Line and column of offsets that are asked for in rising order."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._seen = 0
        self._line = 1
        self._line_start = 0

    def piece(self, tokens: list[Token]) -> Piece:
        start, end = tokens[0].start, tokens[-1].end
        for newline in _NEWLINE.finditer(self._text, self._seen, start):
            self._line += 1
            self._line_start = newline.end()
        self._seen = start
        return Piece(
            text=self._text[start:end],
            tokens=tuple(Token(t.text, t.start - start, t.end - start) for t in tokens),
            line=self._line,
            column=start - self._line_start + 1,
        )


def blank(text: str, start: int, end: int) -> str:
    """The text with a span turned into blanks, every other character where it was."""
    return text[:start] + re.sub(r"[^\n\r]", " ", text[start:end]) + text[end:]
