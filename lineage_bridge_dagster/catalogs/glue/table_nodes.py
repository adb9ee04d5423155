"""Graph nodes of Glue tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from lineage_bridge_dagster.catalogs.glue.glue_table import GlueTable
from lineage_bridge_dagster.catalogs.glue.links import glue_table_url
from lineage_bridge_dagster.catalogs.glue.table_columns import columns_of
from lineage_bridge_dagster.lineage.coverage import Scope
from lineage_bridge_dagster.lineage.description import split_description
from lineage_bridge_dagster.lineage.documents import KEY_CLUSTER_ID, KEY_ENVIRONMENT_ID
from lineage_bridge_dagster.lineage.glue_names import AWS_GLUE, GluePlace
from lineage_bridge_dagster.lineage.ids import glue_table_id
from lineage_bridge_dagster.lineage.model import Node, NodeType
from lineage_bridge_dagster.lineage.other_forms import serde_attributes
from lineage_bridge_dagster.lineage.sql_policy import shown_description, shown_parameters
from lineage_bridge_dagster.lineage.times import iso_or_none
from lineage_bridge_dagster.redaction.redact import redact_config, redact_text

_ENVIRONMENT_LINE = re.compile(r"^Environment: (\S+)\s*$", re.MULTILINE)


def table_node(
    table: GlueTable,
    scope: Scope,
    now: str,
    *,
    source: Node | None = None,
    conflict: str | None = None,
    sql: str = "redacted",
) -> Node:
    """The `catalog_table` node of a Glue table.

    Args:
        scope: `glue::{region}`.
        now: ISO 8601 UTC.
        source: the Tableflow table that the Glue table belongs to. Without it, environment and cluster are
            those that the last push wrote, so that the table keeps its node id.
        conflict: the topics that claim the table, as a sentence.
        sql: how the SQL of earlier pushes is shown.
    """
    region = scope.place
    environment = source.environment_id if source else pushed_environment(table)
    cluster = source.cluster_id if source else table.parameters.get(KEY_CLUSTER_ID)
    optional = {"conflict": conflict, "not_writable": table.read_only_reason}
    return Node(
        node_id=glue_table_id(environment or "", table.place),
        system="aws",
        node_type=NodeType.CATALOG_TABLE,
        qualified_name=table.place.qualified_name,
        display_name=table.place.dotted,
        environment_id=environment,
        environment_name=source.environment_name if source else None,
        cluster_id=cluster,
        cluster_name=source.cluster_name if source else None,
        catalog_type=AWS_GLUE,
        attributes={
            **table_attributes(table, region, sql),
            "scope": str(scope),
            **{name: value for name, value in optional.items() if value},
        },
        url=glue_table_url(region, table.database, table.name, catalog_id=table.catalog_id),
        first_seen=now,
        last_seen=now,
    )


def absent_table_node(
    place: GluePlace, scope: Scope, now: str, *, source: Node, conflict: str | None = None
) -> Node:
    """The `catalog_table` node of a table that was not found in Glue.

    It has the id, and thus the asset key, that the table will have in the expected place.

    Args:
        place: where the table is expected, in lower case.
        source: the Tableflow table that should become it.
        conflict: the topics that claim the table, as a sentence.
    """
    return Node(
        node_id=glue_table_id(source.environment_id or "", place),
        system="aws",
        node_type=NodeType.CATALOG_TABLE,
        qualified_name=place.qualified_name,
        display_name=place.dotted,
        environment_id=source.environment_id,
        environment_name=source.environment_name,
        cluster_id=source.cluster_id,
        cluster_name=source.cluster_name,
        catalog_type=AWS_GLUE,
        attributes={
            "database": place.database,
            "table_name": place.table,
            "aws_region": scope.place,
            "scope": str(scope),
            **({"conflict": conflict} if conflict else {}),
        },
        first_seen=now,
        last_seen=now,
    )


def table_attributes(table: GlueTable, region: str, sql: str = "redacted") -> dict[str, Any]:
    """The attributes that a Glue table's node takes from Glue, as JSON values, without secrets.

    Parameters and comments are other people's too. A push does not use these: it reads the table again.
    """
    raw = table.raw
    storage = raw.get("StorageDescriptor") or {}
    columns, keys = columns_of(raw)
    return {
        "database": table.database,
        "table_name": table.name,
        "aws_region": region,
        "owner": raw.get("Owner"),
        "table_type": raw.get("TableType"),
        "columns": _columns(columns),
        "partition_keys": _columns(keys),
        "storage_location": redact_text(table.location) or None,
        "input_format": storage.get("InputFormat"),
        "output_format": storage.get("OutputFormat"),
        **serde_attributes(redact_config(storage.get("SerdeInfo") or {})),
        "parameters": shown_parameters(table.parameters, sql),
        "description": shown_description(table.description, sql) or None,
        "version_id": table.version_id,
        "catalog_id": table.catalog_id,
        "create_time": iso_or_none(raw.get("CreateTime")),
        "update_time": iso_or_none(raw.get("UpdateTime")),
    }


def _columns(columns: Iterable[Mapping[str, Any]]) -> list[dict[str, str | None]]:
    return [
        {
            "name": column.get("Name"),
            "type": column.get("Type"),
            "comment": redact_text(str(comment)) if (comment := column.get("Comment")) else None,
        }
        for column in columns
    ]


def pushed_environment(table: GlueTable) -> str | None:
    """The environment that the last push wrote, in a parameter or in the description."""
    if pushed := table.parameters.get(KEY_ENVIRONMENT_ID):
        return pushed
    block = split_description(table.description)[1]
    line = _ENVIRONMENT_LINE.search(block or "")
    return line.group(1) if line else None
