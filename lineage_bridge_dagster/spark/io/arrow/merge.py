"""A merge of Arrow data by keys: the rows of these keys are replaced by what they become."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import pyarrow as pa
from pyiceberg.expressions import AlwaysFalse, BooleanExpression
from pyiceberg.schema import Schema

from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.spark.column_names import match
from lineage_bridge_dagster.spark.io.arrow.conditions import all_of, one_of
from lineage_bridge_dagster.spark.io.arrow.schemas import conform, mismatch, sql_type
from lineage_bridge_dagster.spark.io.options import WriteOptions
from lineage_bridge_dagster.spark.mismatch import Difference

#: Keys that a message shows.
_SHOWN = 3
_NAN = float("nan")

Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class MergeRows:
    """What a merge changes.

    Attributes:
        keys: the key columns, as the table names them.
        rows: the rows of the frame by key, in the table's types; None deletes the key's row.
        columns: the columns that the frame has.
        condition: the rows that the table may have for these keys.
        label: the table, for messages.
    """

    keys: tuple[str, ...]
    rows: dict[Key, dict[str, Any] | None]
    columns: frozenset[str]
    schema: Schema
    condition: BooleanExpression
    label: str

    @classmethod
    def of(
        cls, frame: pa.Table, flags: list[bool], schema: Schema, options: WriteOptions, label: str
    ) -> Self:
        """Match a frame, which is aligned with the table, by its keys; flags are true for rows that delete.

        Raises:
            LineageBridgeError: a key is null and null_keys is error, or several rows have the same key.
        """
        keys = _keys(schema, options)
        found = Schema(*(each for each in schema.fields if each.name in frame.column_names))
        rows: dict[Key, dict[str, Any] | None] = {}
        duplicates: list[Key] = []
        for row, deleted in zip(conform(frame, found, label).to_pylist(), flags, strict=True):
            key = _key(row, keys)
            if None in key and options.null_keys == "error":
                raise LineageBridgeError(
                    f"The DataFrame for {label} has a row with a null in its key: {_shown(keys, key)}.",
                    hint="Filter such rows out, or set null_keys: match, where null equals null.",
                )
            if key in rows:
                duplicates.append(key)
            rows[key] = None if deleted else row
        if duplicates:
            examples = "; ".join(_shown(keys, key) for key in duplicates[:_SHOWN])
            raise LineageBridgeError(
                f"The DataFrame for {label} has several rows with the same key: {examples}.",
                hint="Keep one row for each key before the merge.",
            )
        columns = frozenset(each.name for each in found.fields)
        return cls(keys, rows, columns, schema, _condition(keys, rows), label)

    @staticmethod
    def without_deleted(
        frame: pa.Table, flags: list[bool], schema: Schema, options: WriteOptions, label: str
    ) -> pa.Table:
        """The rows that stay if a merge replaces all rows for once; its keys apply all the same.

        Raises:
            LineageBridgeError: as `of` does.
        """
        if not options.join_cols:
            return frame
        MergeRows.of(frame, flags, schema, options, label)
        return frame.filter(pa.array([not flag for flag in flags]))

    def applied_to(self, existing: pa.Table) -> pa.Table:
        """The rows that the table has for these keys after the merge.

        Args:
            existing: those before it, with all columns of the table.

        Raises:
            LineageBridgeError: a new row lacks a column that the table requires.
        """
        result: list[dict[str, Any]] = []
        seen: set[Key] = set()
        for row in existing.to_pylist():
            key = _key(row, self.keys)
            if key not in self.rows:
                # The condition may also match rows with other keys.
                result.append(row)
                continue
            seen.add(key)
            if (new := self.rows[key]) is not None:
                result.append({**row, **new})
        added = [row for key, row in self.rows.items() if key not in seen and row is not None]
        missing = [f for f in self.schema.fields if f.required and f.name not in self.columns]
        if added and missing:
            found = [Difference((f.name,), "required", "", sql_type(f.field_type)) for f in missing]
            raise mismatch(found, self.label)
        return pa.Table.from_pylist([*result, *added], schema=existing.schema)


def _keys(schema: Schema, options: WriteOptions) -> tuple[str, ...]:
    names = [field.name for field in schema.fields]
    return tuple(match(name, names, "join_cols") or name for name in options.join_cols)


def _key(row: dict[str, Any], names: tuple[str, ...]) -> Key:
    # One object for every NaN: tuples compare by identity first, so it equals itself.
    return tuple(_NAN if (value := row[name]) != value else value for name in names)


def _condition(keys: tuple[str, ...], rows: dict[Key, dict[str, Any] | None]) -> BooleanExpression:
    """The rows with these keys; of several key columns, those with the values that each has."""
    if not rows:
        return AlwaysFalse()
    return all_of(one_of(name, {key[n] for key in rows}) for n, name in enumerate(keys))


def _shown(keys: tuple[str, ...], key: Key) -> str:
    return ", ".join(f"{name} = {value}" for name, value in zip(keys, key, strict=True))
