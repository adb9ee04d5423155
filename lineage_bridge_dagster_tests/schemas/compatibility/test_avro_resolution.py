"""Avro's schema resolution against the verdicts of Apache Avro's own class."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lineage_bridge_dagster.schemas.compatibility.avro_resolution import AMBIGUOUS_FIELD, avro_violations
from lineage_bridge_dagster.schemas.compatibility.avro_rules import parse_avro
from lineage_bridge_dagster.schemas.compatibility.violation import InvalidSchema

CASES = [
    json.loads(line)
    for line in Path(__file__).parent.joinpath("cases", "avro.jsonl").read_text().splitlines()
]


def test_rules_and_paths_are_those_of_apache_avro() -> None:
    pairs = [case for case in CASES if "reader" in case]
    wrong = {}
    for case in pairs:
        found = avro_violations(parse_avro(case["reader"]), parse_avro(case["writer"]))
        if [[each.rule, each.path] for each in found] != case["violations"]:
            wrong[case["reader"], case["writer"]] = (found, case["violations"])
    assert not wrong
    assert len(pairs) > 150


@pytest.mark.parametrize("text", [case["schema"] for case in CASES if "schema" in case])
def test_a_text_that_is_no_schema_is_refused(text: str) -> None:
    with pytest.raises(InvalidSchema):
        parse_avro(text)


def record(*fields: object) -> str:
    return json.dumps({"type": "record", "name": "R", "fields": fields})


def address(*fields: object) -> dict[str, object]:
    return {"type": "record", "name": "A", "fields": fields}


ZIP = {"name": "zip", "type": "int"}


@pytest.mark.parametrize(
    ("reader", "writer", "column"),
    [
        (["null", address(ZIP)], ["null", address()], "a.zip"),
        ({"type": "array", "items": address(ZIP)}, {"type": "array", "items": address()}, "a.zip"),
        ("int", "long", "a"),
        (["null", "int"], ["null", "string"], "a"),
    ],
)
def test_the_column_is_that_of_the_innermost_field(reader: object, writer: object, column: str) -> None:
    schemas = [parse_avro(record({"name": "a", "type": each})) for each in (reader, writer)]
    assert [each.column for each in avro_violations(*schemas)] == [column]


def test_a_field_that_fits_two_written_ones_is_read_as_neither() -> None:
    reader = parse_avro(record({"name": "a", "type": "int", "aliases": ["b"]}))
    writer = parse_avro(record({"name": "a", "type": "int"}, {"name": "b", "type": "int"}))
    assert [each.rule for each in avro_violations(reader, writer)] == [AMBIGUOUS_FIELD]


def test_names_come_from_references_and_old_defaults_are_not_validated() -> None:
    address = '{"type": "record", "name": "com.acme.Address", "fields": []}'
    text = record({"name": "a", "type": "com.acme.Address"}, {"name": "b", "type": "string", "default": None})
    with pytest.raises(InvalidSchema, match="default of field b"):
        parse_avro(text, [address])
    with pytest.raises(InvalidSchema, match=r"has the type com\.acme\.Address"):
        parse_avro(text, validate_defaults=False)
    assert parse_avro(text, [address], validate_defaults=False).fields[0].type.resolved.kind == "record"
