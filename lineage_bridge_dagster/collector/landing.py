"""Landing places: where the files of an extract are taken, each visible under its name only when whole."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote, unquote, urlsplit

from boto3.exceptions import Boto3Error
from botocore.exceptions import BotoCoreError, ClientError

from lineage_bridge_dagster.collector.files import ABANDONED_SECONDS
from lineage_bridge_dagster.collector.s3_place import S3Place, hint_of
from lineage_bridge_dagster.collector.settings import LandingSettings
from lineage_bridge_dagster.collector.variables import LANDING_SAS
from lineage_bridge_dagster.config.addresses import is_loopback
from lineage_bridge_dagster.config.secret_logs import hide_secrets_in_logs
from lineage_bridge_dagster.errors import ConfigurationError, LineageBridgeError
from lineage_bridge_dagster.extras import needs
from lineage_bridge_dagster.text import ReportLine

if TYPE_CHECKING:
    from azure.core.exceptions import AzureError


_DENIED = (
    "Grant s3:PutObject and s3:AbortMultipartUpload on the prefix and, with a KMS key, kms:GenerateDataKey "
    "on the key."
)

#: Uploads of more bytes than this are cut into blocks of the same size.
_BLOCK_BYTES = 8 * 1024 * 1024
_TIMEOUT_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Landed:
    """A file in its landing place; `url` holds no key."""

    name: str
    url: str
    size: int


class Landing(Protocol):
    """A place that takes files. A file that is there already is replaced, as after a crash."""

    def put(self, path: Path, name: str) -> Landed:
        """Upload a file; it is seen under its name only when it is whole.

        Raises:
            LineageBridgeError: It did not arrive; the error says what to do.
        """
        ...


def landing_of(settings: LandingSettings) -> Landing:
    """The landing place of a URL: a folder, `s3://bucket/prefix` or a container of Azure Blob Storage.

    Raises:
        ConfigurationError: The URL has another scheme or no bucket, or its client cannot be made.
    """
    url = settings.url
    scheme = urlsplit(url).scheme if "://" in url else ""
    if scheme == "file":
        parts = urlsplit(url)
        if parts.netloc not in ("", "localhost"):
            raise ConfigurationError(
                f"{url} names the host {parts.netloc}, and files are copied on this machine.",
                hint=f"Write the folder's path, such as /{parts.netloc}{parts.path}.",
            )
        return FolderLanding(Path(unquote(parts.path)))
    if not scheme:
        return FolderLanding(Path(url))
    if scheme in ("s3", "s3a"):
        return S3Landing(settings)
    if scheme in ("https", "http"):
        return AzureLanding(settings)
    raise ConfigurationError(
        f"{scheme}:// is not a landing place.",
        hint="Use a folder, s3://bucket/prefix or https://ACCOUNT.blob.core.windows.net/CONTAINER/prefix.",
    )


def upload(landing: Landing, files: Iterable[Path], manifest: Path, progress: ReportLine) -> list[Landed]:
    """Upload the files of an extract, and its manifest last: with it, the extract is whole.

    Raises:
        LineageBridgeError: A file did not arrive. Those before it did, and uploading again replaces them.
    """
    landed = []
    for path in (*files, manifest):
        if not path.is_file():
            raise LineageBridgeError(
                f"{path} is not there, so the extract was not uploaded.",
                hint="Extract again; leave the files in output_path until they were uploaded.",
            )
        landed.append(landing.put(path, path.name))
        progress(f"Uploaded {landed[-1].url}")
    return landed


@dataclass(frozen=True, slots=True)
class FolderLanding:
    """A folder; made if need be."""

    folder: Path

    def put(self, path: Path, name: str) -> Landed:
        """Copy to a hidden name, compare the copy with the file, and rename it."""
        final = self.folder / name
        partial = self.folder / f".{name}.{os.getpid()}.partial"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            _remove_abandoned(self.folder, name.partition("_")[0])
            try:
                with path.open("rb") as source, partial.open("wb") as target:
                    shutil.copyfileobj(source, target, 1 << 20)
                    target.flush()
                    os.fsync(target.fileno())
                if _digest(partial) != _digest(path):
                    raise LineageBridgeError(
                        f"The copy of {name} in {self.folder} differs from the file.",
                        hint="Check the disk or the share, and upload again.",
                    )
                partial.replace(final)
            finally:
                with contextlib.suppress(OSError):
                    partial.unlink(missing_ok=True)
        except OSError as error:
            raise LineageBridgeError(
                f"{name} could not be copied to {self.folder}: {error.strerror}.",
                hint="Name a folder that you may write to, with room for the files.",
            ) from error
        return Landed(name, str(final), final.stat().st_size)


def _remove_abandoned(folder: Path, prefix: str) -> None:
    """Remove what uploads left that were killed."""
    for partial in folder.glob(f".{prefix}_*.partial"):
        with contextlib.suppress(OSError):
            if time.time() - partial.stat().st_mtime > ABANDONED_SECONDS:
                partial.unlink()


def _digest(path: Path) -> bytes:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").digest()


class S3Landing:
    """A prefix of a bucket. S3 shows an object only once it was received completely.

    Raises:
        ConfigurationError: The URL has no bucket, or no client can be made.
    """

    def __init__(self, settings: LandingSettings) -> None:
        self._place = S3Place.of(settings)

    def put(self, path: Path, name: str) -> Landed:
        """Upload with a SHA-256 that S3 checks, part by part if the file is large."""
        place, url = self._place, self._place.url(name)
        extra: dict[str, Any] = {"ChecksumAlgorithm": "SHA256", **place.encryption}
        try:
            place.client.upload_file(str(path), place.bucket, place.key(name), ExtraArgs=extra)
        except (Boto3Error, BotoCoreError, ClientError, OSError) as error:
            hint = hint_of(error, _DENIED, "Upload again; nothing under the files' names is partial.")
            raise LineageBridgeError(f"{name} did not arrive at {url}: {error}", hint=hint) from error
        return Landed(name, url, path.stat().st_size)


class AzureLanding:
    """A prefix of a container. Azure shows a blob only when all of its blocks are committed.

    Raises:
        ConfigurationError: The URL has no container or holds a token, or no token is set.
    """

    def __init__(self, settings: LandingSettings) -> None:
        with needs("azure", "An upload to Azure Blob Storage"):
            from azure.storage.blob import ContainerClient
        hide_secrets_in_logs()
        parts = urlsplit(settings.url)
        if parts.query:
            raise ConfigurationError(
                "The URL of the landing place holds a token.",
                hint=f"Write the URL without what follows the question mark, and that in {LANDING_SAS}.",
            )
        local = is_loopback(parts.hostname or "")
        if parts.scheme != "https" and not local:
            raise ConfigurationError(
                "The SAS token is not sent over plain HTTP.", hint="Write https:// in the landing place."
            )
        if not settings.sas:
            raise ConfigurationError(
                "No SAS token is set for the landing place.",
                hint=f"Set {LANDING_SAS} to a token with the permissions create and write.",
            )
        # An emulator has the account as the first part of the path.
        segments = [part for part in parts.path.split("/") if part]
        depth = 2 if local else 1
        if len(segments) < depth:
            raise ConfigurationError(
                "The landing place has no container.",
                hint="Write https://ACCOUNT.blob.core.windows.net/CONTAINER/prefix.",
            )
        self._prefix = "/".join(segments[depth:])
        self._url = f"{parts.scheme}://{parts.netloc}/{'/'.join(segments[:depth])}"
        self._container = ContainerClient.from_container_url(
            self._url,
            credential=settings.sas.lstrip("?"),
            max_single_put_size=_BLOCK_BYTES,
            max_block_size=_BLOCK_BYTES,
            connection_timeout=10,
            read_timeout=_TIMEOUT_SECONDS,
        )

    def put(self, path: Path, name: str) -> Landed:
        """Upload in blocks, each with a checksum that Azure verifies; failed requests are tried again."""
        from azure.core.exceptions import AzureError

        blob = f"{self._prefix}/{name}" if self._prefix else name
        url = f"{self._url}/{quote(blob)}"
        try:
            with path.open("rb") as stream:
                self._container.upload_blob(
                    blob, stream, length=path.stat().st_size, overwrite=True, validate_content=True
                )
        except AzureError as error:
            raise LineageBridgeError(
                f"{name} did not arrive at {url}: {_reason(error)}", hint=_hint(error)
            ) from error
        return Landed(name, url, path.stat().st_size)


def _reason(error: AzureError) -> str:
    """The service's code, or the kind of failure: messages may quote the URL with the token."""
    code = getattr(error, "error_code", None)
    status = getattr(error, "status_code", None)
    return f"{getattr(code, 'value', code) or type(error).__name__}" + (f" ({status})" if status else "")


def _hint(error: AzureError) -> str:
    status = getattr(error, "status_code", None)
    if status in (401, 403):
        return f"Set {LANDING_SAS} to a token that has not expired, with the permissions create and write."
    if status == 404:
        return "Correct the container in the landing place, or create it: the collector creates none."
    return "Upload again; nothing under the files' names is partial."
