"""Avro schemas whose references are put in their place."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lineage_bridge_dagster.schemas.avro import avro_type
from lineage_bridge_dagster.schemas.avro_tree import inlined_avro
from lineage_bridge_dagster.schemas.errors import SchemaError


def record(name: str, /, **fields: Any) -> dict[str, Any]:
    return {
        "type": "record",
        "name": name,
        "namespace": "shop",
        "fields": [{"name": key, "type": kind} for key, kind in fields.items()],
    }


CITY, ADDRESS = record("City", name="string"), record("Address", city="shop.City", zip="string")


@pytest.mark.parametrize(
    ("schema", "addresses"),
    [
        (record("Order", home="shop.Address"), 1),
        # Of two uses, the second stays a name.
        (record("Order", home=["null", "Address"], work={"type": "array", "items": "Address"}), 1),
        (record("Order", home="string"), 0),
        ("shop.Address", 1),
    ],
)
def test_the_result_needs_no_references(schema: Any, addresses: int) -> None:
    texts = [("address.avsc", json.dumps(ADDRESS)), ("city.avsc", json.dumps(CITY))]
    for references in (texts, texts[::-1]):
        text = inlined_avro(json.dumps(schema), references)
        avro_type(text)
        assert text.count('"name": "City"') == text.count('"name": "Address"') == addresses


def test_what_the_schema_defines_itself_stays() -> None:
    own = record("Order", home={**ADDRESS, "fields": []}, again="shop.Address")
    text = inlined_avro(json.dumps(own), [("address.avsc", json.dumps(ADDRESS))])
    assert json.loads(text) == own


def test_a_reference_that_is_no_json_is_an_error() -> None:
    with pytest.raises(SchemaError, match="not JSON"):
        inlined_avro('"string"', [("x", "{")])
