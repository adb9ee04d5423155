"""What an error of PyIceberg proves about a call for a table, and what to do about it.

Statuses are those of `updateTable` in Iceberg's REST specification, which calls the state after 500, 502 and
504 unknown; 503 counts as unknown as well, since gateways also send it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

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
from lineage_bridge_dagster.catalogs.iceberg.catalog_errors import hint_of
from lineage_bridge_dagster.errors import is_interruption


class UnreadableTableError(CallError):
    """The catalog returned the table, but its metadata has something that PyIceberg cannot read."""


def concerns_one_table(error: CallError) -> bool:
    """Whether an error of loading one table says nothing about the others, of which some were loaded.

    Either the catalog refused this table alone, or it returned something that cannot be read here. A failed
    sign-in, throttling or a missing answer may concern every table.
    """
    from pyiceberg.exceptions import ForbiddenError

    refused = isinstance(error, AccessDeniedError) and isinstance(error.__cause__, ForbiddenError)
    return refused or type(error) in (CallError, UnreadableTableError)


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

    response = getattr(error.__cause__, "response", None)
    status = getattr(response, "status_code", 0)
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
