"""Which column a name means."""

from __future__ import annotations

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField
from pyiceberg.types import StructType as IcebergStruct
from pyspark.sql.types import StructType

from lineage_bridge_dagster.spark.column_names import ColumnNameError, match, pair, resolve


@pytest.mark.parametrize(
    ("name", "names", "found"),
    [
        ("id", ["ID", "id"], "id"),
        ("ID", ["id", "name"], "id"),
        ("other", ["id"], None),
        ("iD", ["ID", "id"], ColumnNameError),
    ],
)
def test_exact_name_comes_first_and_then_the_only_one_of_another_case(
    name: str, names: list[str], found: str | type[Exception] | None
) -> None:
    if isinstance(found, type):
        with pytest.raises(found, match="iD in the filter may be ID or id"):
            match(name, names, "the filter")
    else:
        assert match(name, names, "the filter") == found


@pytest.mark.parametrize(
    ("frame", "table", "paired"),
    [
        (["Id", "new"], ["id", "other"], {"Id": "id", "new": "new"}),
        (["A", "a"], ["a", "A"], {"A": "A", "a": "a"}),
        (["a"], ["a", "A"], {"a": "a"}),
        (["Id", "id"], [], "Id and id of the frame differ only by case"),
        (["id", "ID"], ["id"], "id and ID of the frame differ only by case"),
        (["id", "id"], [], "id and id of the frame have the same name"),
        (["iD"], ["id", "ID"], "iD in the frame may be id or ID"),
    ],
)
def test_columns_of_a_frame_are_paired_with_those_of_a_table(
    frame: list[str], table: list[str], paired: dict[str, str] | str
) -> None:
    if isinstance(paired, str):
        with pytest.raises(ColumnNameError, match=paired):
            pair(frame, table, "the frame")
    else:
        assert pair(frame, table, "the frame") == paired


def test_path_of_a_nested_field_is_that_of_the_schema() -> None:
    spark = StructType().add("a.b", "long").add("S", StructType().add("Ts", "long"))
    inner = IcebergStruct(NestedField(3, "Ts", LongType()))
    empty = NestedField(4, "empty", IcebergStruct())
    iceberg = Schema(NestedField(1, "a.b", LongType()), NestedField(2, "S", inner), empty)
    for schema in (spark, iceberg):
        assert resolve("s.ts", schema, "partition_by") == ("S", "Ts")
        assert resolve("A.B", schema, "partition_by") == ("a.b",)
        assert resolve("s.other", schema, "partition_by") is None
        assert resolve("empty.other", schema, "partition_by") is None
