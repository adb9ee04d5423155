"""What can go wrong when Confluent is asked, each as an error that says what to do next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

from lineage_bridge_dagster.errors import LineageBridgeError

T_co = TypeVar("T_co", covariant=True)

#: The role that lets a key list what an API has (Confluent Cloud, "Predefined RBAC roles"), by plane.
ROLES = {
    "confluent_cloud": "Operator (or EnvironmentAdmin) on the environment",
    "kafka": "DeveloperRead on the topics (or CloudClusterAdmin on the cluster)",
    "schema_registry": "DeveloperRead on all subjects",
    "flink": "FlinkAdmin (or FlinkDeveloper) on the environment",
    "tableflow": "Operator (or CloudClusterAdmin) on the cluster",
    "ksqldb": "KsqlAdmin on the ksqlDB cluster",
}


class ConfluentError(LineageBridgeError):
    """Base: Confluent was asked and there is no whole answer. `status` is the HTTP status, if any."""

    #: Whether asking again, or asking with another key, may be answered: what a scope's coverage becomes.
    denied = False

    def __init__(self, message: str, *, hint: str = "", status: int | None = None) -> None:
        super().__init__(message, hint=hint)
        self.status = status

    @property
    def reason(self) -> str:
        """Message and hint on one line, for coverage reports."""
        return f"{self.message} {self.hint}".strip()


class MissingCredential(ConfluentError):
    """No key is configured for a plane."""

    denied = True


class Unauthorized(ConfluentError):
    """401: the key is wrong, revoked, or belongs to another plane."""

    denied = True


class Forbidden(ConfluentError):
    """403: the key is right but its owner lacks a role."""

    denied = True


class UntrustedAddress(ConfluentError):
    """An answer named an address that no key may be sent to."""

    denied = True


class NotFound(ConfluentError):
    """404 or 405: there is no such resource, or the cluster does not have this API."""


class RequestRefused(ConfluentError):
    """Another 4xx: the request itself was not understood."""


class RateLimited(ConfluentError):
    """429, still after the last try."""


class ServerError(ConfluentError):
    """5xx, still after the last try."""


class Unreachable(ConfluentError):
    """No answer: a timeout, a refused connection, a name that does not resolve, a broken TLS handshake."""


class MalformedAnswer(ConfluentError):
    """The answer is not JSON, or not of the shape that the API's document gives."""


class PartialAnswer(ConfluentError, Generic[T_co]):
    """A list whose first part was read and whose rest was not; `items` is what was read."""

    def __init__(self, items: Sequence[T_co], cause: ConfluentError) -> None:
        super().__init__(
            f"Only {len(items)} could be read: {cause.message}", hint=cause.hint, status=cause.status
        )
        self.items = items
        self.cause = cause
