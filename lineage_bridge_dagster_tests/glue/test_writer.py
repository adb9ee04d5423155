"""Errors of Glue that are its own, and what a push makes of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lineage_bridge_dagster.glue import PushStatus
from lineage_bridge_dagster_tests.glue.catalog import Catalog
from lineage_bridge_dagster_tests.glue.runs import graph_of, push

if TYPE_CHECKING:
    from mypy_boto3_glue.client import GlueClient

    from lineage_bridge_dagster.embedded.aws import StrictAws


def test_access_denied_names_the_action(aws: StrictAws, client: GlueClient, catalog: Catalog) -> None:
    catalog.create("orders.v1")
    aws.fail("UpdateTable", "AccessDeniedException", times=-1)
    (result,) = push(client, graph_of()).results
    assert result.status is PushStatus.FAILED
    assert "glue:UpdateTable" in result.reason
    assert "Allow glue:UpdateTable" in result.hint
    assert "Lake Formation" in result.hint
    assert result.attempts == 1


def test_write_that_was_applied_before_a_retried_denial_is_found(
    aws: StrictAws, client: GlueClient, catalog: Catalog
) -> None:
    catalog.create("orders.v1")
    aws.fail("UpdateTable", "InternalServiceException", status=500, apply_first=True)
    aws.fail("UpdateTable", "AccessDeniedException")
    (result,) = push(client, graph_of()).results
    assert result.status is PushStatus.UPDATED
