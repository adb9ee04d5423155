"""SQL laid out to be read."""

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
    """The text without what lies between words."""
    return "".join(sql.split()).split()


def test_a_statement_on_one_line_gets_a_line_for_each_clause() -> None:
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
    [
        "",
        "SELECT 1",
        "INSERT INTO a\nSELECT *\nFROM b",
        "SELECT '" + "x" * 20_001 + "'",
    ],
    ids=["nothing", "short", "laid out", "too long"],
)
def test_what_reads_well_or_is_too_long_stays_as_it_is(sql: str) -> None:
    assert formatted(sql) is None


def test_what_the_library_can_not_read_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_args: Any, **_options: Any) -> str:
        raise RecursionError

    monkeypatch.setattr(formatting.sqlparse, "format", fail)
    assert formatted(ONE_LINE) is None
    assert formatted("(" * 5_000) is None


@pytest.mark.shared
def test_laying_out_changes_nothing_but_the_space_between_words() -> None:
    laid_out = 0
    for name in ("flink_real", "flink_hard", "flink_robustness"):
        for line in shared("sql", f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            sql = str(record.get("sql") or record.get("statement") or "")
            if (text := formatted(sql)) is not None:
                laid_out += 1
                assert words(text) == words(sql)
    assert laid_out > 20
