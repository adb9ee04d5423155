"""A quick reading of JSON, for the records of which it leaves no doubt.

Spark reads a string several times as fast as a variant, but gives the text of any other value as well. That
text looks like a number, a boolean, an object or an array. So a record is in doubt if one of its strings
does, and if the name of such a property is followed by something else than a string anywhere in the record.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from lineage_bridge_dagster.schemas.json_nodes import JsonKind, JsonNode, Property
from lineage_bridge_dagster.spark.decoding.json_values import has_kind, is_whole, merged, value_of

if TYPE_CHECKING:
    from pyspark.sql import Column

#: Names that JSON can write in one way only, besides their escapes as `\\u0061`.
_PLAIN = re.compile(r"[A-Za-z0-9_$.@ -]+")
_NUMBER = r"^-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?$"
#: What Spark makes of booleans, and of numbers too large for it.
_WORDS = ("true", "false", '"Infinity"', '"-Infinity"')

#: Kinds of alternatives that a variant tells from others at once.
_SIMPLE = frozenset((JsonKind.STRING, JsonKind.BOOLEAN, JsonKind.INT, JsonKind.LONG, JsonKind.DOUBLE))
#: Kinds that keep or look at how a number is written.
_VERBATIM = (JsonKind.ANY, JsonKind.UNION, JsonKind.DECIMAL_NUMBER, JsonKind.UNKNOWN)
#: Strings, and integers with a fraction of zeros that are no part of a longer number.
_POINTS = (
    r'("[^"\\]*+(?:\\.[^"\\]*+)*+")|'
    r"(?<![0-9.eE+-])(-?[1-9][0-9]{0,17}|0)\.0{1,17}(?![0-9.eE+-])"
)


def quick_node(node: JsonNode) -> JsonNode:
    """The node for a first reading, in which a string may hold the text of another value.

    That reading also decides which alternative of a union a value is. Arrays and maps are not changed.
    """
    if node.kind is JsonKind.UNION:
        return _quick_union(node)
    if node.kind is not JsonKind.OBJECT:
        return node
    return replace(
        node,
        properties=tuple(
            replace(each, node=replace(each.node, kind=JsonKind.TEXT))
            if each.node.kind is JsonKind.STRING and _PLAIN.fullmatch(each.name)
            else replace(each, node=quick_node(each.node))
            for each in node.properties
        ),
    )


def _quick_union(node: JsonNode) -> JsonNode:
    kinds = {each.node.kind for each in node.properties}
    if kinds <= _SIMPLE:
        return replace(node, kind=JsonKind.SIMPLE)
    alternatives = tuple(replace(each, node=quick_node(each.node)) for each in node.properties)
    known: dict[str, Property] = {}
    for inner in (inner for each in alternatives for inner in each.node.properties):
        other = known.setdefault(inner.name.casefold(), inner)
        if (other.name, other.node) != (inner.name, inner.node):
            return node
    constants = (name for each in alternatives for name, _ in each.node.constants)
    if kinds != {JsonKind.OBJECT} or any(
        known[name.casefold()].node.kind is not JsonKind.TEXT for name in constants
    ):
        return node
    return replace(node, kind=JsonKind.OBJECTS, properties=alternatives)


def is_rewritten(node: JsonNode) -> bool:
    """Whether a value may be read from a text whose integers were written as `1.0`.

    Others than integers and doubles would tell the difference.
    """
    if node.kind is JsonKind.SIMPLE and has_kind(node, (JsonKind.DOUBLE,)):
        return False
    return node.kind not in _VERBATIM and all(map(is_rewritten, node.nodes()))


def with_integers(text: Column) -> Column:
    """A text with `1` for each `1.0` that is not within a string; zeros with a sign stay."""
    from pyspark.sql import functions as F

    return F.when(has_points(text), F.regexp_replace(text, _POINTS, "$1$2")).otherwise(text)


def has_points(text: Column) -> Column:
    """Whether `with_integers` may change a text."""
    return text.contains(".0")


def certain_value(parsed: Column, value: Column, text: Column, node: JsonNode) -> Column:
    """The value; null where it is absent or in doubt.

    Args:
        parsed: what `read_json` returns for a text.
        value: the value in it, as it was read.
        text: the text.
        node: a `quick_node`.
    """
    from pyspark.sql import functions as F

    certain = F.coalesce(is_whole(parsed, node, value), F.lit(False))
    if found := list(_texts(value, node)):
        names = "|".join(sorted({re.escape(name) for name, _ in found}))
        other = rf'"(?:{names})"\s*+:\s*+[^\s"n]|\\u'
        is_like = reduce(or_, (_is_like_another(each) for _, each in found))
        certain = certain & ~(F.coalesce(is_like, F.lit(False)) & text.rlike(other))
    return F.when(certain, value_of(value, node))


def _texts(value: Column, node: JsonNode) -> Iterator[tuple[str, Column]]:
    """The strings that may hold the text of another value, with the names of their properties."""
    if node.kind is JsonKind.OBJECTS:
        node = merged(node)
    for each in node.properties if node.kind is JsonKind.OBJECT else ():
        inner = value.getField(each.name)
        if each.node.kind is JsonKind.TEXT:
            yield each.name, inner
        else:
            yield from _texts(inner, each.node)


def _is_like_another(text: Column) -> Column:
    """Whether a text may be that of a number, a boolean, an object or an array; false for null."""
    from pyspark.sql import functions as F

    # Comparisons first, which cost less than the expression.
    is_number = (text >= "-") & (text < ":") & text.rlike(_NUMBER)
    is_other = text.startswith("{") | text.startswith("[") | text.isin(*_WORDS)
    return F.coalesce(is_number | is_other, F.lit(False))
