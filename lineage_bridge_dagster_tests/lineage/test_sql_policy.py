"""A discovery, and what a push wrote, limited to what the setting for SQL shows."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage_bridge_dagster.lineage import sql_policy
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.documents import KEY_UPSTREAM_CHAIN
from lineage_bridge_dagster.lineage.model import Edge, Graph, Node
from lineage_bridge_dagster.lineage.sql_modes import SQL_MODES, is_sql, shown_text
from lineage_bridge_dagster.lineage.sql_policy import (
    limited,
    mode_of,
    shown_description,
    shown_parameters,
    statement_hash,
)

SQL = "INSERT INTO a SELECT 1 /*+ OPTIONS('password'='hunter2') */ -- zebra"
MODES = st.sampled_from(SQL_MODES)


def job(**attributes: Any) -> Discovery:
    return Discovery(Graph([Node("j", "confluent", "flink_job", "j", attributes={"sql": SQL, **attributes})]))


def test_a_mode_that_is_applied_to_nothing_known_is_refused() -> None:
    with pytest.raises(ValueError, match="redcated"):
        limited(job(), "redcated")


@given(st.lists(MODES, min_size=1, max_size=4))
def test_the_strictest_mode_so_far_decides(modes: list[str]) -> None:
    found = job(formatted_sql=SQL, parse_error="Encountered zebra")
    for mode in modes:
        found = limited(found, mode)
    strictest = max(modes, key=SQL_MODES.index)
    assert mode_of(found) == strictest
    text = json.dumps(dict(found.graph.nodes["j"].attributes))
    assert ("zebra" in text) == (strictest in ("full", "redacted"))
    assert ("hunter2" in text) == (strictest == "full")
    assert ("sha256:" in text) == (strictest == "hash")
    # Whatever it shows, a discovery tells whether a statement has changed.
    assert statement_hash(found, "j") == statement_hash(job(), "j")
    assert statement_hash(found, "j") != statement_hash(job(sql=SQL + "s"), "j")


def test_a_discovery_that_is_limited_already_is_not_computed_again() -> None:
    found = limited(job(), "redacted")
    assert limited(found, "full") is found
    assert limited(found, "redacted") is found


def test_only_what_has_changed_since_the_last_discovery_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    def shown(discovery: Discovery, mode: str = "redacted") -> Any:
        return limited(discovery, mode, last).graph.nodes["j"].attributes["sql"]

    last = limited(job(sql="SELECT 'zebra' FROM a WHERE token = 'hunter2'"), "redacted")
    known = last.graph.nodes["j"].attributes["sql"]
    assert known == "SELECT 'zebra' FROM a WHERE token = '****'"
    assert shown(job(sql="SELECT 'zebra' FROM a WHERE token = 'hunter3'")) == known
    # The parser rejects now what it accepted, so that nothing tells what a literal is.
    assert "zebra" not in shown(job(sql=known, parse_error="Encountered a"))
    # Another setting shows less.
    assert shown(job(sql=known), "hash") == shown_text(known, "hash")
    read: list[str] = []
    monkeypatch.setattr(sql_policy, "shown_text", lambda text, *_, **__: read.append(text) or text)
    assert shown(job(sql=known)) == known
    assert not read
    # Limited by other rules.
    last = replace(last, caches={"sql": {"mode": "redacted", "rules": 0}})
    assert shown(job(sql=known)) == known
    assert read == [known]


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("query", "orders", True),
        ("query.suffix", "FOR UPDATE", True),
        ("query.masked", "${secrets:q}", True),
        ("connect.jdbc.kcql", "x", True),
        ("database.initial.statements", "SET x = 1", True),
        ("snapshot.select.statement.overrides.shop.orders", "SELECT * FROM shop.orders", True),
        ("anything", "-- why\n /* how */ (select 1 from t)", True),
        ("anything", "WITH a AS (SELECT 1) SELECT * FROM a", True),
        ("query.mode", "table", False),
        ("query.timeout.ms", "1000", False),
        ("quote.sql.identifiers", "always", False),
        ("insert.mode", "upsert", False),
        ("topics", "select-orders,update.orders", False),
        ("query.password.query", "SELECT 1", False),
        ("tasks.max", 3, False),
    ],
)
def test_settings_of_connectors_that_hold_sql(key: str, value: object, expected: bool) -> None:
    assert is_sql(key, value) == expected


@pytest.mark.parametrize("mode", SQL_MODES)
def test_sql_in_a_connectors_configuration_is_limited(mode: str) -> None:
    config = {"query": SQL, "tasks.max": "1"}
    node = Node("c", "confluent", "connector", "c", attributes={"config": config})
    shown = limited(Discovery(Graph([node])), mode).graph.nodes["c"].attributes["config"]
    assert shown.pop("tasks.max") == "1"
    assert shown.get("query", "") == shown_text(SQL if mode != "hash" else shown_text(SQL, "redacted"), mode)


@pytest.mark.parametrize("chain", ["[1", "[" * 9999, "{}", "7", '[{"sql": 1}]', '["zebra"]', "null"])
def test_a_chain_that_someone_edited_shows_nothing_that_may_be_sql(chain: str) -> None:
    shown = shown_parameters({KEY_UPSTREAM_CHAIN: chain + " zebra", "other": "x"}, "none")
    assert shown == {KEY_UPSTREAM_CHAIN: "****", "other": "x"}
    assert shown_parameters({KEY_UPSTREAM_CHAIN: chain}, "redacted")[KEY_UPSTREAM_CHAIN] == chain


def test_a_pushed_chain_is_the_same_text_where_nothing_is_left_out() -> None:
    chain = '[ {"hop":3, "sql":"SELECT 1", "name": "ü"} ]'
    assert shown_parameters({KEY_UPSTREAM_CHAIN: chain}, "redacted") == {KEY_UPSTREAM_CHAIN: chain}
    assert shown_parameters({KEY_UPSTREAM_CHAIN: chain}, "none") == {
        KEY_UPSTREAM_CHAIN: '[{"hop":3,"sql":"****","name":"ü"}]'
    }


def test_a_description_loses_only_sql_and_secrets() -> None:
    block = "Upstream lineage:\n- flink_job: [j] [SQL: SELECT a[1] FROM zebra]\n  - topic: t [3 columns]"
    text = f"From s3://u:hunter2@b.\n{block}"
    assert shown_description(text, "none") == f"From s3://****@b.\n{block}".replace(
        "SELECT a[1] FROM zebra", "****"
    )
    assert shown_description(block, "redacted") == block


@pytest.mark.parametrize("mode", SQL_MODES)
def test_a_node_of_any_kind_and_attribute_is_limited(mode: str) -> None:
    attributes = {
        "parameters": {"view_sql": SQL, "s3.secret-access-key": "hunter2", "owner": "ops"},
        "catalog_settings": {"uri": "https://u:hunter2@h"},
        "configs": {"basic.auth.user.info": "u:hunter2", "retention.ms": "1"},
        "schema_columns": [{"name": "password", "type": "string", "comment": "api_key=hunter2"}],
        "column_types": {"password": "string"},
        "view": {"definition": f"CREATE VIEW v AS {SQL.replace('INSERT INTO a ', '')}"},
        "error": "401 for https://u:hunter2@h",
    }
    for kind in ("catalog_table", "kafka_topic", "tableflow_table", "of_someone_else"):
        node = Node("n", "iceberg", kind, "n", catalog_type="ICEBERG_REST", attributes=attributes)
        shown = limited(Discovery(Graph([node])), mode).graph.nodes["n"].attributes
        text = json.dumps(dict(shown))
        assert text.count("hunter2") == (2 if mode == "full" else 0)
        assert ("zebra" in text) == (mode in ("full", "redacted"))
        assert shown["column_types"] == {"password": "string"}
        assert shown["configs"]["retention.ms"] == "1"
        assert shown["parameters"]["owner"] == "ops"


def test_a_stored_discovery_is_limited_again_by_newer_rules() -> None:
    found = limited(job(), "redacted")
    older = replace(found, caches={"sql": {"mode": "redacted"}}, graph=job().graph)
    assert "hunter2" not in json.dumps(dict(limited(older, "full").graph.nodes["j"].attributes))
    assert mode_of(limited(older, "full")) == "redacted"


def test_a_statement_that_the_engine_rejects_shows_no_literal() -> None:
    shown = limited(job(sql="SELECT 'zebra'", parse_error="Encountered 'zebra' at line 1"), "redacted")
    assert dict(shown.graph.nodes["j"].attributes) == {
        "sql": "SELECT '****'",
        "parse_error": "Encountered '****' at line 1",
    }


@pytest.mark.parametrize("mode", SQL_MODES)
def test_edges_show_no_more_than_nodes(mode: str) -> None:
    attributes = {
        "evidence": "declared",
        "inputs": ["external_dataset:jdbc:password=x"],
        "sql": SQL,
        "config": {"password": "hunter2", "query": SQL, "topic": "orders"},
        "notes": ["token=hunter2", "zebra"],
        "empty": "",
    }
    nodes = [Node(name, "confluent", "flink_job", name) for name in "ab"]
    found = limited(Discovery(Graph(nodes, [Edge("a", "b", "produces", attributes=attributes)])), mode)
    (edge,) = found.graph.edges.values()
    text = json.dumps(dict(edge.attributes))
    assert ("zebra -" in text or "-- zebra" in text) == (mode in ("full", "redacted"))
    assert ("sha256:" in text) == (mode == "hash")
    assert text.count("hunter2") == (2 if mode == "full" else 0)
    assert edge.inputs == ("external_dataset:jdbc:password=x",)
    assert edge.attributes["notes"] == ["token=****", "zebra"]
    assert edge.attributes["evidence"] == "declared"
    assert edge.attributes["empty"] == ""
