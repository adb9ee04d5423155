"""The YAML of a component that loads topics: what it becomes, and what its errors say."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import yaml
from dagster import AssetKey, DagsterInstance, ScaffoldRequest
from dagster.components.component.state_backed_component import StateBackedComponent
from dagster.components.resolved.errors import ResolutionException

from lineage_bridge_dagster.config.yaml_errors import check_keys
from lineage_bridge_dagster.topic_to_iceberg.component import TopicToIcebergComponent
from lineage_bridge_dagster.topic_to_iceberg.instance import TopicCluster
from lineage_bridge_dagster.topic_to_iceberg.scaffold import LoadScaffolder, example
from lineage_bridge_dagster.topic_to_iceberg.state import LoadState
from lineage_bridge_dagster_tests.bad_instance import project
from lineage_bridge_dagster_tests.topic_to_iceberg.yaml import TYPE, load_error, loaded

pytestmark = pytest.mark.usefixtures("instance")


def keys(attributes: dict[str, Any]) -> list[str]:
    with loaded(attributes) as (_, definitions):
        return sorted(
            key.to_user_string() for key in definitions.resolve_asset_graph().materializable_asset_keys
        )


def test_a_named_topic_is_an_asset_below_its_topic_without_any_state() -> None:
    with loaded({"topics": [{"topic": "Orders.v1"}]}) as (_, definitions):
        graph = definitions.resolve_asset_graph()
        key = AssetKey(["topic_to_iceberg", "lkc-abc123", "orders.v1"])
        node = graph.get(key)
        assert node.parent_keys == {AssetKey(["kafka", "lkc-abc123", "Orders.v1"])}
        assert node.group_name == "topic_to_iceberg/lkc_abc123"
        spec = definitions.resolve_all_asset_specs()
        assert next(each for each in spec if each.key == key).kinds == {"spark", "iceberg", "kafka"}
        assert {check.name for check in graph.asset_check_keys} == {
            "no_rejected_records",
            "caught_up",
            "not_suspended",
        }


def test_an_entry_wins_over_the_defaults_and_a_name_over_a_pattern() -> None:
    attributes = {
        "topics": [
            {"topic": "sales.*", "mode": "upsert"},
            {"topic": "sales.eu", "table": "eu", "properties": {"a": "2"}, "raw_columns": True},
        ],
        "defaults": {
            "failures": "skip",
            "database": "Sales",
            "properties": {"a": "1", "b": "1"},
            "raw_columns": False,
        },
    }
    with loaded(attributes) as (component, _):
        loads = component.plan("lkc-abc123").loads(["sales.us", "sales.eu", "other", "_internal"])
    assert [(each.topic, each.dotted, each.mode, each.failures) for each in loads] == [
        ("sales.eu", "sales.eu", "append", "skip"),
        ("sales.us", "sales.sales.us", "upsert", "skip"),
    ]
    assert loads[0].properties == {"a": "2", "b": "1"}
    assert [each.raw_columns for each in loads] == [True, False]


@pytest.mark.parametrize(
    "spark", [{"remote": "sc://spark.internal"}, {"conf": {"spark.remote": "sc://spark.internal"}}]
)
def test_a_spark_connect_server_is_refused_where_it_is_named(spark: dict[str, Any]) -> None:
    error = load_error({"topics": [{"topic": "orders"}], "spark": spark})
    assert f"spark.{next(iter(spark))}" in error
    assert "A run loads topics with a Spark session of its own, not with sc://spark.internal:15002" in error
    assert "master: local[2]" in error


def test_a_spark_connect_server_of_the_environment_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_REMOTE", "sc://spark.internal")
    assert "not with sc://spark.internal:15002" in load_error({"topics": [{"topic": "orders"}]})
    with loaded({"topics": [{"topic": "orders"}], "spark": {"master": "local[2]"}}):
        pass


def test_the_queue_of_dead_letters_is_not_loaded_by_a_pattern() -> None:
    attributes = {"topics": [{"topic": "*", "failures": "log", "dead_letter_topic": "errors"}]}
    with loaded(attributes) as (component, _):
        assert [each.topic for each in component.plan("c").loads(["errors", "orders"])] == ["orders"]


def test_a_table_of_another_catalog_has_the_catalog_in_its_key_and_keeps_capitals() -> None:
    attributes = {
        "topics": [{"topic": "Orders", "catalog": "lake", "database": "Sales"}],
        "catalogs": [{"name": "lake", "type": "rest", "uri": "https://catalog.example.com"}],
    }
    assert keys(attributes) == ["topic_to_iceberg/lake/Sales/Orders"]


def test_patterns_become_assets_with_the_stored_list_of_topics(
    instance: DagsterInstance, tmp_path: Path
) -> None:
    path = tmp_path / "state"
    LoadState(TopicCluster("env-1", "lkc-xyz"), ("sales.eu", "sales.us", "other")).write(path)
    with loaded({"kafka": {"cluster": "by-name"}, "topics": [{"topic": "sales.*"}]}) as (component, _):
        definitions = component.build_defs_from_state(None, path)  # type: ignore[arg-type]
    graph = definitions.resolve_asset_graph()
    assert {key.to_user_string() for key in graph.materializable_asset_keys} == {
        "topic_to_iceberg/lkc-xyz/sales.eu",
        "topic_to_iceberg/lkc-xyz/sales.us",
    }


def test_a_state_that_cannot_be_read_leaves_the_named_topics(tmp_path: Path) -> None:
    path = tmp_path / "state"
    path.write_text("{")
    with loaded({"topics": [{"topic": "orders"}, {"topic": "sales.*"}]}) as (component, _):
        definitions = component.build_defs_from_state(None, path)  # type: ignore[arg-type]
    assert len(definitions.resolve_asset_graph().materializable_asset_keys) == 1


def test_the_location_loads_while_the_storage_of_states_is_down(monkeypatch: pytest.MonkeyPatch) -> None:
    def down(*_: Any, **__: Any) -> Any:
        raise OSError("the storage is down")

    monkeypatch.setattr(StateBackedComponent, "build_defs", down)
    assert keys({"topics": [{"topic": "orders"}]}) == ["topic_to_iceberg/lkc-abc123/orders"]


def test_a_self_managed_cluster_needs_no_state() -> None:
    kafka = {"cluster": "onprem", "bootstrap_servers": "PLAINTEXT://broker:9092"}
    assert keys({"kafka": kafka, "topics": [{"topic": "orders"}]}) == ["topic_to_iceberg/onprem/orders"]


def test_a_cluster_given_by_name_has_no_assets_before_it_was_looked_up() -> None:
    assert keys({"kafka": {"cluster": "orders-eu"}, "topics": [{"topic": "orders"}]}) == []


def test_topics_of_a_pattern_that_fold_to_one_table_are_named_and_the_first_is_loaded() -> None:
    with loaded({"topics": [{"topic": "?rders"}]}) as (component, _):
        plan = component.plan("c")
    assert [each.topic for each in plan.loads(["orders", "Orders"])] == ["Orders"]
    assert list(map(str, plan.collisions(["orders", "Orders"]))) == [
        "The topics Orders and orders have one table, c.orders"
    ]


@pytest.mark.parametrize(
    ("attributes", "path", "error"),
    [
        ({"topics": []}, "attributes", "topics: [{topic: orders}]"),
        ({"topics": [{"topic": "a"}], "kafka": {}}, "attributes.kafka", "cluster: lkc-abc123"),
        ({"topics": [{"topic": "a", "mode": "merge"}]}, "topics[0].mode", "append, upsert or debezium"),
        ({"topics": [{"topic": "a", "failure": "x"}]}, "topics[0].failure", "Did you mean 'failures'?"),
        ({"topics": [{"topic": "a b"}]}, "topics[0].topic", "the name of a topic, or a pattern"),
        ({"topics": [{"topic": "a", "partition_by": ["day(a"]}]}, "partition_by.0", "bucket(16, id)"),
        ({"topics": [{"topic": "a", "start": "yesterday"}]}, "topics[0].start", "2026-01-01T00:00:00Z"),
        ({"topics": [{"topic": "a", "batch_records": 0}]}, "topics[0].batch_records", "whole number"),
        (
            {"topics": [{"topic": "a", "batch_records": True}]},
            "topics[0].batch_records",
            "It is true or false",
        ),
        ({"topics": [{"topic": "a", "location": " "}]}, "topics[0].location", "It is blank. Write"),
        ({"topics": [{"topic": "a", "database": "a\0b"}]}, "topics[0].database", "a name without spaces"),
        ({"topics": [{"topic": "a"}], "upkeep": {"keep_hours": math.inf}}, "upkeep.keep_hours", "too large"),
        ({"topics": [{"topic": "a"}], "upkeep": {"orphan_days": 10**6}}, "upkeep.orphan_days", "too large"),
        ({"topics": [{"topic": "a.*", "table": "t"}]}, "topics.0.table", "share one table"),
        ({"topics": [{"topic": "a"}, {"topic": "a"}]}, "topics.0.topic", "2 entries"),
        ({"topics": [{"topic": "A"}, {"topic": "a"}]}, "topics.1", "topics A and a have one table"),
        ({"topics": [{"topic": "a", "catalog": "lake"}]}, "topics.0.catalog", "There is no catalog lake"),
        (
            {"topics": [{"topic": "a", "failures": "skip", "dead_letter_topic": "e"}]},
            "dead_letter_topic",
            "Nothing is written to it with failures: skip",
        ),
        ({"topics": [{"topic": "a"}], "run": {"mode": "always"}}, "run.mode", "schedule, continuous or"),
    ],
)
def test_an_error_names_its_place_and_what_to_write(
    attributes: dict[str, Any], path: str, error: str
) -> None:
    text = load_error(attributes)
    assert error in text, text
    assert path.replace("[", ".").replace("]", "").split(".")[-1] in text


@pytest.mark.parametrize(("text", "line"), [("topics: [{topic: b}]", 7), ("name: {a: 1, a: 2}", 7)])
def test_key_that_is_written_twice_is_refused(tmp_path: Path, text: str, line: int) -> None:
    file = tmp_path / "defs.yaml"
    file.write_text(f"type: x\nattributes:\n  topics:\n    - {{topic: a}}\n    - {{topic: a}}\n\n  {text}\n")
    context = Mock()
    context.source_position_tree.position.filename = str(file)
    with pytest.raises(ResolutionException, match=rf"defs\.yaml:{line} - \w+: The key is written twice"):
        check_keys(context)


def test_dg_check_yaml_names_the_line(tmp_path: Path) -> None:
    lines = ["  kafka: {cluster: lkc-1}", "  topics:", "    - topic: a", "      mode: merge"]
    text = "\n".join((f"type: {TYPE}", "attributes:", *lines, ""))
    dg = str(Path(sys.executable).parent / "dg")
    done = subprocess.run(
        [dg, "check", "yaml"], cwd=project(tmp_path, text), capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "defs.yaml:6 - " in done.stdout, done.stdout
    assert "['append', 'upsert', 'debezium']" in done.stdout, done.stdout


def test_what_is_scaffolded_is_valid(tmp_path: Path, instance: DagsterInstance) -> None:
    TopicToIcebergComponent.model().model_validate(yaml.safe_load(example(TYPE))["attributes"])
    request: ScaffoldRequest[Any] = ScaffoldRequest(
        type_name=TYPE, target_path=tmp_path, scaffold_format="yaml", project_root=None, params=None
    )
    LoadScaffolder().scaffold(request)
    attributes = yaml.safe_load((tmp_path / "defs.yaml").read_text())["attributes"]
    with loaded(attributes) as (_, definitions):
        assert list(definitions.resolve_asset_graph().materializable_asset_keys)


def test_every_field_has_a_description() -> None:
    schema = TopicToIcebergComponent.model().model_json_schema()
    for part in (schema, *(each for name, each in schema["$defs"].items() if name.endswith("ConfigModel"))):
        for name, shown in part["properties"].items():
            assert shown.get("description"), (part["title"], name)
