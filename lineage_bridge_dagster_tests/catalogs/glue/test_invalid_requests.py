"""Hints for requests that Glue, or botocore before it, takes for malformed: field, remedy, event."""

from __future__ import annotations

import shlex
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, ParamValidationError

from lineage_bridge_dagster.catalogs.errors import CallError
from lineage_bridge_dagster.catalogs.glue.aws_errors import translate

REQUEST_ID = "21d099dd-a972-488f-b3ab-7a6a2a1a4c35"
ONE_LINE = "Member must satisfy regular expression pattern: [\\u0020-\\uD7FF\\uE000-\\uFFFD\\t]*"


def refused(code: str, message: str, operation: str = "UpdateTable", **metadata: Any) -> CallError:
    """The translated refusal of Glue, as botocore raises it."""
    error = ClientError(
        {
            "Error": {"Code": code, "Message": message},
            "ResponseMetadata": {
                "RequestId": REQUEST_ID,
                "HTTPStatusCode": 400,
                "HTTPHeaders": {"date": "Thu, 30 Apr 2026 12:34:56 GMT", "x-amzn-requestid": REQUEST_ID},
                "RetryAttempts": 0,
                **metadata,
            },
        },  # type: ignore[typeddict-item]
        operation,
    )
    return translate(error, action=f"glue:{operation}", where="the table db.t", region="eu-west-1")


def length(value: str, path: str, limit: int) -> str:
    return (
        f"1 validation error detected: Value '{value}' at '{path}' failed to satisfy constraint: "
        f"Member must have length less than or equal to {limit}"
    )


@pytest.mark.parametrize(
    ("message", "field", "remedy"),
    [
        (length("x" * 3000, "table.description", 2048), "TableInput.Description", "--no-description"),
        (length("t" * 300, "table.owner", 255), "TableInput.Owner", "carries this field over"),
        (
            length("struct<a:int>", "table.storageDescriptor.columns.12.member.type", 131072),
            "TableInput.StorageDescriptor.Columns[12].Type",
            "carries this field over",
        ),
        (
            "2 validation errors detected: Value 'a\nb' at "
            f"'table.storageDescriptor.columns.5.member.comment' failed to satisfy constraint: {ONE_LINE}; "
            "Value 'c\nd' at 'table.partitionKeys.1.member.comment' failed to satisfy constraint: "
            f"{ONE_LINE}",
            "TableInput.PartitionKeys[1].Comment",
            "carries this field over",
        ),
        (
            "1 validation error detected: Value '{theirs=top secret, lineage_bridge.upstream_chain=[...]}' "
            "at 'table.parameters' failed to satisfy constraint: Map value must satisfy constraint: [Member "
            "must have length less than or equal to 512000, Member must have length greater than or equal "
            "to 0]",
            "TableInput.Parameters",
            "aws glue get-table",
        ),
        (
            "1 validation error detected: Value null at 'table.name' failed to satisfy constraint: "
            "Member must not be null",
            "TableInput.Name",
            "name",
        ),
    ],
)
def test_field_of_a_violated_constraint_is_named(message: str, field: str, remedy: str) -> None:
    error = refused("ValidationException", message)
    assert field in error.hint
    assert remedy in error.hint
    assert len(error.message) < 1200
    assert "top secret" not in error.message + error.hint


def test_every_violated_constraint_is_named_once() -> None:
    message = "; ".join(
        f"Value 'a' at 'table.storageDescriptor.columns.{number}.member.comment' failed to satisfy "
        f"constraint: {ONE_LINE}"
        for number in range(1, 40)
    )
    hint = refused("ValidationException", f"39 validation errors detected: {message}").hint
    assert "Columns[1].Comment" in hint
    assert "36 more" in hint
    assert hint.count("carries this field over") == 1


@pytest.mark.parametrize(
    ("message", "remedy"),
    [
        ("Payload size of request exceeded limit", "LINEAGE_BRIDGE_PUSH_SQL=none"),
        ("Storage descriptor may not be defined when creating a validated Glue view", "lookup-events"),
        ("Something that nobody has seen before.", "lookup-events"),
    ],
)
def test_refusal_without_a_field_has_a_hint_too(message: str, remedy: str) -> None:
    error = refused("InvalidInputException", message)
    assert message.rstrip(".") in error.message
    assert remedy in error.hint


def test_cloudtrail_event_is_found_by_a_ready_command() -> None:
    hint = refused("InvalidInputException", "Table is malformed").hint
    assert f"event UpdateTable of glue.amazonaws.com in eu-west-1, request ID {REQUEST_ID}" in hint
    command = shlex.split(hint[hint.index("aws cloudtrail") :].rstrip("."))
    assert command[:5] == ["aws", "cloudtrail", "lookup-events", "--region", "eu-west-1"]
    assert command[command.index("--lookup-attributes") + 1] == (
        "AttributeKey=EventName,AttributeValue=UpdateTable"
    )
    assert command[command.index("--start-time") + 1] == "2026-04-30T12:29:56Z"
    assert command[command.index("--end-time") + 1] == "2026-04-30T12:39:56Z"
    assert command[command.index("--query") + 1] == (
        f"Events[?contains(CloudTrailEvent, '{REQUEST_ID}')].CloudTrailEvent"
    )


def test_command_without_a_date_and_a_request_id_lists_the_operation() -> None:
    error = refused("InvalidInputException", "Table is malformed", HTTPHeaders={}, RequestId="")
    assert "--start-time" not in error.hint
    assert "AttributeValue=UpdateTable" in error.hint
    assert "request ID" not in error.hint


@pytest.mark.parametrize(
    ("request_", "fields"),
    [
        ({"DatabaseName": "d", "TableInput": {"Parameters": {"x": 1}}}, ["TableInput.Name", "Parameters.x"]),
        ({"DatabaseName": "", "TableInput": {"Name": "a", "New": 1}}, ["DatabaseName", "TableInput.New"]),
        ({"TableInput": {"Name": "a"}}, ["DatabaseName"]),
    ],
)
def test_request_that_botocore_refuses_has_its_fields_and_no_event(
    request_: dict[str, Any], fields: list[str]
) -> None:
    client = boto3.client("glue", region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b")
    with pytest.raises(ParamValidationError) as caught:
        client.update_table(**request_)
    error = translate(caught.value, action="glue:UpdateTable", where="the table db.t")
    for field in fields:
        assert field in error.hint
    assert "not sent" in error.hint
    assert "lookup-events" not in error.hint


def test_strict_glue_refuses_in_these_words(aws: Any, client: Any, catalog: Any) -> None:
    """The message is parsed as the embedded Glue words it, which follows AWS."""
    catalog.create("orders.v1")
    table = {"Name": "orders.v1", "Description": "é" * 2000}
    with pytest.raises(ClientError) as caught:
        client.update_table(DatabaseName="lkc-abc123", TableInput=table)
    error = translate(caught.value, action="glue:UpdateTable", where="the table db.t", region="us-east-1")
    assert "TableInput.Description" in error.hint
    assert "lookup-events" in error.hint
