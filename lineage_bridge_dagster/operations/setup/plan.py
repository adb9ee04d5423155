"""Decides which steps are needed: a pure function of the target and of what is in the account.

A step is a single change in AWS, as an API call or as an AWS CLI command.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.operations.setup.target import CATALOG, Target

#: The only field of Lake Formation's settings that is changed.
EXTERNAL_ACCESS = "AllowFullTableExternalDataAccess"


#: The connection of Glue to S3 Tables, which exists in every account.
CONNECTION = "aws:s3tables"

#: Lake Formation's permissions for a principal that reads, and those that one that writes needs in addition.
_READ = {"database": ("DESCRIBE",), "table": ("DESCRIBE", "SELECT")}
_WRITE = {"database": ("CREATE_TABLE",), "table": ("ALTER", "DELETE", "INSERT")}

#: The version of Lake Formation's cross-account sharing from which it grants to principals of other accounts.
_DIRECT_GRANTS = 3


@dataclass(frozen=True, slots=True)
class Call:
    """A call of an API, named as boto3 and the API name it: `glue`, `CreateCatalog`."""

    service: str
    operation: str
    parameters: Mapping[str, Any]

    def command(self, region: str) -> str:
        """The call as a command of the AWS CLI."""
        name = re.sub(r"(?<!^)(?=[A-Z])", "-", self.operation).lower()
        parameters = shlex.quote(json.dumps(self.parameters))
        return f"aws {self.service} {name} --region {region} --cli-input-json {parameters}"

    def to_json(self) -> dict[str, Any]:
        return {"service": self.service, "operation": self.operation, "parameters": dict(self.parameters)}


@dataclass(frozen=True, slots=True)
class SetExternalAccess:
    """Sets one field of Lake Formation's settings, although `PutDataLakeSettings` replaces all of them."""

    account: str
    value: bool

    def command(self, region: str) -> str:
        """The change as AWS CLI and jq commands, which start from the settings at that time."""
        read = (
            f"aws lakeformation get-data-lake-settings --region {region} --catalog-id {self.account} "
            "--query DataLakeSettings --output json"
        )
        change = f"jq '.{EXTERNAL_ACCESS} = {json.dumps(self.value)}'"
        return (
            f"aws lakeformation put-data-lake-settings --region {region} --catalog-id {self.account} "
            f'--data-lake-settings "$({read} | {change})"'
        )

    def to_json(self) -> dict[str, Any]:
        return {"set": EXTERNAL_ACCESS, "account": self.account, "value": self.value}


Action = Call | SetExternalAccess


def action_from_json(data: Mapping[str, Any]) -> Action:
    """Parse what `to_json` wrote; raises `KeyError` or `TypeError` for anything else."""
    if "set" in data:
        return SetExternalAccess(data["account"], bool(data["value"]))
    return Call(data["service"], data["operation"], dict(data["parameters"]))


@dataclass(frozen=True, slots=True)
class AccountState:
    """What is in the account.

    Attributes:
        catalog: Glue's `s3tablescatalog`, as `GetCatalog` returns it; None if there is none.
        settings: Lake Formation's settings, as `GetDataLakeSettings` returns them.
        registered: whether Lake Formation has a role for the table buckets; None if it can't be read.
        has_namespace: whether the table bucket has the namespace, with its `tables`.
        grants: the principal's permissions, by table; those on the namespace are under the empty name.
    """

    catalog: Mapping[str, Any] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    registered: bool | None = None
    has_namespace: bool = False
    tables: tuple[str, ...] = ()
    grants: Mapping[str, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Step:
    """One step.

    Attributes:
        action: what it does; None if there is nothing to do.
        note: what the user must know or do.
    """

    title: str
    action: Action | None = None
    undo: Action | None = None
    note: str = ""


class ForeignCatalogError(LineageBridgeError):
    """A catalog with this name exists that does not belong to S3 Tables."""


def plan(target: Target, state: AccountState) -> list[Step]:
    """The steps in the order in which they depend on each other.

    Raises:
        ForeignCatalogError: the name of the catalog is taken.
    """
    return [
        _catalog(target, state),
        *_registration(target, state),
        _external_access(target, state),
        _namespace(target, state),
        _grant(target, state, ""),
        *(_grant(target, state, table) for table in state.tables),
        *_other_account(target, state),
    ]


def _catalog(target: Target, state: AccountState) -> Step:
    title = f"Glue mounts the table buckets of {target.region} as {CATALOG}"
    if state.catalog is not None:
        return Step(title, note=_check_catalog(target, state.catalog))
    create = {
        "Name": CATALOG,
        "CatalogInput": {
            "FederatedCatalog": {"Identifier": target.all_buckets_arn, "ConnectionName": CONNECTION},
            # Without default permissions, Lake Formation's grants decide.
            "CreateDatabaseDefaultPermissions": [],
            "CreateTableDefaultPermissions": [],
            EXTERNAL_ACCESS: "True",
        },
    }
    undo = Call("glue", "DeleteCatalog", {"CatalogId": target.catalog_id})
    return Step(title, Call("glue", "CreateCatalog", create), undo)


def _check_catalog(target: Target, catalog: Mapping[str, Any]) -> str:
    """What the user must know about an existing catalog."""
    federated = catalog.get("FederatedCatalog") or {}
    if (federated.get("ConnectionName") or federated.get("ConnectionType")) != CONNECTION:
        raise ForeignCatalogError(
            f"Glue has a catalog {CATALOG} in {target.account} that does not belong to S3 Tables.",
            hint=f"See `aws glue get-catalog --catalog-id {target.catalog_id} --region {target.region}`, and "
            "remove it if nothing needs it.",
        )
    identifier = federated.get("Identifier") or ""
    if identifier not in (target.all_buckets_arn, target.bucket_arn):
        raise ForeignCatalogError(
            f"Glue's catalog {CATALOG} in {target.account} mounts {identifier}, not "
            f"{target.all_buckets_arn}.",
            hint="Use the region and account of these buckets, or recreate the catalog.",
        )
    if str(catalog.get(EXTERNAL_ACCESS)).lower() == "false":
        return (
            f"The catalog has {EXTERNAL_ACCESS} set to False, perhaps on purpose: engines outside AWS "
            "may get no credentials for its tables."
        )
    return ""


def _registration(target: Target, state: AccountState) -> list[Step]:
    title = "Lake Formation has a role with access to the table buckets"
    if state.registered:
        return [Step(title)]
    resource = {"ResourceArn": target.all_buckets_arn}
    if target.data_access_role and state.registered is False:
        register = {**resource, "WithFederation": True, "RoleArn": target.data_access_role}
        undo = Call("lakeformation", "DeregisterResource", resource)
        return [Step(title, Call("lakeformation", "RegisterResource", register), undo)]
    unknown = "It could not be read" if state.registered is None else "There is none"
    note = (
        f"{unknown}, and without it Lake Formation lends no credentials. Pass the role with "
        "--data-access-role; it needs s3tables:GetTableData and s3tables:PutTableData, and "
        "lakeformation.amazonaws.com must be trusted to assume it."
    )
    return [Step(title, note=note)]


def _external_access(target: Target, state: AccountState) -> Step:
    title = f"Lake Formation gives engines full access to tables that are granted in full ({EXTERNAL_ACCESS})"
    if state.settings.get(EXTERNAL_ACCESS) is True:
        return Step(title)
    return Step(
        title,
        SetExternalAccess(target.account, True),
        SetExternalAccess(target.account, False),
        "The settings are replaced as a whole, without a check of versions: all other fields are written as "
        "they were read. Let nobody else change them meanwhile.",
    )


def _namespace(target: Target, state: AccountState) -> Step:
    title = f"The table bucket {target.bucket} has the namespace {target.namespace}"
    if state.has_namespace:
        return Step(title)
    create = {"tableBucketARN": target.bucket_arn, "namespace": [target.namespace]}
    delete = {"tableBucketARN": target.bucket_arn, "namespace": target.namespace}
    return Step(
        title, Call("s3tables", "CreateNamespace", create), Call("s3tables", "DeleteNamespace", delete)
    )


def _grant(target: Target, state: AccountState, table: str) -> Step:
    kind = "table" if table else "database"
    wanted = {*_READ[kind], *(() if target.read_only else _WRITE[kind])}
    held = state.grants.get(table, frozenset())
    # Only what is missing is granted, so that the undo revokes nothing that was there before.
    missing = sorted(set() if held & {"ALL", "SUPER_USER"} else wanted - held)
    place = f"{target.namespace}.{table}" if table else target.namespace
    across = f" of account {target.principal_account}" if target.is_cross_account else ""
    title = f"{target.principal}{across} has {', '.join(sorted(wanted))} on {kind} {place}"
    if not missing:
        return Step(title)
    parameters = {
        "Principal": {"DataLakePrincipalIdentifier": target.principal},
        "Resource": resource_of(target, table),
        "Permissions": missing,
    }
    return Step(
        title,
        Call("lakeformation", "GrantPermissions", parameters),
        Call("lakeformation", "RevokePermissions", parameters),
    )


def resource_of(target: Target, table: str) -> dict[str, Any]:
    """Lake Formation's resource of a table; of the namespace if the name is empty."""
    catalog = target.bucket_catalog_id
    if not table:
        return {"Database": {"CatalogId": catalog, "Name": target.namespace}}
    return {"Table": {"CatalogId": catalog, "DatabaseName": target.namespace, "Name": table}}


def _other_account(target: Target, state: AccountState) -> list[Step]:
    """What a principal in another account needs beyond the grants."""
    if not target.is_cross_account:
        return []
    version = str((state.settings.get("Parameters") or {}).get("CROSS_ACCOUNT_VERSION", ""))
    old = version.isdigit() and int(version) < _DIRECT_GRANTS
    note = (
        f"Accept the share in AWS RAM of {target.principal_account} unless both accounts are in one "
        f"organization, allow the principal the policy of `lineage-bridge iam-policy --s3tables --account "
        f"{target.account}`, and use the warehouse {target.bucket_catalog_id}."
    )
    if old:
        note = (
            f"Lake Formation's cross-account version is {version}, which grants nothing to single principals "
            f"of other accounts: set it to {_DIRECT_GRANTS} or later in its settings first. {note}"
        )
    return [Step(f"Account {target.principal_account} takes what is shared with it", note=note)]
