"""What Glue tables last committed: their snapshot, its time and their rows, for all tables of a run at once.

A table's materialization is a push of lineage; the data's own time is that of its last snapshot.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dagster import AssetExecutionContext

from lineage_bridge_dagster.assets.instance import ComponentInstance, Context
from lineage_bridge_dagster.assets.run_cache import checked_in_run, selected_in_run
from lineage_bridge_dagster.assets.times import last_updated, now_ms, timestamp
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.glue.errors import GlueError, GlueNotFoundError
from lineage_bridge_dagster.glue.reader import GlueReader, read_pages
from lineage_bridge_dagster.glue.tables import GlueTable
from lineage_bridge_dagster.iceberg.snapshots import SnapshotError, SnapshotReader, TableState
from lineage_bridge_dagster.lineage.glue_names import GluePlace
from lineage_bridge_dagster.lineage.model import Node
from lineage_bridge_dagster.lineage.nodes import GlueTableNode

_log = logging.getLogger(__name__)

#: The check that compares a table's last commit with its topic.
FRESH = "table_fresh"

#: What a table last committed, or why that is not known, by the table's node id.
Commits = Mapping[str, TableState | LineageBridgeError]

#: The parameter in which every writer of a Glue catalog keeps the place of a table's current metadata.
_LOCATION = "metadata_location"


def commits_of_run(instance: ComponentInstance, context: AssetExecutionContext) -> Commits:
    """Return the last commits of the tables that the run pushes or checks for freshness; read once."""
    inventory = instance.inventory

    def read() -> Commits:
        wanted = {
            *selected_in_run(context, inventory.tables),
            *checked_in_run(context, inventory.tables, FRESH),
        }
        tables = [asset.node for asset in inventory.tables if asset.node.node_id in wanted]
        context.log.info("Reading the last commits of %d tables", len(tables))
        return last_commits(instance, context, tables)

    return instance.cache.get(context.run.run_id, "commits", read)


def last_commits(instance: ComponentInstance, context: Context, tables: Sequence[Node]) -> Commits:
    """Read the last commit of each table, or why it cannot be read.

    Nothing is raised: a push that succeeded must not fail for this.
    """
    try:
        glue = instance.glue(context)
        client = glue.client()
        snapshots = SnapshotReader(glue.storage_client(instance.spark(context).catalog_config))
        return read_commits(tables, GlueReader(client), snapshots, client.meta.region_name)
    except LineageBridgeError as error:
        reason = error
    except Exception as error:
        _log.exception("Reading the last commits of %d tables", len(tables))
        reason = LineageBridgeError(
            f"{type(error).__name__}: {error}", hint="This is a bug: the log has the traceback."
        )
    return {table.node_id: reason for table in tables}


def read_commits(
    tables: Iterable[Node], glue: GlueReader, snapshots: SnapshotReader, region: str
) -> dict[str, TableState | LineageBridgeError]:
    """Each table's last commit: a page of Glue tells of a hundred tables where their metadata is.

    Args:
        region: the region that `glue` asks; a table of another one is not looked for there.
    """
    found: dict[str, TableState | LineageBridgeError] = {}
    node_ids: dict[GluePlace, list[str]] = {}
    for node in tables:
        table = GlueTableNode.of(node)
        place, home = table.home_place, table.aws_region
        if place is None or (home and home != region):
            found[node.node_id] = GlueError(
                f"{node.qualified_name} is not in the Glue catalog of {region}, which is the one asked.",
                hint="See its freshness from a code location of its own region and account.",
            )
            continue
        node_ids.setdefault(place, []).append(node.node_id)

    locations: dict[str, str] = {}
    for place, page_table in read_pages(glue, node_ids):
        try:
            location = _metadata_location(page_table or _read(glue, place))
        except LineageBridgeError as error:
            found.update(dict.fromkeys(node_ids[place], error))
        else:
            locations.update(dict.fromkeys(node_ids[place], location))
    return {**found, **snapshots.read(locations)}


def commit_metadata(commit: TableState | LineageBridgeError | None) -> dict[str, Any]:
    """A table's last commit as metadata; `dagster/last_updated_timestamp` is when its rows last changed."""
    if commit is None:
        return {}
    if isinstance(commit, LineageBridgeError):
        return {"lineage_bridge/snapshot": f"could not be read: {commit}"}
    if commit.snapshot_id is None:
        return {"lineage_bridge/snapshot": "none yet: nothing was committed to the table"}
    metadata: dict[str, Any] = {
        # As text: JavaScript, and so the UI, would round an integer of this size.
        "lineage_bridge/snapshot_id": str(commit.snapshot_id),
        "lineage_bridge/snapshot_operation": commit.operation or "unknown",
    }
    if commit.committed_ms is not None:
        metadata["lineage_bridge/snapshot_time"] = timestamp(commit.committed_ms)
    metadata |= last_updated(commit.changed_ms, now_ms())
    if commit.rows is not None:
        metadata["dagster/row_count"] = commit.rows
    elif commit.total_records is not None:
        metadata["lineage_bridge/records_before_deletes"] = commit.total_records
    return metadata


def _read(glue: GlueReader, place: GluePlace) -> GlueTable:
    table = glue.table(place.database, place.table)
    if table is None:
        raise GlueNotFoundError(
            f"Glue has no table {place.dotted}.",
            hint="It was dropped, or Tableflow has not synced it yet: run the `refresh` job.",
        )
    return table


def _metadata_location(table: GlueTable) -> str:
    location = str(table.parameters.get(_LOCATION) or "")
    if not location:
        raise SnapshotError(
            f"{table.place.dotted} has no parameter {_LOCATION}: it is not an Iceberg table, or has no "
            "commit yet.",
            hint="Check that Tableflow made this table.",
        )
    return location
