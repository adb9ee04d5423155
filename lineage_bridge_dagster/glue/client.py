"""The boto3 client for Glue, from settings.

Settings that are left out come from boto3's own configuration chain, including `AWS_ENDPOINT_URL[_GLUE]`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError

from lineage_bridge_dagster.config.aws import AwsKeys, aws_session, client_config
from lineage_bridge_dagster.config.settings import AwsSettings
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.glue.fields import report_unknown_fields

if TYPE_CHECKING:
    from mypy_boto3_glue.client import GlueClient


def glue_client(
    settings: AwsSettings, *, max_concurrency: int = 8, keys: AwsKeys | None = None
) -> GlueClient:
    """Create a Glue client with bounded timeouts and retries.

    Args:
        settings: the region, endpoint, credentials and catalog. A `role_arn` is assumed with credentials that
            renew themselves.
        max_concurrency: concurrent calls, and connections in the pool.
        keys: used instead of the credentials that AWS's own chain finds.

    Raises:
        ConfigurationError: no region is set, the profile is unknown, or the endpoint is malformed.
    """
    session = aws_session(settings, keys)
    try:
        client = session.client(
            "glue", endpoint_url=settings.endpoint_url, config=client_config(max_concurrency)
        )
    except (ValueError, BotoCoreError) as error:
        raise ConfigurationError(
            f"The Glue client could not be created: {error}",
            hint="Check LINEAGE_BRIDGE_AWS_REGION and LINEAGE_BRIDGE_AWS_ENDPOINT_URL.",
        ) from error
    report_unknown_fields(client)
    if settings.catalog_id:
        _use_catalog(client, settings.catalog_id)
    return client


def _use_catalog(client: GlueClient, catalog_id: str) -> None:
    """Send every call to this account's catalog, unless the call names another one."""

    def set_catalog(params: dict[str, Any], **_: Any) -> None:
        params.setdefault("CatalogId", catalog_id)

    for operation in ("GetDatabases", "GetTables", "GetTable", "UpdateTable"):
        client.meta.events.register(f"provide-client-params.glue.{operation}", set_catalog)
