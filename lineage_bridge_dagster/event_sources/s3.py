"""Events in objects of S3: of one object, or of all below a prefix.

An object is read when it is new or was overwritten, which changes nothing that was known. One that cannot be
read leaves the others.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, cast

from botocore.exceptions import BotoCoreError, ClientError

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.event_sources.files import SUFFIXES
from lineage_bridge_dagster.event_sources.lines import opened, take_lines
from lineage_bridge_dagster.event_sources.source import EventIntake, EventSourceError
from lineage_bridge_dagster.redaction.redact import redact_text
from lineage_bridge_dagster.text import first_few, plural

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.type_defs import ObjectTypeDef

_BUFFER = 1024 * 1024
#: Objects that a probe lists.
_PROBED = 100
#: Objects that cannot be read, after which a reading tries no others.
_MAX_UNREADABLE = 100
_DENIED = frozenset(
    {"AccessDenied", "403", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken"}
)


@dataclass(frozen=True)
class EventObjects:
    """The events of the objects below a prefix, or of the one object of this name: `s3://bucket/prefix`."""

    url: str
    client: Callable[[], S3Client]

    @property
    def name(self) -> str:
        return self.url

    def probe(self) -> str:
        bucket, prefix = self._place
        try:
            client = self.client()
            found = [each["Key"] for each in islice(_objects(client, bucket, prefix), _PROBED)]
            if found:
                client.head_object(Bucket=bucket, Key=found[0])
        except (ClientError, BotoCoreError, ConfigurationError) as error:
            raise self._error(error, partial=False) from error
        return f"{'At least ' if len(found) == _PROBED else ''}{plural(len(found), 'object')} can be listed."

    @property
    def _place(self) -> tuple[str, str]:
        bucket, _, prefix = self.url.removeprefix("s3://").partition("/")
        return bucket, prefix

    def read(self, intake: EventIntake) -> None:
        bucket, prefix = self._place
        known = intake.position.get("objects")
        known = known if isinstance(known, Mapping) else {}
        read: dict[str, str] = {}
        unreadable: dict[str, ClientError] = {}
        # What is not reached is read the next time.
        intake.position = {"objects": known}
        try:
            client = self.client()
            for each in _objects(client, bucket, prefix):
                key, tag = each["Key"], each["ETag"]
                if each["LastModified"] < intake.since:
                    continue
                if known.get(key) == tag:
                    read[key] = tag
                    continue
                try:
                    read[key] = _take(client, bucket, key, intake)
                except ClientError as error:
                    if _code(error) in ("NoSuchKey", "404"):
                        # It was removed since it was listed.
                        continue
                    if not 400 <= int(error.response["ResponseMetadata"]["HTTPStatusCode"]) < 500:
                        raise
                    unreadable[key] = error
                    if len(unreadable) == _MAX_UNREADABLE:
                        raise
        except (ClientError, BotoCoreError, ConfigurationError, OSError) as error:
            intake.position = {"objects": {**known, **read}}
            raise self._error(error, partial=bool(read)) from error
        # An object that is gone is forgotten, and one that cannot be read now is not.
        intake.position = {
            "objects": {**{key: known[key] for key in unreadable if key in known}, **read},
        }
        if unreadable:
            first = next(iter(unreadable.values()))
            raise self._error(first, partial=bool(read), objects=list(unreadable)) from first

    def _error(
        self, error: Exception, *, partial: bool, objects: list[str] | None = None
    ) -> EventSourceError:
        denied = isinstance(error, ClientError) and _code(error) in _DENIED
        what = f"{first_few(objects, 3)} in {self.url}" if objects else self.url
        return EventSourceError(
            f"{what} could not be read: {redact_text(str(error))}",
            hint="Allow s3:ListBucket on the bucket, s3:GetObject on its objects and kms:Decrypt on its key."
            if denied
            else "Check the name and the region of the bucket.",
            denied=denied and not partial,
            partial=partial,
        )


def _code(error: ClientError) -> str:
    return str(error.response["Error"].get("Code", ""))


def _take(client: S3Client, bucket: str, key: str, intake: EventIntake) -> str:
    """Take the events of an object, and return the tag of what was read."""
    found = client.get_object(Bucket=bucket, Key=key)
    with io.BufferedReader(cast("io.RawIOBase", found["Body"]), _BUFFER) as stream:
        take_lines(opened(stream), intake, key, growing=False)
    return found["ETag"]


def _objects(client: S3Client, bucket: str, prefix: str) -> Iterator[ObjectTypeDef]:
    for page in client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix):
        for each in page.get("Contents", ()):
            key = each["Key"]
            # `events/` and `events`, but not `events-old/`.
            below = not prefix or prefix.endswith("/") or key == prefix or key.startswith(f"{prefix}/")
            if below and (key.endswith(SUFFIXES) or key == prefix):
                yield each
