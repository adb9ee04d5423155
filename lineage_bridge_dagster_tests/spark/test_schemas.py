"""Columns of a DataFrame compared with those of a table."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql.types import StructType

from lineage_bridge_dagster.spark.schemas import differences, mismatch, same_columns


def schema(*columns: tuple[str, Any], required: tuple[str, ...] = ()) -> StructType:
    """Columns by Spark's JSON names of types."""
    fields = [{"name": n, "type": t, "nullable": n not in required, "metadata": {}} for n, t in columns]
    return StructType.fromJson({"type": "struct", "fields": fields})


def struct(*columns: tuple[str, Any]) -> dict[str, Any]:
    fields = [{"name": n, "type": t, "nullable": True, "metadata": {}} for n, t in columns]
    return {"type": "struct", "fields": fields}


def array(element: Any) -> dict[str, Any]:
    return {"type": "array", "containsNull": True, "elementType": element}


@pytest.mark.parametrize(
    ("frame", "table", "kind"),
    [
        ("integer", "long", None),
        ("short", "integer", None),
        ("void", "string", None),
        ("decimal(8,2)", "decimal(10,2)", None),
        ("long", "integer", "wider"),
        ("double", "float", "wider"),
        ("decimal(12,2)", "decimal(10,2)", "wider"),
        ("decimal(12,3)", "decimal(10,2)", "clash"),
        ("string", "integer", "clash"),
        ("integer", "string", "clash"),
        ("integer", "double", "clash"),
        ("timestamp", "timestamp_ntz", "clash"),
        ("date", "timestamp", "clash"),
        (struct(("a", "long")), "string", "clash"),
    ],
)
def test_types_fit_widen_or_clash_by_the_rules_of_iceberg(frame: Any, table: Any, kind: str | None) -> None:
    found = differences(schema(("c", frame)), schema(("c", table)))
    assert [difference.kind for difference in found] == ([kind] if kind else [])


def test_nested_fields_are_named_by_their_path() -> None:
    frame = schema(("s", struct(("a", "string"), ("new", "long"))), ("l", array(struct(("n", "long")))))
    table = schema(("S", struct(("A", "integer"))), ("l", array(struct(("n", "integer")))))
    found = {".".join(d.path): d.kind for d in differences(frame, table)}
    assert found == {"s.a": "clash", "s.new": "new", "l.element.n": "wider"}


def test_only_required_columns_must_have_values() -> None:
    table = schema(("id", "long"), ("note", "string"), required=("id",))
    assert [str(d) for d in differences(schema(("id", "long")), table)] == [
        "id: required in the table, may be null in the DataFrame"
    ]
    assert [str(d) for d in differences(schema(("note", "string")), table)] == [
        "id: required in the table, is not in the DataFrame"
    ]
    assert not differences(schema(("id", "long"), required=("id",)), table)


def test_same_columns_ignores_order_case_and_nullability() -> None:
    table = schema(("a", "integer"), ("b", struct(("x", "string"))))
    assert same_columns(schema(("B", struct(("x", "string"))), ("a", "short"), required=("a",)), table)
    assert not same_columns(schema(("a", "integer")), table)
    assert not same_columns(schema(("a", "long"), ("b", struct(("x", "string")))), table)


def test_names_and_types_that_a_frame_lacks_are_those_of_the_table() -> None:
    table = schema(("a", array("integer")), ("s", struct(("x", "string"), ("y", "long"))))
    assert same_columns(schema(("a", array("void")), ("S", struct(("X", "void"), ("y", "long")))), table)
    assert same_columns(schema(("a", "void"), ("s", "void")), table)
    assert not same_columns(schema(("a", "void"), ("s", struct(("x", "void")))), table)
    assert not same_columns(schema(("a", "void")), table)


def test_new_column_without_a_type_cannot_be_added() -> None:
    (found,) = differences(schema(("a", "void")), schema(("b", "long")))
    assert (found.kind, str(found)) == ("clash", "a: void in the DataFrame, not in the table")
    assert '.cast("string")' in str(mismatch([found], "t"))


def test_error_names_the_columns_and_a_remedy() -> None:
    found = differences(
        schema(*[(f"n{i}", "long") for i in range(12)], ("c", "string")), schema(("c", "double"))
    )
    text = str(mismatch(found, "glue.db.t"))
    assert text.startswith(
        "glue.db.t cannot take this DataFrame:\n  column n0: bigint in the DataFrame, not in"
    )
    assert "and 3 more" in text
    assert '.withColumn("c", F.col("c").cast("double"))' in text
    assert "schema_update_mode: update" in text
