"""A text of ksqlDB's SQL -> its tokens, with names folded as in ksqlDB. Pure.

The rules are those of ksqlDB's grammar: `'...'` with `''` for a quote; names in backticks or double quotes
keep their case, all others are upper-cased; `-- ...` to the end of the line; `/* ... */`; `${variable}`, also
as a part of a name. A backslash at the end of a line is the command line's: the statement goes on.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise

from lineage_bridge_dagster.errors import LineageBridgeError

_TOKEN = re.compile(
    r"""
      (?P<skip>     (?: \s+ | --[^\r\n]* | /\*.*?\*/ | \\(?=[^\S\n]*(?:\n|\Z)) )+ )
    | (?P<string>   '(?:[^']|'')*' )
    | (?P<quoted>   `(?:[^`]|``)*` | "(?:[^"]|"")*" )
    | (?P<variable> (?: [A-Za-z0-9_@]* \$\{[A-Za-z_][A-Za-z0-9_@]*\} )+ [A-Za-z0-9_@]* )
    | (?P<number>   (?:\d+(?:\.\d*)?|\.\d+)[Ee][+-]?\d+\b | \d+\.\d* | \.\d+ | \d+(?![A-Za-z_@\d]) )
    | (?P<word>     [A-Za-z0-9_][A-Za-z0-9_@]* )
    | (?P<sign>     := | -> | => | <> | != | <= | >= | \|\| | /(?!\*) | [-+*%=<>()\[\],.;:] )
    | (?P<other>    /\*.* | ['"`].* | . )
    """,
    re.VERBOSE | re.DOTALL,
)
#: Longest text that variables make of one token, in characters: each may double what it is made of.
_MAX_EXPANDED = 100_000
_VARIABLE = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_@]*\}")
# Those of ksqlDB's reserved words that can follow or precede a name.
_RESERVED = frozenset(
    {
        *("SELECT", "FROM", "AS", "WHERE", "WITHIN", "WINDOW", "GROUP", "BY", "HAVING", "LIMIT", "JOIN"),
        *("ON", "INNER", "LEFT", "RIGHT", "FULL", "OUTER", "WITH", "VALUES", "CREATE", "INSERT", "INTO"),
        *("NOT", "EXISTS", "AND", "OR", "IN", "IS", "NULL", "CASE", "WHEN", "THEN", "ELSE", "END"),
        *("DISTINCT", "BETWEEN", "LIKE", "TABLE", "STREAM", "TRUE", "FALSE", "DROP", "DESCRIBE"),
    }
)
_OPEN = {"(": 1, "[": 1, ")": -1, "]": -1}


class TokenKind(Enum):
    """Kind of a token."""

    WORD = "word"
    QUOTED = "quoted"
    STRING = "string"
    NUMBER = "number"
    VARIABLE = "variable"
    SIGN = "sign"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class KsqlToken:
    """One token.

    Attributes:
        text: A word upper-cased; a quoted name or a string without its quotes; else as written.
        start: Offset in the text.
    """

    kind: TokenKind
    text: str
    start: int

    def is_any(self, *words: str) -> bool:
        """Whether it is one of these words or signs, unquoted."""
        return self.kind in (TokenKind.WORD, TokenKind.SIGN) and self.text in words


class KsqlError(LineageBridgeError):
    """A text that is not valid ksqlDB SQL."""

    def __init__(self, message: str, start: int) -> None:
        super().__init__(message)
        self.start = start


def tokens(text: str) -> list[KsqlToken]:
    """Tokens of a text, without comments and blanks."""
    found: list[KsqlToken] = []
    for match in _TOKEN.finditer(text):
        group, raw = match.lastgroup or "other", match.group()
        if group == "skip":
            continue
        if group == "word":
            raw = raw.upper()
        elif group in ("quoted", "string"):
            raw = raw[1:-1].replace(raw[0] * 2, raw[0])
        found.append(KsqlToken(TokenKind(group), raw, match.start()))
    return found


def statements(found: Sequence[KsqlToken]) -> Iterator[list[KsqlToken]]:
    """Tokens of each statement, without its semicolon."""
    statement: list[KsqlToken] = []
    for token in found:
        if token.is_any(";"):
            if statement:
                yield statement
            statement = []
        else:
            statement.append(token)
    if statement:
        yield statement


class Variables(Mapping[str, str]):
    """The variables that `DEFINE` has set up to a moment. They share one history, so that none is copied."""

    def __init__(self, history: dict[str, list[tuple[int, str]]] | None = None, moment: int = 0) -> None:
        self._history = {} if history is None else history
        self._moment = moment

    def with_value(self, name: str, value: str) -> Variables:
        """These variables, with one that is set now. Only the latest may be extended."""
        self._history.setdefault(name, []).append((self._moment, value))
        return Variables(self._history, self._moment + 1)

    def __getitem__(self, name: str) -> str:
        values = self._history[name]
        at = bisect_left(values, self._moment, key=lambda value: value[0])
        if at == 0:
            raise KeyError(name)
        return values[at - 1][1]

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._history if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class TokenCursor:
    """Reads the tokens of one statement, from left to right.

    Args:
        found: Its tokens, at least one.
        variables: Variables that `DEFINE` has set so far; any other is left as written.
    """

    def __init__(self, found: Sequence[KsqlToken], variables: Mapping[str, str]) -> None:
        self._tokens = found
        self.variables = variables
        self.at = 0

    @property
    def done(self) -> bool:
        """Whether all tokens have been read."""
        return self.at >= len(self._tokens)

    def peek(self, ahead: int = 0) -> KsqlToken | None:
        """A following token; None after the last."""
        at = self.at + ahead
        return self._tokens[at] if at < len(self._tokens) else None

    def sees(self, *words: str) -> bool:
        """Whether these words and signs follow, in this order."""
        following = self._tokens[self.at : self.at + len(words)]
        return len(following) == len(words) and all(
            token.is_any(word) for token, word in zip(following, words, strict=True)
        )

    def take(self, *words: str) -> bool:
        """Read these words if they follow. Returns whether they did."""
        if not self.sees(*words):
            return False
        self.at += len(words)
        return True

    def expect(self, *words: str) -> None:
        """Read these words.

        Raises:
            KsqlError: Something else follows.
        """
        if not self.take(*words):
            raise self.unexpected(" ".join(words))

    def name(self) -> str:
        """Read a name.

        Raises:
            KsqlError: Something else follows.
        """
        token = self.peek()
        if token is None or not _is_name(token):
            raise self.unexpected("a name")
        self.at += 1
        return self._resolved(token)

    def literal(self) -> str:
        """Read a literal.

        Raises:
            KsqlError: Something else follows.
        """
        signs = self.at
        while (token := self.peek()) is not None and token.is_any("-", "+"):
            self.at += 1
        if token is None or token.kind is TokenKind.OTHER:
            raise self.unexpected("a value")
        sign = "".join(each.text for each in self._tokens[signs : self.at])
        self.at += 1
        # ksqlDB substitutes variables before it parses, in strings as well.
        value = self.substituted(token.text)
        return sign + (value.strip("'") if token.kind is TokenKind.VARIABLE else value)

    def skip_to(self, *ends: tuple[str, ...]) -> bool:
        """Skip to the first of these outside parentheses, else to the end. Returns whether one was found.

        The FROM of `IS [NOT] DISTINCT FROM` does not count.

        Raises:
            KsqlError: An unbalanced parenthesis or an invalid token in between.
        """
        depth = 0
        while (token := self.peek()) is not None:
            if depth == 0 and any(self.sees(*end) for end in ends):
                before = self._tokens[self.at - 1] if self.at else None
                if not (token.is_any("FROM") and before is not None and before.is_any("DISTINCT")):
                    return True
            if token.kind is TokenKind.OTHER:
                raise self.unexpected("an expression")
            depth += _OPEN.get(token.text, 0) if token.kind is TokenKind.SIGN else 0
            if depth < 0:
                raise self.unexpected("an expression")
            self.at += 1
        if depth:
            raise self.unexpected("a closing parenthesis")
        return False

    def group(self, *, types: bool = False) -> list[tuple[KsqlToken, ...]]:
        """Read a parenthesised list into the tokens of its members.

        Args:
            types: Whether it contains types: `STRUCT<a INT, b INT>` has commas of its own.

        Raises:
            KsqlError: No list follows, or it is not closed.
        """
        self.expect("(")
        start, depth = self.at, 1
        brackets = _OPEN | ({"<": 1, ">": -1} if types else {})
        while (token := self.peek()) is not None:
            depth += brackets.get(token.text, 0) if token.kind is TokenKind.SIGN else 0
            if depth == 0:
                members = _split(self._tokens[start : self.at], brackets)
                self.at += 1
                return [member for member in members if member]
            self.at += 1
        raise self.unexpected("a closing parenthesis")

    def read_since(self, start: int) -> tuple[KsqlToken, ...]:
        """The tokens from an earlier place up to the current one."""
        return tuple(self._tokens[start : self.at])

    def split(self, start: int) -> list[tuple[KsqlToken, ...]]:
        """The tokens since an earlier place, split at the commas outside brackets."""
        return _split(self._tokens[start : self.at], _OPEN)

    def unexpected(self, expected: str) -> KsqlError:
        """Error that names the token found and what was expected, without the text of literals."""
        token = self.peek()
        if not self._tokens:
            return KsqlError(f"nothing where {expected} was expected", 0)
        if token is None:
            last = self._tokens[-1]
            return KsqlError(f"the statement ends where {expected} was expected", last.start)
        shown = "'...'" if token.kind is TokenKind.STRING else token.text
        if token.kind is TokenKind.OTHER:
            # An unclosed string or comment extends to the end of the text.
            shown = shown[:1]
        return KsqlError(f"{shown!r} where {expected} was expected", token.start)

    def substituted(self, text: str) -> str:
        """A text with the values of its variables; those that are not set stay as written.

        Raises:
            KsqlError: It becomes too long.
        """
        if "${" not in text:
            return text
        length = sum(len(self.variables.get(name.upper(), name)) for name in _VARIABLE.findall(text))
        if length > _MAX_EXPANDED:
            start = self._tokens[min(self.at, len(self._tokens) - 1)].start
            raise KsqlError(f"its variables expand to over {_MAX_EXPANDED:,} characters", start)
        return _VARIABLE.sub(lambda found: self.variables.get(found.group().upper(), found.group()), text)

    def _resolved(self, token: KsqlToken) -> str:
        value = self.substituted(token.text)
        if token.kind is not TokenKind.VARIABLE or value == token.text:
            return value
        if len(value) > 1 and value[0] == value[-1] and value[0] in '`"':
            return value[1:-1]
        return value.upper()


def _split(found: Sequence[KsqlToken], brackets: Mapping[str, int]) -> list[tuple[KsqlToken, ...]]:
    """Split tokens at the commas outside brackets."""
    ends, depth = [-1], 0
    for at, token in enumerate(found):
        if token.kind is TokenKind.SIGN:
            depth += brackets.get(token.text, 0)
            if depth == 0 and token.text == ",":
                ends.append(at)
    return [tuple(found[low + 1 : high]) for low, high in pairwise([*ends, len(found)])]


def _is_name(token: KsqlToken) -> bool:
    if token.kind is TokenKind.WORD:
        return token.text not in _RESERVED
    return token.kind in (TokenKind.QUOTED, TokenKind.VARIABLE) and bool(token.text)
