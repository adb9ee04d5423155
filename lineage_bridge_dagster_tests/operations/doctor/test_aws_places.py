"""Compares the configured region with those of the tables and their buckets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster.lineage.model import Graph
from lineage_bridge_dagster.operations.doctor import aws_places
from lineage_bridge_dagster.operations.doctor.finding import CheckStatus
from lineage_bridge_dagster_tests.catalogs.glue.graphs import REGION, add_table
from lineage_bridge_dagster_tests.operations.doctor.examined import context_of, examine, worst


def _graph(bucket: str = "") -> Graph:
    graph = Graph()
    table = add_table(graph, "orders.v1")
    if bucket:
        table.attributes.update(storage_location=f"s3://{bucket}/topics/orders")
    return graph


def test_a_region_that_is_the_tables_own_is_well() -> None:
    results = examine(aws_places.region, context_of(graph=_graph()))
    assert [one.status for one in results] == [CheckStatus.OK, CheckStatus.OK]
    assert "1 table of a test" in results[1].result


def test_tables_in_another_region_are_counted_and_the_variable_is_named() -> None:
    context = context_of({"LINEAGE_BRIDGE_AWS_REGION": "eu-west-1"}, _graph())
    found = worst(examine(aws_places.region, context))
    assert f"1 table in {REGION} (orders.v1)" in found.result
    assert f"LINEAGE_BRIDGE_AWS_REGION to {REGION}" in found.remedy


def test_variables_that_disagree_are_named_with_the_one_that_wins() -> None:
    found = worst(examine(aws_places.region, context_of({"AWS_REGION": "eu-west-1"})))
    assert found.status is CheckStatus.WARNING
    assert "AWS_REGION: it is eu-west-1, and the region in use is us-east-1" in found.result


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[StrictAws]:
    with StrictAws() as aws:
        monkeypatch.setenv("AWS_ENDPOINT_URL", aws.endpoint_url)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
        yield aws


def test_the_region_of_each_bucket_is_asked_for(aws: StrictAws) -> None:
    s3: Any = aws.client("s3")
    s3.create_bucket(Bucket="ours")
    s3.create_bucket(Bucket="theirs", CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
    (found,) = examine(aws_places.buckets, context_of(graph=_graph("ours")))
    assert (found.status, found.result) == (CheckStatus.OK, f"It is in {REGION}.")
    (found,) = examine(aws_places.buckets, context_of(graph=_graph("theirs")))
    assert found.status is CheckStatus.FAILED
    assert f"It is in eu-west-1, and Glue is read in {REGION}" in found.result
    assert "LINEAGE_BRIDGE_AWS_REGION" in found.remedy


def test_a_bucket_that_is_gone_fails_and_one_that_refuses_does_not_hold_back_pushes(aws: StrictAws) -> None:
    (found,) = examine(aws_places.buckets, context_of(graph=_graph("nowhere")))
    assert found.status is CheckStatus.FAILED
    assert "no such bucket" in found.result
    aws.client("s3").create_bucket(Bucket="private")
    aws.fail("HeadBucket", "AccessDenied", status=403, times=None)
    (found,) = examine(aws_places.buckets, context_of(graph=_graph("private")))
    assert found.status is CheckStatus.WARNING
    assert "s3:ListBucket on arn:aws:s3:::private" in found.remedy


def test_without_tables_no_bucket_is_asked_for() -> None:
    assert [one.status for one in examine(aws_places.buckets, context_of())] == [CheckStatus.SKIPPED]
