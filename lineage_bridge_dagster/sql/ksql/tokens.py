"""A text of ksqlDB's SQL -> its tokens, and names in it folded as ksqlDB folds them. Pure.

The rules are those of ksqlDB's grammar: `'...'` with `''` for a quote, names in backticks or double quotes
keep their case, all others are upper-cased, `-- ...` to the end of the line, `/* ... */`, `${variable}`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.sql.statement import Position

_TOKEN = re.compile(
    r"""
      (?P<skip>     (?: \s+ | --[^\r\n]* | /\*.*?\*/ )+ )
    | (?P<never>    /\*.* )
    | (?P<string>   '(?:[^']|'')*' )
    | (?P<quoted>   `(?:[^`]|``)*` | "(?:[^"]|"")*" )
    | (?P<variable> \$\{[A-Za-z_][A-Za-z0-9_@]*\} )
    | (?P<number>   (?:\d+\.?\d*|\.\d+)[Ee][+-]?\d+\b | \d+\.\d* | \.\d+ | \d+(?![A-Za-z_@\d]) )
    | (?P<word>     [A-Za-z0-9_][A-Za-z0-9_@]* )
    | (?P<sign>     := | -> | => | <> | != | <= | >= | \|\| | [-+*/%=<>()\[\],.;:] )
    | (?P<other>    ['"`].* | . )
    """,
    re.VERBOSE | re.DOTALL,
)
_NEWLINE = re.compile(r"\r\n|\r|\n")
_VARIABLE = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_@]*\}")
# Of ksqlDB's reserved words those that follow or precede a name.
_RESERVED = frozenset(
    {
        *("SELECT", "FROM", "AS", "WHERE", "WITHIN", "WINDOW", "GROUP", "BY", "HAVING", "LIMIT", "JOIN"),
        *("ON", "INNER", "LEFT", "RIGHT", "FULL", "OUTER", "WITH", "VALUES", "CREATE", "INSERT", "INTO"),
        *("NOT", "EXISTS", "AND", "OR", "IN", "IS", "NULL", "CASE", "WHEN", "THEN", "ELSE", "END"),
        *("DISTINCT", "BETWEEN", "LIKE", "TABLE", "STREAM", "TRUE", "FALSE", "DROP", "DESCRIBE"),
    }
)
_OPEN = {"(": 1, "[": 1, ")": -1, "]": -1}


class Kind(Enum):
    """What a token is."""

    WORD = "word"
    QUOTED = "quoted"
    STRING = "string"
    NUMBER = "number"
    VARIABLE = "variable"
    SIGN = "sign"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Token:
    """One token.

    Attributes:
        kind: What it is.
        text: A word upper-cased; a quoted name or a string without its quotes; else as it stands.
        start: Where it begins in the text.
    """

    kind: Kind
    text: str
    start: int

    def isa(self, *words: str) -> bool:
        """Whether it is one of these words or signs, unquoted."""
        return self.kind in (Kind.WORD, Kind.SIGN) and self.text in words


class KsqlError(LineageBridgeError):
    """A text that is none of ksqlDB's."""

    def __init__(self, message: str, start: int) -> None:
        super().__init__(message)
        self.start = start


def tokens(text: str) -> list[Token]:
    """The tokens of a text, without comments and blanks."""
    return list(_tokens(text))


def _tokens(text: str) -> Iterator[Token]:
    for match in _TOKEN.finditer(text):
        group, raw = match.lastgroup or "other", match.group()
        if group == "never":
            group = "other"
        if group == "skip":
            continue
        if group == "word":
            raw = raw.upper()
        elif group in ("quoted", "string"):
            raw = raw[1:-1].replace(raw[0] * 2, raw[0])
        yield Token(Kind(group), raw, match.start())


def statements(found: Sequence[Token]) -> Iterator[list[Token]]:
    """The tokens of each statement, without its semicolon."""
    statement: list[Token] = []
    for token in found:
        if token.isa(";"):
            if statement:
                yield statement
            statement = []
        else:
            statement.append(token)
    if statement:
        yield statement


def position(text: str, start: int) -> Position:
    """Line and column of an offset."""
    lines = _NEWLINE.split(text[:start])
    return Position(len(lines), len(lines[-1]) + 1)


class Cursor:
    """Reads the tokens of one statement from the left.

    Args:
        found: Its tokens, at least one.
        variables: What `DEFINE` has set by now; a variable that is not set stands for itself.
    """

    def __init__(self, found: Sequence[Token], variables: Mapping[str, str]) -> None:
        self._tokens = found
        self.variables = variables
        self.at = 0

    @property
    def done(self) -> bool:
        """Whether nothing is left."""
        return self.at >= len(self._tokens)

    def peek(self, ahead: int = 0) -> Token | None:
        """A token that comes; None when there is none."""
        at = self.at + ahead
        return self._tokens[at] if at < len(self._tokens) else None

    def sees(self, *words: str) -> bool:
        """Whether these words and signs come next, in this order."""
        following = self._tokens[self.at : self.at + len(words)]
        return len(following) == len(words) and all(
            token.isa(word) for token, word in zip(following, words, strict=True)
        )

    def take(self, *words: str) -> bool:
        """Goes past these words if they come next."""
        if not self.sees(*words):
            return False
        self.at += len(words)
        return True

    def expect(self, *words: str) -> None:
        """Goes past these words.

        Raises:
            KsqlError: Something else comes.
        """
        if not self.take(*words):
            raise self.unexpected(" ".join(words))

    def name(self) -> str:
        """Goes past a name, and folds it.

        Raises:
            KsqlError: Something else comes.
        """
        token = self.peek()
        if token is None or not _is_name(token):
            raise self.unexpected("a name")
        self.at += 1
        return self._resolved(token)

    def literal(self) -> str:
        """Goes past a literal, and gives its text."""
        token = self.peek()
        if token is None or token.kind is Kind.OTHER:
            raise self.unexpected("a value")
        self.at += 1
        if token.isa("-", "+"):
            return token.text + self.literal()
        if token.kind is Kind.VARIABLE:
            return self._set(token.text).strip("'")
        # Variables are set in strings too, before the text is read at all.
        return _VARIABLE.sub(lambda found: self._set(found.group()), token.text)

    def skip_to(self, *ends: tuple[str, ...]) -> bool:
        """Goes on to the first of these that stands in no parentheses, or to the end; whether there is one.

        The FROM of `IS [NOT] DISTINCT FROM` is no end.

        Raises:
            KsqlError: A parenthesis, or what is no token, on the way.
        """
        depth = 0
        while (token := self.peek()) is not None:
            if depth == 0 and any(self.sees(*end) for end in ends):
                before = self._tokens[self.at - 1] if self.at else None
                if not (token.isa("FROM") and before is not None and before.isa("DISTINCT")):
                    return True
            if token.kind is Kind.OTHER:
                raise self.unexpected("an expression")
            depth += _OPEN.get(token.text, 0) if token.kind is Kind.SIGN else 0
            if depth < 0:
                raise self.unexpected("an expression")
            self.at += 1
        if depth:
            raise self.unexpected("a closing parenthesis")
        return False

    def group(self, *, types: bool = False) -> list[list[Token]]:
        """Goes past a parenthesised list, and gives the tokens of its members.

        Args:
            types: Whether it holds types: `STRUCT<a INT, b INT>` has commas of its own.

        Raises:
            KsqlError: There is none, or it is not closed.
        """
        self.expect("(")
        members: list[list[Token]] = [[]]
        depth = 1
        while (token := self.peek()) is not None:
            self.at += 1
            if token.kind is Kind.SIGN:
                depth += _OPEN.get(token.text, 0)
                if types:
                    depth += {"<": 1, ">": -1}.get(token.text, 0)
                if depth == 0:
                    return [member for member in members if member]
                if depth == 1 and token.text == ",":
                    members.append([])
                    continue
            members[-1].append(token)
        raise self.unexpected("a closing parenthesis")

    def unexpected(self, wanted: str) -> KsqlError:
        """An error that says what was met in place of what was wanted; no literal's text is in it."""
        token = self.peek()
        if token is None:
            last = self._tokens[-1]
            return KsqlError(f"the statement ends where {wanted} was expected", last.start)
        shown = "'...'" if token.kind is Kind.STRING else token.text
        if token.kind is Kind.OTHER:
            # What is never closed runs to the end of the text, with all that is in it.
            shown = shown[:1]
        return KsqlError(f"{shown!r} where {wanted} was expected", token.start)

    def _resolved(self, token: Token) -> str:
        if token.kind is not Kind.VARIABLE:
            return token.text
        value = self._set(token.text)
        if value == token.text:
            return value
        if len(value) > 1 and value[0] == value[-1] and value[0] in '`"':
            return value[1:-1]
        return value.upper()

    def _set(self, variable: str) -> str:
        """A variable's value; of one that is not set, itself."""
        return self.variables.get(variable.upper(), variable)


def _is_name(token: Token) -> bool:
    if token.kind is Kind.WORD:
        return token.text not in _RESERVED
    return token.kind in (Kind.QUOTED, Kind.VARIABLE) and bool(token.text)
