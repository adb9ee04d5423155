"""The data versions of the tables' last materializations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from dagster import AssetKey, DagsterInstance

from lineage_bridge_dagster.dagster_internals.definitions import DATA_VERSION_TAG
from lineage_bridge_dagster.specs.keys import tag_key

#: Tag of a materialization by a push with options of its own: the data version that the component's settings
#: would have given. Such a push counts as the table's push until its lineage or those settings change.
CONFIGURED_VERSION_TAG = tag_key("configured_version")


class Written(NamedTuple):
    """What a table's last push really wrote, with the options that it had.

    Attributes:
        at: Unix time in seconds of its materialization.
    """

    version: str | None
    at: float


def pushed_versions(instance: DagsterInstance, keys: Sequence[AssetKey]) -> Mapping[AssetKey, str | None]:
    """The data version under the component's settings that each asset was last pushed for.

    None if there is no materialization. What the last push really wrote differs if it had its own options.
    """
    found: dict[AssetKey, str | None] = dict.fromkeys(keys)
    for key, tags, _ in _materializations(instance, keys):
        found[key] = tags.get(CONFIGURED_VERSION_TAG, tags.get(DATA_VERSION_TAG))
    return found


def written_versions(instance: DagsterInstance, keys: Sequence[AssetKey]) -> Mapping[AssetKey, Written]:
    """What each asset's last push wrote; nothing for an asset without a materialization."""
    return {
        key: Written(tags.get(DATA_VERSION_TAG), at) for key, tags, at in _materializations(instance, keys)
    }


def _materializations(
    instance: DagsterInstance, keys: Sequence[AssetKey]
) -> Iterator[tuple[AssetKey, Mapping[str, str], float]]:
    """Yield the tags and the Unix time of each asset's last materialization, if there is one."""
    for record in instance.get_asset_records(keys):
        event = record.asset_entry.last_materialization
        if event is not None and event.asset_materialization is not None:
            yield record.asset_entry.asset_key, event.asset_materialization.tags or {}, event.timestamp
