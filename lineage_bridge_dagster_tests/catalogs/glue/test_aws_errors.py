"""The class of each error of Glue, which says what it proves, and its hint."""

from __future__ import annotations

import pytest
from botocore.exceptions import (
    ClientError,
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    NoCredentialsError,
    ParamValidationError,
    ReadTimeoutError,
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
from lineage_bridge_dagster.catalogs.glue.aws_errors import translate


def response(code: str, status: int = 400, retries: int = 0) -> CallError:
    """The translated error response of an UpdateTable."""
    error = ClientError(
        {
            "Error": {"Code": code, "Message": "words"},
            "ResponseMetadata": {"HTTPStatusCode": status, "RetryAttempts": retries},
        },  # type: ignore[typeddict-item]
        "UpdateTable",
    )
    return translate(error, action="glue:UpdateTable", where="the table db.t")


@pytest.mark.parametrize(
    ("code", "status", "error_class"),
    [
        ("AccessDeniedException", 400, AccessDeniedError),
        ("SomethingNew", 403, AccessDeniedError),
        ("ExpiredTokenException", 400, CredentialsError),
        ("RequestTimeTooSkewed", 400, CredentialsError),
        ("RequestExpired", 400, CredentialsError),
        ("302", 302, CallError),
        ("EntityNotFoundException", 400, NotFoundError),
        ("ConcurrentModificationException", 400, ConflictError),
        ("ThrottlingException", 400, ThrottledError),
        ("SomethingNew", 429, ThrottledError),
        ("InternalServiceException", 500, AmbiguousError),
        ("OperationTimeoutException", 400, AmbiguousError),
        ("", 502, AmbiguousError),
        ("InvalidInputException", 400, CallError),
        ("ValidationException", 400, CallError),
        ("SomethingNew", 400, CallError),
    ],
)
def test_error_responses_are_classified(code: str, status: int, error_class: type[CallError]) -> None:
    error = response(code, status)
    assert type(error) is error_class
    assert error.may_have_written is (error_class is AmbiguousError)
    assert "the table db.t" in error.message


def test_retried_call_may_have_written_whatever_its_last_error() -> None:
    assert response("ConcurrentModificationException", retries=1).may_have_written
    assert response("AccessDeniedException", retries=2).may_have_written


def test_denial_names_the_action_and_lake_formation() -> None:
    error = response("AccessDeniedException")
    assert "glue:UpdateTable" in error.hint
    assert "Lake Formation" in error.hint


@pytest.mark.parametrize(
    ("error", "error_class", "hint"),
    [
        (NoCredentialsError(), CredentialsError, "AWS_ACCESS_KEY_ID"),
        (UnauthorizedSSOTokenError(), CredentialsError, "aws sso login"),
        (EndpointConnectionError(endpoint_url="x"), UnreachableError, "LINEAGE_BRIDGE_AWS_REGION"),
        (ConnectTimeoutError(endpoint_url="x"), UnreachableError, "AWS_ENDPOINT_URL"),
        (ReadTimeoutError(endpoint_url="x"), AmbiguousError, ""),
        (ConnectionClosedError(endpoint_url="x"), AmbiguousError, ""),
        (ParamValidationError(report="too long"), CallError, ""),
        (ValueError("not JSON"), AmbiguousError, "malformed"),
    ],
)
def test_calls_without_a_response_are_classified(
    error: Exception, error_class: type[CallError], hint: str
) -> None:
    translated = translate(error, action="glue:UpdateTable", where="the table db.t")
    assert type(translated) is error_class
    assert hint in translated.hint
