"""The last commits of a catalog's tables, from the catalog's answers alone: no table file is read."""

from __future__ import annotations

import json
from collections.abc import Collection
from functools import partial
from typing import TYPE_CHECKING

from lineage_bridge_dagster.catalogs.concurrently import answers
from lineage_bridge_dagster.catalogs.errors import CallError
from lineage_bridge_dagster.catalogs.iceberg.snapshots import SnapshotError, SnapshotState
from lineage_bridge_dagster.catalogs.iceberg.table_reading import Identifier, open_table
from lineage_bridge_dagster.errors import LineageBridgeError

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog


def read_states(
    catalog: Catalog, tables: Collection[Identifier]
) -> dict[Identifier, SnapshotState | LineageBridgeError]:
    """Read the state of many tables, one call for each; an error is returned in place of the state."""

    states = answers(partial(table_state, catalog), tables, (CallError, SnapshotError), max_concurrency=8)
    return dict(zip(tables, states, strict=True))


def table_state(catalog: Catalog, name: Identifier) -> SnapshotState:
    """Read the state of one table.

    Raises:
        CallError: The catalog did not return the table.
        SnapshotError: Its metadata is malformed.
    """
    return SnapshotState.parse(json.loads(open_table(catalog, name).metadata.model_dump_json()))
