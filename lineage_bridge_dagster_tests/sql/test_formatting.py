"""SQL formatted for people."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lineage_bridge_dagster.sql import formatting
from lineage_bridge_dagster.sql.formatting import formatted
from lineage_bridge_dagster_tests.conftest import shared

ONE_LINE = (
    "INSERT INTO `a` SELECT o.id, SUM(o.total) AS total FROM `retail`.`c`.`orders` o "
    "JOIN `customers` c ON o.customer_id = c.id WHERE o.note = 'a,  b' -- why\nGROUP BY o.id"
)


def words(sql: str) -> list[str]:
    """The text without whitespace."""
    return "".join(sql.split()).split()


def test_statement_on_one_line_gets_a_line_for_each_clause() -> None:
    text = formatted(ONE_LINE)
    assert text is not None
    starts = [line.split()[0] for line in text.splitlines()]
    assert starts[:1] + [word for word in starts if word in ("SELECT", "FROM", "JOIN", "WHERE", "GROUP")] == [
        "INSERT",
        "SELECT",
        "FROM",
        "JOIN",
        "WHERE",
        "GROUP",
    ]
    assert "'a,  b' -- why\n" in text
    assert words(text) == words(ONE_LINE)


@pytest.mark.parametrize(
    "sql",
    ["", "SELECT 1", "INSERT INTO a\nSELECT *\nFROM b", "SELECT '" + "x" * 20_001 + "'"],
    ids=["nothing", "short", "formatted", "too long"],
)
def test_readable_or_very_long_text_is_not_formatted(sql: str) -> None:
    assert formatted(sql) is None


def test_text_that_sqlparse_cannot_handle_is_not_formatted(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_args: Any, **_options: Any) -> str:
        raise RecursionError

    monkeypatch.setattr(formatting.sqlparse, "format", fail)
    assert formatted(ONE_LINE) is None
    assert formatted("(" * 5_000) is None


@pytest.mark.shared
def test_formatting_changes_only_whitespace() -> None:
    count = 0
    for name in ("flink_real", "flink_hard", "flink_robustness"):
        for line in shared("sql", f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            sql = str(record.get("sql") or record.get("statement") or "")
            if (text := formatted(sql)) is not None:
                count += 1
                assert words(text) == words(sql)
    assert count > 20
