"""JSON records, read by Spark in one pass, with the checks that Spark leaves out.

Spark's `from_json` takes a number, an object or an array where a string is due for its text, rounds
decimals, reads numbers too large as infinity, repairs invalid UTF-8 and ignores what follows a value. So
strings, decimals and unions are read as variants, which know what they are; and the text is read as the
first element of an array, with a null behind it, so that what follows the value is no valid JSON or makes
the array longer. An integer may be written as `1.0` or `1e3`: a text that cannot be read is read once more
with its numbers written out. A property that the schema does not name is left out.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from lineage_bridge_dagster.spark.decoding.json_numbers import INEXACT, let, plain_numbers
from lineage_bridge_dagster.spark.decoding.spark_types import spark_type
from lineage_bridge_dagster.topics.json_nodes import JsonNode, Kind
from lineage_bridge_dagster.topics.json_promotion import promoted_node
from lineage_bridge_dagster.topics.json_schema import json_node
from lineage_bridge_dagster.topics.schemas import RegisteredSchema
from lineage_bridge_dagster.topics.types import joined

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import DataType

#: A name that no record has, so that no record can end the array and begin another.
_ROOT = "8d1f6cb3e24a597ed0c83b95f7a2610e"
_CORRUPT = "corrupt"
_OPTIONS = {
    "mode": "PERMISSIVE",
    "columnNameOfCorruptRecord": _CORRUPT,
    "allowNonNumericNumbers": "false",
    "allowSingleQuotes": "false",
}

#: Milliseconds that Spark makes a time of; it ends the query at others.
_MOST_MILLIS = {Kind.TIMESTAMPTZ: (2**63 - 1) // 1000, Kind.TIMESTAMP: 10**15 - 1}

#: Kinds that a variant reports, by the beginning of what `schema_of_variant` says.
_NUMBERS = ("BIGINT", "DECIMAL", "DOUBLE")
_INTEGERS = (Kind.INT, Kind.LONG, Kind.DATE, Kind.TIME, Kind.TIMESTAMP, Kind.TIMESTAMPTZ)
_VARIANTS = {
    Kind.STRING: ("STRING",),
    Kind.BOOLEAN: ("BOOLEAN",),
    Kind.BINARY: ("STRING",),
    Kind.DECIMAL_BASE64: ("STRING",),
    Kind.DECIMAL_NUMBER: _NUMBERS,
    Kind.FLOAT: _NUMBERS,
    Kind.DOUBLE: _NUMBERS,
    **dict.fromkeys(_INTEGERS, ("BIGINT",)),
    Kind.OBJECT: ("OBJECT",),
    Kind.MAP: ("OBJECT",),
    Kind.ARRAY: ("ARRAY",),
}
_NAMES = {"STRING": "a string", "BOOLEAN": "a boolean", "BIGINT": "an integer", "OBJECT": "an object",
          "ARRAY": "an array", "DECIMAL": "a number", "DOUBLE": "a number"}  # fmt: skip


class JsonFormat:
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

    def parsed(self, body: Column, number: Column, schemas: Sequence[RegisteredSchema]) -> Column:
        """The array of the value and a null, and the text if it is not of the schema."""
        from pyspark.sql import functions as F

        ours = number.isin(*(schema.id for schema in schemas)) & F.is_valid_utf8(body.cast("string"))
        return F.when(ours, _parsed(body.cast("string"), self._nodes[schemas[0].id]))

    def is_whole(self, parsed: Column, schema: RegisteredSchema) -> Column:
        """Whether there is one value, which is of the schema."""
        return _is_whole(parsed, self._nodes[schema.id])

    def value(self, parsed: Column, schema: RegisteredSchema) -> Column:
        """The value."""
        from pyspark.sql import functions as F

        return _value(F.get(parsed[_ROOT], F.lit(0)), self._nodes[schema.id])

    def problem(self, parsed: Column, body: Column, number: Column, schema: RegisteredSchema) -> Column:  # noqa: ARG002
        """The first property that has not the type that is due."""
        from pyspark.sql import functions as F

        text = body.cast("string")
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
            for is_wrong, path, what in _mismatches(value, self._nodes[schema.id], ""):
                where = F.lit(f"its field {path} is " if path else "it is ")
                first = first.when(
                    is_wrong, F.concat(where, F.replace(what, F.lit("{id}"), number.cast("string")))
                )
            return first.otherwise(rest)

        return column.otherwise(let(F.try_parse_json(plain_numbers(text)), mismatch))


def _read(text: Column, node: JsonNode) -> Column:
    from pyspark.sql import functions as F
    from pyspark.sql import types as t

    kind = t.StructType(
        [t.StructField(_ROOT, t.ArrayType(_raw_type(node))), t.StructField(_CORRUPT, t.StringType())]
    )
    return F.from_json(F.concat(F.lit(f'{{"{_ROOT}":['), text, F.lit(",null]}")), kind, _OPTIONS)


def _parsed(text: Column, node: JsonNode) -> Column:
    """What `_read` returns, whatever form the numbers have."""
    from pyspark.sql import functions as F

    if _any_kind(node, (Kind.DECIMAL_NUMBER,)):
        is_inexact = text.rlike(INEXACT) & F.try_parse_json(text).isNotNull()
        text = F.when(is_inexact, plain_numbers(text, "-0.0")).otherwise(text)
    first = _read(text, node)
    if not _any_kind(node, _INTEGERS):
        return first

    def again(found: Column) -> Column:
        failed = found[_CORRUPT].isNotNull() & F.try_parse_json(text).isNotNull()
        return F.when(failed, _read(plain_numbers(text), node)).otherwise(found)

    return let(first, again)


def _any_kind(node: JsonNode, kinds: Sequence[Kind]) -> bool:
    return node.kind in kinds or any(_any_kind(each, kinds) for each in node.nodes())


def _is_whole(parsed: Column, node: JsonNode) -> Column:
    from pyspark.sql import functions as F

    value = F.get(parsed[_ROOT], F.lit(0))
    whole = parsed[_CORRUPT].isNull() & (F.size(parsed[_ROOT]) == 2)
    if not node.nullable:
        whole = whole & value.isNotNull()
    wrong = _wrong(value, node)
    return whole if wrong is None else whole & ~wrong


def _raw_type(node: JsonNode) -> DataType:
    """The type that the JSON is read as."""
    from pyspark.sql import types as t

    match node.kind:
        case Kind.OBJECT:
            return t.StructType([t.StructField(each.name, _raw_type(each.node)) for each in node.properties])
        case Kind.MAP if node.inner and node.key:
            entry = {"key": node.key, "value": node.inner}
            return t.ArrayType(t.StructType([t.StructField(n, _raw_type(each)) for n, each in entry.items()]))
        case Kind.MAP if node.inner:
            return t.MapType(t.StringType(), _raw_type(node.inner))
        case Kind.ARRAY if node.inner:
            return t.ArrayType(_raw_type(node.inner))
        case Kind.BOOLEAN:
            return t.BooleanType()
        case Kind.INT | Kind.DATE | Kind.TIME:
            return t.IntegerType()
        case Kind.LONG | Kind.TIMESTAMP | Kind.TIMESTAMPTZ:
            return t.LongType()
        case Kind.FLOAT | Kind.DOUBLE:
            return t.DoubleType()
        case Kind.BINARY:
            return t.BinaryType()
    return t.VariantType()


def _wrong(raw: Column, node: JsonNode) -> Column | None:
    """Whether a value is not of the schema although Spark could read it; None if that cannot be."""
    from pyspark.sql import functions as F

    def flag(column: Column) -> Column:
        return F.coalesce(column, F.lit(False))

    match node.kind:
        case Kind.STRING:
            return flag(~_begins(F.schema_of_variant(raw), ("STRING", "VOID")))
        case Kind.DECIMAL_BASE64:
            found, value = F.schema_of_variant(raw), _value(raw, node)
            return flag((found != "VOID") & ~(_begins(found, ("STRING",)) & value.isNotNull()))
        case Kind.DECIMAL_NUMBER:
            # Casts of variants round: the number's own scale tells.
            found = F.schema_of_variant(raw)
            digits = F.regexp_extract(found, r"^DECIMAL\(\d+,(\d+)\)", 1).try_cast("int")
            own = F.when(_begins(found, ("BIGINT",)), 0).otherwise(digits)
            exact = (own <= node.decimal[1]) & _value(raw, node).isNotNull()
            return flag(found != "VOID") & ~flag(exact)
        case Kind.FLOAT | Kind.DOUBLE:
            number = raw.cast(spark_type(node.type()))
            return flag(F.abs(number) == F.lit(float("inf")).cast(spark_type(node.type())))
        case Kind.TIMESTAMP | Kind.TIMESTAMPTZ:
            most = _MOST_MILLIS[node.kind]
            return flag(~raw.between(-most, most))
        case Kind.UNION:

            def is_none(text: Column) -> Column:
                matched = _any(match for match, _ in _alternatives(raw, text, node))
                return F.lit(True) if matched is None else ~matched

            return flag(F.schema_of_variant(raw) != "VOID") & let(_text(raw, node), is_none)
        case Kind.OBJECT:
            parts = [_wrong(raw.getField(each.name), each.node) for each in node.properties]
            lacking = (
                flag(raw.isNotNull() & _absent(raw.getField(each.name), each.node))
                for each in node.properties
                if each.is_due
            )
            return _any([*(part for part in parts if part is not None), *lacking])
        case Kind.MAP if node.key:
            return flag(~_is_map(raw, node))
        case Kind.ARRAY | Kind.MAP if node.inner:
            inner = node.inner
            if not _is_checked(inner):
                return None
            values = raw if node.kind is Kind.ARRAY else F.map_values(raw)
            return flag(F.exists(values, lambda each: _wrong(each, inner)))  # type: ignore[arg-type, return-value]
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
        wrong = _any(part for part in (_wrong(raw, node) for raw, node in inner) if part is not None)
        absent = entry.isNull() | _absent(entry["key"], key)
        return absent if wrong is None else absent | wrong

    key, value = node.key or node, node.inner or node
    keys = F.transform(raw, lambda entry: _value(entry["key"], key))
    return ~F.exists(raw, is_wrong) & (F.size(F.array_distinct(keys)) == F.size(raw))


def _is_checked(node: JsonNode) -> bool:
    """Whether `_wrong` has something to check."""
    if node.key or any(each.is_due for each in node.properties if node.kind is Kind.OBJECT):
        return True
    if node.kind in (Kind.OBJECT, Kind.ARRAY, Kind.MAP):
        return any(map(_is_checked, node.nodes()))
    return node.kind in (
        Kind.STRING, Kind.DECIMAL_BASE64, Kind.DECIMAL_NUMBER, Kind.FLOAT, Kind.DOUBLE, Kind.UNION,
        Kind.TIMESTAMP, Kind.TIMESTAMPTZ,
    )  # fmt: skip


def _any(columns: Iterable[Column]) -> Column | None:
    result: Column | None = None
    for column in columns:
        result = column if result is None else result | column
    return result


def _value(raw: Column, node: JsonNode) -> Column:
    """The value of what was read, in the type of its column."""
    from pyspark.sql import functions as F

    match node.kind:
        case Kind.STRING:
            return F.try_variant_get(raw, "$", "string")
        case Kind.ANY:
            return F.when(F.schema_of_variant(raw) != "VOID", F.to_json(raw))
        case Kind.DATE:
            return F.date_from_unix_date(raw)
        case Kind.TIMESTAMPTZ:
            return F.timestamp_millis(raw)
        case Kind.TIMESTAMP:
            epoch = F.lit("1970-01-01 00:00:00").cast("timestamp_ntz")
            return epoch + F.make_dt_interval(secs=raw / F.lit(1000).cast("decimal(4,0)"))
        case Kind.FLOAT:
            return raw.cast("float")
        case Kind.DECIMAL_NUMBER:
            precision, scale = node.decimal
            return F.try_variant_get(raw, "$", f"decimal({precision},{scale})")
        case Kind.DECIMAL_BASE64:
            # `unbase64` ends the query at a text that is none.
            data = F.try_to_binary(F.try_variant_get(raw, "$", "string"), F.lit("base64"))
            return _unscaled(data, *node.decimal)
        case Kind.UNION:

            def chosen(text: Column) -> Column:
                found = zip(node.properties, _alternatives(raw, text, node), strict=True)
                return F.struct(*(F.when(match, value).alias(each.name) for each, (match, value) in found))

            present = raw.isNotNull() & (F.schema_of_variant(raw) != "VOID")
            return F.when(present, let(_text(raw, node), chosen))
        case Kind.OBJECT:
            values = [_value(raw.getField(each.name), each.node).alias(each.name) for each in node.properties]
            return F.when(raw.isNotNull(), F.struct(*values))
        case Kind.ARRAY if node.inner and _raw_type(node) != spark_type(node.type()):
            inner = node.inner
            return F.transform(raw, lambda each: _value(each, inner))
        case Kind.MAP if node.key and node.inner:
            key, item = node.key, node.inner
            entries = F.transform(
                raw, lambda each: F.struct(_value(each["key"], key), _value(each["value"], item))
            )
            return F.when(_is_map(raw, node), F.map_from_entries(entries))
        case Kind.MAP if node.inner and _raw_type(node) != spark_type(node.type()):
            inner = node.inner
            return F.transform_values(raw, lambda _, each: _value(each, inner))
    return raw


def _unscaled(data: Column, precision: int, scale: int) -> Column:
    """The decimal of an unscaled big-endian two's complement number, as an Avro decoder reads it."""
    from pyspark.sql import functions as F
    from pyspark.sql.avro.functions import from_avro

    schema = {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}
    # A number beyond the precision is null, and no end of the query.
    options = {"mode": "PERMISSIVE"}
    # Avro writes the length of short bytes as one byte of twice its value.
    length = F.unhex(F.lpad(F.hex(F.length(data) * 2), 2, "0"))
    return F.when(F.length(data) < 64, from_avro(F.concat(length, data), json.dumps(schema), options))


def _text(raw: Column, node: JsonNode) -> Column:
    """The text of a variant, in which Spark finds the integers that an alternative has."""
    from pyspark.sql import functions as F

    text = F.to_json(raw)
    if not _any_kind(node, _INTEGERS):
        return text
    return F.when(text.rlike(r"[0-9]\.0*[^0-9]|[0-9]\.0*$|[0-9]E"), plain_numbers(text)).otherwise(text)


def _alternatives(raw: Column, text: Column, node: JsonNode) -> list[tuple[Column, Column]]:
    """For each alternative whether a variant of some text is of it, and its value.

    The most specific one is taken: that with the most constants, then with the most required properties.
    """
    from pyspark.sql import functions as F

    kind, taken = F.schema_of_variant(raw), F.lit(False)
    # Where there is none for numbers, one for integers takes `1.0`.
    is_number = any(
        each.node.kind in (Kind.FLOAT, Kind.DOUBLE, Kind.DECIMAL_NUMBER) for each in node.properties
    )
    found: dict[str, tuple[Column, Column]] = {}
    for each in sorted(node.properties, key=lambda each: _specific(each.node), reverse=True):
        parsed = _read(text, each.node)
        expected = _NUMBERS if each.node.kind in _INTEGERS and not is_number else _expected(each.node)
        match = _begins(kind, expected) if expected else F.lit(True)
        for name, constant in each.node.constants:
            match = match & (F.try_variant_get(raw, _path(name), "string") == constant)
        for inner in each.node.properties if each.node.kind is Kind.OBJECT else ():
            if inner.required:
                match = match & F.try_variant_get(raw, _path(inner.name), "variant").isNotNull()
        match = F.coalesce(match & _is_whole(parsed, each.node), F.lit(False))
        found[each.name] = match & ~taken, _value(F.get(parsed[_ROOT], F.lit(0)), each.node)
        taken = taken | match
    return [found[each.name] for each in node.properties]


def _specific(node: JsonNode) -> tuple[int, int]:
    return len(node.constants), sum(each.required for each in node.properties)


def _begins(column: Column, starts: Sequence[str]) -> Column:
    result = column.startswith(starts[0])
    for each in starts[1:]:
        result = result | column.startswith(each)
    return result


def _expected(node: JsonNode) -> tuple[str, ...]:
    """The kinds that a variant of a value reports; none if it may be anything."""
    return _VARIANTS[Kind.ARRAY] if node.key else _VARIANTS.get(node.kind, ())


def _mismatches(variant: Column, node: JsonNode, path: str) -> Iterator[tuple[Column, str, Column]]:
    """What may be wrong with each value that is not within an array or a map.

    Yields:
        Whether it is wrong, its path, and what is wrong, with the schema's id to be put in for `{id}`.
    """
    from pyspark.sql import functions as F

    found = F.schema_of_variant(variant)
    if expected := _expected(node):
        due = " or ".join(dict.fromkeys(_NAMES[each] for each in expected))
        what = F.concat(F.lower(found), F.lit(f" where the JSON Schema of id {{id}} has {due}"))
        yield ~_begins(found, (*expected, "VOID")), path, what
    if node.kind is Kind.DECIMAL_NUMBER and (wrong := _wrong(variant, node)) is not None:
        due = "decimal({},{})".format(*node.decimal)
        what = F.lit(f"a number that a {due} does not hold, as the JSON Schema of id {{id}} has")
        yield wrong, path, what
    for each in node.properties if node.kind is Kind.OBJECT else ():
        inner, where = F.try_variant_get(variant, _path(each.name), "variant"), joined(path, each.name)
        if each.is_due:
            is_absent = _begins(found, ("OBJECT",)) & F.coalesce(
                F.schema_of_variant(inner) == "VOID", F.lit(True)
            )
            yield is_absent, where, F.lit("missing or null, and the JSON Schema of id {id} requires it")
        yield from _mismatches(inner, each.node, where)


def _path(name: str) -> str:
    """The path of a property in a variant, which has no escapes."""
    quote = '"' if "'" in name else "'"
    return f"$[{quote}{name}{quote}]"
