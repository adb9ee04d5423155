"""Errors of the Confluent clients; each states what to do next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

from lineage_bridge_dagster.errors import LineageBridgeError

T_co = TypeVar("T_co", covariant=True)


class ConfluentError(LineageBridgeError):
    """Base class: a request to Confluent failed, or its response is incomplete.

    Attributes:
        status: the HTTP status, if there was a response.
        denied: whether credentials or permissions are the cause; the scope's coverage is then `denied`.
    """

    denied = False

    def __init__(self, message: str, *, hint: str = "", status: int | None = None) -> None:
        super().__init__(message, hint=hint)
        self.status = status


class MissingCredential(ConfluentError):
    """No API key is configured for a plane."""

    exit_code = 2
    denied = True


class Unauthorized(ConfluentError):
    """401: the key is wrong, revoked, or belongs to another plane."""

    denied = True


class Forbidden(ConfluentError):
    """403: the key is valid, but its owner lacks a role."""

    denied = True


class UntrustedAddress(ConfluentError):
    """A response named an address that must not receive an API key."""

    denied = True


class NotFound(ConfluentError):
    """404 or 405: the resource does not exist, or the cluster does not offer this API."""


class RequestRejected(ConfluentError):
    """Another 4xx: the server rejected the request itself."""


class RateLimited(ConfluentError):
    """429 after the last attempt."""


class ServerError(ConfluentError):
    """5xx after the last attempt."""


class Unreachable(ConfluentError):
    """No response: timeout, refused connection, failed name lookup or TLS handshake."""


class MalformedResponse(ConfluentError):
    """The response is not JSON, or does not match the API's documented schema."""


class BrokerError(ConfluentError):
    """The Kafka brokers did not respond, or rejected a request."""


class TopicNotFoundError(BrokerError):
    """The topic does not exist, or the key may not see it."""


class PartialResponse(ConfluentError, Generic[T_co]):
    """A list was read only in part; `items` holds the part that was read."""

    def __init__(self, items: Sequence[T_co], cause: ConfluentError) -> None:
        super().__init__(
            f"Only {len(items)} could be read: {cause.message}", hint=cause.hint, status=cause.status
        )
        self.items = items
        self.cause = cause
