"""What each error of Glue's proves, and what it tells a person to do."""

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

from lineage_bridge_dagster.glue.errors import GlueError, Outcome, translate


def answered(code: str, status: int = 400, retries: int = 0) -> GlueError:
    error = ClientError(
        {
            "Error": {"Code": code, "Message": "words"},
            "ResponseMetadata": {"HTTPStatusCode": status, "RetryAttempts": retries},
        },  # type: ignore[typeddict-item]
        "UpdateTable",
    )
    return translate(error, action="glue:UpdateTable", where="the table db.t")


@pytest.mark.parametrize(
    ("code", "status", "outcome"),
    [
        ("AccessDeniedException", 400, Outcome.DENIED),
        ("SomethingNew", 403, Outcome.DENIED),
        ("ExpiredTokenException", 400, Outcome.DENIED),
        ("EntityNotFoundException", 400, Outcome.NOT_FOUND),
        ("ConcurrentModificationException", 400, Outcome.CONFLICT),
        ("ThrottlingException", 400, Outcome.THROTTLED),
        ("SomethingNew", 429, Outcome.THROTTLED),
        ("InternalServiceException", 500, Outcome.AMBIGUOUS),
        ("OperationTimeoutException", 400, Outcome.AMBIGUOUS),
        ("", 502, Outcome.AMBIGUOUS),
        ("InvalidInputException", 400, Outcome.REJECTED),
        ("ValidationException", 400, Outcome.REJECTED),
        ("SomethingNew", 400, Outcome.REJECTED),
    ],
)
def test_answers_prove_what_they_prove(code: str, status: int, outcome: Outcome) -> None:
    error = answered(code, status)
    assert error.outcome is outcome
    assert error.may_have_written is (outcome is Outcome.AMBIGUOUS)
    assert "the table db.t" in error.message


def test_a_retried_call_may_have_written_whatever_its_last_answer() -> None:
    assert answered("ConcurrentModificationException", retries=1).may_have_written
    assert answered("AccessDeniedException", retries=2).may_have_written


def test_a_denial_names_the_action_and_lake_formation() -> None:
    error = answered("AccessDeniedException")
    assert "glue:UpdateTable" in error.hint
    assert "Lake Formation" in error.hint


@pytest.mark.parametrize(
    ("error", "outcome", "word"),
    [
        (NoCredentialsError(), Outcome.DENIED, "AWS_ACCESS_KEY_ID"),
        (UnauthorizedSSOTokenError(), Outcome.DENIED, "aws sso login"),
        (EndpointConnectionError(endpoint_url="x"), Outcome.UNREACHABLE, "LINEAGE_BRIDGE_AWS_REGION"),
        (ConnectTimeoutError(endpoint_url="x"), Outcome.UNREACHABLE, "AWS_ENDPOINT_URL"),
        (ReadTimeoutError(endpoint_url="x"), Outcome.AMBIGUOUS, ""),
        (ConnectionClosedError(endpoint_url="x"), Outcome.AMBIGUOUS, ""),
        (ParamValidationError(report="too long"), Outcome.REJECTED, ""),
        (ValueError("no JSON"), Outcome.AMBIGUOUS, "malformed"),
    ],
)
def test_what_never_got_an_answer(error: Exception, outcome: Outcome, word: str) -> None:
    found = translate(error, action="glue:UpdateTable", where="the table db.t")
    assert found.outcome is outcome
    assert word in found.hint
