"""Errors of calls for one table of a catalog, by what they prove about a commit.

A commit that was rejected, was throttled or met a conflict did not happen. After a timeout or a 5xx it may
have been applied all the same (`TableAmbiguousError`): only loading the table again can tell. Statuses are
those of `updateTable` in Iceberg's REST specification, which calls the state after 500, 502 and 504 unknown;
503 counts as such as well, since gateways send it, too.
"""

from __future__ import annotations

from typing import ClassVar

from botocore.exceptions import BotoCoreError

from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.iceberg.catalog_errors import hint_of


class TableError(LineageBridgeError):
    """A call for a table failed; as this base class, the catalog rejected it and would again.

    Attributes:
        transient: Whether another attempt, after loading the table again, may succeed.
        may_have_written: Whether a commit that failed with this error may have been applied.
    """

    transient: ClassVar[bool] = False
    may_have_written: ClassVar[bool] = False


class TableAccessDeniedError(TableError):
    """The caller lacks a permission or valid credentials, or the catalog takes no writes."""


class TableNotFoundError(TableError):
    """The table or its namespace does not exist."""


class TableConflictError(TableError):
    """Somebody else committed at the same time, or the table is not the one that was read."""

    transient = True


class TableThrottledError(TableError):
    """The catalog did not process the request, but may later."""

    transient = True


class TableUnreachableError(TableError):
    """The request never reached the catalog."""

    transient = True


class TableAmbiguousError(TableError):
    """The request was sent and its result is unknown."""

    transient = True
    may_have_written = True


def translate(error: Exception, *, action: str, where: str) -> TableError:
    """Return the `TableError` for an exception of PyIceberg or of its HTTP client; raise it `from error`.

    Args:
        action: What was tried: `Loading` or `Committing to`.
        where: The table, as the message names it.
    """
    if isinstance(error, TableError):
        return error
    error_class = _class_of(error)
    text = str(error) or type(error).__name__
    if error_class is TableNotFoundError:
        hint = "It was dropped or renamed. Run a discovery, or correct its catalog, namespace and name."
    elif error_class is TableConflictError:
        hint = ""
    elif error_class is TableThrottledError:
        hint = "Lower LINEAGE_BRIDGE_PUSH_MAX_CONCURRENCY, or try again later."
    else:
        hint = hint_of(text)
    return error_class(f"{action} {where} failed: {text}", hint=hint)


def _class_of(error: Exception) -> type[TableError]:
    from pyiceberg import exceptions as iceberg
    from requests import exceptions as http
    from urllib3.exceptions import NewConnectionError

    response = getattr(error.__cause__, "response", None)
    status = getattr(response, "status_code", 0)
    # AWS's services may throttle with 400, and name the error in this header.
    code = getattr(response, "headers", {}).get("x-amzn-ErrorType", "")
    if isinstance(error, iceberg.NoSuchTableError | iceberg.NoSuchNamespaceError) or status == 404:
        return TableNotFoundError
    if isinstance(error, iceberg.CommitFailedException) or status == 409:
        return TableConflictError
    if isinstance(error, iceberg.TooManyRequestsError) or "Throttl" in code:
        return TableThrottledError
    if isinstance(
        error,
        iceberg.ForbiddenError
        | iceberg.UnauthorizedError
        | iceberg.AuthorizationExpiredError
        | iceberg.OAuthError
        # Credentials that cannot be got: nothing was sent.
        | BotoCoreError,
    ):
        return TableAccessDeniedError
    # 501: the catalog does not have the call.
    if isinstance(error, NotImplementedError | http.SSLError):
        return TableError
    if isinstance(error, iceberg.CommitStateUnknownException) or status >= 500:
        return TableAmbiguousError
    if isinstance(error, iceberg.RESTError):
        return TableError
    cause = getattr(error.args[0] if error.args else None, "reason", None)
    if isinstance(error, http.ConnectTimeout | http.ProxyError) or isinstance(cause, NewConnectionError):
        return TableUnreachableError
    # Timeouts, connections cut half-way, and answers that are not Iceberg's: the request was sent.
    return TableAmbiguousError
