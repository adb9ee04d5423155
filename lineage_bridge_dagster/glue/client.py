"""The boto3 client for Glue, from settings.

Everything that settings leave out is found by boto3's own chain, `AWS_ENDPOINT_URL[_GLUE]` included.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError
from botocore.model import ListShape, MapShape, OperationModel, Shape, StructureShape

from lineage_bridge_dagster.config.aws import aws_session, client_config
from lineage_bridge_dagster.config.settings import AwsSettings
from lineage_bridge_dagster.errors import ConfigurationError

if TYPE_CHECKING:
    from mypy_boto3_glue.client import GlueClient

#: Where `keep_unknown_fields` leaves what botocore's model has no name for, in a table's record.
UNKNOWN_FIELDS = "LineageBridgeUnknownFields"


def glue_client(settings: AwsSettings, *, max_concurrency: int = 8) -> GlueClient:
    """A Glue client with bounded timeouts and retries.

    Args:
        settings: where Glue is; a `role_arn` is assumed with credentials that renew themselves.
        max_concurrency: calls in flight at once; the connection pool holds as many.

    Raises:
        ConfigurationError: no region, an unknown profile or a malformed endpoint.
    """
    session = aws_session(settings)
    try:
        client = session.client(
            "glue", endpoint_url=settings.endpoint_url, config=client_config(max_concurrency)
        )
    except (ValueError, BotoCoreError) as error:
        raise ConfigurationError(
            f"The Glue client could not be made: {error}",
            hint="Check LINEAGE_BRIDGE_AWS_REGION and LINEAGE_BRIDGE_AWS_ENDPOINT_URL.",
        ) from error
    keep_unknown_fields(client)
    if settings.catalog_id:
        _bind_catalog(client, settings.catalog_id)
    return client


def _bind_catalog(client: GlueClient, catalog_id: str) -> None:
    """Have every call ask this account's catalog, unless it names another."""

    def add(params: dict[str, Any], **_: Any) -> None:
        params.setdefault("CatalogId", catalog_id)

    for operation in ("GetDatabases", "GetTables", "GetTable", "UpdateTable"):
        client.meta.events.register(f"provide-client-params.glue.{operation}", add)


def keep_unknown_fields(client: GlueClient) -> None:
    """Have table records carry the fields that botocore's model does not know, under `UNKNOWN_FIELDS`.

    botocore drops them without a word. A newer Glue's new field would then be read as absent and taken away
    by the next write of the table; seen, it makes the planner refuse instead.
    """
    for operation in ("GetTable", "GetTables"):
        client.meta.events.register(f"before-parse.glue.{operation}", _find_unknown_fields)


def _find_unknown_fields(
    operation_model: OperationModel,
    response_dict: Mapping[str, Any],
    customized_response_dict: dict[str, Any],
    **_: Any,
) -> None:
    if response_dict.get("status_code", 0) >= 300:
        return
    try:
        answer = json.loads(response_dict["body"])
    except (ValueError, KeyError):
        return  # botocore's own parser says so
    output = operation_model.output_shape
    if not isinstance(answer, dict) or not isinstance(output, StructureShape):
        return
    shape = operation_model.service_model.shape_for("Table")
    records = answer.get("TableList") if "TableList" in output.members else [answer.get("Table")]
    found = {
        str(record.get("Name")): fields
        for record in (records if isinstance(records, list) else [])
        if isinstance(record, dict) and (fields := sorted(_unknown(record, shape)))
    }
    if found:
        customized_response_dict[UNKNOWN_FIELDS] = found


def _unknown(value: Any, shape: Shape, path: str = "") -> set[str]:
    """Paths in `value`, dotted, that the shape has no member for and that hold something."""
    found: set[str] = set()
    if isinstance(shape, StructureShape) and isinstance(value, dict):
        for name, inner in value.items():
            here = f"{path}.{name}" if path else name
            if name in shape.members:
                found |= _unknown(inner, shape.members[name], here)
            elif inner is not None and inner not in ("", [], {}):
                found.add(here)
    elif isinstance(shape, ListShape) and isinstance(value, list):
        for inner in value:
            found |= _unknown(inner, shape.member, path)
    elif isinstance(shape, MapShape) and isinstance(value, dict):
        for inner in value.values():
            found |= _unknown(inner, shape.value, path)
    return found
