"""Events in objects of S3: of one object, or of all below a prefix."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import IO, TYPE_CHECKING, cast

from botocore.exceptions import BotoCoreError, ClientError

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.event_sources.files import SUFFIXES
from lineage_bridge_dagster.event_sources.lines import opened, take_lines
from lineage_bridge_dagster.event_sources.source import EventIntake, EventSourceError
from lineage_bridge_dagster.redaction.redact import redact_text
from lineage_bridge_dagster.text import plural

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_BUFFER = 1024 * 1024
#: Objects that a probe lists.
_PROBED = 100
_DENIED = frozenset({"AccessDenied", "403", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken"})


@dataclass(frozen=True)
class EventObjects:
    """The events of the objects below a prefix, or of the one object of this name.

    Attributes:
        url: `s3://bucket/prefix`.
        client: Opens the client; may raise a `ConfigurationError`.
    """

    url: str
    client: Callable[[], S3Client]

    @property
    def name(self) -> str:
        return self.url

    def probe(self) -> str:
        try:
            found = sum(1 for _ in islice(_objects(self.client(), *self._place), _PROBED))
        except (ClientError, BotoCoreError, ConfigurationError) as error:
            raise self._error(error, partial=False) from error
        return f"{'At least ' if found == _PROBED else ''}{plural(found, 'object')} can be listed."

    @property
    def _place(self) -> tuple[str, str]:
        """The bucket and the prefix."""
        bucket, _, prefix = self.url.removeprefix("s3://").partition("/")
        return bucket, prefix

    def read(self, intake: EventIntake) -> None:
        bucket, prefix = self._place
        known = intake.position.get("objects")
        known = known if isinstance(known, dict) else {}
        read: dict[str, str] = {}
        intake.position = {"objects": read}
        try:
            client = self.client()
            for key, tag in _objects(client, bucket, prefix):
                if known.get(key) != tag:
                    body = client.get_object(Bucket=bucket, Key=key, IfMatch=tag)["Body"]
                    stream = cast("IO[bytes]", io.BufferedReader(cast("io.RawIOBase", body), _BUFFER))
                    take_lines(opened(stream, key), intake, key)
                read[key] = tag
        except (ClientError, BotoCoreError, ConfigurationError, OSError, EOFError) as error:
            # What was not reached is read next time.
            intake.position = {"objects": {**known, **read}}
            raise self._error(error, partial=bool(read)) from error

    def _error(self, error: Exception, *, partial: bool) -> EventSourceError:
        code = error.response["Error"].get("Code", "") if isinstance(error, ClientError) else ""
        return EventSourceError(
            f"{self.url} could not be read: {redact_text(str(error))}",
            hint="Allow s3:ListBucket on the bucket and s3:GetObject on what is in it."
            if code in _DENIED
            else "Check the name and the region of the bucket.",
            denied=code in _DENIED and not partial,
            partial=partial,
        )


def _objects(client: S3Client, bucket: str, prefix: str) -> Iterator[tuple[str, str]]:
    """The names and tags of the objects, in the order of their names."""
    for page in client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix):
        for each in page.get("Contents", ()):
            key = each["Key"]
            # `events/` and `events`, but not `events-old/`.
            below = not prefix or prefix.endswith("/") or key == prefix or key.startswith(f"{prefix}/")
            if below and (key.endswith(SUFFIXES) or key == prefix):
                yield key, each["ETag"]
