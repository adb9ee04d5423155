"""Compatibility levels: with which versions a new one is compared, and which of the two reads."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lineage_bridge_dagster.schemas.compatibility import check, unreadable
from lineage_bridge_dagster.schemas.errors import SchemaError
from lineage_bridge_dagster.schemas.schemas import RegisteredSchema


def avro(**fields: Any) -> str:
    """A record; a pair is a type and a default."""
    pairs = {name: kind if isinstance(kind, tuple) else (kind,) for name, kind in fields.items()}
    keys = ("type", "default")
    named = [{"name": name, **dict(zip(keys, pair, strict=False))} for name, pair in pairs.items()]
    return json.dumps({"type": "record", "name": "R", "fields": named})


def versions(*texts: str, kind: str = "AVRO") -> list[RegisteredSchema]:
    return [RegisteredSchema(at, text, kind, version=at) for at, text in enumerate(texts, 1)]


FIRST = avro(id="string")
WITH_DEFAULT = avro(id="string", x=("string", ""))
WITHOUT = avro(id="string", x="string")


@pytest.mark.parametrize(
    ("level", "new", "old", "expected"),
    [
        ("NONE", avro(other="int"), (FIRST,), ""),
        ("BACKWARD", WITHOUT, (FIRST, WITH_DEFAULT), ""),
        ("BACKWARD_TRANSITIVE", WITHOUT, (FIRST, WITH_DEFAULT), "1 x"),
        ("FORWARD", FIRST, (WITHOUT, WITH_DEFAULT), ""),
        ("FORWARD_TRANSITIVE", FIRST, (WITHOUT, WITH_DEFAULT), "1 x"),
        ("FULL", WITHOUT, (FIRST, WITH_DEFAULT), ""),
        ("FULL", FIRST, (WITHOUT,), "1 x"),
        ("FULL", WITHOUT, (FIRST,), "1 x"),
        ("FULL_TRANSITIVE", WITHOUT, (FIRST, WITH_DEFAULT), "1 x"),
        ("BACKWARD", avro(id="int"), (), ""),
    ],
)
def test_levels(level: str, new: str, old: tuple[str, ...], expected: str) -> None:
    verdict = check(level, "AVRO", new, versions(*old))
    assert verdict.accepted == (not expected)
    assert [f"{each.version} {each.column}" for each in verdict.violations] == [expected] * bool(expected)
    assert all(each.forward is ("x" not in new) for each in verdict.violations)


@pytest.mark.parametrize("level", ["NONE", "FULL"])
def test_no_level_takes_a_text_that_is_no_schema(level: str) -> None:
    verdict = check(level, "AVRO", avro(id="int", a="uuid"), versions(FIRST))
    assert [(each.rule, each.column) for each in verdict.violations] == [("INVALID_SCHEMA", "a")]
    assert "uuid" in verdict.violations[0].message


def test_only_a_subject_of_level_none_takes_another_type() -> None:
    old = versions('{"type": "object"}', kind="JSON")
    assert check("NONE", "AVRO", FIRST, old).accepted
    for level in ("BACKWARD", "FORWARD", "FULL"):
        assert [each.rule for each in check(level, "AVRO", FIRST, old).violations] == [
            "DIFFERENT_SCHEMA_TYPE"
        ]
    assert unreadable(old[0], versions(FIRST)[0])


def test_what_cannot_be_judged_is_an_error() -> None:
    with pytest.raises(SchemaError, match="is not a compatibility level"):
        check("SIDEWAYS", "AVRO", FIRST)
    with pytest.raises(SchemaError, match="A version of the subject is not a valid schema"):
        check("BACKWARD", "AVRO", FIRST, versions("{"))
    for kind in ("AVRO", "JSON"):
        with pytest.raises(SchemaError, match="nested deeper"):
            check("BACKWARD", kind, '{"type": "array", "items":' * 3000 + '"int"' + "}" * 3000)
