"""Reports of pushes."""

from __future__ import annotations

from lineage_bridge_dagster.lineage.push_results import PushReport, PushStatus, TableResult
from lineage_bridge_dagster_tests.work import steps_of


def result(table: str, name: str, status: PushStatus = PushStatus.UPDATED) -> TableResult:
    return TableResult(table, "db", name, status)


def test_a_result_is_found_by_node_id_and_by_name_and_the_first_one_counts() -> None:
    first, second = result("glue:a", "t"), result("glue:b", "t", PushStatus.FAILED)
    report = PushReport((first, second))
    assert report.result("db.t") is first
    assert report.result("glue:b") is second
    assert report.result("glue:c") is None


def test_all_results_are_found_in_a_time_that_grows_with_their_number_alone() -> None:
    def steps(tables: int) -> int:
        report = PushReport(tuple(result(f"glue:{n}", f"t{n}") for n in range(tables)))
        return steps_of(lambda: [report.result(each.table) for each in report.results])

    assert steps(400) < 5 * steps(100)
