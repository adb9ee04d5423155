"""The last commits of tables, read for all tables of a run at once.

A table's materialization is a push of lineage; its last snapshot gives the time of its data.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dagster import AssetExecutionContext

from lineage_bridge_dagster.assets.instance import ComponentInstance, Context
from lineage_bridge_dagster.assets.metadata import CommitMetadata
from lineage_bridge_dagster.assets.run_cache import checked_in_run, selected_in_run
from lineage_bridge_dagster.assets.times import last_updated, timestamp
from lineage_bridge_dagster.catalogs.errors import CallError, NotFoundError
from lineage_bridge_dagster.catalogs.glue.glue_table import GlueTable
from lineage_bridge_dagster.catalogs.glue.reader import GlueReader, read_pages
from lineage_bridge_dagster.catalogs.iceberg.open_catalog import open_catalog
from lineage_bridge_dagster.catalogs.iceberg.snapshots import SnapshotError, SnapshotReader, SnapshotState
from lineage_bridge_dagster.catalogs.iceberg.table_reading import Identifier, read_states
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.lineage.glue_names import GluePlace
from lineage_bridge_dagster.lineage.model import Node
from lineage_bridge_dagster.lineage.nodes import GlueTableNode, IcebergTableNode
from lineage_bridge_dagster.specs.metadata import StandardMetadata

_log = logging.getLogger(__name__)

#: The check that compares a table's last commit with its topic.
FRESH = "table_fresh"

#: The last commit of each table, or why it could not be read, by the table's node id.
Commits = Mapping[str, SnapshotState | LineageBridgeError]

#: The parameter in which writers of Iceberg tables keep the location of the current metadata.
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
    in_glue = [table for table in tables if isinstance(table, GlueTableNode)]
    elsewhere = [table for table in tables if not isinstance(table, GlueTableNode)]
    return {**_in_glue(instance, context, in_glue), **_elsewhere(instance, context, elsewhere)}


def _in_glue(instance: ComponentInstance, context: Context, tables: Sequence[Node]) -> Commits:
    if not tables:
        return {}
    try:
        glue = instance.glue(context)
        client = glue.client()
        snapshots = SnapshotReader(glue.storage_client(instance.spark(context).catalog_config))
        return read_commits(tables, GlueReader(client), snapshots, client.meta.region_name)
    except Exception as error:
        return dict.fromkeys((table.node_id for table in tables), _reason(error, len(tables)))


def _elsewhere(instance: ComponentInstance, context: Context, tables: Sequence[Node]) -> Commits:
    """Read the last commits of tables of REST catalogs, catalog by catalog."""
    by_catalog: dict[str, dict[str, Identifier]] = {}
    for node in tables:
        table = IcebergTableNode.of(node)
        by_catalog.setdefault(table.catalog, {})[node.node_id] = (*table.namespace, table.table_name)
    found: dict[str, SnapshotState | LineageBridgeError] = {}
    for catalog, names in by_catalog.items():
        try:
            states = read_states(open_catalog(instance.spark(context).all_catalogs, catalog), names.values())
        except Exception as error:
            found |= dict.fromkeys(names, _reason(error, len(names)))
        else:
            found |= {node_id: states[name] for node_id, name in names.items()}
    return found


def _reason(error: Exception, tables: int) -> LineageBridgeError:
    if isinstance(error, LineageBridgeError):
        return error
    _log.exception("Reading the last commits of %d tables", tables)
    return LineageBridgeError(
        f"{type(error).__name__}: {error}", hint="This is a bug: the log has the traceback."
    )


def read_commits(
    tables: Iterable[Node], glue: GlueReader, snapshots: SnapshotReader, region: str
) -> dict[str, SnapshotState | LineageBridgeError]:
    """Read each table's last commit; a page of Glue returns the metadata locations of a hundred tables.

    Args:
        region: the region of `glue`; tables of other regions are not looked up.
    """
    found: dict[str, SnapshotState | LineageBridgeError] = {}
    node_ids: dict[GluePlace, list[str]] = {}
    for node in tables:
        table = GlueTableNode.of(node)
        place, home = table.home_place, table.aws_region
        if place is None or (home and home != region):
            found[node.node_id] = CallError(
                f"{node.qualified_name} is not in the Glue catalog of {region}, the only one that is read.",
                hint="Check its freshness in a code location for its region and account.",
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


def commit_metadata(commit: SnapshotState | LineageBridgeError | None) -> dict[str, Any]:
    """Return a table's last commit as metadata, with the time of its last change of rows."""
    if commit is None:
        return {}
    if isinstance(commit, LineageBridgeError):
        return {**CommitMetadata(snapshot=f"could not be read: {commit}")}
    if commit.snapshot_id is None:
        return {**CommitMetadata(snapshot="none yet: the table has no commit")}
    return {
        **CommitMetadata(
            snapshot_id=str(commit.snapshot_id),
            snapshot_operation=commit.operation or "unknown",
            snapshot_time=None if commit.committed_ms is None else timestamp(commit.committed_ms),
            records_before_deletes=commit.total_records if commit.rows is None else None,
            cadence_seconds=None if commit.cadence is None else commit.cadence.interval_ms / 1000,
        ),
        **StandardMetadata(row_count=commit.rows, last_updated_timestamp=last_updated(commit.changed_ms)),
    }


def _read(glue: GlueReader, place: GluePlace) -> GlueTable:
    table = glue.table(place.database, place.table)
    if table is None:
        raise NotFoundError(
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
            hint="Check that Tableflow created this table.",
        )
    return location
