"""Errors of Glue that are its own, and what a push makes of each."""

from __future__ import annotations

from collections import Counter

import pytest

from lineage_bridge_dagster.catalogs.glue.reader import GlueReader
from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster.lineage.push_results import PushStatus
from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog, GlueClient
from lineage_bridge_dagster_tests.catalogs.glue.graphs import CLUSTER
from lineage_bridge_dagster_tests.catalogs.glue.runs import graph_of, push


def test_write_that_was_applied_before_a_retried_denial_is_found(
    aws: StrictAws, client: GlueClient, catalog: Catalog
) -> None:
    catalog.create("orders.v1")
    aws.fail("UpdateTable", "InternalServiceException", status=500, apply_first=True)
    aws.fail("UpdateTable", "AccessDeniedException")
    (result,) = push(client, graph_of()).results
    assert result.status is PushStatus.UPDATED


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("max_attempts", [1, 8])
def test_table_that_glue_fails_for_ever_costs_the_attempts_that_are_configured(
    aws: StrictAws, client: GlueClient, catalog: Catalog, max_attempts: int
) -> None:
    sent: Counter[str] = Counter()
    client.meta.events.register(
        "before-send.glue", lambda request, **_: sent.update([str(request.headers["X-Amz-Target"], "ascii")])
    )
    catalog.create("orders.v1")
    aws.fail("UpdateTable", "InternalServiceException", status=500, times=None)
    (result,) = push(client, graph_of(), settings={"max_attempts": max_attempts}).results
    assert result.status is PushStatus.FAILED
    assert result.attempts == sent["AWSGlue.UpdateTable"] == max_attempts
    # Before each attempt, and after the last one.
    assert sent["AWSGlue.GetTable"] == max_attempts + 1
    # Where nobody else tries again, botocore does.
    sent.clear()
    aws.fail("GetTables", "InternalServiceException", status=500, times=2)
    assert [len(page) for page in GlueReader(client).pages(CLUSTER)] == [1]
    assert sent["AWSGlue.GetTables"] == 3
