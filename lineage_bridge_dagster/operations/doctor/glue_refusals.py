"""Writes that AWS refused: Lake Formation's grants, and refused updates recorded in CloudTrail."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from lineage_bridge_dagster.catalogs.glue.invalid_requests import (
    INVALID_REQUEST_CODES,
    FailedCall,
    invalid_request_hint,
    shown_message,
)
from lineage_bridge_dagster.json_text import json_of
from lineage_bridge_dagster.lineage.glue_names import GluePlace
from lineage_bridge_dagster.operations.doctor.aws_places import RUN_DISCOVERY
from lineage_bridge_dagster.operations.doctor.context import Context
from lineage_bridge_dagster.operations.doctor.finding import Finding, failed, ok, skipped, warning
from lineage_bridge_dagster.operations.doctor.glue_access import known_places
from lineage_bridge_dagster.operations.doctor.refusals import aws_failure, is_denied, one_line, refusal_remedy
from lineage_bridge_dagster.operations.setup.aws import covers

#: How far back refused writes are looked for.
_WINDOW = timedelta(hours=24)
#: Tables that Lake Formation is asked about.
_MAX_TABLES = 10
#: The Lake Formation permissions that a push needs. To a caller without SELECT on all columns, Glue returns a
#: table without the other columns and without the parameters `spark.sql.sources.schema*` (Lake Formation's
#: known issues, "Limitation on filtering of table metadata"), and a push writes back what it read.
_NEEDED = ("DESCRIBE", "ALTER", "SELECT")


def lake_formation(context: Context) -> Iterator[Finding]:
    """Whether Lake Formation governs the tables, and whether it grants this identity what a push needs."""
    places = known_places(context)[:_MAX_TABLES]
    tried = "Looked for tables that are registered with Lake Formation."
    if not places:
        yield skipped(tried, "No table is known.", RUN_DISCOVERY)
        return
    glue = context.glue()
    registered: list[GluePlace] = []
    for place in places:
        try:
            table = glue.get_table(DatabaseName=place.database, Name=place.table)["Table"]
        except (ClientError, BotoCoreError):
            continue  # the check glue.read reports it
        if table.get("IsRegisteredWithLakeFormation"):
            registered.append(place)
    if not registered:
        yield ok(tried, f"None of {len(places)} (one per database) is: IAM alone decides.")
        return
    caller = context.caller().principal
    for place in registered:
        yield _grants(context, place, caller)


def _grants(context: Context, place: GluePlace, caller: str) -> Finding:
    tried = f"lakeformation:ListPermissions of {caller} on {place.dotted}."
    resource: Any = {"Table": {"DatabaseName": place.database, "Name": place.table}}
    grant = (
        f"`aws lakeformation grant-permissions --principal DataLakePrincipalIdentifier={caller} "
        f"--permissions {' '.join(_NEEDED)} --resource '{json.dumps(resource)}'`"
    )
    try:
        answer = context.client("lakeformation").list_permissions(
            Principal={"DataLakePrincipalIdentifier": caller}, Resource=resource
        )
    except (ClientError, BotoCoreError) as error:
        return aws_failure(
            error,
            "lakeformation:ListPermissions",
            tried,
            f"Lake Formation governs the table; if pushes to it are refused, its administrator runs {grant}.",
        )
    granted = {
        permission
        for one in answer["PrincipalResourcePermissions"]
        if covers(one.get("Resource", {}), resource)
        for permission in one.get("Permissions", ())
    }
    lacking = [name for name in _NEEDED if name not in granted and not granted & {"ALL", "SUPER"}]
    if lacking:
        return failed(
            tried,
            f"Lake Formation governs the table and grants {', '.join(sorted(granted)) or 'nothing'} on all "
            f"of it, without {' and '.join(lacking)}.",
            f"Its administrator runs {grant}. Grants to IAMAllowedPrincipals or by LF-tags are not listed. "
            "Without SELECT on all columns, a push may write the table without the others.",
        )
    return ok(tried, f"Granted: {', '.join(sorted(granted))}.")


def refused_writes(context: Context) -> Iterator[Finding]:
    """`UpdateTable` calls of the last day that Glue refused, as CloudTrail recorded them."""
    since = datetime.now(UTC) - _WINDOW
    tried = f"cloudtrail:LookupEvents of UpdateTable since {since:%Y-%m-%d %H:%M} UTC, the last 50."
    try:
        answer = context.client("cloudtrail").lookup_events(
            LookupAttributes=[{"AttributeKey": "EventName", "AttributeValue": "UpdateTable"}],
            StartTime=since,
            MaxResults=50,
        )
    except (ClientError, BotoCoreError) as error:
        if is_denied(error):
            yield aws_failure(error, "cloudtrail:LookupEvents", tried, _by_hand(context.region))
        else:
            yield warning(tried, f"CloudTrail did not answer: {one_line(error)}", _by_hand(context.region))
        return
    events = [_event(one) for one in answer["Events"]]
    refused: dict[tuple[str, str], Mapping[str, Any]] = {}
    counts: Counter[tuple[str, str]] = Counter()
    for event in events:
        code = str(event.get("errorCode") or "")
        if event.get("eventSource") == "glue.amazonaws.com" and code and not _is_retried(code):
            key = (_table_of(event), code)
            refused.setdefault(key, event)
            counts[key] += 1
    if not refused:
        yield ok(tried, f"Of {len(events)} calls, none was refused permanently.")
    for key, event in refused.items():
        yield _refused(event, *key, counts[key], tried)


def _refused(event: Mapping[str, Any], table: str, code: str, count: int, tried: str) -> Finding:
    message = str(event.get("errorMessage") or "")
    call = FailedCall(
        "UpdateTable",
        str(event.get("awsRegion") or ""),
        str(event.get("requestID") or ""),
        _time(event.get("eventTime")),
    )
    if code in INVALID_REQUEST_CODES:
        remedy = invalid_request_hint(message, call)
    elif code.startswith("AccessDenied"):
        remedy = refusal_remedy(message, "glue:UpdateTable")
    elif code == "EntityNotFoundException":
        remedy = "The table or its database was dropped meanwhile: run the `refresh` job."
    else:
        remedy = f"Look at the event {event.get('eventID', '')} in CloudTrail's event history."
    who = (event.get("userIdentity") or {}).get("arn") or "an unknown caller"
    return warning(
        tried,
        f"{table}: refused {count} times by {code}, last at {event.get('eventTime')}, called by {who}: "
        f"{shown_message(message)}",
        remedy,
    )


def _event(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    return json_of(raw.get("CloudTrailEvent"), dict) or {}


def _table_of(event: Mapping[str, Any]) -> str:
    request = event.get("requestParameters") or {}
    table = request.get("tableInput") or {}
    return f"{request.get('databaseName') or '?'}.{table.get('name') or request.get('name') or '?'}"


def _is_retried(code: str) -> bool:
    """Whether writers retry the call on their own: a conflict with another writer, or throttling."""
    return code == "ConcurrentModificationException" or "Throttl" in code


def _time(value: object) -> datetime | None:
    try:
        return datetime.fromisoformat(str(value).replace("Z", "+00:00"))
    except ValueError:
        return None


def _by_hand(region: str) -> str:
    return (
        "By hand: `aws cloudtrail lookup-events --lookup-attributes "
        f"AttributeKey=EventName,AttributeValue=UpdateTable --region {region}`."
    )
