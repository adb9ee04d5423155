"""What a failure of Spark's JVM means, and what to do about it.

Spark's own text begins with the Java method that was called, and names the service that failed last.
"""

from __future__ import annotations

import re

from lineage_bridge_dagster.catalogs.iceberg.table_errors import hint_of
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.spark.java_errors import java_classes, root_cause

#: What the operating system says when it takes no more bytes: ENOSPC, EDQUOT and EFBIG.
_FULL = ("No space left on device", "Disk quota exceeded", "File too large")

#: Where Spark wrote, by a class in the stack trace, and the setting to move it by.
_DISKS = (
    ("S3OutputStream", "where files wait for their upload to S3", "s3.staging-dir of the catalog"),
    (r"shuffle|[Ss]pill|BlockManager|BlockObjectWriter", "of shuffles and spilled rows", "spark.local.dir"),
)

_AWS_ANSWER = re.compile(
    r"(?P<name>\w+): (?P<text>[^\n]*?) \(Service: (?P<service>\w+), Status Code: (?P<status>\d+)"
)
_NO_ANSWER = re.compile(r"SdkClientException: (?P<text>[^\n]*?)(?: \(SDK Attempt Count|\n|$)")
_CLASS = re.compile(r"^(?:\w+\.)+(\w+)(?=:|$)")

_THROTTLED = re.compile(r"Throttl|SlowDown|TooManyRequests|LimitExceeded|RequestLimit")
_DENIED = re.compile(r"AccessDenied|NotAuthorized|UnauthorizedOperation")
_EXPIRED = re.compile(r"ExpiredToken|RequestExpired")

#: Rights that loading a table takes, by service.
_RIGHTS = {
    "Glue": "glue:GetDatabase, glue:CreateDatabase, glue:GetTable, glue:CreateTable and glue:UpdateTable "
    "on the table and its database",
    "S3": "s3:GetObject, s3:PutObject and s3:DeleteObject on the table's location",
}


def readable(error: Exception) -> LineageBridgeError:
    """An error of Spark's JVM as what failed, where, and what to do next; our own errors as they are."""
    if isinstance(error, LineageBridgeError):
        return error
    text = str(error)
    found = _full_disk(text) or _out_of_memory(text) or _aws(text) or _kafka(text) or _other(error)
    if "CommitStateUnknownException" not in java_classes(error):
        return found
    return LineageBridgeError(
        f"{found.message} Whether the commit was made is unknown.",
        hint=f"The next attempt looks it up, so that nothing is lost or doubled. {found.hint}".rstrip(),
    )


def _full_disk(text: str) -> LineageBridgeError | None:
    reason = next((each for each in _FULL if each in text), None)
    if reason is None:
        return None
    # A file that could not be opened has its name before the reason.
    named = re.search(rf"(/\S+) \({reason}\)", text)
    where, setting = next(
        ((where, setting) for pattern, where, setting in _DISKS if re.search(rf"at \S*(?:{pattern})", text)),
        ("of the table's files", ""),
    )
    larger = f", or name a larger disk in {setting} (by default the temporary folder)" if setting else ""
    return LineageBridgeError(
        f"The disk {where} is full: {f'{named[1]}: ' if named else ''}{reason}.",
        hint=f"Free some space there{larger}.",
    )


def _out_of_memory(text: str) -> LineageBridgeError | None:
    if "java.lang.OutOfMemoryError" not in text:
        return None
    return LineageBridgeError(
        "Spark ran out of memory.",
        hint="Raise spark.driver.memory (or spark.executor.memory), or lower batch_records, batch_bytes or "
        "run.threads.",
    )


def _aws(text: str) -> LineageBridgeError | None:
    # The first one: causes further down repeat it, or are what the SDK tried before.
    if answer := _AWS_ANSWER.search(text):
        service, status, detail = answer["service"], int(answer["status"]), answer["text"]
        # S3's errors have no class each: their code is in the text, if anywhere.
        kind = f"{answer['name']} {detail}"
        return LineageBridgeError(
            f"{service} answered {status}: {detail} ({answer['name']}).",
            hint=_aws_hint(service, status, kind),
        )
    if answer := _NO_ANSWER.search(text):
        detail = answer["text"].rstrip(".")
        if "credentials" in detail:
            return LineageBridgeError(
                f"Spark has no AWS credentials: {detail}.",
                hint="Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile or a role for the process.",
            )
        return LineageBridgeError(
            f"AWS did not answer Spark: {detail}.",
            hint="Check the network to Glue and S3, and the endpoints in the catalog's settings.",
        )
    return None


def _aws_hint(service: str, status: int, kind: str) -> str:
    if _THROTTLED.search(kind) or status in (429, 503):
        return "AWS takes fewer requests than were sent: lower run.threads, or raise the account's quota."
    if _EXPIRED.search(kind):
        return hint_of("ExpiredToken")
    if _DENIED.search(kind) or status in (401, 403):
        rights = _RIGHTS.get(service, f"the use of {service}")
        return f"Allow {rights} to the identity that Spark runs with, in IAM and Lake Formation."
    if status >= 500:
        return f"{service} failed by itself: try again later, and see the AWS Health Dashboard if it goes on."
    return hint_of(kind)


def _kafka(text: str) -> LineageBridgeError | None:
    if "org.apache.kafka." not in text and "KAFKA_DATA_LOSS" not in text:
        return None
    found = re.findall(r"org\.apache\.kafka\.[\w.]*?(\w+(?:Exception|Error)): ([^\n]*)", text)
    name, detail = found[-1] if found else ("", "records that were to be read are gone")
    return LineageBridgeError(
        f"The brokers did not send the records to Spark: {detail}{f' ({name})' if name else ''}.",
        hint="Check that the brokers run and are reachable from where Spark runs.",
    )


def _other(error: Exception) -> LineageBridgeError:
    reason = _CLASS.sub(r"\1", root_cause(error)).strip() or type(error).__name__
    is_catalog = any(
        name.startswith(("REST", "ServiceUnavailable", "ServiceFailure")) for name in java_classes(error)
    )
    is_catalog |= bool(java_classes(error) & {"NotAuthorizedException", "ForbiddenException"})
    if is_catalog:
        return LineageBridgeError(f"The table's catalog failed: {reason}", hint=hint_of(reason))
    return LineageBridgeError(reason)
