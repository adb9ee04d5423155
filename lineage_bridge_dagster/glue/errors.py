"""Errors of calls to Glue, by what they prove about a write.

A write that was rejected, was throttled or met a conflict did not happen. After a timeout or a 5xx it may
have been applied all the same (`GlueAmbiguousError`): only reading the table again can tell.
"""

from __future__ import annotations

from typing import ClassVar

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    CredentialRetrievalError,
    EndpointConnectionError,
    HTTPClientError,
    NoCredentialsError,
    ParamValidationError,
    PartialCredentialsError,
    ProxyConnectionError,
    SSLError,
    TokenRetrievalError,
    UnauthorizedSSOTokenError,
)

from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.glue.invalid_requests import (
    INVALID_REQUEST_CODES,
    FailedCall,
    invalid_request_hint,
    refused_before_sending_hint,
    shown_message,
)


class GlueError(LineageBridgeError):
    """A call to Glue failed; as this base class, Glue rejected the request and would again.

    Attributes:
        transient: whether another attempt, after reading the table again, may succeed.
        retried: whether botocore sent the request more than once. The last error proves nothing about the
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


class GlueAccessDeniedError(GlueError):
    """The caller lacks a permission or valid credentials.

    Attributes:
        for_this_call: whether another call may be allowed.
    """

    for_this_call: ClassVar[bool] = True


class GlueCredentialsError(GlueAccessDeniedError):
    """There are no valid credentials."""

    for_this_call = False


class GlueNotFoundError(GlueError):
    """The table or the database does not exist."""


class GlueConflictError(GlueError):
    """Somebody else changed the table after it was read."""

    transient = True


class GlueThrottledError(GlueError):
    """Glue did not process the request, but may later."""

    transient = True


class GlueUnreachableError(GlueError):
    """The request never reached Glue."""

    transient = True


class GlueAmbiguousError(GlueError):
    """The request was sent and its result is unknown."""

    transient = True

    @property
    def may_have_written(self) -> bool:
        return True


_PERMISSION_CODES = frozenset(
    {
        "AccessDeniedException",
        "AccessDenied",
        "UnauthorizedOperation",
        "PermissionTypeMismatchException",
    }
)
_EXPIRED = "The AWS session has expired: sign in again (`aws sso login`), or renew AWS_SESSION_TOKEN."
_SIGNATURE = "AWS rejected the signature: check AWS_SECRET_ACCESS_KEY and the clock of this machine."
#: Error codes of invalid credentials, with what to do about each.
_CREDENTIAL_HINTS = {
    "ExpiredToken": _EXPIRED,
    "ExpiredTokenException": _EXPIRED,
    "UnrecognizedClientException": "AWS does not know the access key: check AWS_ACCESS_KEY_ID and "
    "AWS_SECRET_ACCESS_KEY, and that they belong to the partition of LINEAGE_BRIDGE_AWS_REGION.",
    "InvalidClientTokenId": "AWS does not know the access key: check AWS_ACCESS_KEY_ID.",
    "InvalidSignatureException": _SIGNATURE,
    "SignatureDoesNotMatch": _SIGNATURE,
    "MissingAuthenticationTokenException": "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or "
    "LINEAGE_BRIDGE_AWS_PROFILE.",
    "IncompleteSignature": "Check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.",
}
#: The throttling codes of botocore's own retry handler.
_THROTTLING_CODES = frozenset(
    {
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
)
_AMBIGUOUS_CODES = frozenset(
    {
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
)

#: botocore's exceptions for calls without a response; the first match applies.
_WITHOUT_RESPONSE: tuple[tuple[tuple[type[Exception], ...], type[GlueError], str], ...] = (
    (
        (NoCredentialsError, PartialCredentialsError),
        GlueCredentialsError,
        "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or LINEAGE_BRIDGE_AWS_PROFILE, or run on an "
        "instance or in a task whose role provides credentials.",
    ),
    (
        (CredentialRetrievalError, TokenRetrievalError, UnauthorizedSSOTokenError),
        GlueCredentialsError,
        "Sign in again (`aws sso login`), or check LINEAGE_BRIDGE_AWS_PROFILE.",
    ),
    (
        (SSLError,),
        GlueError,
        "Check the certificate of the Glue endpoint; set AWS_CA_BUNDLE for a private certificate authority.",
    ),
    (
        (EndpointConnectionError, ConnectTimeoutError, ProxyConnectionError),
        GlueUnreachableError,
        "Check the network, LINEAGE_BRIDGE_AWS_REGION, and LINEAGE_BRIDGE_AWS_ENDPOINT_URL or "
        "AWS_ENDPOINT_URL_GLUE.",
    ),
    # Read timeouts and connections closed half-way: the request was sent.
    ((HTTPClientError,), GlueAmbiguousError, "Try again."),
    # The rest fails before anything is sent.
    ((BotoCoreError,), GlueError, ""),
)


def translate(error: Exception, *, action: str, where: str, region: str = "") -> GlueError:
    """Return the `GlueError` for an exception of botocore; raise it `from error`.

    Args:
        action: the IAM action of the call, such as `glue:UpdateTable`.
        where: the database, table or catalog of the call, as the message names it.
        region: the region of the call, to find it in CloudTrail.
    """
    if isinstance(error, GlueError):
        return error
    if isinstance(error, ClientError):
        return _translate_response(error, action, where, region)
    if isinstance(error, ParamValidationError):
        return GlueError(f"{action} on {where}: {error}", hint=refused_before_sending_hint(str(error)))
    for types, error_class, hint in _WITHOUT_RESPONSE:
        if isinstance(error, types):
            return error_class(f"{action} on {where}: {error}", hint=hint)
    # Not botocore's own, such as a response that could not be parsed: the request was sent.
    return GlueAmbiguousError(
        f"{action} on {where}: {type(error).__name__}: {error}",
        hint="The response was malformed. Check that the endpoint is AWS Glue.",
    )


def malformed_response(detail: str) -> GlueError:
    return GlueError(
        f"Glue's response is malformed: {detail}.",
        hint="Check that LINEAGE_BRIDGE_AWS_ENDPOINT_URL or AWS_ENDPOINT_URL_GLUE is AWS Glue.",
    )


def _translate_response(error: ClientError, action: str, where: str, region: str) -> GlueError:
    details = error.response.get("Error", {})
    code = str(details.get("Code") or "")
    metadata = error.response.get("ResponseMetadata", {})
    status = int(metadata.get("HTTPStatusCode") or 0)
    error_class, hint = _classify(code, status, action)
    message = str(details.get("Message") or "")
    if code in INVALID_REQUEST_CODES and error_class is GlueError:
        hint = invalid_request_hint(message, FailedCall.of(error.operation_name, region, metadata))
        message = shown_message(message)
    return error_class(
        f"{action} on {where}: {code}: {message}".rstrip(": "),
        hint=hint,
        retried=int(metadata.get("RetryAttempts") or 0) > 0,
    )


def _classify(code: str, status: int, action: str) -> tuple[type[GlueError], str]:
    """The class of an error response, and what to do about it."""
    if code in _CREDENTIAL_HINTS:
        return GlueCredentialsError, _CREDENTIAL_HINTS[code]
    if code in _PERMISSION_CODES or status == 403:
        return (
            GlueAccessDeniedError,
            f"Allow {action} on the catalog, the database and the table in the caller's IAM policy. If Lake "
            "Formation governs the table, grant permissions there too: DESCRIBE to read it, ALTER to push.",
        )
    if code == "EntityNotFoundException":
        return GlueNotFoundError, "It does not exist in this account's Glue catalog in this region."
    if code == "ConcurrentModificationException":
        return GlueConflictError, ""
    if code in _THROTTLING_CODES or status == 429:
        return GlueThrottledError, "Lower LINEAGE_BRIDGE_PUSH_MAX_CONCURRENCY, or try again later."
    if code in _AMBIGUOUS_CODES or status >= 500:
        return GlueAmbiguousError, "Try again later."
    if code == "ResourceNotReadyException":
        return GlueThrottledError, "The table is being changed. Try again later."
    if code == "GlueEncryptionException":
        return (
            GlueAccessDeniedError,
            "Allow kms:Decrypt and kms:GenerateDataKey on the key of the Data Catalog.",
        )
    return GlueError, ""
