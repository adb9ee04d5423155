"""Unchanged statements are not parsed again."""

from __future__ import annotations

import json

import pytest

from lineage_bridge_dagster.sql.flink import parse_cache
from lineage_bridge_dagster.sql.flink.parse_cache import ParseCache
from lineage_bridge_dagster.sql.flink.parser import FlinkSqlParser
from lineage_bridge_dagster_tests.sql.conftest import cases

pytestmark = pytest.mark.xdist_group("flink")


def test_cached_lineage_is_the_parsed_one(parser: FlinkSqlParser) -> None:
    texts = [case["sql"] for case in cases()]
    first = ParseCache()
    with FlinkSqlParser(cache=first) as one:
        parsed = one.parse(texts)
    again = ParseCache(json.loads(json.dumps(first.to_json())))
    with FlinkSqlParser(cache=again) as other:
        assert other.parse(texts) == parsed
        # Nothing was left to parse, so no process was needed.
        assert other.pid is None
    assert again.hits == len(texts)
    assert parsed == parser.parse(texts)


def test_rejected_text_is_asked_again(parser: FlinkSqlParser) -> None:
    kept = ParseCache()
    kept.put("SELEC", parser.parse(["SELEC"])[0])
    assert kept.get("SELEC") is None


def test_texts_that_are_gone_leave_the_cache() -> None:
    with FlinkSqlParser(cache=(first := ParseCache())) as parser:
        parser.parse(["SELECT * FROM a", "SELECT * FROM b"])
    second = ParseCache(first.to_json())
    assert second.get("SELECT * FROM a") is not None
    third = ParseCache(second.to_json())
    assert third.get("SELECT * FROM a") is not None
    assert third.get("SELECT * FROM b") is None


def test_another_parser_version_starts_anew(monkeypatch: pytest.MonkeyPatch, parser: FlinkSqlParser) -> None:
    old = ParseCache()
    old.put("SELECT 1", parser.parse(["SELECT 1"])[0])
    monkeypatch.setattr(parse_cache, "VERSION", "another")
    assert ParseCache(old.to_json() | {"version": "old"}).get("SELECT 1") is None


@pytest.mark.parametrize("entry", [None, 1, [1], [{}], [{"kind": "X", "view": {}}], {"kind": "X"}])
def test_damaged_entry_is_parsed_again(entry: object, parser: FlinkSqlParser) -> None:
    made = ParseCache()
    made.put("SELECT 1", parser.parse(["SELECT 1"])[0])
    saved = made.to_json()
    saved["entries"] = dict.fromkeys(saved["entries"], entry)
    assert ParseCache(saved).get("SELECT 1") is None


def test_cache_holds_no_text(parser: FlinkSqlParser) -> None:
    made = ParseCache()
    sql = "SET 'db.password' = 'hunter2'; INSERT INTO d SELECT 'hunter2' FROM t"
    made.put(sql, parser.parse([sql])[0])
    assert "hunter2" not in json.dumps(made.to_json())
