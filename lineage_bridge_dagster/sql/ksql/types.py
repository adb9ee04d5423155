"""Types of columns in ksqlDB's SQL, as far as they decide which columns `->*` gives. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from lineage_bridge_dagster.sql.columns.types import SCALAR, SqlType, array_of
from lineage_bridge_dagster.sql.ksql.tokens import TokenCursor, TokenKind

# Deeper types are not read.
_MAX_DEPTH = 50


def read_type(cursor: TokenCursor, custom: Mapping[str, SqlType | None], depth: int = 0) -> SqlType | None:
    """Read a type.

    Args:
        cursor: At the type.
        custom: Types that CREATE TYPE has defined, by name.
        depth: Levels of types around it.

    Raises:
        KsqlError: No type follows, or it is nested too deeply.
    """
    if depth > _MAX_DEPTH:
        raise cursor.unexpected("a type that is not nested so deeply")
    found: SqlType | None
    if cursor.take("ARRAY", "<"):
        found = array_of(read_type(cursor, custom, depth + 1))
        cursor.expect(">")
    elif cursor.take("MAP", "<"):
        key = read_type(cursor, custom, depth + 1)
        cursor.expect(",")
        found = SqlType("MAP", (("KEY", key), ("VALUE", read_type(cursor, custom, depth + 1))))
        cursor.expect(">")
    elif cursor.take("STRUCT", "<>"):
        found = SqlType("ROW")
    elif cursor.take("STRUCT", "<"):
        found = _struct(cursor, custom, depth)
    else:
        name = cursor.name()
        found = custom.get(name, SCALAR)
        if cursor.sees("("):
            cursor.group()
    while cursor.take("ARRAY"):
        found = array_of(found)
    return found


def _struct(cursor: TokenCursor, custom: Mapping[str, SqlType | None], depth: int) -> SqlType:
    parts: list[tuple[str, SqlType | None]] = []
    while not cursor.take(">"):
        if parts:
            cursor.expect(",")
        # A field may be named like a reserved word, which cannot follow here otherwise.
        token = cursor.peek()
        if token is not None and token.kind is TokenKind.WORD:
            cursor.at += 1
            name = token.text
        else:
            name = cursor.name()
        parts.append((name, read_type(cursor, custom, depth + 1)))
    return SqlType("ROW", tuple(parts))
