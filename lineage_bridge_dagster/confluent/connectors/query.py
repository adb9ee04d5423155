"""The tables that a query reads, for the sources that take a query instead of tables.

The query is in the SQL of any database, so this is not a grammar: it finds the names that stand where tables
do, after FROM, JOIN and commas between them, and says whether that may not be all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from lineage_bridge_dagster.confluent.connectors.config import UNRESOLVED
from lineage_bridge_dagster.text import words

_TOKEN = re.compile(
    rf"""
      (?P<skip>     \s+ | --[^\r\n]* | /\*.*?(?:\*/|$) )
    | (?P<string>   [NnEe]?'(?:[^']|'')*'? )
    | (?P<quoted>   "(?:[^"]|"")*" | `(?:[^`]|``)*` )
    | (?P<bracket>  \[[A-Za-z_][^\[\]]*\] )
    | (?P<dynamic>  \$\{{[^{{}}]*\}} | \{{\{{[^{{}}]*\}}\}} | \? | [:@\#&][A-Za-z_]\w* )
    | (?P<word>     [\w{UNRESOLVED}][\w$\#@{UNRESOLVED}]* )
    | (?P<sign>     . )
    """,
    re.VERBOSE | re.DOTALL,
)
#: The longest query that is parsed, in characters.
_LONGEST = 50_000

Kind = Literal["word", "name", "dynamic", "sign", "string"]

#: Words before a parenthesis that is not the arguments of a function.
_BEFORE_GROUP = words(
    """FROM JOIN APPLY AS IN EXISTS ANY ALL SOME AND OR NOT ON WHERE SELECT DISTINCT UNION INTERSECT
    EXCEPT MINUS HAVING BY WHEN THEN ELSE CASE LATERAL MATERIALIZED WITH BETWEEN LIKE IS RETURN"""
)
#: Words that end a list of tables.
_AFTER_TABLES = words(
    """WHERE GROUP ORDER HAVING UNION INTERSECT EXCEPT MINUS LIMIT OFFSET FETCH FOR WINDOW QUALIFY
    CONNECT START SELECT SET OPTION"""
)
#: Words before a table's name.
_MODIFIERS = frozenset({"ONLY", "LATERAL", "FINAL"})
_JOINS = frozenset({"JOIN", "APPLY", "STRAIGHT_JOIN"})
#: What databases select from if there is no table.
_NO_TABLES = frozenset({"DUAL", "SYSDUMMY1"})
_QUERIES = frozenset({"SELECT", "WITH", "VALUES", "TABLE"})
_PARENTHESES = (("sign", "("), ("sign", ")"))

Part = tuple[str, bool]


@dataclass(frozen=True, slots=True)
class Tables:
    """What a query reads.

    Attributes:
        names: Tables by their parts, each with whether it is quoted.
        complete: Whether these are all; a name may be filled in later, or come out of a function.
    """

    names: tuple[tuple[Part, ...], ...]
    complete: bool


def tables_of(query: str) -> Tables:
    """Return the tables that a query reads."""
    tokens = list(_tokens(query[:_LONGEST]))
    reader = _Reader(
        tokens, recursive=("word", "RECURSIVE") in ((kind, text.upper()) for kind, text in tokens)
    )
    reader.read()
    first = next((text.upper() for kind, text in tokens if text != "("), "")
    complete = reader.complete and first in _QUERIES and len(query) <= _LONGEST
    return Tables(tuple(dict.fromkeys(reader.found)), complete)


def _tokens(text: str) -> Iterator[tuple[Kind, str]]:
    for match in _TOKEN.finditer(text):
        kind, value = match.lastgroup, match[0]
        if kind == "quoted":
            yield "name", value[1:-1].replace(value[0] * 2, value[0])
        elif kind == "bracket":
            yield "name", value[1:-1]
        elif kind == "word":
            yield "word", value
        elif kind == "dynamic":
            yield "dynamic", value
        elif kind == "string":
            yield "string", value
        elif kind == "sign":
            yield "sign", value


@dataclass(slots=True)
class _Scope:
    """What stands in one pair of parentheses.

    Attributes:
        state: `expect` a table, `tables` after one, or `other` text.
        function: Whether these are a function's arguments, where FROM is not a clause: `EXTRACT(YEAR FROM
            day)`.
        defines: The name in a WITH clause that this query defines.
        in_with: Whether the names of a WITH clause are being defined.
    """

    state: Literal["expect", "tables", "other"] = "other"
    function: bool = False
    defines: str = ""
    in_with: bool = False


@dataclass(slots=True)
class _Reader:
    tokens: list[tuple[Kind, str]]
    recursive: bool
    position: int = 0
    found: list[tuple[Part, ...]] = field(default_factory=list)
    #: Names that WITH clauses have defined so far.
    defined: set[str] = field(default_factory=set)
    complete: bool = True
    scopes: list[_Scope] = field(default_factory=lambda: [_Scope()])
    #: The name that a WITH clause is about to define.
    pending: str = ""

    def read(self) -> None:
        while self.position < len(self.tokens):
            kind, text = self.tokens[self.position]
            expected = self.scope.state == "expect" and (kind, text) not in _PARENTHESES
            if expected and text.upper() not in _MODIFIERS:
                self._table()
                continue
            if kind == "sign":
                self._sign(text)
            else:
                self._name(kind, text)
            self.position += 1

    @property
    def scope(self) -> _Scope:
        return self.scopes[-1]

    def _sign(self, sign: str) -> None:
        scope = self.scope
        if sign == "(":
            self.scopes.append(self._opened())
            if scope.state == "expect":
                scope.state = "tables"
        elif sign == ")" and len(self.scopes) > 1:
            self.defined.add(self.scopes.pop().defines)
        elif sign == "," and scope.state == "tables":
            scope.state = "expect"
        elif sign == ";":
            self.scopes = [_Scope()]

    def _name(self, kind: Kind, text: str) -> None:
        scope, word = self.scope, text.upper() if kind == "word" else ""
        before = self._word(-1)
        if word == "WITH" and before in ("", "(", ";") and self._word(1) != "(":
            scope.in_with = True
            self.position += self._word(1) == "RECURSIVE"
        elif scope.in_with and word == "SELECT":
            scope.in_with = False
        elif scope.in_with and kind in ("word", "name") and before in ("WITH", ",", "RECURSIVE"):
            self.pending = text.upper()
            if self.recursive:
                self.defined.add(self.pending)
        elif word in _JOINS:
            if scope.state == "tables":
                scope.state = "expect"
        elif word == "FROM":
            if not scope.function and before != "DISTINCT":
                scope.state = "expect"
        elif word in _AFTER_TABLES:
            scope.state = "other"

    def _opened(self) -> _Scope:
        """The scope of a parenthesis that opens."""
        inner, before = self._word(1), self._word(-1)
        query = inner in _QUERIES or inner == "("
        if self.scope.state == "expect":
            # A subquery, or joined tables in parentheses.
            return _Scope("other" if inner in _QUERIES else "expect")
        if query and self.pending and before in ("AS", "MATERIALIZED"):
            name, self.pending = self.pending, ""
            return _Scope(defines=name)
        return _Scope(function=not query and before not in _BEFORE_GROUP)

    def _table(self) -> None:
        """Read a table where one is expected."""
        self.scope.state = "tables"
        parts: list[Part] = []
        while self.position < len(self.tokens):
            kind, text = self.tokens[self.position]
            if kind not in ("word", "name"):
                # A name that is filled in later, a file, or no name at all.
                self.complete = self.complete and kind == "sign" and bool(parts)
                if kind != "sign":
                    self.position += 1
                return
            parts.append((text, kind == "name"))
            self.position += 1
            if self._word(0) != ".":
                break
            self.position += 1
            if self._word(0) == ".":
                # SQL Server's database..table
                parts.append(("", False))
                self.position += 1
        following = self.tokens[self.position][0] if self.position < len(self.tokens) else ""
        if self._word(0) == "(" or following == "dynamic":
            # A function that returns a table, or a link to another database.
            self.complete = False
        elif len(parts) == 1 and parts[0][0].upper() in self.defined:
            return
        elif "@" in parts[-1][0] and not parts[-1][1]:
            self.complete = False
        elif parts[-1][0].upper() not in _NO_TABLES:
            self.found.append(tuple(parts))

    def _word(self, offset: int) -> str:
        """A token nearby in upper case; empty beyond the ends, and for quoted names and strings."""
        at = self.position + offset
        if not 0 <= at < len(self.tokens):
            return ""
        kind, text = self.tokens[at]
        return text.upper() if kind in ("word", "sign") else "?"
