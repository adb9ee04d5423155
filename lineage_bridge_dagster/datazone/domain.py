"""The calls to a DataZone domain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from botocore import xform_name
from botocore.exceptions import ClientError

from lineage_bridge_dagster.catalogs.errors import (
    AccessDeniedError,
    AmbiguousError,
    CallError,
    ConflictError,
    CredentialsError,
    NotFoundError,
    ThrottledError,
    UnreachableError,
)
from lineage_bridge_dagster.catalogs.glue.aws_errors import malformed_response, translate
from lineage_bridge_dagster.catalogs.glue.page_tokens import PageTokens
from lineage_bridge_dagster.config.aws import aws_session, client_config, named_client
from lineage_bridge_dagster.config.aws_settings import AwsSettings

_PAGE = 50
#: Error code -> its class, and what to do.
_ERRORS: Mapping[str, tuple[type[CallError], str]] = {
    "AccessDeniedException": (
        AccessDeniedError,
        "Allow {action} in the caller's IAM policy, and add the caller to a project of the domain.",
    ),
    "UnauthorizedException": (CredentialsError, "Add the caller to the users or roles of the domain."),
    "ResourceNotFoundException": (
        NotFoundError,
        "Check LINEAGE_BRIDGE_DATAZONE_DOMAIN, and that the domain is in LINEAGE_BRIDGE_AWS_REGION.",
    ),
    "ServiceQuotaExceededException": (CallError, "Ask AWS for a higher quota of lineage events."),
    "ThrottlingException": (ThrottledError, "Lower LINEAGE_BRIDGE_DATAZONE_MAX_CONCURRENCY."),
    "ConflictException": (ConflictError, ""),
    "InternalServerException": (AmbiguousError, "Try again later."),
    "ValidationException": (CallError, ""),
}


class PostedEvent(NamedTuple):
    """An event that DataZone has.

    Attributes:
        event: DataZone's id of it.
        status: REQUESTED, PROCESSING, SUCCESS or FAILED.
        created: When it was posted first.
    """

    event: str
    status: str
    created: datetime | None


def datazone_client(aws: AwsSettings, max_concurrency: int) -> Any:
    """boto3's client of DataZone, with the identity and the region of Glue's.

    Raises:
        ConfigurationError: no region is set, the profile is unknown, or an endpoint is malformed.
    """
    check = "LINEAGE_BRIDGE_AWS_REGION and AWS_ENDPOINT_URL_DATAZONE"
    return named_client(aws_session(aws), "DataZone", client_config(max_concurrency), check=check)


class DataZoneDomain:
    """A domain. Every method raises a `CallError`, whose class tells what became of the call."""

    def __init__(self, client: Any, domain: str) -> None:
        self._client = client
        self.domain = domain

    def post(self, body: bytes, token: str) -> str:
        """Post an event and return its id; the same token posts nothing twice."""
        answer = self._call("PostLineageEvent", event=body, clientToken=token)
        if not (found := answer.get("id")):
            raise malformed_response("PostLineageEvent without an id", "DataZone")
        return str(found)

    def events(self, after: datetime) -> Iterator[PostedEvent]:
        """The events since a time, the newest first."""
        for page in self._pages("ListLineageEvents", timestampAfter=after, sortOrder="DESCENDING"):
            for item in page.get("items") or ():
                yield _posted(item)

    def event(self, event: str) -> PostedEvent:
        """One event, by its id."""
        return _posted(self._call("GetLineageEvent", identifier=event))

    def sources(self, identifier: str) -> int:
        """How many nodes feed the one of a source identifier; 0 if the domain has no such node."""
        try:
            found = self._call("GetLineageNode", identifier=identifier)
        except NotFoundError:
            return 0
        return len(found.get("upstreamNodes") or ())

    def assets(self, asset_type: str) -> Iterator[str]:
        """The external identifiers of the assets of a type."""
        of_type = {"filter": {"attribute": "typeName", "value": asset_type}}
        for page in self._pages("Search", searchScope="ASSET", filters=of_type):
            for item in page.get("items") or ():
                asset = item.get("assetItem") or {}
                if asset.get("typeIdentifier") == asset_type:
                    yield str(asset.get("externalIdentifier") or "")

    def create_asset(self, **fields: Any) -> None:
        self._call("CreateAsset", **fields)

    def _pages(self, operation: str, **fields: Any) -> Iterator[Mapping[str, Any]]:
        paging: dict[str, str] = {}
        tokens = PageTokens(operation, "DataZone", member="nextToken")
        while True:
            page = self._call(operation, maxResults=_PAGE, **paging, **fields)
            token = tokens.after(page)
            yield page
            if token is None:
                return
            paging = {"nextToken": token}

    def _call(self, operation: str, **fields: Any) -> Mapping[str, Any]:
        try:
            answer = getattr(self._client, xform_name(operation))(domainIdentifier=self.domain, **fields)
        except Exception as error:
            raise _translated(error, f"datazone:{operation}", f"the domain {self.domain}") from error
        if not isinstance(answer, Mapping):
            raise malformed_response(f"{operation} returned no object", "DataZone")
        return answer


def _posted(item: Mapping[str, Any]) -> PostedEvent:
    created = item.get("createdAt")
    return PostedEvent(
        str(item.get("id")),
        str(item.get("processingStatus")),
        created if isinstance(created, datetime) else None,
    )


def _translated(error: Exception, action: str, where: str) -> CallError:
    found = translate(error, action=action, where=where)
    if isinstance(found, UnreachableError):
        hint = "Check the network, LINEAGE_BRIDGE_AWS_REGION and AWS_ENDPOINT_URL_DATAZONE."
        return UnreachableError(found.message, hint=hint)
    details = error.response.get("Error", {}) if isinstance(error, ClientError) else {}
    known = _ERRORS.get(str(details.get("Code") or ""))
    if known is None or not isinstance(error, ClientError):
        return found
    kind, hint = known
    metadata = error.response.get("ResponseMetadata", {})
    return kind(
        f"{action} on {where}: {details.get('Code')}: {details.get('Message') or ''}".rstrip(": "),
        hint=hint.format(action=action),
        retried=int(metadata.get("RetryAttempts") or 0) > 0,
    )
