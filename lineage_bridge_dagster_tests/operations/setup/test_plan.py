"""The plan says which steps are needed, with what undoes each."""

from __future__ import annotations

from typing import Any

import pytest

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.operations.setup.plan import (
    AccountState,
    Call,
    ForeignCatalogError,
    SetExternalAccess,
    Step,
    action_from_json,
    plan,
)
from lineage_bridge_dagster_tests.operations.setup.targets import CATALOG, PRINCIPAL, target

BUCKETS = "arn:aws:s3tables:us-east-1:111122223333:bucket/*"
MOUNTED = {
    "Name": "s3tablescatalog",
    "FederatedCatalog": {"Identifier": BUCKETS, "ConnectionName": "aws:s3tables"},
}
COMPLETE = AccountState(
    catalog=MOUNTED,
    settings={"AllowFullTableExternalDataAccess": True},
    registered=True,
    has_namespace=True,
    tables=("orders",),
    grants={
        "": frozenset({"DESCRIBE", "CREATE_TABLE"}),
        "orders": frozenset({"DESCRIBE", "SELECT", "ALTER", "DELETE", "INSERT"}),
    },
)


def calls(steps: list[Step]) -> list[Any]:
    return [
        step.action.operation if isinstance(step.action, Call) else step.action
        for step in steps
        if step.action
    ]


def changed(**changes: Any) -> AccountState:
    from dataclasses import replace

    return replace(COMPLETE, **changes)


def test_steps_of_an_empty_account_are_in_order_of_dependence() -> None:
    steps = plan(target(), AccountState(registered=False))
    assert calls(steps) == [
        "CreateCatalog",
        SetExternalAccess("111122223333", True),
        "CreateNamespace",
        "GrantPermissions",
    ]
    assert all((step.action is None) == (step.undo is None) for step in steps)


def test_complete_account_needs_nothing() -> None:
    steps = plan(target(), COMPLETE)
    assert calls(steps) == []
    assert not any(step.note for step in steps)


def test_catalog_mounts_all_buckets_of_the_region() -> None:
    create = plan(target(), AccountState())[0].action
    assert isinstance(create, Call)
    assert create.parameters["CatalogInput"]["FederatedCatalog"] == {
        "Identifier": BUCKETS,
        "ConnectionName": "aws:s3tables",
    }
    china = plan(target(region="cn-north-1"), AccountState())[0].action
    assert isinstance(china, Call)
    identifier = china.parameters["CatalogInput"]["FederatedCatalog"]["Identifier"]
    assert identifier == "arn:aws-cn:s3tables:cn-north-1:111122223333:bucket/*"


@pytest.mark.parametrize(
    "federated",
    [
        {},
        {"Identifier": BUCKETS, "ConnectionName": "another"},
        {"Identifier": BUCKETS.replace("111122223333", "999999999999"), "ConnectionName": "aws:s3tables"},
    ],
)
def test_catalog_of_somebody_else_is_refused(federated: dict[str, str]) -> None:
    with pytest.raises(ForeignCatalogError):
        plan(target(), changed(catalog={"Name": "s3tablescatalog", "FederatedCatalog": federated}))


def test_catalog_that_refuses_external_access_is_named_and_left() -> None:
    step = plan(target(), changed(catalog={**MOUNTED, "AllowFullTableExternalDataAccess": "False"}))[0]
    assert step.action is None
    assert "AllowFullTableExternalDataAccess" in step.note


def test_only_missing_permissions_are_granted_and_revoked() -> None:
    grants = {**COMPLETE.grants, "orders": frozenset({"SELECT", "DESCRIBE"})}
    (step,) = (step for step in plan(target(), changed(grants=grants)) if step.action)
    assert isinstance(step.action, Call)
    assert isinstance(step.undo, Call)
    assert step.action.parameters == {
        "Principal": {"DataLakePrincipalIdentifier": PRINCIPAL},
        "Resource": {"Table": {"CatalogId": f"{CATALOG}/metrics", "DatabaseName": "sales", "Name": "orders"}},
        "Permissions": ["ALTER", "DELETE", "INSERT"],
    }
    assert (step.undo.operation, step.undo.parameters) == ("RevokePermissions", step.action.parameters)


def test_principal_with_all_permissions_gets_no_more() -> None:
    everything = {"": frozenset({"ALL"}), "orders": frozenset({"ALL"})}
    assert calls(plan(target(), changed(grants=everything))) == []


def test_reader_gets_no_permission_to_write() -> None:
    steps = plan(target(read_only=True), changed(grants={}))
    granted = [step.action.parameters["Permissions"] for step in steps if isinstance(step.action, Call)]
    assert granted == [["DESCRIBE"], ["DESCRIBE", "SELECT"]]


def test_role_that_lends_credentials_is_registered_only_if_there_is_none() -> None:
    role = "arn:aws:iam::111122223333:role/tables"
    wanted = target(data_access_role=role)
    (step,) = (step for step in plan(wanted, changed(registered=False)) if step.action)
    assert isinstance(step.action, Call)
    assert step.action.parameters == {"ResourceArn": BUCKETS, "WithFederation": True, "RoleArn": role}
    assert calls(plan(wanted, COMPLETE)) == []
    assert "--data-access-role" in plan(target(), changed(registered=False))[1].note


def test_principal_of_another_account_gets_direct_grants_and_what_it_must_do() -> None:
    away = target(principal="arn:aws:iam::999988887777:role/reader")
    steps = plan(
        away, changed(grants={}, settings={**COMPLETE.settings, "Parameters": {"CROSS_ACCOUNT_VERSION": "4"}})
    )
    assert calls(steps) == ["GrantPermissions", "GrantPermissions"]
    assert "999988887777" in steps[-1].title
    assert "AWS RAM" in steps[-1].note
    assert f"{CATALOG}/metrics" in steps[-1].note
    old = plan(away, changed(settings={**COMPLETE.settings, "Parameters": {"CROSS_ACCOUNT_VERSION": "1"}}))
    assert "cross-account version is 1" in old[-1].note


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("bucket", "arn:aws:s3tables:us-east-1:111122223333:bucket/metrics"),
        ("bucket", "Metrics"),
        ("namespace", "Sales"),
        ("principal", "arn:aws:sts::111122223333:assumed-role/lineage/me"),
        ("data_access_role", "tables"),
    ],
)
def test_malformed_names_are_refused(field: str, value: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        target(**{field: value})
    assert caught.value.hint


def test_commands_name_operation_region_and_parameters() -> None:
    assert Call("s3tables", "DeleteNamespace", {"namespace": "it's"}).command("eu-west-1") == (
        'aws s3tables delete-namespace --region eu-west-1 --cli-input-json \'{"namespace": "it\'"\'"\'s"}\''
    )
    command = SetExternalAccess("111122223333", False).command("eu-west-1")
    assert "jq '.AllowFullTableExternalDataAccess = false'" in command
    assert "get-data-lake-settings" in command


def test_actions_are_read_back_from_json() -> None:
    steps = plan(target(data_access_role=PRINCIPAL), AccountState(registered=False, tables=("orders",)))
    for step in steps:
        if step.undo:
            assert action_from_json(step.undo.to_json()) == step.undo
