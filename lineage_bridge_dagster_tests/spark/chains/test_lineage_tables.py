"""The records of the lineage tables, without Spark."""

from __future__ import annotations

from lineage_bridge_dagster.lineage.coverage import Coverage, Note, Scope, ScopeReport, Status
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.spark.chains.lineage_tables import COLUMNS, graph_records


def test_coverage_names_what_a_scope_leaves_open() -> None:
    reports = [
        ScopeReport(
            Scope("connect", "env-1", "lkc-1"),
            Status.COMPLETE,
            count=2,
            notes=(Note("connector_class", ("crm",)),),
        ),
        ScopeReport(Scope("kafka", "env-1", "lkc-1"), Status.COMPLETE, count=5),
    ]
    records = graph_records(Discovery(coverage=Coverage(reports), discovered_at="2026-04-30T12:00:00Z"))
    coverage = next(each for each in records if each.table == "coverage")
    assert coverage.rows.column_names == [name for name, _, _ in COLUMNS["coverage"]]
    assert coverage.rows["notes"].to_pylist() == [["1 connector of an unknown class: crm"], []]
