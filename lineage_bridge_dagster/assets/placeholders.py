"""Placeholders for assets that the code location's own assets load and that no discovery has found.

Dagster refuses a code location with an input that is not an asset. Without its refresh job and sensor, which
a first discovery needs, such a location could never load; nor would it load in CI, or after a topic is
deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from dagster import AssetKey, AssetsDefinition, AssetSpec, Definitions, SourceAsset

from lineage_bridge_dagster.specs.metadata import LineageMetadata
from lineage_bridge_dagster.specs.names import AssetNames
from lineage_bridge_dagster.text import sentence


def placeholders(
    definitions: Iterable[Definitions], names: AssetNames, is_ours: Callable[[AssetKey], bool]
) -> list[AssetSpec]:
    """Return an external asset for each key that an input names and that the definitions lack.

    Args:
        definitions: All of the code location.
        names: The names of the instance whose discoveries find the assets.
        is_ours: Whether such a discovery may have an asset of a key. Other keys stay errors.
    """
    found: set[AssetKey] = set()
    loaded: set[AssetKey] = set()
    for each in definitions:
        for assets in each.assets or ():
            if isinstance(assets, AssetsDefinition):
                found.update(assets.keys)
                loaded.update(_loaded(assets))
            elif isinstance(assets, AssetSpec | SourceAsset):
                found.add(assets.key)
    return [_placeholder(key, names) for key in sorted(loaded - found) if is_ours(key)]


def _loaded(assets: AssetsDefinition) -> Iterator[AssetKey]:
    """The keys of inputs that an IO manager loads; Dagster itself adds those that are only waited for."""
    if assets.is_executable:
        for name, key in assets.keys_by_input_name.items():
            if not assets.node_def.input_def_named(name).dagster_type.is_nothing:
                yield key


def _placeholder(key: AssetKey, names: AssetNames) -> AssetSpec:
    reason = (
        f"An asset loads it, and the last discovery does not have it: either none has run yet, or "
        f"{key.to_user_string()} is misspelt, or it is gone from Confluent or its catalog"
    )
    step = f"Run the {names.refresh_job} job, which discovers it; else correct the key of the input"
    return AssetSpec(
        key,
        description=f"Not discovered. {sentence(reason)} {sentence(step)}",
        metadata=dict(LineageMetadata(not_discovered=reason, next_step=step)),
    ).with_io_manager_key(names.io_manager)
