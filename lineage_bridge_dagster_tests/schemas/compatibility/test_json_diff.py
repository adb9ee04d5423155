"""Which changes of JSON Schemas a registry takes, as the rules of its JSON Schema provider say."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lineage_bridge_dagster.schemas.compatibility import check
from lineage_bridge_dagster.schemas.errors import SchemaError
from lineage_bridge_dagster.schemas.schemas import RegisteredSchema

MODERN = "https://json-schema.org/draft/2020-12/schema"
S, WHOLE, N = ({"type": kind} for kind in ("string", "integer", "number"))
OPEN: dict[str, Any] = {"type": "object", "properties": {"a": S, "b": WHOLE}, "required": ["a"]}
CLOSED = {**OPEN, "additionalProperties": False}


def violations(
    old: Any, new: Any, level: str = "BACKWARD", *, lenient: bool = False, draft: str = ""
) -> list[str]:
    texts = [
        json.dumps({"$schema": draft, **each} if draft and isinstance(each, dict) else each)
        for each in (old, new)
    ]
    versions = [RegisteredSchema(1, texts[0], "JSON", version=1)]
    found = check(level, "JSON", texts[1], versions, lenient=lenient).violations
    return [f"{each.rule} {each.path}" for each in found]


def having(of: dict[str, Any], *required: str, **properties: Any) -> dict[str, Any]:
    """An object with more properties; those that are None are gone."""
    merged = {name: each for name, each in {**of["properties"], **properties}.items() if each is not None}
    return {**of, "properties": merged, "required": [*of["required"], *required]}


OPEN_RULE = "ADDED_TO_OPEN_CONTENT_MODEL #/properties/c"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (OPEN, having(OPEN, c=S), [f"OPTIONAL_PROPERTY_{OPEN_RULE}"]),
        (OPEN, having(OPEN, "c", c=S), [f"REQUIRED_PROPERTY_{OPEN_RULE}"]),
        (OPEN, having(OPEN, "c", c={**S, "default": ""}), [f"REQUIRED_PROPERTY_WITH_DEFAULT_{OPEN_RULE}"]),
        (OPEN, having(OPEN, c={}), []),
        (OPEN, having(OPEN, b=None), []),
        (CLOSED, having(CLOSED, c=S), []),
        (
            CLOSED,
            having(CLOSED, "c", c=S),
            ["REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL #/properties/c"],
        ),
        (CLOSED, having(CLOSED, "c", c={**S, "default": ""}), []),
        (CLOSED, having(CLOSED, b=None), ["PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL #/properties/b"]),
        (CLOSED, OPEN, []),
        (OPEN, CLOSED, ["ADDITIONAL_PROPERTIES_REMOVED #/additionalProperties"]),
        (
            OPEN,
            {**OPEN, "additionalProperties": S},
            ["ADDITIONAL_PROPERTIES_NARROWED #/additionalProperties"],
        ),
        (OPEN, having(OPEN, "b"), ["REQUIRED_ATTRIBUTE_ADDED #/required/b"]),
        (OPEN, having(OPEN, "b", b={**WHOLE, "default": 0}), []),
        (OPEN, {**OPEN, "required": []}, []),
        (OPEN, having(OPEN, b=N), []),
        (OPEN, having(OPEN, b=S), ["TYPE_CHANGED #/properties/b"]),
        (OPEN, having(OPEN, b={"type": ["integer", "null"]}), []),
        (OPEN, having(OPEN, b={"oneOf": [{"type": "null"}, N]}), []),
        ({**OPEN, "additionalProperties": S}, having({**OPEN, "additionalProperties": S}, c=S), []),
        (
            {**OPEN, "patternProperties": {"^c": S}},
            having({**OPEN, "patternProperties": {"^c": S}}, c=WHOLE),
            [
                "TYPE_CHANGED #/properties/c",
                "PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL #/properties/c",
            ],
        ),
        ({**OPEN, "dependencies": {"a": ["b"]}}, OPEN, []),
        (OPEN, {**OPEN, "dependencies": {"a": ["b"]}}, ["DEPENDENCY_ARRAY_ADDED #/dependencies/a"]),
    ],
)
def test_content_models(old: Any, new: Any, expected: list[str]) -> None:
    assert violations(old, new) == expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (N, WHOLE, "TYPE_NARROWED #/"),
        (WHOLE, N, ""),
        (S, {"type": ["string", "integer"]}, ""),
        ({"type": ["string", "integer"]}, S, "TYPE_CHANGED #/"),
        ({"type": ["string", "null"]}, {"type": ["null", "string"]}, ""),
        (S, {**S, "maxLength": 5}, "MAX_LENGTH_ADDED #/maxLength"),
        ({**S, "maxLength": 5}, {**S, "maxLength": 4}, "MAX_LENGTH_DECREASED #/maxLength"),
        ({**S, "minLength": 5}, {**S, "minLength": 4}, ""),
        (S, {**S, "pattern": "x"}, "PATTERN_ADDED #/pattern"),
        ({**S, "pattern": "x"}, {**S, "pattern": "y"}, "PATTERN_CHANGED #/pattern"),
        (S, {**S, "format": "date"}, ""),
        ({**N, "maximum": 10}, {**N, "maximum": 10.0}, ""),
        ({**N, "maximum": 10}, {**N, "maximum": 9}, "MAXIMUM_DECREASED #/maximum"),
        (
            {**N, "exclusiveMinimum": 1},
            {**N, "exclusiveMinimum": 2},
            "EXCLUSIVE_MINIMUM_INCREASED #/exclusiveMinimum",
        ),
        ({**N, "multipleOf": 0.5}, {**N, "multipleOf": 1}, "MULTIPLE_OF_EXPANDED #/multipleOf"),
        ({**N, "multipleOf": 4}, {**N, "multipleOf": 2}, ""),
        ({**N, "multipleOf": 4}, {**N, "multipleOf": 3}, "MULTIPLE_OF_CHANGED #/multipleOf"),
        ({"enum": ["a", "b"]}, {"enum": ["b", "a", "c"]}, ""),
        ({"enum": ["a", "b"]}, {"enum": ["a"]}, "ENUM_ARRAY_NARROWED #/enum"),
        ({"enum": ["a"]}, {"enum": ["b"]}, "ENUM_ARRAY_CHANGED #/enum"),
        ({"const": 1}, {"const": 2}, "ENUM_ARRAY_CHANGED #/const"),
        (True, S, "TYPE_CHANGED #/"),
        (S, True, ""),
        (False, S, ""),
        (S, {}, ""),
        ({"type": "array", "items": N}, {"type": "array", "items": WHOLE}, "TYPE_NARROWED #/items"),
        ({"type": "array", "items": N}, {"type": "array"}, ""),
        ({"type": "array"}, {"type": "array", "uniqueItems": True}, "UNIQUE_ITEMS_ADDED #/uniqueItems"),
        (
            {"type": "array", "items": [S]},
            {"type": "array", "items": [S, WHOLE]},
            "ITEM_ADDED_TO_OPEN_CONTENT_MODEL #/items/1",
        ),
        ({"oneOf": [S, WHOLE]}, {"oneOf": [S, WHOLE, OPEN]}, ""),
        ({"oneOf": [S, WHOLE]}, {"oneOf": [S]}, "SUM_TYPE_NARROWED #/"),
        ({"oneOf": [S, WHOLE]}, {"anyOf": [S, WHOLE]}, ""),
        ({"anyOf": [S, WHOLE]}, {"oneOf": [S, WHOLE]}, "COMBINED_TYPE_CHANGED #/"),
        ({"oneOf": [S, WHOLE]}, {"oneOf": [S, OPEN]}, "COMBINED_TYPE_SUBSCHEMAS_CHANGED #/"),
        ({"allOf": [S]}, {"allOf": [S, {"enum": ["a"]}]}, "PRODUCT_TYPE_EXTENDED #/"),
        ({"not": S}, {"not": {**S, "maxLength": 2}}, ""),
        ({"not": {**S, "maxLength": 2}}, {"not": S}, "NOT_TYPE_EXTENDED #/not"),
        ({"type": "string", "connect.type": "bytes"}, {"type": "number", "connect.type": "bytes"}, ""),
    ],
)
def test_types_bounds_and_combinations(old: Any, new: Any, expected: str) -> None:
    assert violations(old, new) == ([expected] if expected else [])


def test_references_are_followed_and_may_be_recursive() -> None:
    def tree(kind: str, bucket: str = "definitions") -> dict[str, Any]:
        node = {
            "type": "object",
            "properties": {"value": {"type": kind}, "next": {"$ref": f"#/{bucket}/node"}},
        }
        return {"$ref": f"#/{bucket}/node", bucket: {"node": node}}

    assert violations(tree("string"), tree("string", "$defs")) == []
    assert "TYPE_CHANGED #/properties/value" in violations(tree("string"), tree("integer"))


def test_later_drafts_close_objects_with_unevaluated_properties() -> None:
    closed = {**OPEN, "unevaluatedProperties": False}
    assert violations(closed, having(closed, c=S), draft=MODERN) == []
    assert violations(OPEN, closed, draft=MODERN) == [
        "UNEVALUATED_PROPERTIES_REMOVED #/unevaluatedProperties"
    ]
    assert violations(closed, having(closed, c=S)) == [f"OPTIONAL_PROPERTY_{OPEN_RULE}"]


def test_levels_and_policies() -> None:
    more = having(OPEN, c=S)
    assert violations(OPEN, more, "FORWARD") == []
    assert violations(more, OPEN, "FORWARD") == [f"OPTIONAL_PROPERTY_{OPEN_RULE}"]
    assert violations(OPEN, more, "FULL", lenient=True) == []
    assert violations(OPEN, having(OPEN, "c", c=S), lenient=True) == [f"REQUIRED_PROPERTY_{OPEN_RULE}"]


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '"string"',
        '{"type": "strnig"}',
        '{"required": "a"}',
        '{"type": [{}]}',
        '{"properties": {"a": {"$ref": "#/x"}}}',
    ],
)
def test_a_text_that_is_no_json_schema_is_rejected(text: str) -> None:
    assert [each.rule for each in check("NONE", "JSON", text).violations] == ["INVALID_SCHEMA"]


def test_a_reference_that_is_not_given_leaves_it_open() -> None:
    with pytest.raises(SchemaError, match=r"other\.json"):
        check("BACKWARD", "JSON", '{"properties": {"a": {"$ref": "other.json"}}}')
    given = (("other.json", '{"type": "string"}'),)
    assert check("BACKWARD", "JSON", '{"properties": {"a": {"$ref": "other.json"}}}', (), given).accepted
