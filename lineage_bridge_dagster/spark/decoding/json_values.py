"""Values of JSON as Spark reads them: whether they are of their schema, and the values of their columns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from lineage_bridge_dagster.schemas.json_nodes import JsonKind, JsonNode
from lineage_bridge_dagster.schemas.types import MAX_PRECISION
from lineage_bridge_dagster.spark.decoding.json_numbers import let, plain_numbers
from lineage_bridge_dagster.spark.decoding.json_variants import INTEGERS, NUMBERS, begins, kinds_of, path_of
from lineage_bridge_dagster.spark.decoding.spark_types import spark_type

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import DataType

#: A name that no record has, so that no record can end the array and begin another.
ROOT = "8d1f6cb3e24a597ed0c83b95f7a2610e"
CORRUPT = "corrupt"
_OPTIONS = {
    "mode": "PERMISSIVE",
    "columnNameOfCorruptRecord": CORRUPT,
    "allowNonNumericNumbers": "false",
    "allowSingleQuotes": "false",
}

#: Milliseconds that Spark makes a time of; it ends the query at others.
_MOST_MILLIS = {JsonKind.TIMESTAMPTZ: (2**63 - 1) // 1000, JsonKind.TIMESTAMP: 10**15 - 1}
#: Kinds whose values Spark reads although the schema does not permit them, besides those made of others.
_CHECKED = frozenset(
    (JsonKind.STRING, JsonKind.DECIMAL_BASE64, JsonKind.DECIMAL_NUMBER, JsonKind.FLOAT, JsonKind.DOUBLE,
     JsonKind.UNION, JsonKind.TIMESTAMP, JsonKind.TIMESTAMPTZ)
)  # fmt: skip


def read_json(text: Column, node: JsonNode) -> Column:
    """The array of a value and a null, and the text if it is not of the schema.

    The value is of the type that Spark reads it as, from which `value_of` makes that of its column.
    """
    from pyspark.sql import functions as F
    from pyspark.sql import types as t

    kind = t.StructType(
        [t.StructField(ROOT, t.ArrayType(_raw_type(node))), t.StructField(CORRUPT, t.StringType())]
    )
    return F.from_json(F.concat(F.lit(f'{{"{ROOT}":['), text, F.lit(",null]}")), kind, _OPTIONS)


def value_in(parsed: Column) -> Column:
    """The value in what `read_json` returns."""
    from pyspark.sql import functions as F

    return F.get(parsed[ROOT], F.lit(0))


def has_kind(node: JsonNode, kinds: Sequence[JsonKind]) -> bool:
    """Whether a node or one at any level below it is of some kinds."""
    return node.kind in kinds or any(has_kind(each, kinds) for each in node.nodes())


def is_whole(parsed: Column, node: JsonNode, value: Column | None = None) -> Column:
    """Whether there is one value, which is of the schema.

    Args:
        parsed: what `read_json` returns.
        node: what the schema says.
        value: the value in it, if it is computed already.
    """
    from pyspark.sql import functions as F

    value = value_in(parsed) if value is None else value
    whole = parsed[CORRUPT].isNull() & (F.size(parsed[ROOT]) == 2)
    if not node.nullable:
        whole = whole & value.isNotNull()
    unfit = is_unfit(value, node)
    return whole if unfit is None else whole & ~unfit


def _raw_type(node: JsonNode) -> DataType:
    """The type that the JSON is read as."""
    from pyspark.sql import types as t

    match node.kind:
        case JsonKind.OBJECT:
            return t.StructType([t.StructField(each.name, _raw_type(each.node)) for each in node.properties])
        case JsonKind.OBJECTS:
            return _raw_type(merged(node))
        case JsonKind.MAP if node.inner and node.key:
            entry = {"key": node.key, "value": node.inner}
            return t.ArrayType(t.StructType([t.StructField(n, _raw_type(each)) for n, each in entry.items()]))
        case JsonKind.MAP if node.inner:
            return t.MapType(t.StringType(), _raw_type(node.inner))
        case JsonKind.ARRAY if node.inner:
            return t.ArrayType(_raw_type(node.inner))
        case JsonKind.BOOLEAN:
            return t.BooleanType()
        case JsonKind.INT | JsonKind.DATE | JsonKind.TIME:
            return t.IntegerType()
        case JsonKind.LONG | JsonKind.TIMESTAMP | JsonKind.TIMESTAMPTZ:
            return t.LongType()
        case JsonKind.FLOAT | JsonKind.DOUBLE:
            return t.DoubleType()
        case JsonKind.BINARY:
            return t.BinaryType()
        case JsonKind.TEXT:
            return t.StringType()
    return t.VariantType()


def is_unfit(raw: Column, node: JsonNode) -> Column | None:
    """Whether a value is not of the schema although Spark could read it; None if that cannot be."""
    from pyspark.sql import functions as F

    def flag(column: Column) -> Column:
        return F.coalesce(column, F.lit(False))

    match node.kind:
        case JsonKind.STRING:
            return flag(~begins(F.schema_of_variant(raw), ("STRING", "VOID")))
        case JsonKind.DECIMAL_BASE64 | JsonKind.DECIMAL_NUMBER:
            found = F.schema_of_variant(raw)
            is_form = found.startswith("STRING")
            if node.kind is JsonKind.DECIMAL_NUMBER:
                # Casts of variants round: the number's own scale tells.
                digits = F.regexp_extract(found, r"^DECIMAL\(\d+,(\d+)\)", 1).try_cast("int")
                own = F.when(found.startswith("BIGINT"), 0).otherwise(digits)
                is_form = is_form | (own <= node.decimal[1])
            return flag(found != "VOID") & ~flag(is_form & value_of(raw, node).isNotNull())
        case JsonKind.FLOAT | JsonKind.DOUBLE:
            number = raw.cast(spark_type(node.type()))
            return flag(F.abs(number) == F.lit(float("inf")).cast(spark_type(node.type())))
        case JsonKind.TIMESTAMP | JsonKind.TIMESTAMPTZ:
            most = _MOST_MILLIS[node.kind]
            return flag(~raw.between(-most, most))
        case JsonKind.UNION:

            def is_none(text: Column) -> Column:
                matched = _any(match for match, _ in _alternatives(raw, text, node))
                return F.lit(True) if matched is None else ~matched

            return flag(F.schema_of_variant(raw) != "VOID") & let(_text(raw, node), is_none)
        case JsonKind.OBJECTS | JsonKind.SIMPLE:
            return flag(_is_there(raw, node)) & _quick_alternative(raw, node).isNull()
        case JsonKind.OBJECT:
            parts = [is_unfit(raw.getField(each.name), each.node) for each in node.properties]
            lacking = (
                flag(raw.isNotNull() & _absent(raw.getField(each.name), each.node))
                for each in node.properties
                if each.must_occur
            )
            return _any([*(part for part in parts if part is not None), *lacking])
        case JsonKind.MAP if node.key:
            return flag(~_is_map(raw, node))
        case JsonKind.ARRAY | JsonKind.MAP if node.inner:
            inner = node.inner
            if not _is_checked(inner):
                return None
            values = raw if node.kind is JsonKind.ARRAY else F.map_values(raw)
            return flag(F.exists(values, lambda each: is_unfit(each, inner)))  # type: ignore[arg-type, return-value]
    return None


def _absent(raw: Column, node: JsonNode) -> Column:
    """Whether a property is missing or null."""
    from pyspark.sql import functions as F
    from pyspark.sql import types as t

    if not isinstance(_raw_type(node), t.VariantType):
        return raw.isNull()
    return raw.isNull() | (F.schema_of_variant(raw) == "VOID")


def _is_map(raw: Column, node: JsonNode) -> Column:
    """Whether an array of keys and values can be a map: each key is there, and is there once."""
    from pyspark.sql import functions as F

    def is_wrong(entry: Column) -> Column:
        inner = ((entry["key"], key), (entry["value"], value))
        wrong = _any(part for part in (is_unfit(raw, node) for raw, node in inner) if part is not None)
        absent = entry.isNull() | _absent(entry["key"], key)
        return absent if wrong is None else absent | wrong

    key, value = node.key or node, node.inner or node
    keys = F.transform(raw, lambda entry: value_of(entry["key"], key))
    return ~F.exists(raw, is_wrong) & (F.size(F.array_distinct(keys)) == F.size(raw))


def _is_checked(node: JsonNode) -> bool:
    """Whether `is_unfit` has something to check."""
    if node.key or any(each.must_occur for each in node.properties if node.kind is JsonKind.OBJECT):
        return True
    if node.kind in (JsonKind.OBJECT, JsonKind.ARRAY, JsonKind.MAP):
        return any(map(_is_checked, node.nodes()))
    return node.kind in _CHECKED


def _any(columns: Iterable[Column]) -> Column | None:
    result: Column | None = None
    for column in columns:
        result = column if result is None else result | column
    return result


def value_of(raw: Column, node: JsonNode) -> Column:
    """The value of what was read, in the type of its column."""
    from pyspark.sql import functions as F

    match node.kind:
        case JsonKind.STRING:
            return F.try_variant_get(raw, "$", "string")
        case JsonKind.ANY:
            return F.when(F.schema_of_variant(raw) != "VOID", F.to_json(raw))
        case JsonKind.DATE:
            return F.date_from_unix_date(raw)
        case JsonKind.TIMESTAMPTZ:
            return F.timestamp_millis(raw)
        case JsonKind.TIMESTAMP:
            epoch = F.lit("1970-01-01 00:00:00").cast("timestamp_ntz")
            return epoch + F.make_dt_interval(secs=raw / F.lit(1000).cast("decimal(4,0)"))
        case JsonKind.FLOAT:
            return raw.cast("float")
        case JsonKind.DECIMAL_BASE64 | JsonKind.DECIMAL_NUMBER:
            # `unbase64` ends the query at a text that is not Base64.
            data = F.try_to_binary(F.try_variant_get(raw, "$", "string"), F.lit("base64"))
            value = _unscaled(data, *node.decimal)
            if node.kind is JsonKind.DECIMAL_BASE64:
                return value
            number = F.try_variant_get(raw, "$", "decimal({},{})".format(*node.decimal))
            return F.when(F.schema_of_variant(raw) == "STRING", value).otherwise(number)
        case JsonKind.UNION:

            def chosen(text: Column) -> Column:
                found = zip(node.properties, _alternatives(raw, text, node), strict=True)
                return F.struct(*(F.when(match, value).alias(each.name) for each, (match, value) in found))

            present = raw.isNotNull() & (F.schema_of_variant(raw) != "VOID")
            return F.when(present, let(_text(raw, node), chosen))
        case JsonKind.OBJECTS | JsonKind.SIMPLE:
            return F.when(_is_there(raw, node), _quick_alternative(raw, node))
        case JsonKind.OBJECT:
            fields = (
                value_of(raw.getField(each.name), each.node).alias(each.name) for each in node.properties
            )
            return F.when(raw.isNotNull(), F.struct(*fields))
        case JsonKind.ARRAY if node.inner and _raw_type(node) != spark_type(node.type()):
            inner = node.inner
            return F.transform(raw, lambda each: value_of(each, inner))
        case JsonKind.MAP if node.key and node.inner:
            key, item = node.key, node.inner
            entries = F.transform(
                raw, lambda each: F.struct(value_of(each["key"], key), value_of(each["value"], item))
            )
            return F.when(_is_map(raw, node), F.map_from_entries(entries))
        case JsonKind.MAP if node.inner and _raw_type(node) != spark_type(node.type()):
            inner = node.inner
            return F.transform_values(raw, lambda _, each: value_of(each, inner))
    return raw


def _unscaled(data: Column, precision: int, scale: int) -> Column:
    """The decimal of an unscaled big-endian two's complement number, as an Avro decoder reads it."""
    from pyspark.sql import functions as F
    from pyspark.sql.avro.functions import from_avro

    # Spark's reader takes the low 64 bits of a decimal of up to 18 digits, whatever the others are; for more
    # digits, a number that is too large is null.
    schema = {"type": "bytes", "logicalType": "decimal", "precision": MAX_PRECISION, "scale": scale}
    options = {"mode": "PERMISSIVE"}
    # Avro writes the length of short bytes as one byte of twice its value.
    length = F.unhex(F.lpad(F.hex(F.length(data) * 2), 2, "0"))
    read = from_avro(F.concat(length, data), json.dumps(schema), options)
    return F.when(F.length(data) < 64, read.try_cast(f"decimal({precision},{scale})"))


def _text(raw: Column, node: JsonNode) -> Column:
    """The text of a variant, in which Spark finds the integers that an alternative has."""
    from pyspark.sql import functions as F

    text = F.to_json(raw)
    if not has_kind(node, INTEGERS):
        return text
    return F.when(text.rlike(r"[0-9]\.0*[^0-9]|[0-9]\.0*$|[0-9]E"), plain_numbers(text)).otherwise(text)


def _alternatives(raw: Column, text: Column, node: JsonNode) -> list[tuple[Column, Column]]:
    """For each alternative whether a variant of some text is of it, and its value.

    The most specific one is taken: that with the most constants, then with the most required properties.
    """
    from pyspark.sql import functions as F

    kind, taken = F.schema_of_variant(raw), F.lit(False)
    kinds = {each.node.kind for each in node.properties}
    # Without an alternative for numbers, the one for integers takes `1.0`.
    is_number = not kinds.isdisjoint((JsonKind.FLOAT, JsonKind.DOUBLE, JsonKind.DECIMAL_NUMBER))
    # Without an alternative for text, a decimal that the schema declares as a number takes its Base64.
    is_text = not kinds.isdisjoint((JsonKind.STRING, JsonKind.BINARY, JsonKind.DECIMAL_BASE64))
    found: dict[str, tuple[Column, Column]] = {}
    for each in sorted(node.properties, key=lambda each: _specific(each.node), reverse=True):
        parsed = read_json(text, each.node)
        expected = kinds_of(each.node)
        if (each.node.kind in INTEGERS and not is_number) or (
            each.node.kind is JsonKind.DECIMAL_NUMBER and is_text
        ):
            expected = NUMBERS
        match = begins(kind, expected) if expected else F.lit(True)
        for name, constant in each.node.constants:
            match = match & (F.try_variant_get(raw, path_of(name), "string") == constant)
        for inner in each.node.properties if each.node.kind is JsonKind.OBJECT else ():
            if inner.required:
                match = match & F.try_variant_get(raw, path_of(inner.name), "variant").isNotNull()
        match = F.coalesce(match & is_whole(parsed, each.node), F.lit(False))
        found[each.name] = match & ~taken, value_of(value_in(parsed), each.node)
        taken = taken | match
    return [found[each.name] for each in node.properties]


def merged(node: JsonNode) -> JsonNode:
    """An object with the properties of all alternatives."""
    properties = {inner.name: inner for each in node.properties for inner in each.node.properties}
    return JsonNode(JsonKind.OBJECT, tuple(properties.values()))


def _is_there(raw: Column, node: JsonNode) -> Column:
    """Whether a value that is read as OBJECTS or SIMPLE is there, and not null."""
    from pyspark.sql import functions as F

    return raw.isNotNull() if node.kind is JsonKind.OBJECTS else F.schema_of_variant(raw) != "VOID"


def _is_doubtful(raw: Column, node: JsonNode) -> Column:
    """Whether it is not known if a property is missing or null, which decides on an alternative."""
    from pyspark.sql import functions as F

    inner = (inner for each in node.properties for inner in each.node.properties)
    deciding = {each.name: each for each in inner if each.required and each.node.nullable}
    return reduce(
        or_, (_absent(raw.getField(name), each.node) for name, each in deciding.items()), F.lit(False)
    )


def _quick_alternative(raw: Column, node: JsonNode) -> Column:
    """The row of alternatives of what is read as OBJECTS or SIMPLE; null if it is of none, or in doubt.

    It is the one that `_alternatives` takes. Each condition is computed once, as a case comes after another.
    """
    from pyspark.sql import functions as F

    result = F.when(_is_doubtful(raw, node), F.lit(None))
    for each in sorted(node.properties, key=lambda each: _specific(each.node), reverse=True):
        if node.kind is JsonKind.SIMPLE:
            value = F.try_variant_get(raw, "$", spark_type(each.node.type()).simpleString())
            match = begins(F.schema_of_variant(raw), kinds_of(each.node)) & value.isNotNull()
            if each.node.kind is JsonKind.DOUBLE:
                match = match & (F.abs(value) != F.lit(float("inf")))
        else:
            value, unfit = value_of(raw, each.node), is_unfit(raw, each.node)
            match = raw.isNotNull() if unfit is None else raw.isNotNull() & ~unfit
            for name, constant in each.node.constants:
                match = match & (raw.getField(name) == constant)
        others = {other.name: F.lit(None).cast(spark_type(other.node.type())) for other in node.properties}
        row = {**others, each.name: value}
        result = result.when(match, F.struct(*(column.alias(name) for name, column in row.items())))
    return result


def _specific(node: JsonNode) -> tuple[int, int]:
    return len(node.constants), sum(each.required for each in node.properties)
