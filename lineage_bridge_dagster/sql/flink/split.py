"""A text of Flink SQL -> its statements with their positions. Pure.

The rules are those of Flink's lexer: `'...'` with `''` for a quote, `` `...` `` with two backticks for one,
`-- ...` and `// ...` to the end of the line, `/* ... */`; `/*+` starts a hint, whose content is not a
comment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from lineage_bridge_dagster.sql.statement import NEWLINE, Position, Positions

# Flink's lexer treats the character after `/**` as part of the opening: `/***/` is not closed.
# An unclosed quote or comment runs to the end of the text; the parser then reports it.
_TOKEN = re.compile(
    r"""
      (?P<skip>    (?: \s+ | --[^\n\r]* | //[^\n\r]* | /\*\*/ | /\*(?:\*[^/]|(?![+*])).*?\*/ )+ )
    | (?P<quoted>  '(?:[^']|'')*(?:'|\Z) | `(?:[^`]|``)*(?:`|\Z) | /\*(?!\+).* )
    | (?P<word>    [^\W\d][\w$]* )
    | (?P<other>   /\*\+ | \*/ | \d[\w.]* | . )
    """,
    re.VERBOSE | re.DOTALL,
)
_SET_HEAD = ["STATEMENT", "SET", "BEGIN"]
_HEAD_TOKENS = 8


@dataclass(frozen=True, slots=True)
class FlinkToken:
    """A word (upper-cased), sign, number or quoted text, with its span."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class StatementText:
    """One statement of a text, without its semicolon.

    Attributes:
        text: As written, from its first token to its last, perhaps with blanks and comments after it.
        words: Its first tokens, upper-cased: enough to recognize the kind of statement.
        start: Where it starts in the whole text.
    """

    text: str
    words: tuple[str, ...]
    start: Position

    def position(self, line: int, utf16_column: int) -> Position:
        """Translate the parser's position in this piece to one in the whole text.

        Args:
            line: Line in this piece, from 1.
            utf16_column: Column in that line, from 1, in UTF-16 units, as Java counts.
        """
        lines = NEWLINE.split(self.text)
        row = lines[line - 1] if 0 < line <= len(lines) else ""
        units, before = row.encode("utf-16-le", "surrogatepass"), max(0, utf16_column - 1)
        column = len(units[: 2 * before].decode("utf-16-le", "replace"))
        column += max(0, before - len(units) // 2)
        return Position(self.start.line + line - 1, column + (self.start.column if line == 1 else 1))


def tokens(text: str) -> Iterator[FlinkToken]:
    """Tokens of a text, without comments and blanks."""
    for match in _TOKEN.finditer(text):
        if match.lastgroup != "skip":
            raw = match.group()
            yield FlinkToken(raw.upper() if match.lastgroup == "word" else raw, match.start(), match.end())


def split(text: str) -> list[StatementText]:
    """The statements of a text, in order; none for a text of blanks and comments.

    `EXECUTE STATEMENT SET BEGIN ...; ...; END` is one statement. `BEGIN STATEMENT SET; ...; END;` is several,
    one for each semicolon.
    """
    body = text.rstrip().removesuffix(";")
    if ";" not in body:
        # Fast path for most texts: one statement, only its first tokens are needed.
        head = list(islice(tokens(body), _HEAD_TOKENS))
        return [_piece(body, head, len(body), Positions(body))] if head else []
    return list(_pieces(text))


def _pieces(text: str) -> Iterator[StatementText]:
    positions = Positions(text)
    head: list[FlinkToken] = []
    last: list[str] = []
    end = 0
    in_set = False
    for token in tokens(text):
        if token.text == ";" and not in_set:
            if head:
                yield _piece(text, head, end, positions)
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
        yield _piece(text, head, end, positions)


def _piece(text: str, head: list[FlinkToken], end: int, positions: Positions) -> StatementText:
    start, words = head[0].start, tuple(token.text for token in head)
    return StatementText(text[start:end], words, positions.of(start))


def blank(text: str, start: int, end: int) -> str:
    """The text with a span replaced by blanks, so that all other characters keep their positions."""
    return text[:start] + re.sub(r"[^\n\r]", " ", text[start:end]) + text[end:]
