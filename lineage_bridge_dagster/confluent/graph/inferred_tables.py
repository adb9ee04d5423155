"""A topic's registered schemas -> the columns of the table that Confluent's Flink infers. Pure.

Source: Confluent's page "CREATE TABLE", inferred tables and the options `key.*` and `value.*`. The key's
columns come first. A key without a schema is `key`, of bytes, unless Flink itself created the topic: its
CREATE TABLE needs no key. Names that key and value share are one column if the value contains the whole key,
else the key's have the prefix `key_`. Of Debezium's envelopes, the columns are those of `after`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from lineage_bridge_dagster.confluent.api.schema_registry import Schema
from lineage_bridge_dagster.confluent.graph.rows import Row, RowField
from lineage_bridge_dagster.confluent.graph.schema_rows import Lookup, row_of
from lineage_bridge_dagster.confluent.graph.subjects import SubjectMatch
from lineage_bridge_dagster.sql.columns.tables import HIDDEN, RAW_KEY, Registered, TableColumn
from lineage_bridge_dagster.sql.columns.types import SCALAR, SqlType

_KEY, _VALUE, _PREFIX = "key", "val", "key_"


def inferred_table(
    topic: str, matches: Iterable[SubjectMatch], lookup: Lookup, options: Mapping[str, str]
) -> Registered | None:
    """The columns of a topic's table.

    Args:
        lookup: Finds the subjects that schemas refer to, and those that options name.
        options: Those that statements have set.

    Returns:
        None if its columns are unknown, as for a topic with several subjects that no option names.
    """
    certain = [match for match in matches if match.certain]
    named = _named(topic, "value", options, lookup)
    values = named or [match.schema for match in certain if match.role == "value"]
    keys = _named(topic, "key", options, lookup) or [m.schema for m in certain if m.role == "key"]
    if options.get("value.format") == "raw":
        rows: list[Row] = [Row(type=SCALAR)]
    else:
        rows = [row for schema in values if (row := row_of(schema, lookup)) is not None]
        if not rows or len(rows) < len(values) or (len(rows) > 1 and not named):
            return None
    value = _united(rows) if len(rows) > 1 else _fields(rows[0], options.get("value.format", ""))
    value = value or (RowField(_VALUE, rows[0].type, rows[0].spell()),)
    key = row_of(keys[0], lookup) if keys and options.get("key.format") != "raw" else None
    own: list[TableColumn] = []
    if keys or "key.format" in options or not all(row.by_flink for row in rows):
        own += _key_columns(key, value, options.get("key.fields-prefix"))
    names = {column.name for column in own}
    columns = [
        *own,
        *(TableColumn(field.name, type=field.type) for field in value if field.name not in names),
    ]
    columns += [TableColumn(field.full_name, HIDDEN, field.type) for field in value if field.full_name]
    return Registered(columns, all(row.ordered for row in rows))


def _named(topic: str, role: str, options: Mapping[str, str], lookup: Lookup) -> list[Schema]:
    """The schemas that options name: by subject, or by the context of the topic's own."""
    subjects: list[str] = []
    for option, value in options.items():
        if option.startswith(f"{role}.") and option.endswith(".subject-names"):
            subjects += [subject.strip() for subject in value.split(";")]
        elif option.startswith(f"{role}.") and option.endswith(".schema-context"):
            subjects.append(f":{value}:{topic}-{role}")
    return [schema for subject in subjects if (schema := lookup(subject)) is not None]


def _fields(row: Row, value_format: str) -> tuple[RowField, ...]:
    """A value's fields: those of an envelope's row, unless its format is set to one without envelopes."""
    return (
        row.fields
        if value_format.endswith("-registry") and "debezium" not in value_format
        else (row.row or row.fields)
    )


def _united(rows: Sequence[Row]) -> tuple[RowField, ...]:
    """One column for each of several schemas, as of a union."""
    names = Counter(row.name for row in rows)
    return tuple(
        RowField(
            row.name if names[row.name] == 1 else row.full_name.replace(".", "_"),
            row.type,
            row.spell(),
            row.full_name if names[row.name] == 1 else "",
        )
        for row in rows
    )


def _key_columns(key: Row | None, value: Sequence[RowField], prefix: str | None) -> Iterator[TableColumn]:
    kinds: dict[str, str] = {field.name: field.spelled for field in value}
    if key is None or not key.fields:
        kind: SqlType | None = key.type if key is not None else SCALAR
        collides = _KEY in kinds
        name = f"{_PREFIX if prefix is None and collides else prefix or ''}{_KEY}"
        yield TableColumn(name, "" if key is not None else RAW_KEY, kind)
        return
    if prefix is None:
        shared = [field for field in key.fields if field.name in kinds]
        contained = all(kinds.get(field.name) == field.spelled for field in key.fields)
        prefix = _PREFIX if shared and not contained else ""
    for field in key.fields:
        yield TableColumn(f"{prefix}{field.name}", type=field.type)
