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

from lineage_bridge_dagster.glue.errors import (
    GlueAccessDeniedError,
    GlueAmbiguousError,
    GlueConflictError,
    GlueCredentialsError,
    GlueError,
    GlueNotFoundError,
    GlueThrottledError,
    GlueUnreachableError,
    translate,
)


def response(code: str, status: int = 400, retries: int = 0) -> GlueError:
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
        ("AccessDeniedException", 400, GlueAccessDeniedError),
        ("SomethingNew", 403, GlueAccessDeniedError),
        ("ExpiredTokenException", 400, GlueCredentialsError),
        ("EntityNotFoundException", 400, GlueNotFoundError),
        ("ConcurrentModificationException", 400, GlueConflictError),
        ("ThrottlingException", 400, GlueThrottledError),
        ("SomethingNew", 429, GlueThrottledError),
        ("InternalServiceException", 500, GlueAmbiguousError),
        ("OperationTimeoutException", 400, GlueAmbiguousError),
        ("", 502, GlueAmbiguousError),
        ("InvalidInputException", 400, GlueError),
        ("ValidationException", 400, GlueError),
        ("SomethingNew", 400, GlueError),
    ],
)
def test_error_responses_are_classified(code: str, status: int, error_class: type[GlueError]) -> None:
    error = response(code, status)
    assert type(error) is error_class
    assert error.may_have_written is (error_class is GlueAmbiguousError)
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
        (NoCredentialsError(), GlueCredentialsError, "AWS_ACCESS_KEY_ID"),
        (UnauthorizedSSOTokenError(), GlueCredentialsError, "aws sso login"),
        (EndpointConnectionError(endpoint_url="x"), GlueUnreachableError, "LINEAGE_BRIDGE_AWS_REGION"),
        (ConnectTimeoutError(endpoint_url="x"), GlueUnreachableError, "AWS_ENDPOINT_URL"),
        (ReadTimeoutError(endpoint_url="x"), GlueAmbiguousError, ""),
        (ConnectionClosedError(endpoint_url="x"), GlueAmbiguousError, ""),
        (ParamValidationError(report="too long"), GlueError, ""),
        (ValueError("not JSON"), GlueAmbiguousError, "malformed"),
    ],
)
def test_calls_without_a_response_are_classified(
    error: Exception, error_class: type[GlueError], hint: str
) -> None:
    translated = translate(error, action="glue:UpdateTable", where="the table db.t")
    assert type(translated) is error_class
    assert hint in translated.hint
