"""Fields of a Glue table: which ones a write carries over, and which ones botocore does not know."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from botocore.loaders import create_loader
from botocore.model import ListShape, MapShape, OperationModel, Shape, StructureShape

from lineage_bridge_dagster.json_text import json_of

if TYPE_CHECKING:
    from mypy_boto3_glue.client import GlueClient

#: Fields of `Table` that Glue maintains itself: leaving them out of `TableInput` loses nothing.
#: Listed by hand on purpose: a table with a field that a newer botocore adds is refused until someone has
#: checked it. `RLSProperties` (the default row-level security policy) is left out: whether `UpdateTable`
#: keeps it is not documented.
READ_ONLY_FIELDS = frozenset(
    {
        "CatalogId",
        "CreateTime",
        "CreatedBy",
        "DatabaseName",
        "IcebergTableMetadata",
        "IsMaterializedView",
        "IsMultiDialectView",
        "IsRegisteredWithLakeFormation",
        "Status",
        "UpdateTime",
        "VersionId",
    }
)

#: Key in a response of `GetTable` or `GetTables`: table name -> paths of fields that botocore's model lacks.
UNKNOWN_FIELDS = "LineageBridgeUnknownFields"


@cache
def writable_fields() -> frozenset[str]:
    """The fields that `Table` (read) and `TableInput` (written) share in botocore's service model."""
    shapes = create_loader().load_service_model("glue", "service-2")["shapes"]
    return frozenset(shapes["Table"]["members"]) & frozenset(shapes["TableInput"]["members"])


def is_set(value: Any) -> bool:
    """Whether leaving the field out of a write would lose anything."""
    return value is not None and value not in ("", [], {})


def report_unknown_fields(client: GlueClient) -> None:
    """Make responses list, under `UNKNOWN_FIELDS`, the table fields that botocore's model does not have.

    botocore drops such fields silently. A field that a newer Glue adds would look absent, and the next write
    would remove it; a field that is listed makes the planner refuse the table instead.
    """
    for operation in ("GetTable", "GetTables"):
        client.meta.events.register(f"before-parse.glue.{operation}", _add_unknown_fields)


def _add_unknown_fields(
    operation_model: OperationModel,
    response_dict: Mapping[str, Any],
    customized_response_dict: dict[str, Any],
    **_: Any,
) -> None:
    if response_dict.get("status_code", 0) >= 300:
        return
    # What is not JSON, botocore's parser refuses.
    body = json_of(response_dict.get("body"), dict)
    output = operation_model.output_shape
    if body is None or not isinstance(output, StructureShape):
        return
    shape = operation_model.service_model.shape_for("Table")
    tables = body.get("TableList") if "TableList" in output.members else [body.get("Table")]
    unknown = {
        str(table.get("Name")): paths
        for table in (tables if isinstance(tables, list) else [])
        if isinstance(table, dict) and (paths := sorted(_unknown_paths(table, shape)))
    }
    if unknown:
        customized_response_dict[UNKNOWN_FIELDS] = unknown


def _unknown_paths(value: Any, shape: Shape, path: str = "") -> set[str]:
    """Dotted paths of the fields that are set and that the shape does not have."""
    paths: set[str] = set()
    if isinstance(shape, StructureShape) and isinstance(value, dict):
        for name, member in value.items():
            member_path = f"{path}.{name}" if path else name
            if name in shape.members:
                paths |= _unknown_paths(member, shape.members[name], member_path)
            elif is_set(member):
                paths.add(member_path)
    elif isinstance(shape, ListShape) and isinstance(value, list):
        for item in value:
            paths |= _unknown_paths(item, shape.member, path)
    elif isinstance(shape, MapShape) and isinstance(value, dict):
        for item in value.values():
            paths |= _unknown_paths(item, shape.value, path)
    return paths
