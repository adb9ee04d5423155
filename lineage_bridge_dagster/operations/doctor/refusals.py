"""AWS errors as findings: what was refused, on which resource, by which kind of policy. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from botocore.exceptions import BotoCoreError, ClientError

from lineage_bridge_dagster.catalogs.errors import AccessDeniedError, CredentialsError
from lineage_bridge_dagster.catalogs.glue.aws_errors import translate
from lineage_bridge_dagster.operations.doctor.finding import Finding, failed, warning

_REFUSAL = re.compile(
    r"(?:User|Principal): (?P<who>\S+) is not authorized to perform: (?P<action>[\w:]+)"
    r"(?: on resource: (?P<resource>\S+))?(?P<because> because .*)?",
    re.DOTALL,
)
#: Part of IAM's reason -> which policy has to change.
_POLICIES = (
    ("service control policy", "An organization's service control policy decides: ask its administrators"),
    ("resource control policy", "An organization's resource control policy decides: ask its administrators"),
    ("permissions boundary", "The identity's permissions boundary decides: allow the action there too"),
    ("session policy", "The session's policy decides: allow the action where the session is started"),
    ("VPC endpoint policy", "The policy of the VPC endpoint decides: allow the action there too"),
    ("explicit deny", "A Deny statement decides: no Allow overrides it, so remove or narrow it"),
    ("explicitly denies", "A Deny statement decides: no Allow overrides it, so remove or narrow it"),
)
#: Characters of an error's message that are shown.
_ERROR_WIDTH = 400
_CATALOG_RESOURCES = (
    "Glue checks an action on the catalog, the database and the table: the statement's Resource must list "
    "all three ARNs (arn:aws:glue:REGION:ACCOUNT:catalog, ...:database/DB, ...:table/DB/*)"
)


@dataclass(frozen=True, slots=True)
class Refusal:
    """What IAM says about a refused call; empty where it says nothing."""

    action: str = ""
    resource: str = ""
    because: str = ""


def refusal(message: str) -> Refusal:
    """Parse IAM's message.

    >>> refusal("User: u is not authorized to perform: glue:GetTable on resource: arn:x").resource
    'arn:x'
    """
    match = _REFUSAL.search(message)
    if match is None:
        return Refusal()
    because = (match["because"] or "").removeprefix(" because ")
    return Refusal(match["action"], (match["resource"] or "").rstrip("."), because)


def refusal_remedy(message: str, action: str) -> str:
    """Which statement to write, and where, after a refusal with this message."""
    refused = refusal(message)
    where = next((text for part, text in _POLICIES if part in refused.because), "")
    on = f" on {refused.resource}" if refused.resource else ""
    parts = [where or f"Allow {refused.action or action}{on} in the caller's IAM policy"]
    if (refused.action or action).startswith("glue:"):
        parts += [_CATALOG_RESOURCES]
        parts += ["If Lake Formation governs the table, grant DESCRIBE there, and to push ALTER and SELECT"]
    return ". ".join(parts) + "."


def glue_failure(error: Exception, action: str, where: str, region: str, tried: str) -> Finding:
    """A failed call to Glue."""
    found = translate(error, action=action, where=where, region=region)
    if isinstance(found, AccessDeniedError) and not isinstance(found, CredentialsError):
        return failed(tried, found.message, refusal_remedy(found.message, action))
    return failed(tried, found.message, found.hint)


def is_denied(error: Exception) -> bool:
    """Whether a permission is missing."""
    if not isinstance(error, ClientError):
        return False
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode")
    return status == 403 or error_code(error) in ("AccessDeniedException", "AccessDenied", "Forbidden")


def one_line(error: Exception) -> str:
    """An error's message on one line; a page of HTML is cut short."""
    return " ".join(str(error).split())[:_ERROR_WIDTH]


def error_code(error: Exception) -> str:
    response = error.response if isinstance(error, ClientError) else {}
    return str(response.get("Error", {}).get("Code") or "")


def aws_failure(error: Exception, action: str, tried: str, remedy: str = "") -> Finding:
    """A failed call to another service than Glue.

    A missing permission is a warning: the call is the doctor's own, and nothing else needs it.
    """
    if is_denied(error):
        return warning(
            tried,
            f"Not allowed, so this could not be verified: {one_line(error)}",
            f"Allow {action} to let the doctor verify it: `lineage-bridge iam-policy --doctor` prints the "
            f"policy. {remedy}".strip(),
        )
    if isinstance(error, ClientError | BotoCoreError):
        return failed(tried, one_line(error), remedy or f"Check the call {action} and the network.")
    return failed(tried, f"{type(error).__name__}: {error}", remedy)
