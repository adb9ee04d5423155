"""Records of parsed ksqlDB statements, without the expressions in them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal

from lineage_bridge_dagster.sql.columns.types import SqlType
from lineage_bridge_dagster.sql.ksql.tokens import KsqlToken

Tokens = tuple[KsqlToken, ...]


class ColumnPlace(Enum):
    """The part of a record that holds a column's values."""

    KEY = "key"
    VALUE = "value"
    HEADER = "header"


@dataclass(frozen=True, slots=True)
class KsqlColumn:
    """A column of a stream or table; its type as far as it is known."""

    name: str
    place: ColumnPlace = ColumnPlace.VALUE
    type: SqlType | None = None


@dataclass(frozen=True, slots=True)
class Declaration:
    """A stream or table that a statement creates.

    Attributes:
        name: Its name, folded to upper case unless quoted.
        relation: Which of the two.
        topic: Its topic: `KAFKA_TOPIC`, by default its name.
        source: Whether it is read-only (`CREATE SOURCE ...`). A source table has a query of its own, which
            reads its topic.
        key_format: Upper-cased; empty if not given.
        value_format: Likewise.
        windowed: Whether its key has a window (`WINDOW_TYPE`).
    """

    name: str
    relation: Literal["STREAM", "TABLE"]
    topic: str
    source: bool = False
    columns: tuple[KsqlColumn, ...] = ()
    key_format: str = ""
    value_format: str = ""
    windowed: bool = False

    @property
    def key(self) -> tuple[str, ...]:
        """Declared key columns."""
        return tuple(column.name for column in self.columns if column.place is ColumnPlace.KEY)

    @property
    def value(self) -> tuple[str, ...]:
        """Declared value columns, without header columns."""
        return tuple(column.name for column in self.columns if column.place is ColumnPlace.VALUE)


@dataclass(frozen=True, slots=True)
class QuerySource:
    """A stream or table after FROM or JOIN.

    Attributes:
        alias: The name that the query's expressions use.
        is_outer: Whether it follows a FULL JOIN.
        condition: Tokens after ON; empty after FROM.
    """

    name: str
    alias: str
    is_outer: bool = False
    condition: Tokens = ()


@dataclass(frozen=True, slots=True)
class Query:
    """A SELECT.

    Attributes:
        items: Tokens of each item of the select list.
        sources: Its sources, at least one.
        group_by: Tokens after GROUP BY; None without it.
        partition_by: Likewise.
        is_windowed: Whether it has a WINDOW clause.
        variables: The variables that are defined where it is.
    """

    items: tuple[Tokens, ...]
    sources: tuple[QuerySource, ...]
    group_by: Tokens | None = None
    partition_by: Tokens | None = None
    is_windowed: bool = False
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Form:
    """What a statement does to columns.

    Attributes:
        action: `create` includes CREATE ... AS, whose form has a query, `insert` INSERT ... VALUES.
        name: The stream or table that it creates, fills, alters or drops.
        declaration: The stream or table created.
        query: Its query, if any.
        columns: Columns that INSERT ... VALUES lists, or that ALTER adds.
        replaces: Whether it has OR REPLACE.
        if_not_exists: Whether an existing stream or table of that name is left unchanged.
    """

    action: Literal["create", "insert", "select", "alter", "drop"]
    name: str = ""
    declaration: Declaration | None = None
    query: Query | None = None
    columns: tuple[KsqlColumn, ...] = ()
    replaces: bool = False
    if_not_exists: bool = False
