"""The columns that arrive behind a connector's transforms, and how their values change on the way."""

from __future__ import annotations

from typing import Any

import pytest

from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.impact.analysis import impact
from lineage_bridge_dagster.impact.connector_columns import passed_columns, rewritten_columns
from lineage_bridge_dagster.impact.sql_flows import Parse
from lineage_bridge_dagster.impact.world import World
from lineage_bridge_dagster_tests.impact.conftest import register, sink, world

KAFKA = "org.apache.kafka.connect.transforms."
AIVEN = "io.aiven.kafka.connect.transforms."


def chain(*transforms: dict[str, str]) -> dict[str, str]:
    """A configuration with transforms named a, b, c, ..."""
    labels = "abcdefg"[: len(transforms)]
    settings = {
        f"transforms.{label}.{key}": value
        for label, each in zip(labels, transforms, strict=True)
        for key, value in each.items()
    }
    return {"transforms": ",".join(labels), **settings}


RENAME = {"type": f"{KAFKA}ReplaceField$Value", "renames": "total:amount", "exclude": "note"}
MASK = {"type": f"{KAFKA}MaskField$Value", "fields": "amount", "replacement": "0"}


@pytest.mark.parametrize(
    ("transforms", "passed"),
    [
        ([RENAME], {"id": ("id", ""), "amount": ("total", "")}),
        ([RENAME, MASK], {"id": ("id", ""), "amount": ("total", "masked 0")}),
        (
            [{"type": f"{KAFKA}Cast$Value", "spec": "id:string,total:int64"}],
            {"id": ("id", "cast string"), "total": ("total", "cast int64"), "note": ("note", "")},
        ),
        ([{"type": f"{KAFKA}ExtractField$Value", "field": "id"}], {}),
        (
            [
                {
                    "type": f"{AIVEN}ConcatFields$Value",
                    "field.names": "id,note",
                    "output.field.name": "label",
                },
                {"type": f"{KAFKA}ReplaceField$Value", "include": "label"},
            ],
            {"label": ("id note", "")},
        ),
        (
            [
                {
                    "type": f"{KAFKA}InsertField$Value",
                    "static.field": "origin",
                    "static.value": "eu",
                },
                {"type": f"{KAFKA}ReplaceField$Value", "include": "origin"},
            ],
            {"origin": ("", "static.field eu")},
        ),
    ],
)
def test_each_column_has_those_that_it_is_made_of(
    transforms: list[dict[str, str]], passed: dict[str, tuple[str, str]]
) -> None:
    found = passed_columns(Config(chain(*transforms)), ["id", "total", "note"])
    assert {name: (" ".join(sorted(of.columns)), of.how) for name, of in found.items()} == passed


def test_columns_of_a_source_are_compared_by_what_it_reads() -> None:
    old = Config(chain({"type": f"{KAFKA}ReplaceField$Value", "renames": "total:amount"}))
    new = Config(chain({"type": f"{KAFKA}ReplaceField$Value", "renames": "total:price"}))
    before, after = rewritten_columns(old, new, ["id", "amount"])
    assert {name: set(of.columns) for name, of in before.items()} == {"id": {"id"}, "amount": {"total"}}
    assert {name: set(of.columns) for name, of in after.items()} == {"id": {"id"}, "price": {"total"}}


def test_field_behind_an_unknown_transform_is_a_gap(parse: Parse) -> None:
    def report(transform: str) -> tuple[bool, list[str]]:
        config = chain({"type": transform, "exclude": "total"})
        connector: dict[str, Any] = sink("pg", ["orders"])
        connector["config"] |= config
        shop = world(
            {
                "orders": '{"type":"record","name":"R","fields":[{"name":"id","type":"long"},'
                '{"name":"total","type":["null","long"],"default":null}]}'
            },
            connectors=[connector],
        )
        found = impact(World.of_json(shop), [register("orders", id="long")], parse)
        return found.is_incomplete, [gap.reason for gap in found.gaps]

    incomplete, (reason,) = report("com.acme.Own$Value")
    assert incomplete
    assert "com.acme.Own" in reason
    assert report(f"{KAFKA}ReplaceField$Value") == (False, [])
