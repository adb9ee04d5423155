"""The AWS APIs that a setup uses: reads the state, makes single calls, and translates errors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from lineage_bridge_dagster.config.aws import aws_session, client_config, named_client
from lineage_bridge_dagster.config.aws_settings import AwsSettings
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.operations.setup.plan import AccountState, Call, resource_of
from lineage_bridge_dagster.operations.setup.target import Target

_DENIED = frozenset({"AccessDenied", "AccessDeniedException", "ForbiddenException", "UnauthorizedException"})
_MISSING = frozenset({"EntityNotFoundException", "NotFoundException"})
_EXISTS = frozenset(
    {"AlreadyExistsException", "FederatedResourceAlreadyExistsException", "ConflictException"}
)


class SetupError(LineageBridgeError):
    """A call failed.

    Attributes:
        code: AWS's code of the error; empty if there was no answer.
        may_have_changed: whether the change may have been made despite the error: no answer, a 5xx, or
            botocore sent it more than once, so that the error says nothing about the first time.
    """

    def __init__(
        self, message: str, *, hint: str = "", code: str = "", may_have_changed: bool = False
    ) -> None:
        super().__init__(message, hint=hint)
        self.code = code
        self.may_have_changed = may_have_changed

    @property
    def is_missing(self) -> bool:
        return self.code in _MISSING

    @property
    def is_denied(self) -> bool:
        return self.code in _DENIED

    @property
    def is_existing(self) -> bool:
        return self.code in _EXISTS


class Aws:
    """The clients of one account and region."""

    def __init__(self, settings: AwsSettings) -> None:
        self._session: Any = aws_session(settings)
        self._endpoints = {"glue": settings.endpoint_url}
        self._clients: dict[str, Any] = {}
        self.region = str(self._session.region_name)

    def client(self, service: str) -> Any:
        if service not in self._clients:
            self._clients[service] = named_client(
                self._session,
                service,
                client_config(4),
                check="--region and the endpoints in the environment (AWS_ENDPOINT_URL)",
                endpoint_url=self._endpoints.get(service),
            )
        return self._clients[service]

    def call(self, call: Call) -> dict[str, Any]:
        """Make one call.

        Raises:
            SetupError: it failed.
        """
        method = re.sub(r"(?<!^)(?=[A-Z])", "_", call.operation).lower()
        try:
            answer: dict[str, Any] = getattr(self.client(call.service), method)(**call.parameters)
        except (ClientError, BotoCoreError) as error:
            raise _translated(call, error) from error
        answer.pop("ResponseMetadata", None)
        return answer

    def account(self) -> str:
        """The account of the caller."""
        return str(self.call(Call("sts", "GetCallerIdentity", {}))["Account"])

    def settings(self, account: str) -> dict[str, Any]:
        """Lake Formation's settings."""
        answer = self.call(Call("lakeformation", "GetDataLakeSettings", {"CatalogId": account}))
        return dict(answer.get("DataLakeSettings") or {})

    def grants(self, target: Target, table: str) -> frozenset[str]:
        """The principal's permissions on a table, or on the namespace if the name is empty.

        SELECT on a table is listed as one on all of its columns.
        """
        resource = resource_of(target, table)
        found: set[str] = set()
        parameters = {
            "Principal": {"DataLakePrincipalIdentifier": target.principal},
            "Resource": resource,
        }
        try:
            for page in self._pages(Call("lakeformation", "ListPermissions", parameters), "NextToken"):
                for entry in page.get("PrincipalResourcePermissions") or ():
                    if covers(entry.get("Resource") or {}, resource) and not entry.get("Condition"):
                        found |= set(entry.get("Permissions") or ())
        except SetupError as error:
            # Before the catalog and the namespace exist, nothing is granted on them.
            if not error.is_missing:
                raise
        return frozenset(found)

    def state(self, target: Target) -> AccountState:
        """Read what is there.

        Raises:
            SetupError: a call failed, or the table bucket does not exist.
        """
        self._check_bucket(target)
        catalog = self._or_none(Call("glue", "GetCatalog", {"CatalogId": target.catalog_id}))
        place = {"tableBucketARN": target.bucket_arn, "namespace": target.namespace}
        has_namespace = self._or_none(Call("s3tables", "GetNamespace", place)) is not None
        tables = tuple(sorted(self._tables(place))) if has_namespace else ()
        names = ("", *tables) if catalog is not None and has_namespace else ()
        return AccountState(
            catalog=catalog["Catalog"] if catalog is not None else None,
            settings=self.settings(target.account),
            registered=self._registered(target),
            has_namespace=has_namespace,
            tables=tables,
            grants={name: self.grants(target, name) for name in names},
        )

    def _check_bucket(self, target: Target) -> None:
        try:
            self.call(Call("s3tables", "GetTableBucket", {"tableBucketARN": target.bucket_arn}))
        except SetupError as error:
            if not error.is_missing:
                raise
            raise SetupError(
                f"There is no table bucket {target.bucket} in {target.region} of account {target.account}.",
                hint=f"Create it with `aws s3tables create-table-bucket --name {target.bucket} --region "
                f"{target.region}`, or correct --bucket or --region.",
                code=error.code,
            ) from error

    def _registered(self, target: Target) -> bool | None:
        for arn in (target.all_buckets_arn, target.bucket_arn):
            try:
                if self._or_none(Call("lakeformation", "DescribeResource", {"ResourceArn": arn})) is not None:
                    return True
            except SetupError as error:
                if error.code in _DENIED:
                    return None
                raise
        return False

    def _tables(self, place: Mapping[str, Any]) -> Iterator[str]:
        for page in self._pages(Call("s3tables", "ListTables", place), "continuationToken"):
            yield from (table["name"] for table in page["tables"])

    def _or_none(self, call: Call) -> dict[str, Any] | None:
        """The response, or None if the requested object does not exist."""
        try:
            return self.call(call)
        except SetupError as error:
            if error.is_missing:
                return None
            raise

    def _pages(self, call: Call, token: str) -> Iterator[dict[str, Any]]:
        parameters = dict(call.parameters)
        while True:
            page = self.call(Call(call.service, call.operation, parameters))
            yield page
            if not page.get(token):
                return
            parameters[token] = page[token]


def covers(listed: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether a listed permission applies to the wanted database, or to the whole of the wanted table."""
    if "Database" in wanted:
        return "Database" in listed
    if "Table" in listed:
        return "TableWildcard" in listed["Table"] or listed["Table"].get("Name") == wanted["Table"]["Name"]
    columns = listed.get("TableWithColumns") or {}
    wildcard = columns.get("ColumnWildcard")
    return (
        columns.get("Name") == wanted["Table"]["Name"]
        and wildcard is not None
        and not wildcard.get("ExcludedColumnNames")
    )


def _translated(call: Call, error: ClientError | BotoCoreError) -> SetupError:
    action = f"{call.service}:{call.operation}"
    if not isinstance(error, ClientError):
        return SetupError(
            f"{action} got no answer: {error}",
            hint="Check the network, the region and the AWS credentials, and run the command again.",
            may_have_changed=True,
        )
    code, message = error.response["Error"]["Code"], error.response["Error"].get("Message", "")
    metadata = error.response.get("ResponseMetadata", {})
    ambiguous = metadata.get("HTTPStatusCode", 0) >= 500 or metadata.get("RetryAttempts", 0) > 0
    hint = "Fix what the message names, and run the command again: completed steps are skipped."
    if code in _DENIED or "Insufficient Lake Formation permission" in message:
        hint = f"Allow {action} to this identity in IAM."
        if call.service == "lakeformation":
            hint += " Lake Formation's grants and settings also require a data lake administrator."
        if call.operation == "CreateCatalog":
            hint += " glue:PassConnection on the connection aws:s3tables is needed as well."
    return SetupError(f"{action} failed: {code}: {message}", hint=hint, code=code, may_have_changed=ambiguous)
