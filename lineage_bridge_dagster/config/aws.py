"""AWS sessions and clients from settings: one way to be somebody, for Glue and for S3.

Everything that settings leave out is found by boto3's own chain, `AWS_ENDPOINT_URL[_SERVICE]` included.
"""

from __future__ import annotations

from importlib import metadata
from typing import TYPE_CHECKING, Any

import boto3
import botocore.session
from botocore.config import Config
from botocore.credentials import AssumeRoleCredentialFetcher, DeferredRefreshableCredentials
from botocore.exceptions import BotoCoreError, ProfileNotFound

from lineage_bridge_dagster.config.settings import AwsSettings
from lineage_bridge_dagster.errors import ConfigurationError

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

_CONNECT_TIMEOUT_SECONDS = 5
_READ_TIMEOUT_SECONDS = 30
#: Tries of one call inside botocore. Low, for a write that is tried again without a new read only finds its
#: own version gone; the writer above reads again and goes on.
_ATTEMPTS = 4


def aws_session(settings: AwsSettings) -> boto3.Session:
    """A session with a region; a `role_arn` is assumed with credentials that renew themselves.

    Raises:
        ConfigurationError: no region, or an unknown profile.
    """
    try:
        session = boto3.Session(profile_name=settings.profile, region_name=settings.region)
    except ProfileNotFound as error:
        raise ConfigurationError(
            f"The AWS profile {settings.profile!r} is not configured.",
            hint="Correct LINEAGE_BRIDGE_AWS_PROFILE, or add the profile with `aws configure --profile`.",
        ) from error
    region = settings.region or session.region_name
    if not region:
        raise ConfigurationError(
            "No AWS region is set.",
            hint="Set LINEAGE_BRIDGE_AWS_REGION (or AWS_REGION), or give the profile a region.",
        )
    if settings.role_arn:
        return _assume(session, settings.role_arn, region)
    return session


def s3_client(
    settings: AwsSettings,
    *,
    endpoint_url: str | None = None,
    path_style: bool | None = None,
    max_concurrency: int = 16,
) -> S3Client:
    """An S3 client with the rights of the Glue client; it finds other regions' buckets by itself.

    Args:
        settings: who asks; their `endpoint_url` is Glue's alone.
        endpoint_url: of S3, for private endpoints.
        path_style: address buckets by path; by default where an endpoint is given.
        max_concurrency: calls in flight at once; the connection pool holds as many.

    Raises:
        ConfigurationError: no region, an unknown profile or a malformed endpoint.
    """
    by_path = bool(endpoint_url) if path_style is None else path_style
    config = client_config(max_concurrency)
    if by_path:
        config = config.merge(Config(s3={"addressing_style": "path"}))
    session = aws_session(settings)
    try:
        return session.client("s3", endpoint_url=endpoint_url, config=config)
    except (ValueError, BotoCoreError) as error:
        raise ConfigurationError(
            f"The S3 client could not be made: {error}",
            hint="Check LINEAGE_BRIDGE_AWS_REGION and LINEAGE_BRIDGE_CATALOG_S3_ENDPOINT.",
        ) from error


def client_config(max_concurrency: int) -> Config:
    """Bounded timeouts and retries; the connection pool holds as many as are in flight at once."""
    try:
        version = metadata.version("lineage-bridge-dagster")
    except metadata.PackageNotFoundError:  # run from a source folder that was never installed
        version = "0"
    return Config(
        connect_timeout=_CONNECT_TIMEOUT_SECONDS,
        read_timeout=_READ_TIMEOUT_SECONDS,
        retries={"mode": "standard", "total_max_attempts": _ATTEMPTS},
        max_pool_connections=max(10, max_concurrency),
        user_agent_extra=f"lineage-bridge-dagster/{version}",
    )


def _assume(session: boto3.Session, role_arn: str, region: str) -> boto3.Session:
    """A session of the role. The role is assumed at the first call, and again before it runs out."""
    source = session.get_credentials()
    if source is None:
        raise ConfigurationError(
            f"There are no AWS credentials to assume {role_arn} with.",
            hint="Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or LINEAGE_BRIDGE_AWS_PROFILE.",
        )
    core = botocore.session.get_session()

    def sts(*args: Any, **kwargs: Any) -> Any:
        # The region's own STS endpoint: the global one is missing from private networks and GovCloud.
        kwargs["region_name"] = region
        return core.create_client(*args, **kwargs)

    fetcher = AssumeRoleCredentialFetcher(
        client_creator=sts,
        source_credentials=source,
        role_arn=role_arn,
        extra_args={"RoleSessionName": "lineage-bridge"},
    )
    assumed = botocore.session.get_session()
    assumed._credentials = DeferredRefreshableCredentials(  # type: ignore[attr-defined]
        refresh_using=fetcher.fetch_credentials, method="assume-role"
    )
    return boto3.Session(botocore_session=assumed, region_name=region)
