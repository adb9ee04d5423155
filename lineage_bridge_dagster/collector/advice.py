"""What to do about an error of AWS that a collector met: the key to correct, or what to grant to whom."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TypeVar

from botocore.exceptions import ClientError, EndpointConnectionError, NoCredentialsError

from lineage_bridge_dagster.catalogs.errors import (
    AccessDeniedError,
    CallError,
    CredentialsError,
    NotFoundError,
    ThrottledError,
    UnreachableError,
)
from lineage_bridge_dagster.collector.settings import CollectorSettings
from lineage_bridge_dagster.collector.variables import VARIABLES
from lineage_bridge_dagster.config.aws import regions_of
from lineage_bridge_dagster.config.aws_partitions import domain_of
from lineage_bridge_dagster.errors import LineageBridgeError

E = TypeVar("E", bound=LineageBridgeError)

_CALLER = re.compile(r"(?:User|Principal): (?P<arn>arn:[^:]*:[a-z]+::(?P<account>\d*):\S+)")
_RESOURCE = re.compile(r"on resource: (?P<arn>arn:[^:]*:[^:]*:[^:]*:(?P<account>\d*):\S+)")
_ACTION = re.compile(r"\b(?P<action>(?:glue|sts|lakeformation):\w+)\b")
_UNKNOWN_KEY = ("UnrecognizedClientException", "InvalidClientTokenId", "InvalidAccessKeyId")
_POLICY = "`lineage-bridge iam-policy --collector` prints the policy."


@dataclass(frozen=True, slots=True)
class _Failure:
    error: LineageBridgeError
    region: str
    settings: CollectorSettings = field(repr=False)
    working: Collection[str]

    @property
    def response(self) -> ClientError | None:
        cause = self.error.__cause__
        return cause if isinstance(cause, ClientError) else None

    @property
    def code(self) -> str:
        return str(self.response.response.get("Error", {}).get("Code", "")) if self.response else ""

    @property
    def operation(self) -> str:
        return self.response.operation_name if self.response else ""

    @property
    def text(self) -> str:
        return str(self.response.response.get("Error", {}).get("Message", "")) if self.response else ""

    @property
    def action(self) -> str:
        found = _ACTION.search(self.error.message)
        return found["action"] if found else "the call"

    @property
    def caller(self) -> str:
        found = _CALLER.search(self.text)
        return found["arn"] if found else "the caller"


def advised(error: E, region: str, settings: CollectorSettings, working: Collection[str] = ()) -> E:
    """The error with what to do about it in a collector's own terms."""
    failure = _Failure(error, region, settings, working)
    message, hint = error.message, _hint(failure)
    if failure.operation == "AssumeRole":
        # The credentials are got within the first call of Glue, which was not sent.
        message = f"sts:AssumeRole on {settings.role}: {failure.code}: {failure.text}"
    found = type(error)(message, hint=hint or error.hint)
    found.__cause__ = error.__cause__
    return found


def _hint(failure: _Failure) -> str:
    error, settings = failure.error, failure.settings
    if failure.operation == "AssumeRole":
        return _role(failure)
    if isinstance(error, CredentialsError):
        return _credentials(failure)
    if isinstance(error, AccessDeniedError):
        return _denied(failure)
    if isinstance(error, UnreachableError):
        return _unreachable(failure)
    if isinstance(error, ThrottledError):
        return f"Lower max_concurrency ({VARIABLES}MAX_CONCURRENCY), or try again later."
    if isinstance(error, NotFoundError) and settings.catalog_id:
        return f"Correct catalogId: {failure.region} has no catalog {settings.catalog_id}."
    if isinstance(error, CallError) and failure.response is None and settings.endpoint_url:
        return f"Check that endpoint_url, {settings.endpoint_url}, is AWS Glue."
    return ""


def _role(failure: _Failure) -> str:
    role = failure.settings.role
    if failure.code.startswith("AccessDenied"):
        return (
            f"Allow sts:AssumeRole on {role} in the policy of {failure.caller}, and name that identity as a "
            "principal in the role's trust policy; if that asks for an external id, set external_id. "
            "Correct `role` if no role has this name."
        )
    return _credentials(failure)


def _credentials(failure: _Failure) -> str:
    """What to do about credentials, by where they come from."""
    settings, code = failure.settings, failure.code
    if code.startswith("ExpiredToken"):
        own = f"Renew key, secret and session_token ({VARIABLES}SESSION_TOKEN), or use a role."
        return (
            own if settings.session_token else "Sign in again (`aws sso login`), or renew the session token."
        )
    if code in _UNKNOWN_KEY and failure.working:
        return (
            f"The same identity works in {', '.join(failure.working)}, so {failure.region} is not enabled "
            "for the account, or takes no session token of the global STS endpoint. Enable it under AWS "
            "Regions of the account's settings, or take it out of regions."
        )
    name = f"key and secret ({VARIABLES}KEY, {VARIABLES}SECRET)"
    if not settings.key:
        name = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the profile"
    if code in _UNKNOWN_KEY:
        return (
            f"Correct {name}: AWS does not know the key. It may be inactive, of another partition, or "
            f"{failure.region} is not enabled for its account."
        )
    if code in ("InvalidSignatureException", "SignatureDoesNotMatch", "IncompleteSignature"):
        return f"Correct {name}: the secret is not that of the key. Or correct the clock of this machine."
    if isinstance(failure.error.__cause__, NoCredentialsError) or not code:
        return (
            f"Set key and secret ({VARIABLES}KEY, {VARIABLES}SECRET), or run where AWS's own chain "
            "finds some: an instance or a task with a role, AWS_PROFILE, or AWS_ACCESS_KEY_ID."
        )
    return f"Correct {name}."


def _denied(failure: _Failure) -> str:
    """What to grant, and where, as the reason in AWS's message tells."""
    text, action = failure.text, failure.action
    if failure.code == "GlueEncryptionException":
        return f"Allow kms:Decrypt on the key of the Data Catalog to {failure.caller}."
    if action.startswith("lakeformation:"):
        return (
            f"Allow lakeformation:ListLFTags, lakeformation:SearchDatabasesByLFTags and "
            f"lakeformation:SearchTablesByLFTags to {failure.caller}, and DESCRIBE on the tags in Lake "
            "Formation; or set lake_formation_tags to auto or false. `lineage-bridge iam-policy --collector "
            "--lake-formation-tags` prints the policy."
        )
    if "Lake Formation" in text:
        return f"Grant DESCRIBE in Lake Formation on the databases and tables to {failure.caller}."
    if "explicit deny" in text or "explicitly denies" in text:
        return (
            f"A policy denies {action} explicitly: look for it in the policies of {failure.caller}, its "
            "permissions boundary, the organization's service control policies and the catalog's policy."
        )
    caller, resource = _CALLER.search(text), _RESOURCE.search(text)
    owner = resource["account"] if resource else failure.settings.catalog_id
    if caller and owner and caller["account"] != owner:
        return (
            f"{owner} is another account's catalog: its resource policy must allow {action} to "
            f"{failure.caller} (in that account: Data Catalog settings, or `aws glue put-resource-policy`), "
            f"and so must the policy of {failure.caller}. {_POLICY}"
        )
    return (
        f"Allow {action} on the catalog, its databases and its tables in {failure.region} to "
        f"{failure.caller}. {_POLICY}"
    )


def _unreachable(failure: _Failure) -> str:
    region, settings = failure.region, failure.settings
    if settings.endpoint_url:
        return f"Nothing answers at endpoint_url, {settings.endpoint_url}: correct it, or leave it out."
    known = regions_of("glue")
    if region not in known:
        close = difflib.get_close_matches(region, known, 3)
        guess = f" The closest are {', '.join(close)}." if close else ""
        return f"Correct regions: no AWS region with Glue is known as {region}.{guess}"
    cause = failure.error.__cause__
    host = f"glue.{region}.{domain_of(region)}"
    if isinstance(cause, EndpointConnectionError) and (url := cause.kwargs.get("endpoint_url")):
        host = str(url).removeprefix("https://").rstrip("/")
    return (
        f"Open HTTPS from here to {host}, by the firewall, a proxy (HTTPS_PROXY) or a VPC endpoint of Glue; "
        "set endpoint_url if that has no private DNS name."
    )
