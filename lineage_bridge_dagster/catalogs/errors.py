"""Errors of calls to a catalog, by what they prove about a write.

A write that was rejected, was throttled or met a conflict did not happen. After a timeout or a 5xx it may
have been applied all the same (`AmbiguousError`): only reading the table again can tell.
"""

from __future__ import annotations

from typing import ClassVar

from lineage_bridge_dagster.errors import LineageBridgeError


class CallError(LineageBridgeError):
    """A call failed; as this base class, the catalog rejected the request and would again.

    Attributes:
        transient: Whether another attempt, after reading the table again, may succeed.
        retried: Whether the client sent the request more than once. The last error proves nothing about the
            first attempt, so a retried write may have been applied whatever the class of its error.
    """

    transient: ClassVar[bool] = False

    def __init__(self, message: str, *, hint: str = "", retried: bool = False) -> None:
        super().__init__(message, hint=hint)
        self.retried = retried

    @property
    def may_have_written(self) -> bool:
        """Whether a write that failed with this error may have been applied."""
        return self.retried


class AccessDeniedError(CallError):
    """The caller lacks a permission or valid credentials, or the catalog takes no writes.

    Attributes:
        for_this_call: Whether another call may be allowed.
    """

    for_this_call: ClassVar[bool] = True


class CredentialsError(AccessDeniedError):
    """There are no valid credentials."""

    for_this_call = False


class NotFoundError(CallError):
    """The table, or what it is in, does not exist."""


class ConflictError(CallError):
    """Somebody else changed the table at the same time, or it is not the one that was read."""

    transient = True


class ThrottledError(CallError):
    """The catalog did not process the request, but may later."""

    transient = True


class UnreachableError(CallError):
    """The request never reached the catalog."""

    transient = True


class AmbiguousError(CallError):
    """The request was sent and its result is unknown."""

    transient = True

    @property
    def may_have_written(self) -> bool:
        return True
