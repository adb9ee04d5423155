"""The push to one table when calls to Glue fail."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ReadTimeoutError

from lineage_bridge_dagster.config.settings import PushSettings
from lineage_bridge_dagster.glue import PushStatus
from lineage_bridge_dagster.glue.targets import PushTarget, push_target
from lineage_bridge_dagster.glue.writer import GlueLineageWriter
from lineage_bridge_dagster.lineage.chains import chain_of
from lineage_bridge_dagster.lineage.nodes import glue_tables
from lineage_bridge_dagster_tests.glue.catalog import Catalog
from lineage_bridge_dagster_tests.glue.graphs import CLUSTER, REGION
from lineage_bridge_dagster_tests.glue.runs import clock, graph_of, no_sleep, ours, push

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


@pytest.mark.parametrize("status", [500, 503])
def test_write_that_was_applied_before_a_5xx_is_found(
    aws: StrictAws, client: GlueClient, catalog: Catalog, status: int
) -> None:
    catalog.create("orders.v1")
    version = int(catalog.table("orders.v1")["VersionId"])
    aws.fail("UpdateTable", "InternalServiceException", status=status, apply_first=True)
    (result,) = push(client, graph_of()).results
    assert result.status is PushStatus.UPDATED
    assert result.conflicts == 1  # of botocore's second attempt with its first
    assert int(catalog.table("orders.v1")["VersionId"]) == version + 1


def test_write_that_was_applied_before_the_connection_dropped_is_found(
    aws: StrictAws, client: GlueClient, catalog: Catalog
) -> None:
    catalog.create("orders.v1")
    version = int(catalog.table("orders.v1")["VersionId"])
    aws.fail("UpdateTable", drop=True, apply_first=True)
    (result,) = push(client, graph_of()).results
    assert result.status is PushStatus.UPDATED
    assert int(catalog.table("orders.v1")["VersionId"]) == version + 1 == int(result.version_after or 0)


class FailingUpdates:
    """A client whose `update_table` raises an error the first times, by default after applying the write."""

    def __init__(self, client: GlueClient, error: Exception, times: int = 1, *, apply: bool = True) -> None:
        self._client = client
        self._error = error
        self._times = times
        self._apply = apply

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def update_table(self, **request: Any) -> Any:
        if self._times:
            self._times -= 1
            if self._apply:
                self._client.update_table(**request)
            raise self._error
        return self._client.update_table(**request)


def test_timeout_after_the_write_was_applied_is_a_success(client: GlueClient, catalog: Catalog) -> None:
    catalog.create("orders.v1")
    failing: Any = FailingUpdates(client, ReadTimeoutError(endpoint_url="http://glue"))
    report = push(failing, graph_of())
    assert report.counts["updated"] == 1
    assert report.calls["UpdateTable"] == 1
    assert ours(catalog.parameters("orders.v1")) == ours(dict(report.results[0].after))


def test_timeout_before_the_write_is_retried(client: GlueClient, catalog: Catalog) -> None:
    catalog.create("orders.v1")
    failing: Any = FailingUpdates(client, ReadTimeoutError(endpoint_url="http://glue"), apply=False)
    report = push(failing, graph_of())
    assert report.counts["updated"] == 1
    assert report.calls["UpdateTable"] == 2


def test_timeout_on_the_last_attempt_is_looked_up(client: GlueClient, catalog: Catalog) -> None:
    catalog.create("orders.v1")
    failing: Any = FailingUpdates(client, ReadTimeoutError(endpoint_url="http://glue"))
    assert push(failing, graph_of(), settings={"max_attempts": 1}).counts["updated"] == 1


def test_write_in_doubt_that_cannot_be_read_back_is_unknown(
    aws: StrictAws, client: GlueClient, catalog: Catalog
) -> None:
    catalog.create("orders.v1")
    failing: Any = FailingUpdates(client, ReadTimeoutError(endpoint_url="http://glue"))
    graph = graph_of()
    (node,) = glue_tables(graph)
    target = push_target(node, REGION)
    assert isinstance(target, PushTarget)
    writer = GlueLineageWriter(failing, PushSettings(), clock=clock, sleep=no_sleep)
    table = writer.reader.table(CLUSTER, "orders.v1")
    aws.fail("GetTable", "AccessDeniedException", times=-1)
    result = writer.push(target, chain_of(graph, node.node_id), complete=True, table=table)
    assert result.status is PushStatus.UNKNOWN
    assert "could not be read back" in result.reason
    assert not result.ok


def test_throttled_write_is_retried(aws: StrictAws, client: GlueClient, catalog: Catalog) -> None:
    catalog.create("orders.v1")
    aws.fail("UpdateTable", "ThrottlingException", times=2)
    assert push(client, graph_of()).counts["updated"] == 1


def test_write_that_was_applied_before_a_retried_denial_is_found(
    aws: StrictAws, client: GlueClient, catalog: Catalog
) -> None:
    catalog.create("orders.v1")
    aws.fail("UpdateTable", "InternalServiceException", status=500, apply_first=True)
    aws.fail("UpdateTable", "AccessDeniedException")
    (result,) = push(client, graph_of()).results
    assert result.status is PushStatus.UPDATED


def test_endless_conflicts_are_reported_as_a_failure(client: GlueClient, catalog: Catalog) -> None:
    catalog.create("orders.v1")

    class Conflicting(FailingUpdates):
        def update_table(self, **request: Any) -> Any:
            catalog.commit("orders.v1")
            return self._client.update_table(**request)

    conflicting: Any = Conflicting(client, RuntimeError(), 0)
    (result,) = push(conflicting, graph_of(), settings={"max_attempts": 3}).results
    assert result.status is PushStatus.FAILED
    assert result.conflicts == 3
    assert "none of their commits was overwritten" in result.reason
