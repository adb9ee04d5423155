"""A text of Flink SQL -> its statements, each with where it stands. Pure.

The rules are those of Flink's lexer: `'...'` with `''` for a quote, `` `...` `` with two backticks for one,
`-- ...` and `// ...` to the end of the line, `/* ... */`; `/*+` begins a hint, whose inside is not a comment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from lineage_bridge_dagster.sql.statement import Position

# Flink's lexer takes the character behind `/**` for a part of the opening: `/***/` is not closed.
# A quote or a comment that is never closed runs to the end: the parser then says what is wrong with it.
_TOKEN = re.compile(
    r"""
      (?P<skip>    (?: \s+ | --[^\n\r]* | //[^\n\r]* | /\*\*/ | /\*(?:\*[^/]|(?![+*])).*?\*/ )+ )
    | (?P<quoted>  '(?:[^']|'')*(?:'|\Z) | `(?:[^`]|``)*(?:`|\Z) | /\*(?!\+).* )
    | (?P<word>    [^\W\d][\w$]* )
    | (?P<other>   /\*\+ | \*/ | \d[\w.]* | . )
    """,
    re.VERBOSE | re.DOTALL,
)
_NEWLINE = re.compile(r"\r\n|\r|\n")
_SET_HEAD = ["STATEMENT", "SET", "BEGIN"]
_HEAD_TOKENS = 8


@dataclass(frozen=True, slots=True)
class Token:
    """A word (upper-cased), sign, number or quoted text, and the span where it stands."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Piece:
    """One statement of a text, without its semicolon.

    Attributes:
        text: As it is written, from its first token to its last or farther, into blanks and comments.
        words: Its first tokens, words upper-cased: enough to tell what kind of statement it is.
        line: The line of the text that it begins in, from 1.
        column: The column that it begins in, from 1, in characters.
    """

    text: str
    words: tuple[str, ...]
    line: int
    column: int

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


def tokens(text: str) -> Iterator[Token]:
    """The tokens of a text, without comments and blanks."""
    for match in _TOKEN.finditer(text):
        if match.lastgroup != "skip":
            raw = match.group()
            yield Token(raw.upper() if match.lastgroup == "word" else raw, match.start(), match.end())


def split(text: str) -> list[Piece]:
    """The statements of a text, in order; none for a text of blanks and comments.

    A statement set in one piece (`EXECUTE STATEMENT SET BEGIN ...; ...; END`) stays one statement; the form
    that opens with a statement of its own (`BEGIN STATEMENT SET; ...; END;`) is as many as it has semicolons.
    """
    body = text.rstrip().removesuffix(";")
    if ";" not in body:
        # Most texts: one statement, of which the first tokens are all that is asked for.
        head = list(islice(tokens(body), _HEAD_TOKENS))
        return [_Place(body).piece(head, len(body))] if head else []
    return list(_pieces(text))


def _pieces(text: str) -> Iterator[Piece]:
    place = _Place(text)
    head: list[Token] = []
    last: list[str] = []
    end = 0
    in_set = False
    for token in tokens(text):
        if token.text == ";" and not in_set:
            if head:
                yield place.piece(head, end)
            head, last = [], []
            continue
        if in_set and token.text == "END" and last[-1] in (";", "BEGIN"):
            in_set = False
        if len(head) < _HEAD_TOKENS:
            head.append(token)
        last = [*last[-2:], token.text]
        end = token.end
        if last == _SET_HEAD:
            in_set = True
    if head:
        yield place.piece(head, end)


class _Place:
    """Line and column of offsets that are asked for in rising order."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._seen = 0
        self._line = 1
        self._line_start = 0

    def piece(self, head: list[Token], end: int) -> Piece:
        start = head[0].start
        for newline in _NEWLINE.finditer(self._text, self._seen, start):
            self._line += 1
            self._line_start = newline.end()
        self._seen = start
        return Piece(
            text=self._text[start:end],
            words=tuple(token.text for token in head),
            line=self._line,
            column=start - self._line_start + 1,
        )


def blank(text: str, start: int, end: int) -> str:
    """The text with a span turned into blanks, every other character where it was."""
    return text[:start] + re.sub(r"[^\n\r]", " ", text[start:end]) + text[end:]
