"""Lineages cached from one discovery to the next."""

from __future__ import annotations

import json

import pytest

from lineage_bridge_dagster.sql.flink import parse_cache
from lineage_bridge_dagster.sql.flink.parse_cache import ParseCache
from lineage_bridge_dagster.sql.flink.parser import FlinkSqlParser
from lineage_bridge_dagster_tests.sql.conftest import cases

pytestmark = pytest.mark.xdist_group("flink")


def test_cached_lineage_equals_the_parsed_one(parser: FlinkSqlParser) -> None:
    texts = [case["sql"] for case in cases()]
    parsed = parser.parse(texts)
    first = ParseCache()
    for text, lineage in zip(texts, parsed, strict=True):
        first.put(text, lineage)
    reloaded = ParseCache(json.loads(json.dumps(first.to_json())))
    cached = [reloaded.get(text) for text in texts]
    assert None not in cached
    assert cached == parsed
    assert parser.parse(texts) == parsed


def test_rejected_text_is_not_cached(parser: FlinkSqlParser) -> None:
    cache = ParseCache()
    cache.put("SELEC", parser.parse(["SELEC"])[0])
    assert cache.get("SELEC") is None


def test_unused_texts_leave_the_cache(parser: FlinkSqlParser) -> None:
    first = ParseCache()
    for text in ("SELECT * FROM a", "SELECT * FROM b"):
        first.put(text, parser.parse([text])[0])
    second = ParseCache(first.to_json())
    assert second.get("SELECT * FROM a") is not None
    third = ParseCache(second.to_json())
    assert third.get("SELECT * FROM a") is not None
    assert third.get("SELECT * FROM b") is None


def test_cache_of_another_parser_version_counts_as_empty(
    monkeypatch: pytest.MonkeyPatch, parser: FlinkSqlParser
) -> None:
    cache = ParseCache()
    cache.put("SELECT 1", parser.parse(["SELECT 1"])[0])
    monkeypatch.setattr(parse_cache, "VERSION", "another")
    assert ParseCache(cache.to_json() | {"version": "old"}).get("SELECT 1") is None


@pytest.mark.parametrize("entry", [None, 1, [1], [{}], [{"kind": "X", "view": {}}], {"kind": "X"}])
def test_damaged_entry_counts_as_missing(entry: object, parser: FlinkSqlParser) -> None:
    cache = ParseCache()
    cache.put("SELECT 1", parser.parse(["SELECT 1"])[0])
    saved = cache.to_json()
    saved["entries"] = dict.fromkeys(saved["entries"], entry)
    assert ParseCache(saved).get("SELECT 1") is None


def test_cache_stores_no_text(parser: FlinkSqlParser) -> None:
    cache = ParseCache()
    sql = "SET 'db.password' = 'hunter2'; INSERT INTO d SELECT 'hunter2' FROM t"
    cache.put(sql, parser.parse([sql])[0])
    assert "hunter2" not in json.dumps(cache.to_json())
