"""Java expressions that match a known number of names."""

from __future__ import annotations

import pytest

from lineage_bridge_dagster.confluent.connectors.table_patterns import spelled_names


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("orders", ["orders"]),
        (r"shop\.orders", ["shop.orders"]),
        ("shop.orders", ["shop.orders"]),
        (r"shop\.(orders|users)", ["shop.orders", "shop.users"]),
        (r"(?:a|b)_(c|d)", ["a_c", "a_d", "b_c", "b_d"]),
        (r"shop\..*", []),
        ("orders.?", []),
        ("a|b", ["a", "b"]),
        ("orders?", []),
        ("(a", []),
        ("", []),
        ("(a|b)" * 11, []),
        ("(a|" * 30_000, []),
    ],
)
def test_names_of_plain_text_and_groups(expression: str, expected: list[str]) -> None:
    assert spelled_names(expression) == expected
