"""Debezium's schemas are known by their names."""

from __future__ import annotations

import pytest

from lineage_bridge_dagster.schemas.debezium import is_debeziums


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"type": "record", "name": "Value", "namespace": "shop.public.orders", "fields": []}', True),
        ('{"type": "record", "name": "R", "connect.name": "shop.public.orders.Value", "fields": []}', True),
        ('{"type": "record", "name": "OrderValue", "fields": []}', False),
        ('{"type": "object", "title": "shop.public.orders.Envelope"}', True),
        ('{"type": "object", "title": "Order"}', False),
        ('"string"', False),
        ("[" * 100_000, False),
        ('syntax = "proto3"; message Value { int32 id = 1; }', True),
        ('syntax = "proto3"; message Order { message Value { int32 id = 1; } }', False),
    ],
)
def test_schema_of_rows_is_known_by_its_name(text: str, expected: bool) -> None:
    assert is_debeziums(text) is expected
