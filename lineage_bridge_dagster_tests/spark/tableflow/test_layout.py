"""Partitions and sort orders as they are configured."""

from __future__ import annotations

import pytest

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.spark.tableflow.layout import Order, Term


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("country", Term("country")),
        (" `order.id` ", Term("order.id")),
        ("days(ts)", Term("ts", "day")),
        ("hour( ts )", Term("ts", "hour")),
        ("bucket(16, id)", Term("id", "bucket", 16)),
        ("truncate(4,code)", Term("code", "truncate", 4)),
        ("days($$timestamp)", Term("$$timestamp", "day")),
    ],
)
def test_partition_terms(text: str, expected: Term) -> None:
    assert Term.parse(text) == expected


@pytest.mark.parametrize("text", ["", "weeks(ts)", "bucket(id)", "bucket(0, id)", "days(2, ts)", "a, b"])
def test_what_is_no_term_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="is no column and no transform"):
        Term.parse(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("id", Order(Term("id"))),
        ("ts DESC", Order(Term("ts"), ascending=False, nulls_first=False)),
        ("days(ts) desc nulls first", Order(Term("ts", "day"), ascending=False)),
        ("id asc nulls last", Order(Term("id"), nulls_first=False)),
    ],
)
def test_sort_orders(text: str, expected: Order) -> None:
    assert Order.parse(text) == expected
