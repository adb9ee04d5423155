"""The AWS of one test and the servers that the tests of a worker share."""

from __future__ import annotations

import boto3

from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster_tests.config.mocked_aws import mocked_aws

REGION = "us-east-1"


def test_servers_of_other_tests_keep_what_they_hold() -> None:
    with StrictAws() as server:
        server.client("s3", REGION).create_bucket(Bucket="shared-by-tests")
        with mocked_aws():
            secrets = boto3.client(
                "secretsmanager", region_name=REGION, aws_access_key_id="a", aws_secret_access_key="b"
            )
            secrets.create_secret(Name="keys", SecretString="s")
        with mocked_aws():
            secrets.create_secret(Name="keys", SecretString="again")
        names = [each["Name"] for each in server.client("s3", REGION).list_buckets()["Buckets"]]
        server.client("s3", REGION).delete_bucket(Bucket="shared-by-tests")
    assert "shared-by-tests" in names
