"""The homes of a mark: a folder, or a prefix of an S3 bucket."""

from __future__ import annotations

import gzip
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO

from boto3.exceptions import Boto3Error
from botocore.exceptions import BotoCoreError, ClientError

from lineage_bridge_dagster.collector.marks import (
    BEGINNING,
    FORMAT,
    MarkFile,
    Marks,
    MarkState,
    checked,
    read_state,
    state_name,
    write_state,
)
from lineage_bridge_dagster.collector.s3_place import S3Place, code_of, hint_of
from lineage_bridge_dagster.collector.settings import CollectorSettings, LandingSettings
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.lineage.times import utc_now

Place = str | os.PathLike[str] | None
_S3 = ("s3://", "s3a://")
_DENIED = (
    "Grant s3:GetObject, s3:PutObject and s3:DeleteObject on the prefix, s3:ListBucket on the bucket and, "
    "with a KMS key, kms:GenerateDataKey and kms:Decrypt on the key."
)
#: What S3 answers to a conditional write when another one came first.
_CONFLICTS = ("PreconditionFailed", "ConditionalRequestConflict")
_MISSING = ("NoSuchKey", "404")


class S3Marks(Marks):
    """The objects of `MarkFile`, under a prefix of a bucket, which several collectors may share.

    Each write is conditional on what was read.
    """

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


def check_place(place: str) -> None:
    """Check that a mark can be kept there: in S3, or in a folder.

    Raises:
        ConfigurationError: It cannot.
    """
    if "://" in place and not place.startswith(_S3):
        raise ConfigurationError(
            f"A mark cannot be kept in {place}.", hint="Use a folder or s3://bucket/prefix."
        )


def marks_of(prefix: str, place: Place = None, settings: CollectorSettings | None = None) -> Marks:
    """The home of a mark.

    Args:
        place: A folder, by default the current one, or `s3://bucket/prefix`.
        settings: The settings of the collector. A mark in S3 is reached and encrypted as a landing place in
            S3 is; without one, with the keys or the role that read Glue.

    Raises:
        ConfigurationError: The prefix or the place cannot be that of a mark, or no client can be made.
    """
    text = os.fspath(place) if place else ""
    check_place(text)
    if "://" not in text:
        return MarkFile(prefix, text)
    if settings and settings.landing and settings.landing.url.startswith(_S3):
        return S3Marks(prefix, S3Place.of(settings.landing.model_copy(update={"url": text})))
    if settings is None:
        return S3Marks(prefix, S3Place.of(LandingSettings(url=text)))
    own = LandingSettings(
        url=text, region=settings.regions[0], role=settings.role, external_id=settings.external_id
    )
    return S3Marks(prefix, S3Place.of(own, settings.keys))


def get_hwm(prefix: str = "glue", file_path: Place = None) -> tuple[str, str]:
    """The range of the next extract: the published mark and now, in UTC.

    Args:
        prefix: The mark is in `{prefix}_hwm.txt`.
        file_path: Its folder, by default the current one, or `s3://bucket/prefix`.
    """
    start = marks_of(prefix, file_path).read() or BEGINNING
    return start, utc_now().strftime(FORMAT)


def publish_hwm(prefix: str = "glue", date: str = "", file_path: Place = None) -> str:
    """Move the mark to the end of an extract, once its files have arrived. A later mark stays.

    Returns:
        The mark that holds now.
    """
    return marks_of(prefix, file_path).publish(date)
