"""A landing place in S3, with keys or a role of its own, and encryption with a KMS key."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from boto3.exceptions import Boto3Error
from botocore.exceptions import BotoCoreError, ClientError

from lineage_bridge_dagster.collector.landing.landed import Landed
from lineage_bridge_dagster.config.aws import AwsKeys, s3_client
from lineage_bridge_dagster.config.collector import LandingSettings
from lineage_bridge_dagster.config.settings import AwsSettings
from lineage_bridge_dagster.errors import ConfigurationError, LineageBridgeError

_HINTS = {
    "AccessDenied": "Grant s3:PutObject and s3:AbortMultipartUpload on the prefix and, with a KMS key, "
    "kms:GenerateDataKey on the key.",
    "NoSuchBucket": "Correct the bucket, or create it: the collector creates none.",
    "ExpiredToken": "Renew the session token, or use a role.",
    "InvalidAccessKeyId": "Correct LINEAGE_BRIDGE_COLLECTOR_LANDING_KEY.",
    "SignatureDoesNotMatch": "Correct LINEAGE_BRIDGE_COLLECTOR_LANDING_SECRET.",
    "PermanentRedirect": "Set landing.region to the bucket's region.",
}


class S3Landing:
    """A prefix of a bucket. S3 shows an object only when all of it was received.

    Raises:
        ConfigurationError: The URL has no bucket, or no client can be made.
    """

    def __init__(self, settings: LandingSettings) -> None:
        parts = urlsplit(settings.url)
        if not parts.netloc:
            raise ConfigurationError("The landing place has no bucket.", hint="Write s3://bucket/prefix.")
        self._bucket = parts.netloc
        self._prefix = parts.path.strip("/")
        self._encryption: dict[str, str] = (
            {"ServerSideEncryption": "aws:kms", "SSEKMSKeyId": settings.kms_key} if settings.kms_key else {}
        )
        keys = AwsKeys(settings.key, settings.secret) if settings.key and settings.secret else None
        aws = AwsSettings(region=settings.region, role_arn=settings.role)
        self._client = s3_client(aws, endpoint_url=settings.endpoint_url, keys=keys)

    def put(self, path: Path, name: str) -> Landed:
        """Upload with a SHA-256 that S3 checks, part by part if the file is large."""
        key = f"{self._prefix}/{name}" if self._prefix else name
        url = f"s3://{self._bucket}/{key}"
        extra: dict[str, Any] = {"ChecksumAlgorithm": "SHA256", **self._encryption}
        try:
            self._client.upload_file(str(path), self._bucket, key, ExtraArgs=extra)
        except (Boto3Error, BotoCoreError, ClientError, OSError) as error:
            raise LineageBridgeError(f"{name} did not arrive at {url}: {error}", hint=_hint(error)) from error
        return Landed(name, url, path.stat().st_size)


def _hint(error: Exception) -> str:
    text = str(error)
    if isinstance(error, ClientError):
        text = error.response.get("Error", {}).get("Code", "")
    known = (hint for code, hint in _HINTS.items() if code in text)
    return next(known, "Upload again; nothing under the files' names is partial.")
