"""The data versions of the tables' last materializations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dagster import AssetKey, DagsterInstance

from lineage_bridge_dagster.dagster_internals import DATA_VERSION_TAG


def pushed_versions(instance: DagsterInstance, keys: Sequence[AssetKey]) -> Mapping[AssetKey, str | None]:
    """The data version of each asset's last materialization; None if there is none."""
    found: dict[AssetKey, str | None] = dict.fromkeys(keys)
    for record in instance.get_asset_records(keys):
        event = record.asset_entry.last_materialization
        if event is not None and event.asset_materialization is not None:
            tags = event.asset_materialization.tags or {}
            found[record.asset_entry.asset_key] = tags.get(DATA_VERSION_TAG)
    return found
