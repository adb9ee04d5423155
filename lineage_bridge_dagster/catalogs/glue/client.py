"""The boto3 client for Glue, from settings.

Settings that are left out come from boto3's own configuration chain, including `AWS_ENDPOINT_URL[_GLUE]`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from botocore.awsrequest import AWSRequest

from lineage_bridge_dagster.catalogs.calls import Pace
from lineage_bridge_dagster.catalogs.glue.aws_errors import THROTTLING_CODES, counted_status
from lineage_bridge_dagster.catalogs.glue.fields import report_unknown_fields
from lineage_bridge_dagster.config.aws import aws_session, client_config, named_client
from lineage_bridge_dagster.config.aws_settings import AwsKeys, AwsSettings
from lineage_bridge_dagster.config.request_counts import UNREACHABLE, current_counts
from lineage_bridge_dagster.config.value_types import MAX_CONCURRENCY

if TYPE_CHECKING:
    from mypy_boto3_glue.client import GlueClient

#: Glue's name among the APIs whose requests are counted.
_API = "glue"
_STARTED = "lineage_bridge_started"
_ONCE: ContextVar[bool] = ContextVar("lineage_bridge_sent_once", default=False)


@contextmanager
def sent_once() -> Iterator[None]:
    """Have Glue clients send each request of this thread once: the caller itself tries again."""
    token = _ONCE.set(True)
    try:
        yield
    finally:
        _ONCE.reset(token)


def glue_client(
    settings: AwsSettings,
    *,
    pace: Pace | None = None,
    keys: AwsKeys | None = None,
    external_id: str | None = None,
    unknown_fields: bool = True,
) -> GlueClient:
    """Create a Glue client with bounded timeouts and retries, which slows down when Glue throttles it.

    Args:
        settings: the region, endpoint, credentials and catalog. A `role_arn` is assumed with credentials that
            renew themselves.
        pace: limits all calls of the client; a new one by default.
        keys: used instead of the credentials that AWS's own chain finds.
        external_id: the external ID that the trust policy of the role requires, if it does.
        unknown_fields: report fields that botocore does not know, as whoever writes tables needs. It takes as
            long as botocore's own parsing of a response.

    Raises:
        ConfigurationError: no region is set, the profile is unknown, or the endpoint is malformed.
    """
    client: GlueClient = named_client(
        aws_session(settings, keys, external_id),
        "Glue",
        client_config(MAX_CONCURRENCY),
        check="LINEAGE_BRIDGE_AWS_REGION and LINEAGE_BRIDGE_AWS_ENDPOINT_URL",
        endpoint_url=settings.endpoint_url,
    )
    if unknown_fields:
        report_unknown_fields(client)
    _keep_pace(client, pace or Pace())
    if settings.catalog_id:
        _use_catalog(client, settings.catalog_id)
    return client


def _keep_pace(client: GlueClient, pace: Pace) -> None:
    """Let each request, also one that botocore sends again, wait for its turn.

    botocore has a mode of retries for this, `adaptive`, whose pace falls with each of the calls that are
    refused at the same moment: with 32 threads, to a quarter of what Glue allows.
    """
    counts = current_counts()

    def start(request: AWSRequest, **_: Any) -> None:
        request.context[_STARTED] = pace.start()

    def end(request_dict: Mapping[str, Any], response: Any = None, attempts: int = 1, **_: Any) -> Any:
        code = str(response[1].get("Error", {}).get("Code", "")) if response else ""
        counts.add(_API, counted_status(code, response[0].status_code) if response else UNREACHABLE)
        if attempts > 1:
            counts.retry(_API)
        if code in THROTTLING_CODES:
            pace.refused(request_dict["context"][_STARTED])
        else:
            pace.served()
        # The first answer of these handlers counts: False sends nothing again, None leaves it to botocore.
        return False if _ONCE.get() else None

    # Before the request is signed: a signature ages.
    client.meta.events.register_first("request-created.glue", start)
    client.meta.events.register_first("needs-retry.glue", end)


def _use_catalog(client: GlueClient, catalog_id: str) -> None:
    """Send every call to this account's catalog, unless the call names another one."""

    def set_catalog(params: dict[str, Any], **_: Any) -> None:
        params.setdefault("CatalogId", catalog_id)

    for operation in ("GetDatabases", "GetTables", "GetTable", "UpdateTable"):
        client.meta.events.register(f"provide-client-params.glue.{operation}", set_catalog)
