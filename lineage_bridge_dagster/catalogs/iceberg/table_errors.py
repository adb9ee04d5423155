"""What an error of PyIceberg proves about a call for a table, and what to do about it.

Statuses are those of `updateTable` in Iceberg's REST specification, which calls the state after 500, 502 and
504 unknown; 503 counts as unknown as well, since gateways also send it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from botocore.exceptions import BotoCoreError

from lineage_bridge_dagster.catalogs.errors import (
    AccessDeniedError,
    AmbiguousError,
    CallError,
    ConflictError,
    NotFoundError,
    ThrottledError,
    UnreachableError,
)
from lineage_bridge_dagster.catalogs.settings.tableflow_catalog import KEY_VARIABLES
from lineage_bridge_dagster.errors import is_interruption
from lineage_bridge_dagster.json_text import json_of

#: What a message has in it, and what to do then. The messages are AWS's for SigV4, and those of OAuth2 (RFC
#: 6749, RFC 6750) for tokens.
_HINTS = (
    (
        r"sends clients to another host",
        "Correct the uri of the catalog, and oauth2_server_uri if tokens come from another host.",
    ),
    (r"Signature expired|not yet current", "Correct this machine's clock: AWS accepts five minutes off."),
    (r"scoped to correct service: '(\w+)'", r"Set signing_name of the catalog to \1, or leave it out."),
    (r"scoped to a valid region", "Set signing_region of the catalog, or AWS_REGION, to its region."),
    (r"signature we calculated", "Correct AWS_SECRET_ACCESS_KEY, which is not that of AWS_ACCESS_KEY_ID."),
    (r"token included in the request is expired|ExpiredToken", "Sign in again: the AWS session ended."),
    (r"token included in the request is invalid", "Correct AWS_ACCESS_KEY_ID and AWS_SESSION_TOKEN."),
    (r"requires 'Credential' parameter|Missing Authentication Token", "Set signing_name of the catalog."),
    (r"invalid_client", "Correct the client credentials in the catalog's credential_variable: id:secret."),
    (r"invalid_scope", "Set scope of the catalog to one that its server grants, such as catalog."),
    (r"token\b.*\bexpired|NotAuthorized", "Set credential_variable in place of a token, which ends."),
    (r"Catalog .* not found", "Correct warehouse of the catalog."),
    (r"read-only", "Write to another catalog: set lineage_bridge/catalog in the asset's metadata."),
    (r"AccessDenied|not authorized|Forbidden", "Allow the use of the catalog in IAM and Lake Formation."),
    (
        r"refused|timed out|timeout|resolve|UnknownHost|unreachable|processing \w+ request",
        "Check uri of the catalog, and the network to it.",
    ),
)

#: The same for Tableflow's own catalogs, which know neither IAM nor a warehouse.
_TABLEFLOW_HINTS = (
    _HINTS[0],
    (
        r"invalid_client|invalid_grant|401|Unauthorized|NotAuthorized|expired",
        f"Correct {KEY_VARIABLES}: a Tableflow API key that is not deleted. If it is one of another region "
        "or organization, create one in this catalog's.",
    ),
    (
        r"AccessDenied|not authorized|Forbidden|403",
        f"Grant the owner of the key in {KEY_VARIABLES} a role that reads the topics, such as DeveloperRead.",
    ),
    (
        r"NotFound|404",
        "Correct the uri of the catalog, or leave it out: it has organization, environment and region in it.",
    ),
)

_OTHERWISE = "Check uri, warehouse and credentials of the catalog, and try again later."


def hint_of(message: str, *, tableflow: bool = False) -> str:
    """What to do about an error with this message of a catalog, which may be Tableflow's own.

    >>> hint_of("Credential should be scoped to correct service: 'glue'.")
    'Set signing_name of the catalog to glue, or leave it out.'
    >>> hint_of("Connection refused")
    'Check uri of the catalog, and the network to it.'
    """
    for pattern, hint in (*(_TABLEFLOW_HINTS if tableflow else ()), *_HINTS):
        if found := re.search(pattern, message, re.IGNORECASE | re.DOTALL):
            return found.expand(hint)
    return _OTHERWISE


class UnreadableTableError(CallError):
    """The catalog returned the table, but its metadata has something that PyIceberg cannot read."""


def concerns_one_table(error: CallError) -> bool:
    """Whether an error of loading one table says nothing about the others, of which some were loaded.

    Either the catalog refused this table alone, or it returned something that cannot be read here. A failed
    sign-in, throttling, a missing answer or one of a proxy may concern every table.
    """
    from pyiceberg.exceptions import ForbiddenError

    refused = isinstance(error, AccessDeniedError) and isinstance(error.__cause__, ForbiddenError)
    own = _response(error.__cause__) is None or is_catalogs(error)
    return own and (refused or type(error) in (CallError, UnreadableTableError))


def is_catalogs(error: CallError) -> bool:
    """Whether an error is the catalog's own answer: `IcebergErrorResponse` of the REST specification.

    A proxy or a gateway answers with a page, with nothing, or with JSON of its own.
    """
    return _is_icebergs(_response(error.__cause__))


def _response(error: BaseException | None) -> Any:
    """The HTTP response that an exception of PyIceberg comes from; None without one."""
    return getattr(getattr(error, "__cause__", None), "response", None)


def _is_icebergs(response: Any) -> bool:
    match json_of(getattr(response, "content", None), dict):
        # Iceberg's own server may have no message.
        case {"error": {"message": str() | None, "type": str(), "code": int()}}:
            return True
    return False


@contextmanager
def table_errors(action: str, where: str) -> Iterator[None]:
    """Raise what `translate` makes of whatever a call for a table raises, except for interruptions."""
    try:
        yield
    except BaseException as error:
        if is_interruption(error):
            raise
        raise translate(error, action=action, where=where) from error


def translate(error: BaseException, *, action: str, where: str) -> CallError:
    """Return the `CallError` for an exception of PyIceberg or of its HTTP client; raise it `from error`.

    Args:
        action: What was tried: `Loading` or `Committing to`.
        where: The table, as the message names it.
    """
    if isinstance(error, CallError):
        return error
    error_class = _class_of(error)
    text = str(error) or type(error).__name__
    if error_class is NotFoundError:
        hint = "It was dropped or renamed. Run a discovery, or correct its catalog, namespace and name."
    elif error_class is ConflictError:
        hint = ""
    elif error_class is ThrottledError:
        hint = "Lower LINEAGE_BRIDGE_PUSH_MAX_CONCURRENCY, or try again later."
    else:
        hint = hint_of(text)
    return error_class(f"{action} {where} failed: {text}", hint=hint)


def _class_of(error: BaseException) -> type[CallError]:
    from pyiceberg import exceptions as iceberg
    from requests import exceptions as http
    from urllib3.exceptions import NewConnectionError

    response = _response(error)
    status = getattr(response, "status_code", 0)
    if status == 404 and not _is_icebergs(response):
        return AmbiguousError
    # AWS's services may throttle with 400, and name the error in this header.
    code = getattr(response, "headers", {}).get("x-amzn-ErrorType", "")
    if isinstance(error, iceberg.NoSuchTableError | iceberg.NoSuchNamespaceError) or status == 404:
        return NotFoundError
    if isinstance(error, iceberg.CommitFailedException) or status == 409:
        return ConflictError
    if isinstance(error, iceberg.TooManyRequestsError) or "Throttl" in code:
        return ThrottledError
    if isinstance(
        error,
        iceberg.ForbiddenError
        | iceberg.UnauthorizedError
        | iceberg.AuthorizationExpiredError
        | iceberg.OAuthError
        # Credentials that cannot be got: nothing was sent.
        | BotoCoreError,
    ):
        return AccessDeniedError
    # 501: the catalog does not have the call. A library that ends or panics has sent nothing either.
    if isinstance(error, NotImplementedError | http.SSLError) or not isinstance(error, Exception):
        return CallError
    if isinstance(error, iceberg.CommitStateUnknownException) or status >= 500:
        return AmbiguousError
    if isinstance(error, iceberg.RESTError):
        return CallError
    cause = getattr(error.args[0] if error.args else None, "reason", None)
    if isinstance(error, http.ConnectTimeout | http.ProxyError) or isinstance(cause, NewConnectionError):
        return UnreachableError
    # Timeouts, connections cut half-way, and answers that are not Iceberg's: the request was sent.
    return AmbiguousError
