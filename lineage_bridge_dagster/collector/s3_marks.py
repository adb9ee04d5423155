"""A mark in S3, which several collectors may share: each write is conditional on what was read."""

from __future__ import annotations

import gzip
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO

from boto3.exceptions import Boto3Error
from botocore.exceptions import BotoCoreError, ClientError

from lineage_bridge_dagster.collector.marks import (
    Marks,
    MarkState,
    checked,
    read_state,
    state_name,
    write_state,
)
from lineage_bridge_dagster.collector.s3_place import S3Place, code_of, hint_of
from lineage_bridge_dagster.errors import ConfigurationError

_DENIED = (
    "Grant s3:GetObject, s3:PutObject and s3:DeleteObject on the prefix, s3:ListBucket on the bucket and, "
    "with a KMS key, kms:GenerateDataKey and kms:Decrypt on the key."
)
#: What S3 answers to a conditional write when another one came first.
_CONFLICTS = ("PreconditionFailed", "ConditionalRequestConflict")
_MISSING = ("NoSuchKey", "404")


class S3Marks(Marks):
    """The objects of `MarkFile`, under a prefix of a bucket."""

    def __init__(self, prefix: str, place: S3Place) -> None:
        super().__init__(prefix)
        self._place = place

    @property
    def location(self) -> str:
        return self._place.url(f"{self.prefix}_hwm.txt")

    def state(self, mark: str) -> MarkState | None:
        name = state_name(self.prefix, mark)
        with self._errors(f"Cannot read {self._place.url(name)}"), tempfile.TemporaryFile() as file:
            try:
                self._place.client.download_fileobj(self._place.bucket, self._place.key(name), file)
            except ClientError as error:
                if code_of(error) in _MISSING:
                    return None
                raise
            file.seek(0)
            return read_state(file, self._place.url(name))

    def keep(self, mark: str, state: MarkState) -> None:
        name = state_name(self.prefix, mark)
        with self._errors(f"Cannot write {self._place.url(name)}"), tempfile.TemporaryFile() as file:
            write_state(file, state)
            file.seek(0)
            self._upload(file, name)

    def _read(self) -> tuple[str | None, str]:
        # The version is the ETag of the object.
        with self._errors(f"Cannot read the mark in {self.location}"):
            try:
                key = self._place.key(f"{self.prefix}_hwm.txt")
                found = self._place.client.get_object(Bucket=self._place.bucket, Key=key)
            except ClientError as error:
                if code_of(error) in _MISSING:
                    return None, ""
                raise
            text = found["Body"].read(64).decode("utf-8", "replace")
            return checked(text.strip(), self.location), found["ETag"]

    def _write(self, mark: str, version: str) -> bool:
        key = self._place.key(f"{self.prefix}_hwm.txt")
        condition = {"IfMatch": version} if version else {"IfNoneMatch": "*"}
        with self._errors(f"Cannot write the mark to {self.location}"):
            try:
                self._place.client.put_object(
                    Bucket=self._place.bucket,
                    Key=key,
                    Body=f"{mark}\n".encode(),
                    ContentType="text/plain; charset=utf-8",
                    **condition,  # type: ignore[arg-type]
                    **self._place.encryption,  # type: ignore[arg-type]
                )
            except ClientError as error:
                if code_of(error) in (*_CONFLICTS, *_MISSING):
                    return False
                raise
        return True

    def _upload(self, file: IO[bytes], name: str) -> None:
        extra = {"ChecksumAlgorithm": "SHA256", **self._place.encryption}
        self._place.client.upload_fileobj(file, self._place.bucket, self._place.key(name), ExtraArgs=extra)

    def remove_older(self, mark: str) -> None:
        """Remove what stands beside older marks. It does no harm where it cannot be removed."""
        place, newest = self._place, self._place.key(state_name(self.prefix, mark))
        with suppress(BotoCoreError, ClientError):
            pages = place.client.get_paginator("list_objects_v2").paginate(
                Bucket=place.bucket, Prefix=place.key(f"{self.prefix}_")
            )
            keys = [each["Key"] for page in pages for each in page.get("Contents", [])]
            for key in keys:
                if len(key) == len(newest) and key.endswith(".state.gz") and key < newest:
                    place.client.delete_object(Bucket=place.bucket, Key=key)

    @contextmanager
    def _errors(self, what: str) -> Iterator[None]:
        try:
            yield
        except (Boto3Error, BotoCoreError, ClientError, gzip.BadGzipFile) as error:
            hint = hint_of(error, _DENIED, "Correct the place of the mark, and try again.")
            raise ConfigurationError(f"{what}: {error}", hint=hint) from error
