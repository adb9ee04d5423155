"""How and where Tableflow writes a topic's table: rows of the pages of both, and their metadata."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lineage_bridge_dagster.lineage.model import Node, NodeType
from lineage_bridge_dagster.lineage.nodes import TableflowNode
from lineage_bridge_dagster.specs.graph_view import GraphView
from lineage_bridge_dagster.specs.pages.phrases import plain
from lineage_bridge_dagster.text import duration

_FORMATS = {"ICEBERG": "Iceberg", "DELTA": "Delta Lake"}
_ERRORS = {"SUSPEND": "suspend the table", "SKIP": "are skipped"}


def tableflow_of(node: Node, view: GraphView) -> list[TableflowNode]:
    """The Tableflow tables of a topic, or those that became a table of a catalog."""
    neighbours = view.targets(node) if node.node_type == NodeType.KAFKA_TOPIC else view.sources(node)
    # A Tableflow table also writes its dead letter topic, which makes it a source of that topic alone.
    return [TableflowNode.of(each) for each in neighbours if each.node_type == NodeType.TABLEFLOW_TABLE]


def tableflow_rows(tables: list[TableflowNode]) -> dict[str, str]:
    """The rows of a page about Tableflow's settings; none unless they are of one table alone."""
    if len(tables) != 1:
        return {}
    table = tables[0]
    return {
        "Storage": storage(table),
        "Table formats": formats(table),
        "Failed records": failed_records(table),
        "Table retention": retention(table),
        "Maintenance": maintenance(table),
    }


def tableflow_metadata(tables: list[TableflowNode]) -> dict[str, Any]:
    """The same as metadata, to search and compare; empty unless there is one table."""
    if len(tables) != 1:
        return {}
    table = tables[0]
    return {
        "storage": storage(table) or None,
        "table_formats": ", ".join(table.table_formats) or None,
        "tableflow_write_mode": table.write_mode or None,
        "error_handling": table.error_handling.mode or None,
        "dead_letter_topic": table.error_handling.target or None,
        "snapshot_retention": _time(table.retention_ms) or None,
        "row_retention": _time(table.data_retention_ms) or None,
        "provider_integration_id": table.provider_integration_id or None,
    }


def storage(table: TableflowNode) -> str:
    """Whose storage it is, and where; a kind that is not known here stays as it is."""
    region = f" in {table.region}" if table.region else ""
    integration = table.provider_integration_id
    through = f", by provider integration {integration}" if integration else ""
    match table.storage_kind.lower():
        case "":
            return ""
        case "managed":
            return plain(f"managed by Confluent{region}")
        case "byobaws":
            return plain(f"own bucket {table.bucket_name}{region}{through}")
        case "azuredatalakestoragegen2":
            place = f"{table.container_name} of storage account {table.storage_account_name}"
            return plain(f"own container {place}{region}{through}")
        case _:
            return plain(f"{table.storage_kind}{region}{through}")


def formats(table: TableflowNode) -> str:
    """The table formats, with the way that rows are written, such as `Iceberg, Delta Lake; append`."""
    named = ", ".join(_FORMATS.get(each, each) for each in table.table_formats)
    return plain("; ".join(filter(None, (named, _words(table.write_mode)))))


def failed_records(table: TableflowNode) -> str:
    """What becomes of records that cannot be rows."""
    mode, target = table.error_handling
    if target:
        return plain(f"go to topic {target}")
    return plain(_ERRORS.get(mode.upper(), _words(mode)))


def retention(table: TableflowNode) -> str:
    """How long snapshots and rows are kept."""
    kept = {"snapshots": _time(table.retention_ms), "rows": _time(table.data_retention_ms)}
    return ", ".join(f"{what} {time}" for what, time in kept.items() if time)


def maintenance(table: TableflowNode) -> str:
    """Whether files are compacted and the table is partitioned."""
    switches: Mapping[str, bool | None] = {
        "compaction": table.enable_compaction,
        "partitioning": table.enable_partitioning,
    }
    return ", ".join(f"{what} {'on' if on else 'off'}" for what, on in switches.items() if on is not None)


def _time(milliseconds: int | None) -> str:
    return "" if milliseconds is None or milliseconds < 0 else duration(milliseconds)


def _words(text: str) -> str:
    return text.lower().replace("_", " ")
