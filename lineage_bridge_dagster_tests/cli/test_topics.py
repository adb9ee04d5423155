"""`lineage-bridge topics plan` and `topics status`, without brokers, a registry or a catalog."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result
from pyiceberg.schema import Schema
from pyiceberg.types import BinaryType, IntegerType, LongType, NestedField, StringType

from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.catalogs.settings.catalogs import Catalogs
from lineage_bridge_dagster.cli.main import main
from lineage_bridge_dagster.confluent.api.brokers import TopicReader
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.schemas.columns import metadata_columns
from lineage_bridge_dagster.schemas.schemas import RegisteredSchema, SubjectSchemas
from lineage_bridge_dagster.topic_to_iceberg import survey
from lineage_bridge_dagster.topic_to_iceberg.settings.topic_load import TopicLoad

YAML = """\
type: lineage_bridge_dagster.component.TopicToIcebergComponent
attributes:
  kafka: {cluster: onprem, bootstrap_servers: "PLAINTEXT://127.0.0.1:9092",
          schema_registry_url: "http://127.0.0.1:8081"}
  aws: {region: us-east-1}
  topics:
    - topic: orders
    - topic: sales.*
      database: sales
"""
RECORD = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}
METADATA = [
    each.model_copy(update={"field_id": number})
    for number, each in enumerate(metadata_columns(portable=False, raw=True), 100)
]


class FakeTable:
    """A table as PyIceberg has it, as far as it is read."""

    def __init__(self, offsets: Mapping[int, int], *fields: NestedField, mode: str = "append") -> None:
        self._schema = Schema(*fields, *METADATA)
        self.properties = {"topic_to_iceberg.mode": mode}
        snapshot = {
            "snapshot-id": 7,
            "sequence-number": 1,
            "timestamp-ms": 1_767_323_045_000,
            "summary": {"operation": "append", "tableflow.offsets": json.dumps(offsets)},
        }
        document = {
            "format-version": 2,
            "last-updated-ms": 1_767_323_045_000,
            "current-snapshot-id": 7,
            "snapshots": [snapshot],
        }
        self.metadata = SimpleNamespace(model_dump_json=lambda by_alias: json.dumps(document))

    def schema(self) -> Schema:
        return self._schema

    def location(self) -> str:
        return "s3://bucket/warehouse/t"


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The tables of the catalog by `database.table`; every topic has the schema above."""
    found: dict[str, Any] = {}
    names = ["orders", "sales.eu", "other"]
    ends = {"orders": {0: 10, 1: 5}, "sales.eu": {0: 3}}
    monkeypatch.setattr(TopicReader, "topics", lambda _self: names)
    monkeypatch.setattr(
        TopicReader, "committed_bounds", lambda _self, topic: (dict.fromkeys(ends[topic], 0), ends[topic])
    )

    def fetched(_registry: object, _url: str, subject: str) -> SubjectSchemas:
        schema = RegisteredSchema(1, json.dumps(RECORD))
        return SubjectSchemas(subject, (schema,) if subject.endswith("-value") else ())

    def table(_self: object, load: TopicLoad) -> Any:
        return found.get(load.dotted)

    monkeypatch.setattr(survey, "fetch_readable", fetched)
    monkeypatch.setattr(survey._OpenedTables, "table", table)
    return found


def run(tmp_path: Path, *arguments: str) -> Result:
    path = tmp_path / "defs.yaml"
    path.write_text(YAML)
    return CliRunner().invoke(main, ["topics", arguments[0], str(path), *arguments[1:]])


def test_status_tells_offsets_and_lag(tmp_path: Path, tables: dict[str, Any]) -> None:
    tables["onprem.orders"] = FakeTable({0: 8, 1: 5})
    result = run(tmp_path, "status")
    assert result.exit_code == 0, result.output
    assert "orders -> onprem.orders: 2 records behind, last commit 2026-01-02T03:04:05+00:00" in result.output
    assert "  partition 0: 8 of 10" in result.output
    assert "sales.eu -> sales.sales.eu: no table yet, 3 records wait" in result.output
    assert "other" not in result.output


def test_status_as_json_has_a_line_for_each_table(tmp_path: Path, tables: dict[str, Any]) -> None:
    tables["onprem.orders"] = FakeTable({0: 8, 1: 5})
    first, second = map(json.loads, run(tmp_path, "status", "--json").stdout.splitlines())
    assert (first["lag"], first["offsets"], first["snapshot_id"]) == (2, {"0": 8, "1": 5}, "7")
    assert (second["exists"], second["lag"], second["snapshot_id"]) == (False, 3, None)


@pytest.mark.parametrize(
    ("offsets", "topics", "expected"),
    [
        ({0: 8, 1: 5}, 1, True),
        ({0: 7, 1: 5}, 1, False),
        ({0: 8, 1: 5}, 3, False),
        # Not readable.
        (None, 1, False),
    ],
    ids=["few", "many records", "many topics", "unknown"],
)
def test_a_run_is_short_if_few_records_of_few_topics_are_known_to_wait(
    tables: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    offsets: dict[int, int] | None,
    topics: int,
    expected: bool,
) -> None:
    monkeypatch.setattr(survey, "MOST_RECORDS", 2)
    monkeypatch.setattr(survey, "MOST_TOPICS", 2)
    load = TopicLoad(topic="orders", catalog="lake", database="onprem", table="orders")
    tables[load.dotted] = FakeTable(offsets or {})

    def bounds(topic: str) -> tuple[dict[int, int], dict[int, int]]:
        if offsets is None:
            raise LineageBridgeError("no broker")
        return {0: 0, 1: 0}, {0: 10, 1: 5}

    assert survey.is_short([load] * topics, Catalogs.of(CatalogSettings()), bounds) is expected


def test_plan_tells_what_would_be_created_and_what_would_change(
    tmp_path: Path, tables: dict[str, Any]
) -> None:
    tables["onprem.orders"] = FakeTable({}, NestedField(1, "id", IntegerType(), required=False))
    result = run(tmp_path, "plan")
    assert result.exit_code == 0, result.output
    assert "orders -> onprem.orders (append): would change\n" in result.output
    assert "  ~ id int -> long\n" in result.output
    assert "sales.eu -> sales.sales.eu (append): would be created\n" in result.output
    assert "  + id long\n" in result.output


def test_plan_names_the_field_and_both_types_of_a_change_that_would_suspend_the_topic(
    tmp_path: Path, tables: dict[str, Any]
) -> None:
    tables["onprem.orders"] = FakeTable({}, NestedField(1, "id", StringType(), required=False))
    result = run(tmp_path, "plan", "--json")
    assert result.exit_code == 1
    first = json.loads(result.stdout.splitlines()[0])
    assert "id" in first["error"]
    assert "string" in first["error"]
    assert "long" in first["error"]


def test_plan_names_fields_of_one_dotted_name_and_goes_on(
    tmp_path: Path, tables: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    row = {"type": "object", "properties": {"B": {"type": "integer"}}}
    texts = {
        "orders-value": {"type": "object", "properties": {"A.B": {"type": "integer"}, "A": row}},
        "sales.eu-value": {"type": "object", "properties": {"A": row}},
    }

    def fetched(_registry: object, _url: str, subject: str) -> SubjectSchemas:
        versions = [RegisteredSchema(1, json.dumps(texts[subject]), "JSON")] if subject in texts else []
        return SubjectSchemas(subject, tuple(versions))

    monkeypatch.setattr(survey, "fetch_readable", fetched)
    result = run(tmp_path, "plan", "--json")
    assert result.exit_code == 1
    first, second = map(json.loads, result.stdout.splitlines())
    assert "Fields `A.B` and A.B have the same dotted name" in first["error"]
    assert (second["topic"], second["error"]) == ("sales.eu", None)


def test_plan_without_changes_says_so(tmp_path: Path, tables: dict[str, Any]) -> None:
    key = NestedField(1, "key", BinaryType(), required=False)
    tables["onprem.orders"] = FakeTable({}, key, NestedField(2, "id", LongType(), required=False))
    assert "orders -> onprem.orders (append): no change to the table" in run(tmp_path, "plan").output


def test_plan_refuses_another_mode_of_a_table_that_exists(tmp_path: Path, tables: dict[str, Any]) -> None:
    tables["onprem.orders"] = FakeTable({}, NestedField(2, "id", LongType()), mode="upsert")
    result = run(tmp_path, "plan")
    assert result.exit_code == 1
    assert "orders -> onprem.orders (append): would be suspended" in result.output
    assert "was created in mode upsert, which cannot be changed to append" in result.output
    assert "name another table" in result.output


def test_plan_does_not_create_the_table_of_a_topic_that_the_cluster_lacks(
    tmp_path: Path, tables: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TopicReader, "topics", lambda _self: ["order", "sales.eu"])
    result = run(tmp_path, "plan")
    assert result.exit_code == 1
    assert "orders -> onprem.orders (append): could not be read" in result.output
    assert "has no topic orders that the key may see" in result.output
    assert "sales.eu -> sales.sales.eu (append): would be created" in result.output


@pytest.mark.parametrize("setting", ['partition_by: ["days(ordered_at)"]', "sort_by: [ordered_at desc]"])
def test_plan_names_a_column_that_a_new_table_would_lack(
    tmp_path: Path, tables: dict[str, Any], monkeypatch: pytest.MonkeyPatch, setting: str
) -> None:
    monkeypatch.setattr(
        f"{__name__}.YAML", YAML.replace("- topic: orders", f"- topic: orders\n      {setting}")
    )
    result = run(tmp_path, "plan")
    assert result.exit_code == 1
    assert "orders -> onprem.orders (append): would be suspended" in result.output
    assert "names ordered_at, which is not a column of its rows" in result.output


def test_a_file_without_the_component_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "defs.yaml"
    path.write_text("type: other.Component\n")
    result = CliRunner().invoke(main, ["topics", "status", str(path)])
    assert result.exit_code == 2
    assert "has no instance of TopicToIcebergComponent" in result.output
