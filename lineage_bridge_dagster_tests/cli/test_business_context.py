"""`push` and `clean` with forms in Glue's business context."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lineage_bridge_dagster.catalogs.business_context.forms import TABLE_FORM
from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog
from lineage_bridge_dagster_tests.catalogs.glue.graphs import CLUSTER, REGION
from lineage_bridge_dagster_tests.cli.conftest import run


@pytest.fixture(autouse=True)
def on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEAGE_BRIDGE_PUSH_BUSINESS_CONTEXT", "true")


def attached(catalog: Catalog, table: str = "orders.v1") -> bool:
    assets = catalog.aws.assets
    return TABLE_FORM.name in assets.attached(REGION, assets.arn(REGION, CLUSTER, table))


def test_push_and_clean_tell_of_the_forms_below_the_tables(graph: Path, catalog: Catalog) -> None:
    planned = run("push", "--graph", graph, "--dry-run")
    heading = "In Glue's business context (preview):"
    assert "+ lineage_bridge.source_topics: orders.v1" in planned.stdout.partition(heading)[2]
    assert not attached(catalog)
    pushed = json.loads(run("push", "--graph", graph, "--json").stdout)
    assert pushed["counts"]["updated"] == pushed["business_context"]["counts"]["updated"] == 2
    assert attached(catalog)
    cleaned = run("clean")
    assert cleaned.exit_code == 0
    assert cleaned.stdout.partition(heading)[2].count("lineage removed") == 2
    assert not attached(catalog)
    assert not catalog.aws.assets.form_types(REGION)


def test_a_failure_there_fails_no_push_but_a_clean(graph: Path, catalog: Catalog) -> None:
    run("push", "--graph", graph)
    catalog.aws.fail("GetFormType", "AccessDeniedException", times=None)
    pushed = run("push", "--graph", graph)
    assert pushed.exit_code == 0
    assert "-> Allow glue:GetFormType: `lineage-bridge iam-policy --business-context`" in pushed.stdout
    cleaned = run("clean")
    assert cleaned.exit_code == 1
    assert "lineage_bridge.digest" not in catalog.parameters("orders.v1")
    assert attached(catalog)


def test_a_named_table_alone_is_cleaned(graph: Path, catalog: Catalog) -> None:
    run("push", "--graph", graph)
    assert run("clean", "--table", f"{CLUSTER}.orders.v1").exit_code == 0
    assert not attached(catalog)
    assert attached(catalog, "customer.profiles-eu")


def test_the_policy_of_what_is_configured_includes_it(graph: Path, catalog: Catalog) -> None:
    policy = run("iam-policy", "--graph", graph, "--account", catalog.aws.account_id)
    assert "glue:PutAttachment" in policy.stdout
