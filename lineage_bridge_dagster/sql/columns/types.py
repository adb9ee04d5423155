"""Types of columns, as far as they decide which columns UNNEST and `row_column.*` give. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Self

from lineage_bridge_dagster.sql.flink.tree import Tree

# Deeper types are taken to be unknown.
_MAX_DEPTH = 50


@dataclass(frozen=True, slots=True)
class SqlType:
    """A type; None stands for one that is not known.

    Attributes:
        kind: `ARRAY` includes MULTISET. A `SCALAR` has no columns of its own.
        parts: Fields of a row by name; the element of an array; key and value of a map.
        name: A scalar's type in SQL, such as `DECIMAL(10, 2)`; empty if it is not known.
    """

    kind: Literal["ROW", "ARRAY", "MAP", "SCALAR"]
    parts: tuple[tuple[str, SqlType | None], ...] = ()
    name: str = ""

    @classmethod
    def of(cls, tree: Tree, node: int, depth: int = 0) -> Self | None:
        """Read a TYPE of a syntax tree."""
        if tree.kind(node) != "TYPE" or depth > _MAX_DEPTH:
            return None
        kind, children = tree.name(node), tree.children(node)
        if kind == "ROW":
            names = [tree.name(child) for child in children]
            types = [cls.of(tree, tree.child(child, 0), depth + 1) for child in children]
            return cls("ROW", tuple(zip(names, types, strict=True)))
        types = [cls.of(tree, child, depth + 1) for child in children]
        if kind == "ARRAY":
            return cls("ARRAY", (("", types[0]),))
        return (
            cls("MAP", (("KEY", types[0]), ("VALUE", types[1])))
            if kind == "MAP"
            else cls("SCALAR", name=tree.note(node))
        )


SCALAR = SqlType("SCALAR")


def array_of(element: SqlType | None) -> SqlType:
    """The type of an array or multiset."""
    return SqlType("ARRAY", (("", element),))


def field_type(of: SqlType | None, name: str) -> SqlType | None:
    """Type of a row's field."""
    return dict(of.parts).get(name) if of is not None and of.kind == "ROW" else None


def item_type(of: SqlType | None) -> SqlType | None:
    """Type of an array's element or a map's value."""
    return of.parts[-1][1] if of is not None and of.kind in ("ARRAY", "MAP") else None


def unnested(of: SqlType | None) -> tuple[tuple[str | None, SqlType | None], ...] | None:
    """The columns that UNNEST makes of a collection, unnamed for a plain element; None when unknown.

    A row element gives its fields, a map the columns `KEY` and `VALUE`.
    """
    if of is None:
        return None
    if of.kind == "MAP":
        return of.parts
    element = item_type(of)
    if element is None:
        return None
    return element.parts if element.kind == "ROW" else ((None, element),)
