"""What to do about a request that Glue, or botocore before it, takes for malformed.

`ValidationException` names the fields: `Value '...' at 'table.owner' failed to satisfy constraint: ...`.
`InvalidInputException` has free text. CloudTrail records the request in both cases.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

from lineage_bridge_dagster.text import first_few

#: Error codes of malformed requests.
INVALID_REQUEST_CODES = frozenset({"InvalidInputException", "ValidationException"})

#: The front end's message for each violated constraint; see `embedded.aws.constraints`.
_VIOLATION = re.compile(
    r"Value (?:'(?P<value>.*?)'|null) at '(?P<path>[\w.]+)' failed to satisfy constraint: "
    r"(?P<rule>.*?)(?=; Value (?:'|null at)|$)",
    re.DOTALL,
)
#: botocore's reports on a request that does not fit its model of the API (`botocore.validate`).
_REPORTS = (
    re.compile(r'(?P<rule>Missing required parameter) in (?P<parent>\S+): "(?P<name>[^"]+)"'),
    re.compile(r'(?P<rule>Unknown parameter) in (?P<parent>\S+): "(?P<name>[^"]+)"'),
    re.compile(r"(?P<rule>Invalid \w+) for parameter (?P<parent>\S+?),(?P<name>)"),
)
#: Fields that a hint names; more are only counted.
_SHOWN_FIELDS = 3
#: Characters of a value in a message. A map may hold parameters of others, and is not shown at all.
_VALUE_WIDTH = 60
#: The clocks of this machine and of AWS may differ by less than this, or the signature would be refused.
_AROUND = timedelta(minutes=5)

_CARRIED_OVER = (
    "A push carries this field over as the table has it, so the table itself breaks the rule: correct it "
    "there, or let Tableflow write it again, then push again"
)
#: By field, the first part that matches, what to do about it.
_REMEDIES = (
    (
        "TableInput.Description",
        "Shorten the text above our block in the table's description, or push without descriptions "
        "(`lineage-bridge push --no-description`)",
    ),
    (
        "TableInput.Parameters",
        "`aws glue get-table --database-name DB --name TABLE --query Table.Parameters` shows the keys and "
        "values: keys may have 255 bytes, values 512,000. Change the parameter that is longer, or push "
        "without parameters (`lineage-bridge push --no-parameters`)",
    ),
    ("TableInput.Name", "Check the table's name in the graph: Glue takes 1 to 255 bytes on one line"),
    ("TableInput", _CARRIED_OVER),
    ("", "Check the names of the catalog, the database and the table: Glue takes 1 to 255 bytes on one line"),
)
#: By a part of the text of an `InvalidInputException`, what to do.
_KNOWN_TEXTS = (
    (
        "payload size",
        "The table's columns and parameters are too large for one request: leave SQL out of the chain "
        "(LINEAGE_BRIDGE_PUSH_SQL=none), push the description alone (`lineage-bridge push --no-parameters`), "
        "or drop columns and parameters that nobody needs",
    ),
)


@dataclass(frozen=True, slots=True)
class FailedCall:
    """What identifies a call in CloudTrail; empty where it is unknown."""

    operation: str
    region: str = ""
    request_id: str = ""
    at: datetime | None = None

    @classmethod
    def of(cls, operation: str, region: str, metadata: Mapping[str, Any]) -> FailedCall:
        """The call of a response with this `ResponseMetadata`."""
        headers = metadata.get("HTTPHeaders") or {}
        try:
            at = parsedate_to_datetime(str(headers.get("date", "")))
        except ValueError:
            at = None
        return cls(operation, region, str(metadata.get("RequestId") or ""), at)


def invalid_request_hint(message: str, call: FailedCall) -> str:
    """Which fields Glue refused, what to do about them, and how to find the event in CloudTrail."""
    fields = [_field(match["path"]) for match in _VIOLATION.finditer(message)]
    if fields:
        what = _about(fields)
    else:
        text = message.lower()
        what = next(
            (remedy for known, remedy in _KNOWN_TEXTS if known in text),
            "Glue does not say which field it refused: compare the request in CloudTrail with the table",
        )
    return f"{what}. {_cloudtrail(call)}"


def refused_before_sending_hint(report: str) -> str:
    """The same for botocore's own check, after which nothing is sent."""
    fields = []
    for pattern in _REPORTS:
        for match in pattern.finditer(report):
            parent = "" if match["parent"] == "input" else match["parent"]
            fields.append(".".join(filter(None, (parent, match["name"]))))
    what = f"{_about(fields)}. " if fields else ""
    return f"{what}botocore refused the request, so it was not sent, and CloudTrail has no event of it."


def shown_message(message: str) -> str:
    """The message of a violated constraint with short values, and without those of maps."""

    def shorter(match: re.Match[str]) -> str:
        value, text = match["value"], match[0]
        if value is None or (len(value) <= _VALUE_WIDTH and not value.startswith("{")):
            return text
        return text.replace(f"'{value}'", f"of {len(value):,} characters", 1)

    return _VIOLATION.sub(shorter, message)


def _about(fields: Iterable[str]) -> str:
    distinct = list(dict.fromkeys(fields))
    remedies = dict.fromkeys(
        next(remedy for prefix, remedy in _REMEDIES if field.startswith(prefix)) for field in distinct
    )
    return f"Refused: {first_few(distinct, _SHOWN_FIELDS)}. {'. '.join(remedies)}"


def _field(path: str) -> str:
    """The path of a field as the API reference names it.

    >>> _field("table.storageDescriptor.columns.12.member.type")
    'TableInput.StorageDescriptor.Columns[12].Type'
    """
    text = re.sub(r"\.(\d+)\.member", r"[\1]", path)
    names = [name[:1].upper() + name[1:] for name in text.split(".")]
    return ".".join(["TableInput" if names[0] == "Table" else names[0], *names[1:]])


def _cloudtrail(call: FailedCall) -> str:
    """Where the event of a call is. Events cannot be looked up by request ID, so they are filtered by it."""
    where = f" in {call.region}" if call.region else ""
    by_id = f", request ID {call.request_id}" if call.request_id else ""
    command = ["aws", "cloudtrail", "lookup-events"]
    if call.region:
        command += ["--region", call.region]
    command += ["--lookup-attributes", f"AttributeKey=EventName,AttributeValue={call.operation}"]
    if call.at:
        for option, at in (("--start-time", call.at - _AROUND), ("--end-time", call.at + _AROUND)):
            command += [option, at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")]
    condition = f"?contains(CloudTrailEvent, '{call.request_id}')" if call.request_id else ""
    command += ["--query", f"Events[{condition}].CloudTrailEvent", "--output", "text"]
    return (
        f"CloudTrail has the request some minutes later: event {call.operation} of glue.amazonaws.com{where}"
        f"{by_id}: {shlex.join(command)}"
    )
