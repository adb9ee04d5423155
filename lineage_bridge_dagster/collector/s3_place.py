"""A prefix of an S3 bucket: of a landing place, or of marks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

from botocore.exceptions import ClientError

from lineage_bridge_dagster.collector.settings import LandingSettings
from lineage_bridge_dagster.config.aws import s3_client
from lineage_bridge_dagster.config.aws_settings import AwsKeys, AwsSettings
from lineage_bridge_dagster.errors import ConfigurationError

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

_HINTS = {
    "NoSuchBucket": "Correct the bucket, or create it: the collector creates none.",
    "ExpiredToken": "Renew the session token, or use a role.",
    "InvalidAccessKeyId": "Correct LINEAGE_BRIDGE_COLLECTOR_LANDING_KEY.",
    "SignatureDoesNotMatch": "Correct LINEAGE_BRIDGE_COLLECTOR_LANDING_SECRET.",
    "PermanentRedirect": "Set landing.region to the bucket's region.",
}


@dataclass(frozen=True, slots=True)
class S3Place:
    """A prefix of a bucket, and the client that reaches it.

    Attributes:
        encryption: Arguments of a write that encrypt the object with a KMS key, if there is one.
    """

    client: S3Client = field(repr=False)
    bucket: str
    prefix: str
    encryption: Mapping[str, str]

    @classmethod
    def of(cls, settings: LandingSettings, keys: AwsKeys | None = None) -> Self:
        """The prefix of a URL, `s3://bucket/prefix`, with these keys where the settings have none.

        Raises:
            ConfigurationError: The URL has no bucket, or no client can be made.
        """
        parts = urlsplit(settings.url)
        if not parts.netloc:
            raise ConfigurationError(f"{settings.url} has no bucket.", hint="Write s3://bucket/prefix.")
        encryption = (
            {"ServerSideEncryption": "aws:kms", "SSEKMSKeyId": settings.kms_key} if settings.kms_key else {}
        )
        if settings.key and settings.secret:
            keys = AwsKeys(settings.key, settings.secret)
        aws = AwsSettings(region=settings.region, role_arn=settings.role)
        client = s3_client(
            aws, endpoint_url=settings.endpoint_url, keys=keys, external_id=settings.external_id
        )
        return cls(client, parts.netloc, parts.path.strip("/"), encryption)

    def key(self, name: str) -> str:
        """The key of an object by its name."""
        return f"{self.prefix}/{name}" if self.prefix else name

    def url(self, name: str) -> str:
        """The URL of an object by its name."""
        return f"s3://{self.bucket}/{self.key(name)}"


def code_of(error: Exception) -> str:
    """S3's code of an error; empty if it has none."""
    return error.response.get("Error", {}).get("Code", "") if isinstance(error, ClientError) else ""


def hint_of(error: Exception, denied: str, otherwise: str) -> str:
    """What to do about an error: to grant what is `denied`, or else, if it is none of the common ones."""
    text = code_of(error) or str(error)
    hints = {"AccessDenied": denied, **_HINTS}
    return next((hint for code, hint in hints.items() if code in text), otherwise)
