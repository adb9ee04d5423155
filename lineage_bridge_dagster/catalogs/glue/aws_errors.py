"""What an error of botocore proves about a call to Glue, and what to do about it."""

from __future__ import annotations

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

from lineage_bridge_dagster.catalogs.errors import (
    AccessDeniedError,
    AmbiguousError,
    CallError,
    ConflictError,
    CredentialsError,
    NotFoundError,
    ThrottledError,
    UnreachableError,
)
from lineage_bridge_dagster.catalogs.glue.invalid_requests import (
    INVALID_REQUEST_CODES,
    FailedCall,
    invalid_request_hint,
    refused_before_sending_hint,
    shown_message,
)

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
_CLOCK = "AWS takes the request for too old or too new: set the clock of this machine."
#: Error codes of invalid credentials, with what to do about each.
_CREDENTIAL_HINTS = {
    "ExpiredToken": _EXPIRED,
    "ExpiredTokenException": _EXPIRED,
    "UnrecognizedClientException": "AWS does not know the access key: check AWS_ACCESS_KEY_ID and "
    "AWS_SECRET_ACCESS_KEY, and that they belong to the partition of LINEAGE_BRIDGE_AWS_REGION.",
    "InvalidClientTokenId": "AWS does not know the access key: check AWS_ACCESS_KEY_ID.",
    "InvalidSignatureException": _SIGNATURE,
    "SignatureDoesNotMatch": _SIGNATURE,
    "RequestExpired": _CLOCK,
    "RequestTimeTooSkewed": _CLOCK,
    "MissingAuthenticationTokenException": "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or "
    "LINEAGE_BRIDGE_AWS_PROFILE.",
    "IncompleteSignature": "Check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.",
}
#: The throttling codes of botocore's own retry handler.
THROTTLING_CODES = frozenset(
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
_WITHOUT_RESPONSE: tuple[tuple[tuple[type[Exception], ...], type[CallError], str], ...] = (
    (
        (NoCredentialsError, PartialCredentialsError),
        CredentialsError,
        "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or LINEAGE_BRIDGE_AWS_PROFILE, or run on an "
        "instance or in a task whose role provides credentials.",
    ),
    (
        (CredentialRetrievalError, TokenRetrievalError, UnauthorizedSSOTokenError),
        CredentialsError,
        "Sign in again (`aws sso login`), or check LINEAGE_BRIDGE_AWS_PROFILE.",
    ),
    (
        (SSLError,),
        CallError,
        "Check the certificate of the Glue endpoint; set AWS_CA_BUNDLE for a private certificate authority.",
    ),
    (
        (EndpointConnectionError, ConnectTimeoutError, ProxyConnectionError),
        UnreachableError,
        "Check the network, LINEAGE_BRIDGE_AWS_REGION, and LINEAGE_BRIDGE_AWS_ENDPOINT_URL or "
        "AWS_ENDPOINT_URL_GLUE.",
    ),
    # Read timeouts and connections closed half-way: the request was sent.
    ((HTTPClientError,), AmbiguousError, "Try again."),
    # The rest fails before anything is sent.
    ((BotoCoreError,), CallError, ""),
)


def translate(error: Exception, *, action: str, where: str, region: str = "") -> CallError:
    """Return the `CallError` for an exception of botocore; raise it `from error`.

    Args:
        action: the IAM action of the call, such as `glue:UpdateTable`.
        where: the database, table or catalog of the call, as the message names it.
        region: the region of the call, to find it in CloudTrail.
    """
    if isinstance(error, CallError):
        return error
    if isinstance(error, ClientError):
        return _translate_response(error, action, where, region)
    if isinstance(error, ParamValidationError):
        report = " ".join(str(error).split())
        return CallError(f"{action} on {where}: {report}", hint=refused_before_sending_hint(str(error)))
    for types, error_class, hint in _WITHOUT_RESPONSE:
        if isinstance(error, types):
            return error_class(f"{action} on {where}: {error}", hint=hint)
    # Not botocore's own, such as a response that could not be parsed: the request was sent.
    return AmbiguousError(
        f"{action} on {where}: {type(error).__name__}: {error}",
        hint=f"The response is malformed. {_endpoint_hint()}",
    )


def counted_status(code: str, status: int) -> int:
    """The status under which an answer is counted: Glue says 400 where other APIs say 401, 403 or 429."""
    if code in THROTTLING_CODES:
        return 429
    if code in _CREDENTIAL_HINTS:
        return 401
    return 403 if code in _PERMISSION_CODES else status


def malformed_response(detail: str, service: str = "Glue") -> CallError:
    """The error of an answer that is not Glue's, or half of one: botocore passes on what it cannot parse."""
    return AmbiguousError(f"{service}'s response is malformed: {detail}.", hint=_endpoint_hint(service))


def _endpoint_hint(service: str = "Glue") -> str:
    variable = f"AWS_ENDPOINT_URL_{service.replace(' ', '').upper()}"
    if service == "Glue":
        variable = f"LINEAGE_BRIDGE_AWS_ENDPOINT_URL or {variable}"
    return f"Check that {variable} is AWS {service}."


def _translate_response(error: ClientError, action: str, where: str, region: str) -> CallError:
    details = error.response.get("Error", {})
    code = str(details.get("Code") or "")
    metadata = error.response.get("ResponseMetadata", {})
    status = int(metadata.get("HTTPStatusCode") or 0)
    error_class, hint = _classify(code, status, action)
    message = str(details.get("Message") or "")
    if code in INVALID_REQUEST_CODES and error_class is CallError:
        hint = invalid_request_hint(message, FailedCall.of(error.operation_name, region, metadata))
        message = shown_message(message)
    return error_class(
        f"{action} on {where}: {code}: {message}".rstrip(": "),
        hint=hint,
        retried=int(metadata.get("RetryAttempts") or 0) > 0,
    )


def _classify(code: str, status: int, action: str) -> tuple[type[CallError], str]:
    """The class of an error response, and what to do about it."""
    if code in _CREDENTIAL_HINTS:
        return CredentialsError, _CREDENTIAL_HINTS[code]
    if code.isdecimal() and status < 500 and status != 429:
        # botocore's, for an answer that has none: a proxy's or a login page's.
        return AccessDeniedError if status == 403 else CallError, _endpoint_hint()
    if code in _PERMISSION_CODES or status == 403:
        return (
            AccessDeniedError,
            f"Allow {action} on the catalog, the database and the table in the caller's IAM policy. If Lake "
            "Formation governs the table, grant permissions there too: DESCRIBE to read it, ALTER and SELECT "
            "to push.",
        )
    if code == "EntityNotFoundException":
        return NotFoundError, "It does not exist in this account's Glue catalog in this region."
    if code == "ConcurrentModificationException":
        return ConflictError, ""
    if code in THROTTLING_CODES or status == 429:
        return ThrottledError, "Lower LINEAGE_BRIDGE_PUSH_MAX_CONCURRENCY, or try again later."
    if code in _AMBIGUOUS_CODES or status >= 500:
        return AmbiguousError, "Try again later."
    if code == "ResourceNotReadyException":
        return ThrottledError, "The table is being changed. Try again later."
    if code == "GlueEncryptionException":
        return (
            AccessDeniedError,
            "Allow kms:Decrypt and kms:GenerateDataKey on the key of the Data Catalog.",
        )
    return CallError, ""
