"""Access policies: a caller may do what its policy allows on every resource of a call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from lineage_bridge_dagster_tests.aws.extended import ExtendedAws

ARN = "arn:aws:glue:*:*:"


@pytest.fixture
def aws() -> Iterator[ExtendedAws]:
    with ExtendedAws() as server:
        admin = server.client("glue")
        for database in ("sales", "hr"):
            admin.create_database(DatabaseInput={"Name": database})
            admin.create_table(DatabaseName=database, TableInput={"Name": "orders"})
        yield server


@pytest.fixture
def caller(aws: ExtendedAws) -> Any:
    session = boto3.session.Session(
        aws_access_key_id="caller", aws_secret_access_key="x", region_name="us-east-1"
    )
    return session.client("glue", endpoint_url=aws.endpoint_url)


def policy(*actions: str, resources: tuple[str, ...] = ("*",), effect: str = "Allow") -> dict[str, Any]:
    resource = [ARN + each if each != "*" else each for each in resources]
    return {"Statement": [{"Effect": effect, "Action": list(actions), "Resource": resource}]}


def test_caller_without_a_policy_may_do_everything(caller: Any) -> None:
    assert len(caller.get_tables(DatabaseName="sales")["TableList"]) == 1


def test_action_that_is_not_allowed_is_denied_in_iams_words(aws: ExtendedAws, caller: Any) -> None:
    aws.restrict(policy("glue:GetTable", "glue:UpdateTable"), "caller")
    assert caller.get_table(DatabaseName="sales", Name="orders")["Table"]["Name"] == "orders"
    for call, action in (
        (lambda: caller.get_tables(DatabaseName="sales"), "glue:GetTables"),
        (lambda: caller.get_databases(), "glue:GetDatabases"),
    ):
        with pytest.raises(ClientError) as caught:
            call()
        assert caught.value.response["Error"]["Code"] == "AccessDeniedException"
        assert f"is not authorized to perform: {action} on resource: arn:aws:glue:" in str(caught.value)
    assert len(aws.client("glue").get_tables(DatabaseName="sales")["TableList"]) == 1


def test_every_resource_of_a_call_must_be_allowed(aws: ExtendedAws, caller: Any) -> None:
    aws.restrict(policy("glue:*", resources=("catalog", "database/sales", "table/sales/*")), "caller")
    caller.get_tables(DatabaseName="sales")
    with pytest.raises(ClientError, match="database/hr"):
        caller.get_table(DatabaseName="hr", Name="orders")
    aws.restrict(policy("glue:*", resources=("database/*", "table/*")), "caller")
    with pytest.raises(ClientError, match=":catalog"):
        caller.get_table(DatabaseName="hr", Name="orders")


def test_table_that_does_not_exist_is_found_missing_only_if_it_may_be_read(
    aws: ExtendedAws, caller: Any
) -> None:
    aws.restrict(policy("glue:GetTable", resources=("catalog", "database/*", "table/sales/*")), "caller")
    with pytest.raises(ClientError, match="EntityNotFoundException"):
        caller.get_table(DatabaseName="sales", Name="missing")
    with pytest.raises(ClientError, match="AccessDeniedException"):
        caller.get_table(DatabaseName="hr", Name="missing")


def test_deny_overrides_allow(aws: ExtendedAws, caller: Any) -> None:
    allowed, denied = policy("glue:*"), policy("glue:UpdateTable", effect="Deny")
    aws.restrict({"Statement": allowed["Statement"] + denied["Statement"]}, "caller")
    caller.get_table(DatabaseName="sales", Name="orders")
    with pytest.raises(ClientError, match="explicitly denies"):
        caller.update_table(DatabaseName="sales", TableInput={"Name": "orders"})
