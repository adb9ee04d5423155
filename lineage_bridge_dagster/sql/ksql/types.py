"""Types of columns in ksqlDB's SQL, as far as they decide which columns `->*` gives. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from lineage_bridge_dagster.sql.columns.types import SCALAR, Type, array_of
from lineage_bridge_dagster.sql.ksql.tokens import Cursor, Kind

# Deeper types are not read.
_MAX_DEPTH = 50


def read_type(cursor: Cursor, custom: Mapping[str, Type | None], depth: int = 0) -> Type | None:
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
    found: Type | None
    if cursor.take("ARRAY", "<"):
        found = array_of(read_type(cursor, custom, depth + 1))
        cursor.expect(">")
    elif cursor.take("MAP", "<"):
        key = read_type(cursor, custom, depth + 1)
        cursor.expect(",")
        found = Type("MAP", (("KEY", key), ("VALUE", read_type(cursor, custom, depth + 1))))
        cursor.expect(">")
    elif cursor.take("STRUCT", "<>"):
        found = Type("ROW")
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


def _struct(cursor: Cursor, custom: Mapping[str, Type | None], depth: int) -> Type:
    parts: list[tuple[str, Type | None]] = []
    while not cursor.take(">"):
        if parts:
            cursor.expect(",")
        # A field may have the name of a reserved word: it is no other place where one could follow.
        token = cursor.peek()
        if token is not None and token.kind is Kind.WORD:
            cursor.at += 1
            name = token.text
        else:
            name = cursor.name()
        parts.append((name, read_type(cursor, custom, depth + 1)))
    return Type("ROW", tuple(parts))
