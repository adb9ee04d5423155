from __future__ import annotations

from lineage_bridge_dagster.lineage.coverage import Coverage, Scope, ScopeReport, Status


def test_scope_round_trips_through_its_text_form() -> None:
    for scope in (
        Scope("environments"),
        Scope("clusters", "env-1"),
        Scope("glue", "", "us-east-1"),
        Scope("flink", "env-1", "aws.us-east-1"),
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
