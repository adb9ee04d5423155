"""The check of the discovery as runs evaluate it."""

from __future__ import annotations

from dagster import (
    AssetCheckEvaluation,
    AssetCheckSeverity,
    DagsterInstance,
)

from lineage_bridge_dagster.lineage.coverage import (
    CONNECTOR_OFFSETS,
    Note,
    Scope,
    ScopeReport,
    Status,
)
from lineage_bridge_dagster_tests.assets.check_runs import (
    DISCOVERY,
    Build,
    missing,
    only,
    run_checks,
    small,
)
from lineage_bridge_dagster_tests.assets.world import EAST, ENV, World


def test_discovery_counts_missing_tables_and_passes(location: Build, instance: DagsterInstance) -> None:
    found = discovery(location, instance, missing())
    assert found.passed
    counts = "0 found, 1 missing (1 sync failed), 0 unknown"
    assert f"Glue tables: {counts}." in str(found.description)
    assert found.metadata["glue tables"].value == counts


def discovery(location: Build, instance: DagsterInstance, w: World) -> AssetCheckEvaluation:
    return only(run_checks(location(w, glue=object()), instance, (DISCOVERY, "discovery_complete")))


def test_a_complete_discovery_passes(location: Build, instance: DagsterInstance) -> None:
    assert discovery(location, instance, small()).passed


def test_a_denied_scope_is_named_with_its_reason(location: Build, instance: DagsterInstance) -> None:
    w = small()
    w.report("connect", EAST, Status.DENIED, "Grant the key's account DeveloperRead on connectors")
    found = discovery(location, instance, w)
    assert not found.passed
    assert found.severity is AssetCheckSeverity.ERROR
    assert f"connect:{ENV}:{EAST} (denied)" in str(found.description)
    assert "DeveloperRead" in str(found.description)
    assert "`refresh`" in str(found.description)


def test_a_complete_discovery_passes_and_names_what_it_leaves_open(
    location: Build, instance: DagsterInstance
) -> None:
    w = small()
    note = Note("connector_class", ("crm",))
    w.reports.append(ScopeReport(Scope("connect", ENV, EAST), Status.COMPLETE, notes=(note,)))
    found = discovery(location, instance, w)
    assert found.passed
    assert "1 connector of an unknown class: crm" in str(found.description)
    assert f"| connect:{ENV}:{EAST} | note | 1 connector of an" in str(found.metadata["details"].value)


def test_a_partially_read_scope_is_a_warning(location: Build, instance: DagsterInstance) -> None:
    w = small()
    w.report("connect", EAST, Status.PARTIAL, "page 3 timed out")
    assert discovery(location, instance, w).severity is AssetCheckSeverity.WARN


def test_offsets_that_the_key_may_not_read_are_no_failure(location: Build, instance: DagsterInstance) -> None:
    w = small()
    scopes = len(w.reports)
    w.report(CONNECTOR_OFFSETS, f"{EAST}/lcc-1", Status.DENIED, "403")
    found = discovery(location, instance, w)
    assert found.passed
    assert f"{scopes} of {scopes + 1} scopes were fully read" in str(found.description)
