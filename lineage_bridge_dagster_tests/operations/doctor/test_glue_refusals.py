"""Refused writes in CloudTrail and grants of Lake Formation, held to botocore's models of both."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.stub import ANY

from lineage_bridge_dagster.lineage.model import Graph
from lineage_bridge_dagster.operations.doctor import glue_refusals
from lineage_bridge_dagster.operations.doctor.context import Context
from lineage_bridge_dagster.operations.doctor.finding import CheckStatus
from lineage_bridge_dagster_tests.catalogs.glue.graphs import CLUSTER, REGION, add_table
from lineage_bridge_dagster_tests.operations.doctor.examined import ROLE, caller, context_of, examine, stubbed

REQUEST = "f00d0000-1111-2222-3333-444455556666"


def _event(code: str, message: str, **fields: Any) -> dict[str, Any]:
    event = {
        "eventSource": "glue.amazonaws.com",
        "eventName": "UpdateTable",
        "eventTime": "2026-04-30T12:34:56Z",
        "awsRegion": REGION,
        "requestID": REQUEST,
        "eventID": "e-1",
        "userIdentity": {"arn": f"{ROLE}/session"},
        "requestParameters": {"databaseName": CLUSTER, "tableInput": {"name": "orders.v1"}},
        **({"errorCode": code, "errorMessage": message} if code else {}),
        **fields,
    }
    return {
        "EventId": "e-1",
        "EventTime": datetime(2026, 4, 30, tzinfo=UTC),
        "CloudTrailEvent": json.dumps(event),
    }


def _context(*events: dict[str, Any]) -> Context:
    cloudtrail, stubber = stubbed("cloudtrail")
    attributes = [{"AttributeKey": "EventName", "AttributeValue": "UpdateTable"}]
    stubber.add_response(
        "lookup_events",
        {"Events": list(events)},
        {"LookupAttributes": attributes, "StartTime": ANY, "MaxResults": 50},
    )
    return context_of(cloudtrail=cloudtrail)


def test_a_refused_write_names_its_field_and_the_event_to_look_up() -> None:
    message = (
        "1 validation error detected: Value 'x' at 'table.description' failed to satisfy constraint: Member "
        "must have length less than or equal to 2048"
    )
    refused = _event("ValidationException", message)
    (found,) = examine(glue_refusals.refused_writes, _context(refused, refused))
    assert found.status is CheckStatus.WARNING
    assert f"{CLUSTER}.orders.v1: refused 2 times by ValidationException" in found.result
    assert ROLE in found.result
    assert "TableInput.Description" in found.remedy
    assert REQUEST in found.remedy
    assert "aws cloudtrail lookup-events" in found.remedy


def test_an_invalid_input_without_a_field_still_names_the_event() -> None:
    (found,) = examine(glue_refusals.refused_writes, _context(_event("InvalidInputException", "Bad input")))
    assert "Glue does not say which field" in found.remedy
    assert REQUEST in found.remedy


def test_a_denied_write_names_the_resource() -> None:
    message = (
        f"User: {ROLE} is not authorized to perform: glue:UpdateTable on resource: "
        f"arn:aws:glue:{REGION}:111122223333:database/{CLUSTER} because no permissions boundary allows the "
        "glue:UpdateTable action"
    )
    (found,) = examine(glue_refusals.refused_writes, _context(_event("AccessDeniedException", message)))
    assert "permissions boundary decides" in found.remedy


def test_conflicts_and_throttling_are_repeated_by_writers_and_not_reported() -> None:
    events = [
        _event("ConcurrentModificationException", "Update table failed due to concurrent modifications."),
        _event("ThrottlingException", "Rate exceeded"),
        _event("", ""),
        _event("AccessDenied", "no", eventSource="redshift.amazonaws.com"),
    ]
    (found,) = examine(glue_refusals.refused_writes, _context(*events))
    assert found.status is CheckStatus.OK
    assert "Of 4 calls" in found.result


def test_a_trail_that_may_not_be_read_is_said_to_be_unknown() -> None:
    cloudtrail, stubber = stubbed("cloudtrail")
    stubber.add_client_error("lookup_events", "AccessDeniedException", "not authorized", 400)
    (found,) = examine(glue_refusals.refused_writes, context_of(cloudtrail=cloudtrail))
    assert found.status is CheckStatus.WARNING
    assert "cloudtrail:LookupEvents" in found.remedy
    assert f"--region {REGION}" in found.remedy


def _governed(
    registered: bool, *permissions: str, denied: bool = False, columns: Mapping[str, Any] | None = None
) -> Context:
    """A table of which the caller is granted these permissions, and SELECT on these columns."""
    graph = Graph()
    add_table(graph, "orders.v1")
    glue, answers = stubbed("glue")
    name = {"DatabaseName": CLUSTER, "Name": "orders.v1"}
    table = {"Name": "orders.v1", "IsRegisteredWithLakeFormation": registered}
    answers.add_response("get_table", {"Table": table}, name)
    lake, stubber = stubbed("lakeformation")
    principal = {"DataLakePrincipalIdentifier": ROLE}
    request = {"Principal": principal, "Resource": {"Table": name}}
    if denied:
        stubber.add_client_error("list_permissions", "AccessDeniedException", "no", 400)
    else:
        on_table = {"Resource": {"Table": name}, "Permissions": list(permissions)}
        on_columns = {
            "Resource": {"TableWithColumns": {**name, **(columns or {})}},
            "Permissions": ["SELECT"],
        }
        grants = [*([on_table] if permissions else []), *([on_columns] if columns is not None else [])]
        granted = [{"Principal": principal, **grant} for grant in grants]
        stubber.add_response("list_permissions", {"PrincipalResourcePermissions": granted}, request)
    return context_of(graph=graph, sts=caller(), glue=glue, lakeformation=lake)


def test_tables_that_lake_formation_does_not_govern_need_no_grant() -> None:
    (found,) = examine(glue_refusals.lake_formation, _governed(False))
    assert found.status is CheckStatus.OK


def test_a_missing_grant_is_named_with_the_command() -> None:
    (found,) = examine(glue_refusals.lake_formation, _governed(True, "DESCRIBE"))
    assert found.status is CheckStatus.FAILED
    assert "without ALTER and SELECT" in found.result
    assert f"DataLakePrincipalIdentifier={ROLE} --permissions DESCRIBE ALTER SELECT" in found.remedy
    (found,) = examine(glue_refusals.lake_formation, _governed(True, "ALL"))
    assert found.status is CheckStatus.OK


@pytest.mark.parametrize(
    ("columns", "status"),
    [
        ({"ColumnWildcard": {}}, CheckStatus.OK),
        ({"ColumnWildcard": {"ExcludedColumnNames": ["ssn"]}}, CheckStatus.FAILED),
        ({"ColumnNames": ["id"]}, CheckStatus.FAILED),
        (None, CheckStatus.FAILED),
    ],
)
def test_a_caller_who_sees_some_columns_would_write_the_table_without_the_others(
    columns: Mapping[str, Any] | None, status: CheckStatus
) -> None:
    governed = _governed(True, "ALTER", "DESCRIBE", columns=columns)
    (found,) = examine(glue_refusals.lake_formation, governed)
    assert found.status is status
    assert ("without SELECT" in found.result) == (status is CheckStatus.FAILED)


def test_grants_that_may_not_be_listed_are_said_to_be_unknown() -> None:
    (found,) = examine(glue_refusals.lake_formation, _governed(True, denied=True))
    assert found.status is CheckStatus.WARNING
    assert "grant-permissions" in found.remedy
