"""The columns of a Glue table, wherever they are kept.

Spark, and Delta with it, keeps the columns of a table that Hive cannot read in the table's parameters as
JSON, in parts where it is long (`HiveExternalCatalog` and `CatalogTable.readLargeTableProp`). In place of
columns the table then has none, or a placeholder.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

RawColumn = Mapping[str, Any]

_SCHEMA = "spark.sql.sources.schema"
_PROVIDER = "spark.sql.sources.provider"
_PLACEHOLDER = ("col", "array<string>")

#: Spark's names of types, in its JSON, with Glue's where they differ.
_TYPES = {
    "long": "bigint",
    "integer": "int",
    "short": "smallint",
    "byte": "tinyint",
    "timestamp_ntz": "timestamp",
    "null": "void",
}
#: Where Spark keeps the type of a bounded string.
_BOUNDED = "__CHAR_VARCHAR_TYPE_STRING"


def columns_of(raw: RawColumn) -> tuple[list[RawColumn], list[RawColumn]]:
    """The columns of a `Table` of Glue's API that are not partition keys, and those that are; each once."""
    listed = _listed((raw.get("StorageDescriptor") or {}).get("Columns"))
    keys = _listed(raw.get("PartitionKeys"))
    parameters = raw.get("Parameters") or {}
    if not listed or [(each.get("Name"), each.get("Type")) for each in listed] == [_PLACEHOLDER]:
        stored = _of_spark(parameters)
        if stored is not None:
            listed = stored
            by_name = _by_name(stored)
            keys = keys or [by_name[name] for name in _partition_columns(parameters) if name in by_name]
        elif _PROVIDER in parameters:
            # Only Spark, or Delta's log, knows them.
            listed = []
    columns = _by_name(listed)
    partitions = _by_name(keys)
    keys = [
        {**each, "Comment": each.get("Comment") or columns.get(name, {}).get("Comment")}
        for name, each in partitions.items()
    ]
    return [each for name, each in columns.items() if name not in partitions], keys


def _listed(value: object) -> list[RawColumn]:
    """The columns that a table has now: Iceberg also lists dropped ones, marked as no longer current."""
    return [
        each
        for each in (value if isinstance(value, list) else [])
        if isinstance(each, dict)
        and (not (own := each.get("Parameters")) or own.get("iceberg.field.current", "true") != "false")
    ]


def _by_name(columns: Iterable[RawColumn]) -> dict[str, RawColumn]:
    """The columns in their order, without later ones of a name that came before."""
    found: dict[str, RawColumn] = {}
    for each in columns:
        found.setdefault(_name(each), each)
    return found


def _name(column: RawColumn) -> str:
    return str(column.get("Name")).lower()


def _of_spark(parameters: Mapping[str, str]) -> list[RawColumn] | None:
    """The columns that Spark keeps; None if there are none, or they cannot be read."""
    try:
        fields = json.loads(_text(parameters))["fields"]
        return [_column(field) for field in fields] or None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _text(parameters: Mapping[str, str]) -> str:
    if _SCHEMA in parameters:
        return parameters[_SCHEMA]
    return "".join(parameters[f"{_SCHEMA}.part.{n}"] for n in range(int(parameters[f"{_SCHEMA}.numParts"])))


def _partition_columns(parameters: Mapping[str, str]) -> Iterator[str]:
    for number in itertools.count():
        if (name := parameters.get(f"{_SCHEMA}.partCol.{number}")) is None:
            return
        yield name.lower()


def _column(field: Mapping[str, Any]) -> RawColumn:
    metadata = field.get("metadata") or {}
    kind = metadata.get(_BOUNDED) or _type(field["type"])
    return {"Name": field["name"], "Type": kind, "Comment": metadata.get("comment")}


def _type(kind: Any) -> str:
    """A type of Spark's JSON as Glue spells it."""
    if isinstance(kind, str):
        return _TYPES.get(kind, kind)
    match kind["type"]:
        case "struct":
            fields = [f"{each['name']}:{_type(each['type'])}" for each in kind["fields"]]
            return f"struct<{','.join(fields)}>"
        case "array":
            return f"array<{_type(kind['elementType'])}>"
        case "map":
            return f"map<{_type(kind['keyType'])},{_type(kind['valueType'])}>"
        case "udt":
            return _type(kind["sqlType"])
    raise ValueError(f"a type of Spark's that is not known: {kind['type']}")
