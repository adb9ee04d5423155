"""What is wrong with a record of JSON that is not of its schema."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lineage_bridge_dagster.schemas.json_nodes import JsonKind, JsonNode
from lineage_bridge_dagster.schemas.types import joined
from lineage_bridge_dagster.spark.decoding.json_numbers import let, plain_numbers
from lineage_bridge_dagster.spark.decoding.json_values import is_unfit
from lineage_bridge_dagster.spark.decoding.json_variants import begins, kinds_of, path_of

if TYPE_CHECKING:
    from pyspark.sql import Column

_NAMES = {"STRING": "a string", "BOOLEAN": "a boolean", "BIGINT": "an integer", "OBJECT": "an object",
          "ARRAY": "an array", "DECIMAL": "a number", "DOUBLE": "a number"}  # fmt: skip


def problem_of(text: Column, number: Column, node: JsonNode) -> Column:
    """The first property that has not the type that is due.

    Args:
        text: the record.
        number: the id of its schema.
        node: what the schema says.
    """
    from pyspark.sql import functions as F

    variant = F.try_parse_json(text)
    column = F.when(~F.is_valid_utf8(text), F.lit("its JSON is not valid UTF-8"))
    column = column.when(F.length(F.trim(text)) == 0, F.lit("its JSON is empty"))
    column = column.when(variant.isNull(), F.lit("it is not JSON"))
    rest = F.concat(
        F.lit("it does not match the JSON Schema of id "),
        number.cast("string"),
        F.lit(", in an element, a number's range or what follows the value"),
    )

    def mismatch(value: Column) -> Column:
        first = F.when(value.isNull(), F.lit(None).cast("string"))
        for is_wrong, path, what in _mismatches(value, node, ""):
            where = F.lit(f"its field {path} is " if path else "it is ")
            first = first.when(
                is_wrong, F.concat(where, F.replace(what, F.lit("{id}"), number.cast("string")))
            )
        return first.otherwise(rest)

    return column.otherwise(let(F.try_parse_json(plain_numbers(text)), mismatch))


def _mismatches(variant: Column, node: JsonNode, path: str) -> Iterator[tuple[Column, str, Column]]:
    """What may be wrong with each value that is not within an array or a map.

    Yields:
        Whether it is wrong, its path, and what is wrong, with the schema's id to be put in for `{id}`.
    """
    from pyspark.sql import functions as F

    found = F.schema_of_variant(variant)
    if expected := kinds_of(node):
        expected_kinds = " or ".join(dict.fromkeys(_NAMES[each] for each in expected))
        what = F.concat(F.lower(found), F.lit(f" where the JSON Schema of id {{id}} has {expected_kinds}"))
        yield ~begins(found, (*expected, "VOID")), path, what
    is_decimal = node.kind in (JsonKind.DECIMAL_BASE64, JsonKind.DECIMAL_NUMBER)
    if is_decimal and (unfit := is_unfit(variant, node)) is not None:
        decimal = "decimal({},{})".format(*node.decimal)
        what = F.when(found == "STRING", F.lit(f"a string that is not the Base64 of a {decimal}"))
        what = what.otherwise(F.lit(f"a number that a {decimal} does not hold"))
        yield unfit, path, F.concat(what, F.lit(", as the JSON Schema of id {id} has"))
    for each in node.properties if node.kind is JsonKind.OBJECT else ():
        inner, where = F.try_variant_get(variant, path_of(each.name), "variant"), joined(path, each.name)
        if each.must_occur:
            is_absent = begins(found, ("OBJECT",)) & F.coalesce(
                F.schema_of_variant(inner) == "VOID", F.lit(True)
            )
            yield is_absent, where, F.lit("missing or null, and the JSON Schema of id {id} requires it")
        yield from _mismatches(inner, each.node, where)
