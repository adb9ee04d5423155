"""ksqlDB's expressions: tokens -> a tree. Pure.

The tree holds what column lineage needs. An expression that the grammar does not know is an error of its own,
so that it costs one column, not the statement.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from lineage_bridge_dagster.sql.columns.types import SqlType
from lineage_bridge_dagster.sql.ksql.syntax import Tokens
from lineage_bridge_dagster.sql.ksql.tokens import KsqlError, KsqlToken, TokenCursor, TokenKind, tokens
from lineage_bridge_dagster.sql.ksql.types import read_type

# Levels of nested expressions, far below Python's limit of recursion.
_MAX_DEPTH = 60
# Longer than people or generators write.
_MAX_TOKENS = 20_000
_SIGNS = ("=", "<>", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "||")
_NEGATABLE = ("BETWEEN", "IN", "LIKE")
_WORDS = ("AND", "OR", "ESCAPE")
_UNITS = frozenset({"DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND"})
# They cannot name a column; the other units can.
_RESERVED_UNITS = frozenset({"MILLISECOND", *(unit + "S" for unit in _UNITS)})
_TIME_FUNCTIONS = frozenset(
    kind + change for kind in ("DATE", "TIME", "TIMESTAMP") for change in ("ADD", "SUB")
)


class Of(Enum):
    """Kind of an expression."""

    LITERAL = "literal"
    COLUMN = "column"
    VARIABLE = "undefined variable"
    FIELD = "field of a struct"
    ITEM = "item of an array or map"
    CALL = "function call"
    LAMBDA = "lambda"
    CAST = "cast"
    STRUCT = "struct"
    ARRAY = "array"
    MAP = "map"
    CASE = "case"
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression; two that are written alike are equal.

    Attributes:
        name: The name of the column, field, function, operator or variable; the text of a literal.
        parts: Expressions in it. Of CASE the results are the parts, its conditions as well.
        source: A column's qualifier; empty without one.
        names: Fields of a STRUCT, parameters of a lambda.
        type: The type of a CAST.
    """

    of: Of
    name: str = ""
    parts: tuple[Expression, ...] = ()
    source: str = ""
    names: tuple[str, ...] = ()
    type: SqlType | None = None


class Star(Enum):
    """Kind of a star in a select list."""

    ALL = "*"
    SOURCE = "source.*"
    STRUCT = "struct->*"


@dataclass(frozen=True, slots=True)
class Item:
    """One item of a select list.

    Attributes:
        expression: The expression; of `struct->*` the struct, of the other stars None.
        alias: Its alias; empty without one.
        star: Which kind of star it is, if any.
        source: The qualifier of `source.*`.
    """

    expression: Expression | None
    alias: str = ""
    star: Star | None = None
    source: str = ""


@dataclass(frozen=True, slots=True)
class ExpressionParser:
    """Parses the expressions of a query; its methods raise `KsqlError` for what they cannot parse.

    Attributes:
        variables: The variables that are defined where the query is.
        types: Custom types.
    """

    variables: Mapping[str, str]
    types: Mapping[str, SqlType | None]

    def item(self, found: Tokens) -> Item:
        """Parse an item of a select list."""
        reader = self._reader(found)
        item = _item(reader)
        reader.end()
        return item

    def listed(self, found: Tokens) -> tuple[Expression, ...]:
        """Parse the expressions of GROUP BY or PARTITION BY, with or without parentheses."""
        cursor = TokenCursor(found, self.variables)
        if cursor.sees("("):
            members = cursor.group()
            if cursor.done:
                return tuple(map(self.expression, members))
        reader = self._reader(found)
        listed = tuple(reader.listed())
        reader.end()
        return listed

    def expression(self, found: Tokens) -> Expression:
        """Parse one expression."""
        reader = self._reader(found)
        expression = reader.expression()
        reader.end()
        return expression

    def _reader(self, found: Tokens) -> _Reader:
        return _Reader(TokenCursor(found, self.variables), self.types)


def _item(reader: _Reader) -> Item:
    cursor = reader.cursor
    if cursor.take("*"):
        return Item(None, star=Star.ALL)
    if (second := cursor.peek(1)) and second.is_any(".") and (last := cursor.peek(2)) and last.is_any("*"):
        item = Item(None, star=Star.SOURCE, source=cursor.name())
        cursor.expect(".", "*")
        return item
    expression = reader.expression()
    if cursor.take("->", "*"):
        return Item(expression, star=Star.STRUCT)
    cursor.take("AS")
    return Item(expression, "" if cursor.done else cursor.name())


@dataclass(slots=True)
class _Reader:
    """Parses by recursive descent."""

    cursor: TokenCursor
    types: Mapping[str, SqlType | None]
    depth: int = 0

    def __post_init__(self) -> None:
        if self.cursor.peek(_MAX_TOKENS) is not None:
            raise self.cursor.unexpected(f"an expression of at most {_MAX_TOKENS:,} words and signs")

    def end(self) -> None:
        if not self.cursor.done:
            raise self.cursor.unexpected("the end of the expression")

    def expression(self) -> Expression:
        """Operands with operators between them. Precedence does not matter to the columns in it."""
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise self.cursor.unexpected("an expression that is not nested so deeply")
        operators: list[str] = []
        parts = [self._operand(operators)]
        while (operator := self._operator()) is not None:
            operators.append(operator)
            if operator.endswith(" IN"):
                self.cursor.expect("(")
                parts += self.listed()
                self.cursor.expect(")")
            elif not operator.endswith(" NULL"):
                parts.append(self._operand(operators))
        self.depth -= 1
        return Expression(Of.OPERATOR, " ".join(operators), tuple(parts)) if operators else parts[0]

    def listed(self) -> Iterator[Expression]:
        yield self.expression()
        while self.cursor.take(","):
            yield self.expression()

    def _one_of(self, *words: str) -> str | None:
        return next((word for word in words if self.cursor.take(word)), None)

    def _operator(self) -> str | None:
        """An operator between operands, or after one; starts with a space if it consists of words."""
        cursor = self.cursor
        if (sign := self._one_of(*_SIGNS)) is not None:
            return sign
        if cursor.take("IS"):
            negated = " NOT" * cursor.take("NOT")
            if cursor.take("NULL"):
                return f" IS{negated} NULL"
            cursor.expect("DISTINCT", "FROM")
            return f" IS{negated} DISTINCT FROM"
        negated = " NOT" * cursor.take("NOT")
        word = self._one_of(*_NEGATABLE) if negated else self._one_of(*_NEGATABLE, *_WORDS)
        if word is None and negated:
            raise cursor.unexpected("BETWEEN, IN or LIKE")
        return f"{negated} {word}" if word else None

    def _operand(self, operators: list[str]) -> Expression:
        """An operand with its signs, fields and items."""
        cursor = self.cursor
        while (sign := self._one_of("-", "+", "NOT")) is not None:
            operators.append(sign)
        found = self._primary()
        for _ in range(_MAX_DEPTH):
            if cursor.sees("->", "*"):
                return found
            if cursor.take("->"):
                found = Expression(Of.FIELD, self._field(), (found,))
            elif cursor.take("["):
                found = Expression(Of.ITEM, "", (found, self.expression()))
                cursor.expect("]")
            elif cursor.take("AT", "TIME", "ZONE"):
                operators.append(f"AT TIME ZONE {cursor.literal()}")
            else:
                return found
        raise cursor.unexpected("an expression that is not nested so deeply")

    def _field(self) -> str:
        token = self.cursor.peek()
        if token is not None and token.kind is TokenKind.WORD:
            self.cursor.at += 1
            return token.text
        return self.cursor.name()

    def _primary(self) -> Expression:
        cursor = self.cursor
        token = cursor.peek()
        if token is None or token.kind is TokenKind.OTHER:
            raise cursor.unexpected("an expression")
        if token.kind is TokenKind.STRING or token.kind is TokenKind.NUMBER:
            quote = "'" if token.kind is TokenKind.STRING else ""
            return Expression(Of.LITERAL, quote + cursor.literal())
        if token.kind is TokenKind.VARIABLE:
            return self._variable(token)
        if (word := self._one_of("TRUE", "FALSE", "NULL")) is not None:
            return Expression(Of.LITERAL, word)
        if cursor.take("("):
            found = self.expression()
            cursor.expect(")")
            return found
        if cursor.take("CASE"):
            return self._case()
        if cursor.take("CAST", "("):
            value = self.expression()
            cursor.expect("AS")
            to = read_type(cursor, self.types)
            cursor.expect(")")
            return Expression(Of.CAST, "", (value,), type=to)
        if cursor.take("ARRAY", "["):
            members = () if cursor.sees("]") else tuple(self.listed())
            cursor.expect("]")
            return Expression(Of.ARRAY, "", members)
        following = cursor.peek(1)
        if following is not None and following.is_any("(") and token.is_any("MAP", "STRUCT"):
            return self._constructor(token.text)
        if following is not None and following.kind is TokenKind.STRING:
            # DATE '2020-01-01'
            return Expression(Of.LITERAL, f"{cursor.name()} '{cursor.literal()}")
        return self._named()

    def _named(self) -> Expression:
        """A call or a column, by its name."""
        cursor = self.cursor
        name = cursor.name()
        if cursor.take("("):
            return self._call(name)
        if cursor.take("."):
            return Expression(Of.COLUMN, cursor.name(), source=name)
        return Expression(Of.COLUMN, name)

    def _variable(self, token: KsqlToken) -> Expression:
        """A variable: a literal or a name, by its value. Unquoted text that is neither is a name."""
        cursor = self.cursor
        value = cursor.substituted(token.text)
        if "${" in value:
            cursor.at += 1
            return Expression(Of.VARIABLE, token.text)
        literal = ""
        match tokens(value):
            case [KsqlToken(TokenKind.STRING | TokenKind.NUMBER)] | [
                KsqlToken(TokenKind.SIGN, "-" | "+"),
                KsqlToken(TokenKind.NUMBER),
            ]:
                literal = value
            case [KsqlToken(TokenKind.WORD, "TRUE" | "FALSE" as word)]:
                literal = word
        if not literal:
            return self._named()
        cursor.at += 1
        return Expression(Of.LITERAL, literal)

    def _case(self) -> Expression:
        cursor = self.cursor
        parts = [] if cursor.sees("WHEN") else [self.expression()]
        simple = "CASE" if parts else ""
        cursor.expect("WHEN")
        parts += self._branch()
        while cursor.take("WHEN"):
            parts += self._branch()
        if cursor.take("ELSE"):
            parts.append(self.expression())
        cursor.expect("END")
        return Expression(Of.CASE, simple, tuple(parts))

    def _branch(self) -> list[Expression]:
        condition = self.expression()
        self.cursor.expect("THEN")
        return [condition, self.expression()]

    def _constructor(self, kind: str) -> Expression:
        """`STRUCT(a := 1)` or `MAP('k' := 1)`."""
        cursor = self.cursor
        cursor.expect(kind, "(")
        names: list[str] = []
        parts: list[Expression] = []
        while not cursor.take(")"):
            if parts:
                cursor.expect(",")
            if kind == "STRUCT":
                names.append(self._field())
            else:
                parts.append(self.expression())
            cursor.expect(":=")
            parts.append(self.expression())
        return Expression(Of.STRUCT if kind == "STRUCT" else Of.MAP, "", tuple(parts), names=tuple(names))

    def _call(self, name: str) -> Expression:
        cursor = self.cursor
        if cursor.take("*", ")"):
            return Expression(Of.CALL, name)
        parts: list[Expression] = []
        while not cursor.take(")"):
            if parts:
                cursor.expect(",")
            parts.append(self._lambda() or self._unit(name, len(parts)) or self.expression())
        return Expression(Of.CALL, name, tuple(parts))

    def _unit(self, function: str, position: int) -> Expression | None:
        """`DAYS` in `TIMESTAMPADD(DAYS, 1, t)`."""
        token, following = self.cursor.peek(), self.cursor.peek(1)
        if token is None or following is None or not following.is_any(",", ")"):
            return None
        is_unit = token.is_any(*_RESERVED_UNITS) or (
            function in _TIME_FUNCTIONS and position == 0 and token.is_any(*_UNITS)
        )
        if not is_unit:
            return None
        self.cursor.at += 1
        return Expression(Of.LITERAL, token.text)

    def _lambda(self) -> Expression | None:
        """`x => ...` or `(x, y) => ...`, if one follows."""
        cursor = self.cursor
        start = cursor.at
        try:
            if cursor.take("("):
                names = [cursor.name()]
                while cursor.take(","):
                    names.append(cursor.name())
                cursor.expect(")", "=>")
            else:
                names = [cursor.name()]
                cursor.expect("=>")
        except KsqlError:
            cursor.at = start
            return None
        return Expression(Of.LAMBDA, "", (self.expression(),), names=tuple(names))
