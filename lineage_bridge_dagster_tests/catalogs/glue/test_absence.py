"""Why Glue lacks a table, from what Tableflow, its integrations and Glue report."""

from __future__ import annotations

from typing import Any

import pytest

from lineage_bridge_dagster.catalogs.errors import AccessDeniedError
from lineage_bridge_dagster.catalogs.glue.absence import AbsenceReason, DatabaseReading, why_absent
from lineage_bridge_dagster.lineage.glue_status import GlueStatus
from lineage_bridge_dagster_tests.catalogs.glue.graphs import CLUSTER, REGION, tableflow_node

VISIBLE = DatabaseReading()
SYNCED = [{"type": "AWS_GLUE", "status": "SYNCED"}]


def glue_integration(integration_id: str = "tci-1", **state: Any) -> dict[str, Any]:
    return {"id": integration_id, "name": "lake", "type": "AWS_GLUE", "phase": "CONNECTED", **state}


def sync(status: str, error: str = "", kind: str = "AWS_GLUE") -> dict[str, Any]:
    return {"type": kind, "status": status, "error": error}


def reason(database: DatabaseReading | None = VISIBLE, **attributes: Any) -> AbsenceReason:
    last_found = attributes.pop("last_found", None)
    source = tableflow_node("orders", **{"catalog_sync": SYNCED, **attributes})
    return why_absent(source, region=REGION, database=database, last_found=last_found)


@pytest.mark.parametrize(
    ("attributes", "kind", "text", "next_step"),
    [
        pytest.param(
            {
                "phase": "FAILED",
                "error": "Bucket denied.",
                "catalog_sync": [sync("FAILED", "Bucket denied.")],
            },
            "tableflow_failed",
            "Tableflow failed: Bucket denied",
            "confluent tableflow topic describe orders",
            id="Tableflow failed",
        ),
        pytest.param(
            {"phase": "FAILED"},
            "tableflow_failed",
            "Tableflow failed without a message",
            "resume Tableflow",
            id="silent",
        ),
        pytest.param(
            {"suspended": True},
            "tableflow_suspended",
            "Tableflow is suspended for the topic",
            "Resume",
            id="paused",
        ),
        pytest.param(
            {"table_formats": ["DELTA"]},
            "not_iceberg",
            "its format is DELTA, and only Iceberg tables are synced to Glue",
            "Add ICEBERG",
            id="Delta only",
        ),
        pytest.param(
            {"failing_table_formats": [{"format": "ICEBERG", "error": "bad schema"}]},
            "format_failing",
            "its ICEBERG format is failing: bad schema",
            "schema",
            id="Iceberg fails",
        ),
        pytest.param(
            {"storage_kind": "Managed", "region": "eu-west-1"},
            "storage_unsupported",
            "it is in Confluent's managed storage, from which Confluent syncs no table to Glue",
            "bucket of your own",
            id="managed storage",
        ),
        pytest.param(
            {"catalog_integrations": [glue_integration(suspended=True)]},
            "integration_suspended",
            "the catalog integration lake (tci-1) is suspended",
            "Resume the catalog integration lake (tci-1)",
            id="integration suspended",
        ),
        pytest.param(
            {"catalog_integrations": [glue_integration(phase="FAILED", error="role gone")]},
            "integration_failed",
            "the catalog integration lake (tci-1) failed: role gone",
            "glue:CreateTable",
            id="integration failed",
        ),
        pytest.param(
            {"catalog_sync": [sync("FAILED", "AccessDenied on glue:CreateTable")]},
            "sync_failed",
            "its sync to Glue failed: AccessDenied on glue:CreateTable",
            "glue:CreateTable",
            id="sync failed",
        ),
        pytest.param(
            {"catalog_sync": [sync("DISCONNECTED", "role gone")]},
            "sync_failed",
            "its sync to Glue is disconnected: role gone",
            "Grant",
            id="disconnected",
        ),
        pytest.param(
            {"catalog_sync": [sync("PENDING")], "created_at": "2026-04-30T12:00:00Z"},
            "not_synced_yet",
            "it has not been synced to Glue yet (Tableflow was enabled at 2026-04-30T12:00:00Z)",
            "first commit",
            id="new",
        ),
        pytest.param(
            {"catalog_sync": [sync("SYNCED", kind="SNOWFLAKE")]},
            "not_synced_yet",
            "it has not been synced to Glue yet",
            "first commit",
            id="synced elsewhere",
        ),
        pytest.param(
            {"region": "eu-west-1"},
            "other_region",
            "its bucket is in eu-west-1, and Glue is read in us-east-1",
            "Set LINEAGE_BRIDGE_AWS_REGION to eu-west-1",
            id="other region",
        ),
        pytest.param(
            {"last_found": "2026-04-29T00:00:00Z"},
            "dropped",
            "it was dropped: it was last found at 2026-04-29T00:00:00Z",
            "disable Tableflow",
            id="dropped",
        ),
        pytest.param(
            {},
            "not_in_database",
            f"Tableflow reports it as synced, but the Glue database {CLUSTER} has no table orders that is "
            "visible to this role",
            "Lake Formation",
            id="unexplained",
        ),
    ],
)
def test_reason(attributes: dict[str, Any], kind: str, text: str, next_step: str) -> None:
    found = reason(**attributes)
    assert (found.status, found.kind, found.text) == (GlueStatus.MISSING, kind, text)
    assert next_step in found.next_step


def test_several_causes_are_all_named_and_the_first_counts() -> None:
    found = reason(phase="FAILED", error="no rights", region="eu-west-1", catalog_sync=[])
    assert found.kind == "tableflow_failed"
    assert found.text == (
        "Tableflow failed: no rights, and its bucket is in eu-west-1, and Glue is read in us-east-1"
    )
    assert "resume Tableflow" in found.next_step
    assert "LINEAGE_BRIDGE_AWS_REGION" in found.next_step


def test_database_that_glue_does_not_return_is_named() -> None:
    found = reason(DatabaseReading(visible=False))
    assert found.kind == "database_not_visible"
    assert (
        f"the Glue database {CLUSTER} does not exist in {REGION} or is not visible to this role" in found.text
    )
    assert "DESCRIBE in Lake Formation" in found.next_step


def test_table_that_was_found_once_says_when() -> None:
    when = "2026-04-29T00:00:00Z"
    assert f"last found at {when}" in reason(DatabaseReading(visible=False), last_found=when).text
    assert reason(phase="FAILED", last_found=when).text == (
        f"Tableflow failed without a message, and it was last found at {when}"
    )


def test_database_is_not_blamed_before_the_first_sync() -> None:
    assert reason(DatabaseReading(visible=False), catalog_sync=[]).kind == "not_synced_yet"


def test_an_integration_that_works_leaves_no_blame_on_another() -> None:
    broken = glue_integration("tci-2", phase="FAILED")
    assert reason(catalog_integrations=[broken, glue_integration()]).kind == "not_in_database"
    assert reason(catalog_integrations=[{**broken, "syncs_topic": True}, glue_integration()]).kind == (
        "integration_failed"
    )


def test_integration_of_another_kind_is_not_blamed() -> None:
    broken = glue_integration(type="SNOWFLAKE", phase="FAILED")
    assert reason(catalog_integrations=[broken]).kind == "not_in_database"


def test_glue_that_could_not_be_read_is_unknown_whatever_tableflow_says() -> None:
    error = AccessDeniedError("AccessDenied on glue:GetTables.", hint="Grant glue:GetTables.")
    found = reason(DatabaseReading(error), phase="FAILED")
    assert (found.status, found.kind) == (GlueStatus.UNKNOWN, "glue_unread")
    assert found.text == "AccessDenied on glue:GetTables"
    assert found.next_step == "Grant glue:GetTables."


def test_unknown_database_is_unknown() -> None:
    found = reason(None)
    assert (found.status, found.kind) == (GlueStatus.UNKNOWN, "database_unknown")
    assert "integrations" in found.text
