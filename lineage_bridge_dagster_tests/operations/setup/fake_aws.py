"""An AWS account behind real boto3 clients, held to botocore's service models.

botocore validates each request against the operation's input shape before the answer is asked for here, and
each answer is validated against the output shape.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from types import SimpleNamespace
from typing import Any

import boto3
from botocore.validate import ParamValidator

ACCOUNT = "111122223333"
REGION = "us-east-1"
NOW = datetime(2026, 4, 30, tzinfo=UTC)

Parameters = dict[str, Any]


class Refused(Exception):
    """An error that the service answers with."""

    def __init__(self, code: str, message: str = "refused", status: int = 400, retries: int = 0) -> None:
        super().__init__(code)
        self.code, self.message, self.status, self.retries = code, message, status, retries


class FakeAws:
    """Glue's catalogs, Lake Formation and S3 Tables, as far as a setup uses them.

    Attributes:
        calls: each operation that was called, by name.
        before: hooks by operation, called before it is answered; one may raise `Refused`.
        after: hooks by operation, called after it took effect.
    """

    def __init__(self, *, bucket: str = "metrics", namespaces: dict[str, list[str]] | None = None) -> None:
        self.bucket = bucket
        self.namespaces = {name: list(tables) for name, tables in (namespaces or {}).items()}
        self.catalogs: dict[str, Parameters] = {}
        self.settings: Parameters = {
            "DataLakeAdmins": [{"DataLakePrincipalIdentifier": f"arn:aws:iam::{ACCOUNT}:role/admin"}],
            "CreateTableDefaultPermissions": [],
            "Parameters": {"CROSS_ACCOUNT_VERSION": "4"},
            "AllowFullTableExternalDataAccess": False,
            "TrustedResourceOwners": ["444455556666"],
        }
        self.registered: dict[str, str] = {}
        self.grants: list[Parameters] = []
        self.calls: list[str] = []
        self.before: dict[str, Callable[[Parameters], None]] = {}
        self.after: dict[str, Callable[[], None]] = {}

    @property
    def region_name(self) -> str:
        return REGION

    def client(self, service: str, **_: Any) -> Any:
        """A real client whose requests are answered here; stands in for `boto3.Session.client`."""
        _answering[0] = self
        return _client(service)

    def changes(self) -> list[str]:
        """The calls that change something."""
        read = ("Get", "List", "Describe")
        return [call for call in self.calls if not call.startswith(read)]

    def snapshot(self) -> Any:
        """Everything that a setup may change."""
        grants = sorted((copy.deepcopy(grant) for grant in self.grants if grant["Permissions"]), key=repr)
        return copy.deepcopy((self.catalogs, self.settings, self.registered, self.namespaces)), grants

    def grant(self, principal: str, resource: Parameters, *permissions: str) -> None:
        self.grants.append(
            {
                "Principal": {"DataLakePrincipalIdentifier": principal},
                "Resource": resource,
                "Permissions": sorted(permissions),
            }
        )

    def answer(self, model: Any, context: Parameters, **_: Any) -> tuple[Any, Parameters]:
        name, parameters = model.name, context["parameters"]
        self.calls.append(name)
        metadata = {"HTTPStatusCode": 200, "HTTPHeaders": {}, "RetryAttempts": 0}
        try:
            if name in self.before:
                self.before[name](parameters)
            answer = getattr(self, f"_{name}")(**parameters) or {}
            if name in self.after:
                self.after[name]()
        except Refused as refused:
            error = {"Code": refused.code, "Message": refused.message}
            metadata |= {"HTTPStatusCode": refused.status, "RetryAttempts": refused.retries}
            return SimpleNamespace(status_code=refused.status), {"Error": error, "ResponseMetadata": metadata}
        if model.output_shape is not None:
            problems = ParamValidator().validate(answer, model.output_shape)
            assert not problems.has_errors(), problems.generate_report()
        return SimpleNamespace(status_code=200), {**answer, "ResponseMetadata": metadata}

    def _GetCallerIdentity(self) -> Parameters:
        return {"Account": ACCOUNT, "Arn": f"arn:aws:iam::{ACCOUNT}:role/admin", "UserId": "A"}

    def _GetCatalog(self, CatalogId: str) -> Parameters:
        if CatalogId not in self.catalogs:
            raise Refused("EntityNotFoundException", "Catalog not found")
        return {"Catalog": self.catalogs[CatalogId]}

    def _CreateCatalog(self, Name: str, CatalogInput: Parameters) -> None:
        if f"{ACCOUNT}:{Name}" in self.catalogs:
            raise Refused("AlreadyExistsException")
        self.catalogs[f"{ACCOUNT}:{Name}"] = {"Name": Name, **CatalogInput}

    def _DeleteCatalog(self, CatalogId: str) -> None:
        if self.catalogs.pop(CatalogId, None) is None:
            raise Refused("EntityNotFoundException")

    def _GetDataLakeSettings(self, CatalogId: str) -> Parameters:
        return {"DataLakeSettings": copy.deepcopy(self.settings)}

    def _PutDataLakeSettings(self, CatalogId: str, DataLakeSettings: Parameters) -> None:
        self.settings = copy.deepcopy(DataLakeSettings)

    def _DescribeResource(self, ResourceArn: str) -> Parameters:
        if ResourceArn not in self.registered:
            raise Refused("EntityNotFoundException")
        return {"ResourceInfo": {"ResourceArn": ResourceArn, "RoleArn": self.registered[ResourceArn]}}

    def _RegisterResource(self, ResourceArn: str, RoleArn: str, WithFederation: bool) -> None:
        assert WithFederation
        self.registered[ResourceArn] = RoleArn

    def _DeregisterResource(self, ResourceArn: str) -> None:
        del self.registered[ResourceArn]

    def _GetTableBucket(self, tableBucketARN: str) -> Parameters:
        if not tableBucketARN.endswith(f"/{self.bucket}"):
            raise Refused("NotFoundException", status=404)
        return {
            "arn": tableBucketARN,
            "name": self.bucket,
            "ownerAccountId": ACCOUNT,
            "createdAt": NOW,
        }

    def _GetNamespace(self, tableBucketARN: str, namespace: str) -> Parameters:
        if namespace not in self.namespaces:
            raise Refused("NotFoundException", status=404)
        return {
            "namespace": [namespace],
            "createdAt": NOW,
            "createdBy": ACCOUNT,
            "ownerAccountId": ACCOUNT,
        }

    def _CreateNamespace(self, tableBucketARN: str, namespace: list[str]) -> Parameters:
        if namespace[0] in self.namespaces:
            raise Refused("ConflictException", status=409)
        self.namespaces[namespace[0]] = []
        return {"tableBucketARN": tableBucketARN, "namespace": namespace}

    def _DeleteNamespace(self, tableBucketARN: str, namespace: str) -> None:
        if self.namespaces.get(namespace):
            raise Refused("ConflictException", "The namespace is not empty", 409)
        del self.namespaces[namespace]

    def _ListTables(self, tableBucketARN: str, namespace: str, continuationToken: str = "") -> Parameters:
        """One table a page."""
        start = int(continuationToken or 0)
        names = self.namespaces[namespace]
        tables = [
            {
                "namespace": [namespace],
                "name": name,
                "type": "customer",
                "tableARN": f"{tableBucketARN}/table/{name}",
                "createdAt": NOW,
                "modifiedAt": NOW,
            }
            for name in names[start : start + 1]
        ]
        more = {"continuationToken": str(start + 1)} if start + 1 < len(names) else {}
        return {"tables": tables, **more}

    def _ListPermissions(self, Principal: Parameters, Resource: Parameters) -> Parameters:
        """As Lake Formation does, SELECT on a table is listed as one on all of its columns."""
        found: list[Parameters] = []
        for grant in self.grants:
            if grant["Principal"] != Principal or grant["Resource"] != Resource:
                continue
            on_columns = "Table" in Resource and "SELECT" in grant["Permissions"]
            plain = [name for name in grant["Permissions"] if not (on_columns and name == "SELECT")]
            if plain:
                found.append({**grant, "Permissions": plain})
            if on_columns:
                columns = {"TableWithColumns": {**Resource["Table"], "ColumnWildcard": {}}}
                found.append({**grant, "Resource": columns, "Permissions": ["SELECT"]})
        return {"PrincipalResourcePermissions": found}

    def _GrantPermissions(self, Principal: Parameters, Resource: Parameters, Permissions: list[str]) -> None:
        if f"{ACCOUNT}:s3tablescatalog" not in self.catalogs:
            raise Refused("EntityNotFoundException", "Catalog not found")
        self.grant(Principal["DataLakePrincipalIdentifier"], Resource, *Permissions)

    def _RevokePermissions(self, Principal: Parameters, Resource: Parameters, Permissions: list[str]) -> None:
        revoked = False
        for grant in self.grants:
            if grant["Principal"] == Principal and grant["Resource"] == Resource:
                kept = [name for name in grant["Permissions"] if name not in Permissions]
                revoked |= kept != grant["Permissions"]
                grant["Permissions"] = kept
        if not revoked:
            raise Refused("InvalidInputException", "No permissions revoked. Grantee does not have them")


#: The account that answers, as clients take long to create and are shared.
_answering: list[FakeAws] = [FakeAws()]


@cache
def _client(service: str) -> Any:
    session = boto3.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name=REGION)
    client = session.client(service)  # type: ignore[call-overload]
    client.meta.events.register(f"before-parameter-build.{service}", _keep_parameters)
    client.meta.events.register(f"before-call.{service}", lambda **event: _answering[0].answer(**event))
    return client


def _keep_parameters(params: Parameters, context: Parameters, **_: Any) -> None:
    context["parameters"] = copy.deepcopy(params)
