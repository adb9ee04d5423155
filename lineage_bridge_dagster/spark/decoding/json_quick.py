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

from lineage_bridge_dagster.schemas.json_nodes import JsonKind, JsonNode
from lineage_bridge_dagster.spark.decoding.json_values import ROOT, is_whole, value_of

if TYPE_CHECKING:
    from pyspark.sql import Column

#: Names that JSON can write in one way only, besides their escapes as `\\u0061`.
_PLAIN = re.compile(r"[A-Za-z0-9_$.@ -]+")
_NUMBER = r"^-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?$"
#: What Spark makes of booleans, and of numbers too large for it.
_WORDS = ("true", "false", '"Infinity"', '"-Infinity"')


def quick_node(node: JsonNode) -> JsonNode:
    """A value whose strings, but for those in arrays and maps, may be the text of something else."""
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


def certain_value(parsed: Column, text: Column, node: JsonNode) -> Column:
    """The value; null where it is absent or in doubt.

    Args:
        parsed: what `read_json` returns for a text.
        text: the text.
        node: a `quick_node`.
    """
    from pyspark.sql import functions as F

    value = F.get(parsed[ROOT], F.lit(0))
    certain = F.coalesce(is_whole(parsed, node), F.lit(False))
    if found := list(_texts(value, node)):
        names = "|".join(sorted({re.escape(name) for name, _ in found}))
        other = rf'"(?:{names})"\s*+:\s*+[^\s"n]|\\u'
        is_like = reduce(or_, (_is_like_another(each) for _, each in found))
        certain = certain & ~(F.coalesce(is_like, F.lit(False)) & text.rlike(other))
    return F.when(certain, value_of(value, node))


def _texts(value: Column, node: JsonNode) -> Iterator[tuple[str, Column]]:
    """The strings that may be the text of something else, with the names of their properties."""
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
