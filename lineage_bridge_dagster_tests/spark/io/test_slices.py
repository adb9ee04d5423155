"""Partitions of Dagster as conditions over columns."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from dagster import (
    DailyPartitionsDefinition,
    HourlyPartitionsDefinition,
    MonthlyPartitionsDefinition,
    MultiPartitionsDefinition,
    StaticPartitionsDefinition,
)
from pyspark.sql.types import (
    DataType,
    DateType,
    IntegerType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.spark.io.partitioning import parse
from lineage_bridge_dagster.spark.io.slices import slice_of, transforms

DAYS = DailyPartitionsDefinition("2026-01-01")
COUNTRIES = StaticPartitionsDefinition(["de", "it's", "fr"])


def typed(**types: DataType) -> Callable[[str], DataType]:
    return lambda expr: types[expr]


def test_a_time_partition_is_a_half_open_range_in_the_column_s_type() -> None:
    day = slice_of(DAYS, ["2026-01-02"], "d", "a")
    assert day.condition(typed(d=TimestampType())) == (
        "(((d >= TIMESTAMP '2026-01-02 00:00:00+00:00' AND d < TIMESTAMP '2026-01-03 00:00:00+00:00')))"
    )
    assert "d >= DATE '2026-01-02' AND d < DATE '2026-01-03'" in day.condition(typed(d=DateType()))
    assert "TIMESTAMP_NTZ '2026-01-02 00:00:00'" in day.condition(typed(d=TimestampNTZType()))
    assert day.condition(typed(d=StringType())) == "(d IN ('2026-01-02'))"
    with pytest.raises(ConfigurationError, match="of type integer"):
        day.condition(typed(d=IntegerType()))


def test_a_partition_of_another_zone_is_that_zone_s_day() -> None:
    berlin = DailyPartitionsDefinition("2026-06-01", timezone="Europe/Berlin")
    found = slice_of(berlin, ["2026-06-02"], "t", "a")
    assert "TIMESTAMP '2026-06-01 22:00:00+00:00'" in found.condition(typed(t=TimestampType()))
    assert "TIMESTAMP_NTZ '2026-06-02 00:00:00'" in found.condition(typed(t=TimestampNTZType()))
    # A day there is no day of UTC, by which Iceberg would cut.
    assert transforms(found, typed(t=TimestampType())) == ("hours(t)",)


def test_partitions_beside_each_other_are_one_range_and_others_are_not() -> None:
    found = slice_of(DAYS, ["2026-01-05", "2026-01-02", "2026-01-03"], "d", "a")
    assert found.condition(typed(d=DateType())).count(">=") == 2


def test_static_partitions_are_values_of_the_column_s_type() -> None:
    found = slice_of(COUNTRIES, ["de", "it's"], "c", "a")
    assert found.condition(typed(c=StringType())) == r"(c IN ('de', 'it\'s'))"
    numbers = slice_of(StaticPartitionsDefinition(["1"]), ["1"], "c", "a")
    assert numbers.condition(typed(c=IntegerType())) == "(c IN (CAST('1' AS int)))"
    assert slice_of(COUNTRIES, [], "c", "a").condition(typed()) == "false"


def test_several_dimensions_are_one_box_when_all_combinations_are_there() -> None:
    both = MultiPartitionsDefinition({"day": DAYS, "country": COUNTRIES})
    exprs = {"day": "d", "country": "c"}
    types = typed(d=DateType(), c=StringType())
    whole = [f"{country}|2026-01-0{day}" for country in ("de", "fr") for day in (1, 2)]
    box = slice_of(both, whole, exprs, "a")
    assert len(box.boxes) == 1
    assert "c IN ('de', 'fr') AND" in box.condition(types)
    assert len(slice_of(both, whole[:3], exprs, "a").boxes) == 3
    assert transforms(box, types) == ("c", "days(d)")
    with pytest.raises(ConfigurationError, match="country, day"):
        slice_of(both, whole, {"day": "d"}, "sales")
    with pytest.raises(ConfigurationError, match="country, day"):
        slice_of(both, whole, "d", "sales")


def test_a_new_table_is_partitioned_so_that_a_slice_is_whole_files() -> None:
    month = slice_of(MonthlyPartitionsDefinition("2026-01-01"), ["2026-02-01"], "t", "a")
    hour = slice_of(HourlyPartitionsDefinition("2026-01-01-00:00"), ["2026-01-01-05:00"], "t", "a")
    stamp = typed(t=TimestampType())
    assert transforms(month, stamp) == ("months(t)",)
    assert transforms(hour, stamp) == ("hours(t)",)
    assert transforms(slice_of(DAYS, ["2026-01-02"], "t", "a"), stamp) == ("days(t)",)
    assert transforms(slice_of(DAYS, ["2026-01-02"], "t", "a"), typed(t=StringType())) == ("t",)
    # A backfill of all days of a month in one run is still one of days.
    january = slice_of(DAYS, [f"2026-01-{day:02}" for day in range(1, 32)], "t", "a")
    assert transforms(january, stamp) == ("days(t)",)
    with pytest.raises(ConfigurationError, match="is a date, and a partition ends at 05:00"):
        hour.condition(typed(t=DateType()))
    # An expression is no column to partition by.
    expr = slice_of(DAYS, ["2026-01-02"], "to_date(t)", "a")
    assert transforms(expr, lambda _: DateType()) == ()


def test_partition_by_is_read_as_iceberg_s_own_ddl() -> None:
    schema = StructType().add("ts", TimestampType()).add("a.b", StringType()).add("s", StructType())
    fields = parse(["days(ts)", "Bucket(16, ts)", "truncate(2, `a.b`)", "ts", "hour(s.at)"], schema, "t")
    assert [str(field) for field in fields] == [
        "day(ts)",
        "bucket(16, ts)",
        "truncate(2, a.b)",
        "ts",
        "hour(s.at)",
    ]
    assert fields[2].ddl == "truncate(2, `a.b`)"
    for wrong in ("bucket(ts)", "weeks(ts)", "day(3, ts)", "nope"):
        with pytest.raises(ConfigurationError, match=r"partition_by of t"):
            parse([wrong], schema, "t")
