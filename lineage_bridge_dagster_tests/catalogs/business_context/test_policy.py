"""The IAM policy allows what a push and a clean call, and nothing else."""

from __future__ import annotations

from dataclasses import replace

from lineage_bridge_dagster.catalogs.clean import clean_forms
from lineage_bridge_dagster.operations.iam.purposes import Purpose, statements
from lineage_bridge_dagster.operations.iam.statements import policy
from lineage_bridge_dagster_tests.catalogs.business_context.shop import SETTINGS, Shop
from lineage_bridge_dagster_tests.catalogs.glue.graphs import CLUSTER
from lineage_bridge_dagster_tests.catalogs.glue.runs import no_sleep
from lineage_bridge_dagster_tests.operations.iam.scopes import SCOPE


def test_the_policy_has_the_actions_that_are_called_and_no_more(shop: Shop) -> None:
    scope = replace(SCOPE, account=shop.aws.account_id, databases=(CLUSTER,))
    (own,) = statements([Purpose.BUSINESS_CONTEXT], scope)
    shop.aws.restrict(policy(statements([Purpose.PUSH, Purpose.BUSINESS_CONTEXT], scope)))
    shop.aws.assets.ids[shop.arn()] = "c9vq7sh2fk4t2h"
    found = shop.discovery
    shop.aws.clear_faults()
    assert shop.push(found).counts["updated"] == 1
    assert clean_forms(shop.client, SETTINGS, sleep=no_sleep).counts["updated"] == 1
    called = {f"glue:{operation}" for operation in shop.aws.calls}
    assert own.actions == called - {"glue:GetDatabases", "glue:GetTables"}


def test_without_it_the_push_to_glue_is_allowed_and_the_forms_are_denied(shop: Shop) -> None:
    scope = replace(SCOPE, account=shop.aws.account_id, databases=(CLUSTER,))
    shop.aws.restrict(policy(statements([Purpose.PUSH], scope)))
    report = shop.push_all()
    assert report.counts["updated"] == 1
    assert report.business_context is not None
    (result,) = report.business_context.results
    assert "not authorized to perform: glue:GetFormType" in result.reason
