"""`lineage-bridge connectors`: a configuration's lineage for people, as JSON and as JSON lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from lineage_bridge_dagster.cli.connectors import connectors
from lineage_bridge_dagster.errors import LineageBridgeError

ORDERS = "postgres://pg.example:5432/shop.public.orders"
DOCUMENT: dict[str, Any] = {
    "id": "pg",
    "config": {
        "connector.class": "PostgresSource",
        "connection.host": "pg.example",
        "connection.port": "5432",
        "db.name": "shop",
        "table.whitelist": "orders",
        "topic.prefix": "pg_",
        "transforms": "rename,own",
        "transforms.rename.type": "org.apache.kafka.connect.transforms.ReplaceField$Value",
        "transforms.rename.renames": "total:amount",
        "transforms.own.type": "com.acme.Mine$Key",
    },
    "topics_in_cluster": ["pg_orders"],
    "tables": {ORDERS: ["id", "total"]},
}


def run(*args: str, stdin: str = "") -> Result:
    return CliRunner().invoke(connectors, args, input=stdin, catch_exceptions=False)


def test_report_names_each_column_with_what_it_is_made_of(tmp_path: Path) -> None:
    file = tmp_path / "pg.json"
    file.write_text(json.dumps(DOCUMENT))
    lines = run(str(file)).stdout.splitlines()
    assert lines[:5] == ["A source of family jdbc-postgres", "", "Reads", f"  {ORDERS}", ""]
    at = lines.index("topic:pg_orders.value.amount")
    assert lines[at + 1] == f"  <- {ORDERS}.total"


def test_json_has_topics_datasets_pairs_and_columns() -> None:
    found = json.loads(run("--json", stdin=json.dumps(DOCUMENT)).stdout)
    assert found["direction"] == "source"
    assert found["pairs"] == [[ORDERS, "pg_orders"]]
    assert found["columns"] == {
        "topic:pg_orders.value.id": [f"{ORDERS}.id"],
        "topic:pg_orders.value.amount": [f"{ORDERS}.total"],
    }


def test_what_is_not_known_has_a_reason() -> None:
    document = {key: value for key, value in DOCUMENT.items() if key != "tables"}
    found = json.loads(run("--json", stdin=json.dumps(document)).stdout)
    assert found["columns"] == {"topic:pg_orders.value.amount": [f"{ORDERS}.total"]}
    assert found["unknown"] == {
        "topic:pg_orders.value": "no schema is registered, and no other evidence names its fields"
    }


def test_settings_alone_are_enough() -> None:
    assert json.loads(run("--json", stdin=json.dumps(DOCUMENT["config"])).stdout)["datasets_read"] == [ORDERS]


def test_each_line_has_a_report_or_an_error() -> None:
    lines = [json.dumps(DOCUMENT), "", "{", '{"id": 7, "config": 1}']
    first, *others = map(json.loads, run("--jsonl", stdin="\n".join(lines)).stdout.splitlines())
    assert first["id"] == "pg"
    assert first["columns"]["topic:pg_orders.value.id"] == [f"{ORDERS}.id"]
    assert [each["id"] for each in others] == [3, 7]
    assert "holds no configuration" in others[1]["error"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1]", "holds no configuration"),
        ("{", "invalid JSON"),
        ('{"config": {"topics": ["a"]}}', "the setting topics is no text"),
        ('{"config": {}, "schemas": [{"subject": 7}]}', r"schemas\[0\].subject is a number '7'"),
    ],
)
def test_wrong_input_is_an_error(text: str, message: str) -> None:
    with pytest.raises(LineageBridgeError, match=message):
        run(stdin=text)
