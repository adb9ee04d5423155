"""AWS sessions and clients from the settings, with the same identity for Glue and S3.

boto3's own chain finds what the settings leave out, including `AWS_ENDPOINT_URL[_SERVICE]`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache, partial
from importlib import metadata
from typing import TYPE_CHECKING, Any

import boto3
import botocore.session
from botocore.config import Config
from botocore.credentials import AssumeRoleCredentialFetcher, DeferredRefreshableCredentials
from botocore.exceptions import BotoCoreError, ProfileNotFound
from botocore.loaders import Loader, create_loader
from botocore.parsers import BaseJSONParser, ResponseParserError, ResponseParserFactory
from botocore.utils import parse_timestamp

from lineage_bridge_dagster.config.aws_settings import AwsKeys, AwsSettings
from lineage_bridge_dagster.config.secret_logs import hide_secrets_in_logs
from lineage_bridge_dagster.errors import ConfigurationError

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

_S3_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
_CONNECT_TIMEOUT_SECONDS = 5
_READ_TIMEOUT_SECONDS = 30
#: Attempts per call within botocore. Few, because a write that is retried without a new read conflicts with
#: itself. Pushes to tables turn them off: they read again before each of their own attempts.
_ATTEMPTS = 4


def aws_session(
    settings: AwsSettings, keys: AwsKeys | None = None, external_id: str | None = None
) -> boto3.Session:
    """Return a session with a region. The credentials of a `role_arn` renew themselves.

    Args:
        settings: the region, profile and role.
        keys: used instead of the credentials that the profile or AWS's own chain has.
        external_id: what the trust policy of the role asks for, if it does.

    Raises:
        ConfigurationError: no region, an unknown profile, or no credentials to assume the role with.
    """
    session = profile_session(settings, keys)
    if not (settings.region or session.region_name):
        raise ConfigurationError(
            "No AWS region is set.",
            hint="Set LINEAGE_BRIDGE_AWS_REGION (or AWS_REGION), or configure a region for the profile.",
        )
    if settings.role_arn:
        region = settings.region or session.region_name
        return _assume(session, settings.role_arn, region, external_id)
    return session


def profile_session(settings: AwsSettings, keys: AwsKeys | None = None) -> boto3.Session:
    """Return a session of the profile, which may have no region, without assuming the role.

    Raises:
        ConfigurationError: an unknown profile.
    """
    access_key, secret_key, token = keys or (None, None, None)
    hide_secrets_in_logs()
    try:
        return boto3.Session(access_key, secret_key, token, settings.region, _core_session(settings.profile))
    except ProfileNotFound as error:
        # Without a profile in the settings, botocore's own variables name one.
        name = f"{settings.profile!r} " if settings.profile else ""
        detail = "" if settings.profile else f" ({error})"
        raise ConfigurationError(
            f"The AWS profile {name}is not configured{detail}.",
            hint="Correct LINEAGE_BRIDGE_AWS_PROFILE (or AWS_PROFILE), or add the profile with `aws "
            "configure --profile`.",
        ) from error


def s3_client(
    settings: AwsSettings,
    *,
    endpoint_url: str | None = None,
    path_style: bool | None = None,
    max_concurrency: int = 16,
    keys: AwsKeys | None = None,
    external_id: str | None = None,
) -> S3Client:
    """Return an S3 client with the permissions of the Glue client. It also reaches buckets in other regions.

    Args:
        settings: the identity and region; the `endpoint_url` is for Glue only.
        endpoint_url: endpoint of S3, for private endpoints.
        path_style: use path-style bucket addresses; by default only with an endpoint, given or from
            `AWS_ENDPOINT_URL[_S3]`.
        max_concurrency: concurrent calls, and the size of the connection pool.
        keys: used instead of the credentials that AWS's own chain finds.
        external_id: what the trust policy of the role asks for, if it does.

    Raises:
        ConfigurationError: no region, an unknown profile or a malformed endpoint.
    """
    if path_style is None:
        path_style = bool(endpoint_url or any(map(os.environ.get, _S3_ENDPOINTS)))
    config = client_config(max_concurrency)
    if path_style:
        config = config.merge(Config(s3={"addressing_style": "path"}))
    client: S3Client = named_client(
        aws_session(settings, keys, external_id),
        "S3",
        config,
        check="LINEAGE_BRIDGE_AWS_REGION and LINEAGE_BRIDGE_CATALOG_S3_ENDPOINT",
        endpoint_url=endpoint_url,
    )
    return client


def named_client(
    session: boto3.Session, name: str, config: Config, *, check: str, endpoint_url: str | None = None
) -> Any:
    """Return a client of a service.

    Args:
        session: with the identity and the region.
        name: of the service, as messages have it: `Lake Formation` for `lakeformation`.
        check: the settings to check if there can be no client, as a clause.
        endpoint_url: its endpoint; by default that of the region, or of `AWS_ENDPOINT_URL[_SERVICE]`.

    Raises:
        ConfigurationError: the region or the endpoint is malformed.
    """
    service: Any = name.replace(" ", "").lower()
    try:
        return session.client(service, endpoint_url=endpoint_url, config=config)
    except (ValueError, BotoCoreError) as error:
        raise ConfigurationError(
            f"The {name} client could not be created: {error}", hint=f"Check {check}."
        ) from error


def client_config(max_concurrency: int) -> Config:
    """Return a configuration with bounded timeouts and retries, and a connection per concurrent call."""
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


def _assume(session: boto3.Session, role_arn: str, region: str, external_id: str | None) -> boto3.Session:
    """Return a session of the role, which is assumed at the first call and again before it expires."""
    source = session.get_credentials()
    if source is None:
        raise ConfigurationError(
            f"There are no AWS credentials to assume {role_arn} with.",
            hint="Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or LINEAGE_BRIDGE_AWS_PROFILE.",
        )
    core = _core_session()

    def sts(*args: Any, **kwargs: Any) -> Any:
        # The region's own STS endpoint: the global one is missing from private networks and GovCloud.
        kwargs["region_name"] = region
        return core.create_client(*args, **kwargs)

    fetcher = AssumeRoleCredentialFetcher(
        client_creator=sts,
        source_credentials=source,
        role_arn=role_arn,
        extra_args={
            "RoleSessionName": "lineage-bridge",
            **({"ExternalId": external_id} if external_id else {}),
        },
    )
    assumed = _core_session()
    assumed._credentials = DeferredRefreshableCredentials(  # type: ignore[attr-defined]
        refresh_using=fetcher.fetch_credentials, method="assume-role"
    )
    return boto3.Session(botocore_session=assumed, region_name=region)


def regions_of(service: str) -> list[str]:
    """The regions of all partitions in which botocore knows a service."""
    session = botocore.session.get_session()
    return [
        region
        for partition in session.get_available_partitions()
        for region in session.get_available_regions(service, partition)
    ]


def _core_session(profile: str | None = None) -> botocore.session.Session:
    """A session whose clients share the service models, of which Glue's takes 15 MB.

    Raises:
        ProfileNotFound: The profile, or that of the environment, does not exist.
    """
    session = botocore.session.get_session()
    if profile is not None:
        session.set_config_variable("profile", profile)
    session.register_component("data_loader", _loader(session.get_config_variable("data_path")))
    parsers = _StrictParsers()
    parsers.set_parser_defaults(timestamp_parser=_utc)
    session.register_component("response_parser_factory", parsers)
    return session


class _StrictParsers(ResponseParserFactory):
    """Parsers of JSON that read only a list as a list; botocore's read `{}` and `""` as an empty one."""

    def create_parser(self, protocol_name: str) -> Any:
        parser = super().create_parser(protocol_name)
        if isinstance(parser, BaseJSONParser):
            parser._handle_list = partial(_list, parser._handle_list)  # type: ignore[attr-defined]
        return parser


def _list(parse: Callable[[Any, Any], list[Any]], shape: Any, value: Any) -> list[Any]:
    # A list in a header is text.
    if isinstance(value, list) or shape.serialization.get("location") == "header":
        return parse(shape, value)
    raise ResponseParserError(f"{shape.name} is {type(value).__name__}, not a list")


def _utc(value: Any) -> datetime:
    """A time of a response. botocore's own parser asks for the host's zone each time, which takes longer."""
    return datetime.fromtimestamp(value, UTC) if isinstance(value, int | float) else parse_timestamp(value)


@cache
def _loader(data_path: str | None) -> Loader:
    return create_loader(data_path)
