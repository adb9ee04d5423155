"""A landing place in S3, with keys or a role of its own, and encryption with a KMS key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from boto3.exceptions import Boto3Error
from botocore.exceptions import BotoCoreError, ClientError

from lineage_bridge_dagster.collector.landing.landed import Landed
from lineage_bridge_dagster.collector.s3_place import S3Place, hint_of
from lineage_bridge_dagster.collector.settings import LandingSettings
from lineage_bridge_dagster.errors import LineageBridgeError

_DENIED = (
    "Grant s3:PutObject and s3:AbortMultipartUpload on the prefix and, with a KMS key, kms:GenerateDataKey "
    "on the key."
)


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
