"""`lineage-bridge setup s3tables` on the local stack: S3 Tables, Lake Formation and Glue's catalogs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from lineage_bridge_dagster.embedded.aws import ACCESS_KEY, SECRET_KEY
from lineage_bridge_dagster.embedded.aws.server import StrictAws
from lineage_bridge_dagster.embedded.aws.table_buckets import TableBucket
from lineage_bridge_dagster.embedded.rest.names import S3_TABLES
from lineage_bridge_dagster.embedded.rest.server import IcebergRest
from lineage_bridge_dagster_tests.cli.conftest import run

pytestmark = pytest.mark.xdist_group("rest")

REGION, BUCKET = "us-east-1", "table-bucket"


@pytest.fixture
def arn(aws: StrictAws, rest: IcebergRest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """The table bucket, in an account that the environment's AWS variables point to."""
    aws.table_buckets.add(TableBucket(BUCKET, REGION, rest.backend(S3_TABLES)))
    for name, value in {
        "AWS_ENDPOINT_URL": aws.endpoint_url,
        "AWS_ACCESS_KEY_ID": ACCESS_KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    return f"arn:aws:s3tables:{REGION}:{aws.account_id}:bucket/{BUCKET}"


def setup(aws: StrictAws, *options: str, namespace: str = "sales", bucket: str = BUCKET) -> Any:
    principal = f"arn:aws:iam::{aws.account_id}:role/lineage"
    return run(
        *("setup", "s3tables", "--bucket", bucket, "--namespace", namespace),
        *("--principal", principal, "--region", REGION, *options),
    )


def snapshot(aws: StrictAws, arn: str) -> Any:
    lake, tables = aws.client("lakeformation"), aws.client("s3tables")
    return (
        lake.get_data_lake_settings()["DataLakeSettings"],
        lake.list_permissions()["PrincipalResourcePermissions"],
        [each["namespace"] for each in tables.list_namespaces(tableBucketARN=arn)["namespaces"]],
        lake.list_resources()["ResourceInfoList"],
    )


def create_tables(rest: IcebergRest, namespace: str, *names: str) -> None:
    import httpx

    url = f"{rest.backend(S3_TABLES)}/v1/namespaces"
    httpx.post(url, json={"namespace": [namespace]}, trust_env=False).raise_for_status()
    for name in names:
        schema = {"type": "struct", "fields": [{"id": 1, "name": "id", "type": "long", "required": False}]}
        table = {"name": name, "schema": schema}
        httpx.post(f"{url}/{namespace}/tables", json=table, trust_env=False, timeout=60).raise_for_status()


@pytest.mark.parametrize("namespace", ["sales", "new"])
def test_a_setup_is_shown_applied_and_undone(
    aws: StrictAws, rest: IcebergRest, arn: str, namespace: str
) -> None:
    if namespace == "sales":
        create_tables(rest, "sales", "orders", "returns")
    role = f"arn:aws:iam::{aws.account_id}:role/lake"
    before = snapshot(aws, arn)
    shown = setup(aws, "--data-access-role", role, namespace=namespace)
    assert shown.exit_code == 0, shown.output
    needed = int(re.findall(r"(\d+) needed", shown.output)[0])
    assert needed == {"sales": 6, "new": 5}[namespace]
    assert snapshot(aws, arn) == before

    applied = setup(aws, "--apply", "--data-access-role", role, namespace=namespace)
    assert applied.exit_code == 0, applied.output
    assert "Nothing is needed" in applied.output
    assert snapshot(aws, arn) != before
    assert "Nothing is needed" in setup(aws, "--data-access-role", role, namespace=namespace).output

    undone = setup(aws, "--rollback", namespace=namespace)
    assert undone.exit_code == 0, undone.output
    after = snapshot(aws, arn)
    assert after[1:] == before[1:]
    assert after[0] == {**before[0], "AllowFullTableExternalDataAccess": False}
    with pytest.raises(ClientError, match="EntityNotFoundException"):
        aws.client("glue").get_catalog(CatalogId=f"{aws.account_id}:s3tablescatalog")


def test_a_bucket_that_is_not_there_is_named(aws: StrictAws, arn: str) -> None:
    result = setup(aws, bucket="elsewhere")
    assert result.exit_code == 1
    assert "There is no table bucket elsewhere" in result.stderr


def test_errors_are_those_of_s3_tables(aws: StrictAws, rest: IcebergRest, arn: str) -> None:
    tables = aws.client("s3tables")
    create_tables(rest, "kept", "orders")
    for call, code in (
        (lambda: tables.get_namespace(tableBucketARN=arn, namespace="missing"), "NotFoundException"),
        (lambda: tables.create_namespace(tableBucketARN=arn, namespace=["kept"]), "ConflictException"),
        (lambda: tables.delete_namespace(tableBucketARN=arn, namespace="kept"), "ConflictException"),
    ):
        with pytest.raises(ClientError) as raised:
            call()
        assert raised.value.response["Error"]["Code"] == code
    assert [each["name"] for each in tables.list_tables(tableBucketARN=arn, namespace="kept")["tables"]] == [
        "orders"
    ]
    assert [bucket["arn"] for bucket in tables.list_table_buckets()["tableBuckets"]] == [arn]
