"""Bundles of about a hundred assets that share one op.

One asset to an op is slow to load at ten thousand; one op for all puts every output into every run. An
asset's bundle follows from a hash of its key, so that a new one changes one bundle alone.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dagster import AssetExecutionContext, AssetIn, AssetKey, AssetOut, AssetsDefinition, Nothing, multi_asset

from lineage_bridge_dagster import keys
from lineage_bridge_dagster.assets.inventory import Asset

#: Assets to a bundle, about: bundles double when the mean passes it.
SIZE = 100

Execute = Callable[[AssetExecutionContext, Sequence[Asset]], Iterator[Any]]


@dataclass(frozen=True)
class Bundle:
    """Assets of one op, sorted by key."""

    name: str
    assets: tuple[Asset, ...]


def bundles(prefix: str, assets: Sequence[Asset], size: int = SIZE) -> list[Bundle]:
    """Cut assets into `2^n` bundles, by the leading bits of their keys' hashes.

    The number only doubles when the mean size passes `size`, so a new asset hardly ever moves another.
    """
    bits = 0
    while len(assets) > size << bits:
        bits += 1
    found: dict[int, list[Asset]] = {}
    for asset in assets:
        found.setdefault(_leading_bits(asset.key, bits), []).append(asset)
    return [
        Bundle(
            f"{prefix}_{number:0{(bits + 3) // 4}x}" if bits else prefix,
            tuple(sorted(found[number], key=lambda asset: asset.key)),
        )
        for number in sorted(found)
    ]


def _leading_bits(key: AssetKey, bits: int) -> int:
    digest = hashlib.sha256(key.to_user_string().encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") >> (64 - bits)


def definition(
    bundle: Bundle,
    execute: Execute,
    *,
    io_manager_key: str | None = None,
    required_resource_keys: frozenset[str] = frozenset(),
    pool: str | None = None,
    op_tags: Mapping[str, str] | None = None,
) -> AssetsDefinition:
    """One `multi_asset` for a bundle, of which any subset can be materialized.

    Outputs and inputs are bound by hashed names: Dagster would turn `o.v1`, `o-v1` and `o_v1` into one.
    Outputs carry no value, so no IO manager is asked to store one; it is still named on them, so that a
    downstream asset can load what they stand for.
    """
    own = {asset.key: keys.op_name("out", asset.key.to_user_string()) for asset in bundle.assets}
    by_name = {own[asset.key]: asset for asset in bundle.assets}
    above = sorted({key for asset in bundle.assets for key in asset.deps} - own.keys())

    @multi_asset(
        name=bundle.name,
        outs={
            name: AssetOut.from_spec(asset.spec, is_required=False, io_manager_key=io_manager_key)
            for name, asset in by_name.items()
        },
        ins={
            keys.op_name("in", key.to_user_string()): AssetIn(key=key, dagster_type=Nothing) for key in above
        },
        internal_asset_deps={name: set(asset.deps) for name, asset in by_name.items()},
        can_subset=True,
        required_resource_keys=set(required_resource_keys),
        pool=pool,
        op_tags=op_tags,
    )
    def _bundle(context: AssetExecutionContext) -> Iterator[Any]:
        selected = context.selected_asset_keys
        yield from execute(context, [asset for asset in bundle.assets if asset.key in selected])

    return _bundle
