"""Dagster partitions as conditions over columns."""

from __future__ import annotations

import pytest
from dagster import (
    DailyPartitionsDefinition,
    HourlyPartitionsDefinition,
    MonthlyPartitionsDefinition,
    MultiPartitionsDefinition,
    StaticPartitionsDefinition,
)
from pyspark.sql.types import (
    DateType,
    IntegerType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.spark.io.slices import slice_of

DAYS = DailyPartitionsDefinition("2026-01-01")
COUNTRIES = StaticPartitionsDefinition(["de", "it's", "fr"])


def test_time_partition_is_a_half_open_range_of_the_column_type() -> None:
    day = slice_of(DAYS, ["2026-01-02"], "d", "a")
    assert day.condition({"d": TimestampType()}) == (
        "(((d >= TIMESTAMP '2026-01-02 00:00:00+00:00' AND d < TIMESTAMP '2026-01-03 00:00:00+00:00')))"
    )
    assert "d >= DATE '2026-01-02' AND d < DATE '2026-01-03'" in day.condition({"d": DateType()})
    assert "TIMESTAMP_NTZ '2026-01-02 00:00:00'" in day.condition({"d": TimestampNTZType()})
    assert day.condition({"d": StringType()}) == "(d IN ('2026-01-02'))"
    with pytest.raises(ConfigurationError, match="of type integer"):
        day.condition({"d": IntegerType()})


def test_day_in_another_time_zone_is_a_day_of_that_zone() -> None:
    berlin = DailyPartitionsDefinition("2026-06-01", timezone="Europe/Berlin")
    found = slice_of(berlin, ["2026-06-02"], "t", "a")
    assert "TIMESTAMP '2026-06-01 22:00:00+00:00'" in found.condition({"t": TimestampType()})
    assert "TIMESTAMP_NTZ '2026-06-02 00:00:00'" in found.condition({"t": TimestampNTZType()})
    # It is not a day of UTC, by which Iceberg would partition.
    assert found.transforms({"t": TimestampType()}) == ("hours(t)",)


def test_adjacent_partitions_are_one_range() -> None:
    found = slice_of(DAYS, ["2026-01-05", "2026-01-02", "2026-01-03"], "d", "a")
    assert found.condition({"d": DateType()}).count(">=") == 2


def test_static_partitions_are_values_of_the_column_type() -> None:
    found = slice_of(COUNTRIES, ["de", "it's"], "c", "a")
    assert found.condition({"c": StringType()}) == r"(c IN ('de', 'it\'s'))"
    numbers = slice_of(StaticPartitionsDefinition(["1"]), ["1"], "c", "a")
    assert numbers.condition({"c": IntegerType()}) == "(c IN (CAST('1' AS int)))"
    assert slice_of(COUNTRIES, [], "c", "a").condition({}) == "false"


def test_all_combinations_of_several_dimensions_are_one_box() -> None:
    both = MultiPartitionsDefinition({"day": DAYS, "country": COUNTRIES})
    exprs = {"day": "d", "country": "c"}
    types = {"d": DateType(), "c": StringType()}
    whole = [f"{country}|2026-01-0{day}" for country in ("de", "fr") for day in (1, 2)]
    box = slice_of(both, whole, exprs, "a")
    assert len(box.boxes) == 1
    assert "c IN ('de', 'fr') AND" in box.condition(types)
    assert len(slice_of(both, whole[:3], exprs, "a").boxes) == 3
    assert box.transforms(types) == ("c", "days(d)")
    with pytest.raises(ConfigurationError, match="country, day"):
        slice_of(both, whole, {"day": "d"}, "sales")
    with pytest.raises(ConfigurationError, match="country, day"):
        slice_of(both, whole, "d", "sales")


def test_transforms_make_a_slice_whole_files() -> None:
    month = slice_of(MonthlyPartitionsDefinition("2026-01-01"), ["2026-02-01"], "t", "a")
    hour = slice_of(HourlyPartitionsDefinition("2026-01-01-00:00"), ["2026-01-01-05:00"], "t", "a")
    stamp = {"t": TimestampType()}
    assert month.transforms(stamp) == ("months(t)",)
    assert hour.transforms(stamp) == ("hours(t)",)
    assert slice_of(DAYS, ["2026-01-02"], "t", "a").transforms(stamp) == ("days(t)",)
    assert slice_of(DAYS, ["2026-01-02"], "t", "a").transforms({"t": StringType()}) == ("t",)
    # All days of a month in one run are still days.
    january = slice_of(DAYS, [f"2026-01-{day:02}" for day in range(1, 32)], "t", "a")
    assert january.transforms(stamp) == ("days(t)",)
    with pytest.raises(ConfigurationError, match="is a date, and a partition ends at 05:00"):
        hour.condition({"t": DateType()})
    # A table cannot be partitioned by an expression.
    expr = slice_of(DAYS, ["2026-01-02"], "to_date(t)", "a")
    assert expr.transforms({"to_date(t)": DateType()}) == ()
