"""The federation of S3 Tables, in an account whose answers are held to botocore's service models."""

from __future__ import annotations

from pathlib import Path

import pytest

from lineage_bridge_dagster.operations.doctor import s3_tables
from lineage_bridge_dagster.operations.doctor.context import Context
from lineage_bridge_dagster.operations.doctor.finding import CheckStatus, Finding
from lineage_bridge_dagster.operations.setup import aws as setup_aws
from lineage_bridge_dagster.operations.setup import run
from lineage_bridge_dagster.operations.setup.aws import Aws
from lineage_bridge_dagster.operations.setup.plan import plan
from lineage_bridge_dagster.operations.setup.run import Record
from lineage_bridge_dagster_tests.operations.doctor.examined import (
    caller,
    context_of,
    examine,
    with_status,
    worst,
)
from lineage_bridge_dagster_tests.operations.setup.fake_aws import ACCOUNT, FakeAws, Parameters, Refused
from lineage_bridge_dagster_tests.operations.setup.targets import target

WAREHOUSE = f"{ACCOUNT}:s3tablescatalog/metrics"


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeAws:
    """An account with the table bucket `metrics` and two tables, and nothing set up."""
    account = FakeAws(namespaces={"sales": ["orders", "returns"]})
    monkeypatch.setattr(setup_aws, "aws_session", lambda _settings: account)
    return account


def context(**variables: str) -> Context:
    given = {"ICEBERG_WAREHOUSE": WAREHOUSE, "ICEBERG_NAMESPACE": "sales", **variables}
    return context_of(given, sts=caller(f"arn:aws:sts::{ACCOUNT}:assumed-role/lineage/session"))


def federation(**variables: str) -> list[Finding]:
    return examine(s3_tables.federation, context(**variables))


def set_up(fake: FakeAws, record: Record) -> None:
    aws = Aws(context().aws)
    fake.registered[target().all_buckets_arn] = f"arn:aws:iam::{ACCOUNT}:role/lends"
    run.apply(aws, plan(target(), aws.state(target())), record, report=print, sleep=lambda _: None)


def test_what_is_missing_is_named_with_the_command_that_does_it(fake: FakeAws) -> None:
    failed = with_status(federation(), CheckStatus.FAILED)
    text = " ".join(result.result for result in failed)
    assert "Missing: Glue mounts the table buckets" in text
    assert "on table sales.orders" in text
    command = (
        "lineage-bridge setup s3tables --bucket metrics --namespace sales --principal "
        f"arn:aws:iam::{ACCOUNT}:role/lineage --region us-east-1"
    )
    assert all(f"`{command}` shows the steps" in result.remedy for result in failed)
    assert fake.changes() == []


def test_a_federation_that_is_set_up_is_well(fake: FakeAws, tmp_path: Path) -> None:
    set_up(fake, Record(tmp_path / "record.json", "here"))
    results = federation()
    assert [result.status for result in results] == [CheckStatus.OK], results


def test_a_grant_that_was_revoked_is_named(fake: FakeAws, tmp_path: Path) -> None:
    set_up(fake, Record(tmp_path / "record.json", "here"))
    for grant in fake.grants:
        if "Table" in grant["Resource"] and grant["Resource"]["Table"]["Name"] == "returns":
            grant["Permissions"] = ["DESCRIBE"]
    found = worst(federation())
    assert found.status is CheckStatus.FAILED
    assert "on table sales.returns" in found.result


def test_rights_that_the_doctor_lacks_are_a_warning(fake: FakeAws) -> None:
    def deny(_: Parameters) -> None:
        raise Refused("AccessDeniedException", "not authorized to perform: s3tables:GetTableBucket")

    fake.before["GetTableBucket"] = deny
    found = worst(federation())
    assert found.status is CheckStatus.WARNING
    assert "iam-policy --s3tables --doctor" in found.remedy


def test_a_bucket_and_a_namespace_that_are_not_there_fail(fake: FakeAws) -> None:
    other = worst(federation(ICEBERG_WAREHOUSE=f"{ACCOUNT}:s3tablescatalog/other"))
    assert "no table bucket other" in other.result
    absent = worst(federation(ICEBERG_NAMESPACE="sale"))
    assert absent.status is CheckStatus.FAILED


def test_the_bucket_of_another_account_is_its_owners_to_look_at(fake: FakeAws) -> None:
    (found,) = federation(ICEBERG_WAREHOUSE="999988887777:s3tablescatalog/metrics")
    assert found.status is CheckStatus.SKIPPED
    assert "owner runs `lineage-bridge setup s3tables --bucket metrics" in found.remedy


def test_nothing_is_looked_at_without_a_table_bucket() -> None:
    (found,) = examine(s3_tables.federation, context_of())
    assert found.status is CheckStatus.SKIPPED
