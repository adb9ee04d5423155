"""What went wrong at Glue, and what that means for a write.

One small function turns botocore's exceptions into `GlueError`s. What matters to a writer is not the name of
an error but what it proves: that nothing was written (`REJECTED`, `CONFLICT`, `THROTTLED`), or nothing at all
(`AMBIGUOUS`: a timeout or a 5xx may well have been written before it was reported).
"""

from __future__ import annotations

from enum import StrEnum

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    CredentialRetrievalError,
    EndpointConnectionError,
    HTTPClientError,
    NoCredentialsError,
    PartialCredentialsError,
    ProxyConnectionError,
    SSLError,
    TokenRetrievalError,
    UnauthorizedSSOTokenError,
)

from lineage_bridge_dagster.errors import LineageBridgeError


class Outcome(StrEnum):
    """What an error proves about the call that met it."""

    REJECTED = "rejected"  # Glue refused it; asking again the same way gives the same answer
    DENIED = "denied"  # refused for want of rights or credentials
    NOT_FOUND = "not_found"
    CONFLICT = "conflict"  # another version is current
    THROTTLED = "throttled"  # not done; later it may be
    UNREACHABLE = "unreachable"  # never arrived
    AMBIGUOUS = "ambiguous"  # may have been done


class GlueError(LineageBridgeError):
    """A call to Glue failed. `retried` is whether botocore had tried it more than once.

    A retried call's last error says nothing about its first try, so a retried write may have been done
    whatever the outcome reads.
    """

    def __init__(
        self, message: str, *, hint: str = "", outcome: Outcome = Outcome.REJECTED, retried: bool = False
    ) -> None:
        super().__init__(message, hint=hint)
        self.outcome = outcome
        self.retried = retried

    @property
    def transient(self) -> bool:
        """Whether another try, after a new read, may succeed."""
        return self.outcome in (
            Outcome.CONFLICT,
            Outcome.THROTTLED,
            Outcome.UNREACHABLE,
            Outcome.AMBIGUOUS,
        )

    @property
    def may_have_written(self) -> bool:
        """Whether a write that met this error may be there all the same."""
        return self.retried or self.outcome is Outcome.AMBIGUOUS


_DENIED = {
    "AccessDeniedException",
    "AccessDenied",
    "UnauthorizedOperation",
    "PermissionTypeMismatchException",
}
_EXPIRED = "The AWS session has expired: sign in again (`aws sso login`), or renew AWS_SESSION_TOKEN."
_SIGNATURE = "The signature was refused: check AWS_SECRET_ACCESS_KEY and this machine's clock."
_CREDENTIALS = {
    "ExpiredToken": _EXPIRED,
    "ExpiredTokenException": _EXPIRED,
    "UnrecognizedClientException": "AWS does not know the access key: check AWS_ACCESS_KEY_ID and "
    "AWS_SECRET_ACCESS_KEY, and that they are of the partition of LINEAGE_BRIDGE_AWS_REGION.",
    "InvalidClientTokenId": "AWS does not know the access key: check AWS_ACCESS_KEY_ID.",
    "InvalidSignatureException": _SIGNATURE,
    "SignatureDoesNotMatch": _SIGNATURE,
    "MissingAuthenticationTokenException": "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or "
    "LINEAGE_BRIDGE_AWS_PROFILE.",
    "IncompleteSignature": "Check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.",
}
#: The throttling codes that botocore's own retry handler knows.
_THROTTLED = {
    "Throttling",
    "ThrottlingException",
    "ThrottledException",
    "RequestThrottledException",
    "TooManyRequestsException",
    "ProvisionedThroughputExceededException",
    "TransactionInProgressException",
    "RequestLimitExceeded",
    "BandwidthLimitExceeded",
    "LimitExceededException",
    "RequestThrottled",
    "SlowDown",
    "PriorRequestNotComplete",
    "EC2ThrottledException",
}
_AMBIGUOUS = {
    "InternalServiceException",
    "InternalFailure",
    "InternalServerError",
    "ServiceUnavailable",
    "ServiceUnavailableException",
    "OperationTimeoutException",
    "RequestTimeout",
    "RequestTimeoutException",
    "FederationSourceRetryableException",
}


def translate(error: Exception, *, action: str, where: str) -> GlueError:
    """The `GlueError` for a botocore exception; raise it `from error`.

    Args:
        action: the IAM action of the call, as `glue:UpdateTable`.
        where: what it was about, as a person reads it: a database, a table, a region.
    """
    if isinstance(error, GlueError):
        return error
    if isinstance(error, ClientError):
        return _of_response(error, action, where)
    message = f"{action} on {where}: {error}"
    if isinstance(error, NoCredentialsError | PartialCredentialsError):
        return GlueError(
            f"{action} on {where}: there are no AWS credentials.",
            hint="Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or LINEAGE_BRIDGE_AWS_PROFILE, or run "
            "where an instance or task role gives them.",
            outcome=Outcome.DENIED,
        )
    if isinstance(error, CredentialRetrievalError | TokenRetrievalError | UnauthorizedSSOTokenError):
        return GlueError(
            message,
            hint="Sign in again (`aws sso login`), or check LINEAGE_BRIDGE_AWS_PROFILE.",
            outcome=Outcome.DENIED,
        )
    if isinstance(error, SSLError):
        return GlueError(
            message,
            hint="Check the certificate of the Glue endpoint; AWS_CA_BUNDLE names a private authority.",
            outcome=Outcome.REJECTED,
        )
    if isinstance(error, EndpointConnectionError | ConnectTimeoutError | ProxyConnectionError):
        return GlueError(
            message,
            hint="Check the network, LINEAGE_BRIDGE_AWS_REGION, and LINEAGE_BRIDGE_AWS_ENDPOINT_URL or "
            "AWS_ENDPOINT_URL_GLUE.",
            outcome=Outcome.UNREACHABLE,
        )
    if isinstance(error, HTTPClientError):
        # Read timeouts and connections closed half way: the request was sent, the answer is not known.
        return GlueError(message, hint="Try again.", outcome=Outcome.AMBIGUOUS)
    if isinstance(error, BotoCoreError):
        # Parameter validation and the like: found before anything was sent.
        return GlueError(message, outcome=Outcome.REJECTED)
    # Not botocore's own: an answer that could not be parsed, for one. It was sent.
    return GlueError(
        f"{action} on {where}: {type(error).__name__}: {error}",
        hint="The answer was malformed. Check that the endpoint is AWS Glue.",
        outcome=Outcome.AMBIGUOUS,
    )


def _of_response(error: ClientError, action: str, where: str) -> GlueError:
    details = error.response.get("Error", {})
    code = str(details.get("Code") or "")
    said = str(details.get("Message") or "")
    metadata = error.response.get("ResponseMetadata", {})
    status = int(metadata.get("HTTPStatusCode") or 0)
    retried = int(metadata.get("RetryAttempts") or 0) > 0
    message = f"{action} on {where}: {code}: {said}".rstrip(": ")

    def made(outcome: Outcome, hint: str = "") -> GlueError:
        return GlueError(message, hint=hint, outcome=outcome, retried=retried)

    if code in _DENIED or (status == 403 and code not in _CREDENTIALS):
        hint = (
            f"Allow {action} on the catalog, the database and the table in the IAM policy of the caller. "
            "Where Lake Formation governs the table, grant there too: DESCRIBE to read it, ALTER to push."
        )
        return made(Outcome.DENIED, hint)
    if code in _CREDENTIALS:
        return made(Outcome.DENIED, _CREDENTIALS[code])
    if code == "ConcurrentModificationException":
        return made(Outcome.CONFLICT)
    if code == "EntityNotFoundException":
        return made(Outcome.NOT_FOUND, "It is not in this account's Glue catalog in this region (any more).")
    if code in _THROTTLED or status == 429:
        return made(Outcome.THROTTLED, "Lower LINEAGE_BRIDGE_PUSH_MAX_CONCURRENCY, or try again later.")
    if code in _AMBIGUOUS or status >= 500:
        return made(Outcome.AMBIGUOUS, "Try again later.")
    if code == "ResourceNotReadyException":
        return made(Outcome.THROTTLED, "The table is being changed. Try again later.")
    if code == "GlueEncryptionException":
        return made(
            Outcome.DENIED, "Allow kms:Decrypt and kms:GenerateDataKey on the key of the Data Catalog."
        )
    return made(Outcome.REJECTED)
