from __future__ import annotations

from lineage_bridge_dagster.lineage.coverage import CONNECTOR_OFFSETS, Coverage, Scope, ScopeReport, Status
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.graph_json import dumps, loads
from lineage_bridge_dagster.lineage.model import Graph


def test_scope_round_trips_through_its_text_form() -> None:
    for scope in (
        Scope("environments"),
        Scope("clusters", "env-1"),
        Scope("glue", "", "us-east-1"),
        Scope("flink", "env-1", "aws.us-east-1"),
        Scope(CONNECTOR_OFFSETS, "env-1", "lkc-1/lcc-1"),
    ):
        assert Scope.parse(str(scope)) == scope


def test_fully_read_parent_proves_that_an_unread_scope_is_gone() -> None:
    coverage = Coverage([ScopeReport(Scope("environments"), Status.COMPLETE)])

    assert coverage.proves_absence(Scope("kafka", "env-1", "lkc-1"))
    coverage.add(ScopeReport(Scope("clusters", "env-1"), Status.FAILED))
    assert not coverage.proves_absence(Scope("kafka", "env-1", "lkc-1"))


def test_worse_of_two_reports_on_a_scope_is_kept() -> None:
    scope = Scope("kafka", "e", "c")
    coverage = Coverage([ScopeReport(scope, Status.FAILED, "500"), ScopeReport(scope, Status.COMPLETE)])

    assert coverage.get(scope) == ScopeReport(scope, Status.FAILED, "500")
    assert not coverage.complete
    assert not Coverage().complete


def test_offsets_of_a_connector_that_its_cluster_no_longer_lists_are_gone() -> None:
    offsets = Scope(CONNECTOR_OFFSETS, "env-1", "lkc-1/lcc-1")
    coverage = Coverage([ScopeReport(Scope("clusters", "env-1"), Status.COMPLETE)])
    assert coverage.proves_absence(offsets)
    coverage.add(ScopeReport(Scope("connect", "env-1", "lkc-2"), Status.FAILED))
    assert coverage.proves_absence(offsets)
    coverage.add(ScopeReport(Scope("connect", "env-1", "lkc-1"), Status.FAILED))
    assert not coverage.proves_absence(offsets)


def test_unread_offsets_of_a_listed_connector_prove_nothing() -> None:
    offsets = Scope(CONNECTOR_OFFSETS, "env-1", "lkc-1/lcc-1")
    coverage = Coverage([ScopeReport(Scope("connect", "env-1", "lkc-1"), Status.COMPLETE)])
    assert coverage.proves_absence(offsets)
    coverage.add(ScopeReport(offsets, Status.DENIED, "403"))
    assert not coverage.proves_absence(offsets)


def test_denied_offsets_leave_a_coverage_complete_and_failed_ones_do_not() -> None:
    complete = ScopeReport(Scope("connect", "env-1", "lkc-1"), Status.COMPLETE)
    offsets = Scope(CONNECTOR_OFFSETS, "env-1", "lkc-1/lcc-1")
    denied = Coverage([complete, ScopeReport(offsets, Status.DENIED, "403")])
    failed = Coverage([complete, ScopeReport(offsets, Status.FAILED, "500")])
    assert (denied.complete, failed.complete) == (True, False)
    assert (denied.covers_all_table_sources, failed.covers_all_table_sources) == (True, True)
    assert [report.scope for report in failed.incomplete] == [offsets]


def test_scope_asked_by_name_is_partial_and_hides_nothing() -> None:
    scope = Scope("glue", "", "us-east-1")
    report = ScopeReport(scope, Status.PARTIAL, "lists are denied", 2, by_name=True)
    coverage = Coverage([report])
    assert coverage.incomplete == [report]
    assert coverage.hiding == []
    assert coverage.proves_absence(scope)
    assert coverage.covers_all_table_sources
    (read,) = loads(dumps(Discovery(Graph(), coverage))).coverage
    assert read == report
