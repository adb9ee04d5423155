"""JSON records, read by Spark with the checks that Spark leaves out.

Spark's `from_json` takes a number, an object or an array where a string is due for its text, rounds
decimals, reads numbers too large as infinity, repairs invalid UTF-8 and ignores what follows a value. So
strings, decimals and unions are read as variants, which know what they are; and the text is read as the
first element of an array, with a null behind it, so that what follows the value is not valid JSON or makes
the array longer. An integer may be written as `1.0` or `1e3`: a text that cannot be read is read once more
with its numbers written out. A property that the schema does not name is left out.

Variants are slow. So each record is first read quickly, as `json_quick` tells, and this way only if that left
doubt.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from lineage_bridge_dagster.schemas.json_nodes import JsonKind, JsonNode
from lineage_bridge_dagster.schemas.json_promotion import promoted_node
from lineage_bridge_dagster.schemas.json_schema import json_node
from lineage_bridge_dagster.schemas.schemas import RegisteredSchema
from lineage_bridge_dagster.spark.decoding.json_numbers import INEXACT, let, plain_numbers
from lineage_bridge_dagster.spark.decoding.json_problems import problem_of
from lineage_bridge_dagster.spark.decoding.json_quick import (
    certain_value,
    has_points,
    is_rewritten,
    quick_node,
    with_integers,
)
from lineage_bridge_dagster.spark.decoding.json_values import (
    CORRUPT,
    has_kind,
    is_whole,
    read_json,
    value_in,
    value_of,
)
from lineage_bridge_dagster.spark.decoding.json_variants import INTEGERS
from lineage_bridge_dagster.spark.decoding.versions import Format, Quick

if TYPE_CHECKING:
    from pyspark.sql import Column

_FLOATS = (JsonKind.FLOAT, JsonKind.DOUBLE)


class JsonFormat(Format):
    """Bodies of JSON text.

    Args:
        schemas: the versions that can be read, the latest last.
        promoted: the ids of those that are read as the latest.
    """

    def __init__(self, schemas: Sequence[RegisteredSchema], promoted: Collection[int] = ()) -> None:
        self._nodes = {schema.id: json_node(schema) for schema in schemas}
        latest = self._nodes[schemas[-1].id]
        self._nodes |= {number: promoted_node(latest, self._nodes[number]) for number in promoted}

    def shape(self, schema: RegisteredSchema) -> JsonNode:
        """What the schema says of a value."""
        return self._nodes[schema.id]

    def quick(self, body: Column, number: Column, schemas: Sequence[RegisteredSchema]) -> Quick:
        """The reading of texts as such."""
        from pyspark.sql import functions as F

        text, node = body.cast("string"), quick_node(self._nodes[schemas[0].id])
        written = with_integers(text) if _may_be_rewritten(node) else text
        read = F.when(_is_readable(text, number, schemas), read_json(written, node))
        return Quick(
            read,
            value_in,
            lambda parsed, value: certain_value(parsed, value, text, node),
        )

    def parsed(
        self,
        body: Column,
        number: Column,
        schemas: Sequence[RegisteredSchema],
        quick: Column | None = None,
    ) -> Column:
        """The array of the value and a null, and the text if it is not of the schema."""
        from pyspark.sql import functions as F

        text, node = body.cast("string"), self._nodes[schemas[0].id]
        is_refused = F.lit(False) if quick is None else quick[CORRUPT].isNotNull()
        if _may_be_rewritten(quick_node(node)):
            is_refused = is_refused | has_points(text)
        read = _parsed(text, is_refused, node)
        return F.when(_is_readable(text, number, schemas), read)

    def is_whole(self, parsed: Column, schema: RegisteredSchema) -> Column:
        """Whether there is one value, which is of the schema."""
        return is_whole(parsed, self._nodes[schema.id])

    def value(self, parsed: Column, schema: RegisteredSchema) -> Column:
        """The value."""

        return value_of(value_in(parsed), self._nodes[schema.id])

    def problem(self, parsed: Column, body: Column, number: Column, schema: RegisteredSchema) -> Column:  # noqa: ARG002
        """The first property that has not the type that is due."""
        return problem_of(body.cast("string"), number, self._nodes[schema.id])


def _may_be_rewritten(node: JsonNode) -> bool:
    return has_kind(node, INTEGERS) and is_rewritten(node)


def _is_readable(text: Column, number: Column, schemas: Sequence[RegisteredSchema]) -> Column:
    from pyspark.sql import functions as F

    return number.isin(*(schema.id for schema in schemas)) & F.is_valid_utf8(text)


def _parsed(text: Column, is_refused: Column, node: JsonNode) -> Column:
    """What `read_json` returns, whatever form the numbers have.

    Args:
        text: the record.
        is_refused: whether Spark could not read it, or has read another form of its numbers.
        node: what the schema says.
    """
    from pyspark.sql import functions as F

    # A double keeps the sign of a zero, with which it is not an integer.
    has_double, has_integer = has_kind(node, _FLOATS), has_kind(node, INTEGERS)
    is_inexact = F.lit(False)
    if has_integer:
        is_inexact = is_refused
    if has_kind(node, (JsonKind.DECIMAL_NUMBER,)):
        is_inexact = is_inexact | text.rlike(INEXACT)
    signed = plain_numbers(text, "-0.0" if has_double or not has_integer else "-0")
    text = F.when(is_inexact & F.try_parse_json(text).isNotNull(), signed).otherwise(text)
    first = read_json(text, node)
    if not (has_double and has_integer):
        return first

    def again(found: Column) -> Column:
        failed = found[CORRUPT].isNotNull() & F.try_parse_json(text).isNotNull()
        return F.when(failed, read_json(plain_numbers(text), node)).otherwise(found)

    return let(first, again)
