"""Bundles of about a hundred assets that share one op, with the checks of these assets.

One asset to an op is slow to load at ten thousand; one op for all puts every output into every run. An
asset's bundle follows from a hash of its key, so that a new one changes one bundle alone.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dagster import (
    AssetCheckSpec,
    AssetExecutionContext,
    AssetKey,
    AssetsDefinition,
    In,
    Nothing,
    Out,
    op,
)

from lineage_bridge_dagster.assets.inventory import Asset
from lineage_bridge_dagster.assets.kinds import AssetKind, Checks
from lineage_bridge_dagster.dagster_internals import ASSET_SUBSET_INPUT_PREFIX
from lineage_bridge_dagster.specs import keys

#: Assets to a bundle, about: bundles double when the mean passes it.
SIZE = 100

Execute = Callable[[AssetExecutionContext, Sequence[Asset]], Iterator[Any]]


@dataclass(frozen=True)
class Bundle:
    """Assets of one op, sorted by key."""

    name: str
    assets: tuple[Asset, ...]


def bundles(prefix: str, assets: Sequence[Asset]) -> list[Bundle]:
    """Cut assets into `2^n` bundles, by the leading bits of their keys' hashes.

    The number only doubles when the mean size passes `SIZE`, so a new asset hardly ever moves another.
    """
    bits = 0
    while len(assets) > SIZE << bits:
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


def bundle_definitions(
    kind: AssetKind, prefix: str, execute: Execute, io_manager_key: str
) -> list[AssetsDefinition]:
    """Cut the assets of a kind into bundles, each one op.

    Args:
        prefix: of the ops' names.
        execute: materializes some assets of a bundle.
        io_manager_key: of the IO manager that loads these assets as inputs of downstream ones.
    """
    return [_definition(bundle, kind, execute, io_manager_key) for bundle in bundles(prefix, kind.assets)]


def _definition(bundle: Bundle, kind: AssetKind, execute: Execute, io_manager_key: str) -> AssetsDefinition:
    """Define one op for a bundle, of which any subset of assets and of checks can be run.

    Not by Dagster's decorators, which name inputs, outputs and checks after their keys: `o.v1`, `o-v1` and
    `o_v1` would become one. Outputs carry no value, so no IO manager stores one.
    """
    outputs = {keys.op_name("out", asset.key.to_user_string()): asset.key for asset in bundle.assets}
    checks = _check_specs(bundle, kind.checks) if kind.checks else {}
    inputs = _inputs(bundle, outputs)

    @op(
        name=bundle.name,
        ins=dict.fromkeys(inputs, In(Nothing)),
        out={
            **dict.fromkeys(outputs, Out(is_required=False, io_manager_key=io_manager_key)),
            **dict.fromkeys(checks, Out(Nothing, is_required=False)),
        },
        required_resource_keys=set(kind.resources),
    )
    def _bundle(context: AssetExecutionContext) -> Iterator[Any]:
        yield from _run(context, bundle, execute, kind.checks)

    return AssetsDefinition(
        node_def=_bundle,
        keys_by_input_name=inputs,
        keys_by_output_name=outputs,
        check_specs_by_output_name=checks,
        specs=[asset.spec.replace_attributes(deps=asset.deps) for asset in bundle.assets],
        can_subset=True,
    )


def _run(
    context: AssetExecutionContext, bundle: Bundle, execute: Execute, checks: Checks | None
) -> Iterator[Any]:
    """Materialize what was selected, then evaluate the checks, and only then fail if that failed: a check
    must tell of a bad table, not be missing for it."""
    failure: Exception | None = None
    selected = [asset for asset in bundle.assets if asset.key in context.selected_asset_keys]
    if selected:
        try:
            yield from execute(context, selected)
        except Exception as error:
            failure = error
    if checks is not None:
        asked = {check.asset_key for check in context.selected_asset_check_keys}
        if asked:
            yield from checks.evaluate(context, [asset for asset in bundle.assets if asset.key in asked])
    if failure is not None:
        raise failure


def _inputs(bundle: Bundle, outputs: Mapping[str, AssetKey]) -> dict[str, AssetKey]:
    """By hashed name, the keys that the assets depend on.

    One asset of the bundle may depend on another by way of an asset elsewhere: Dagster then cuts the bundle
    into steps, and asks for inputs of this prefix between them.
    """
    own = {key: name for name, key in outputs.items()}
    above = sorted({key for asset in bundle.assets for key in asset.deps})
    return {
        ASSET_SUBSET_INPUT_PREFIX + own[key] if key in own else keys.op_name("in", key.to_user_string()): key
        for key in above
    }


def _check_specs(bundle: Bundle, checks: Checks) -> dict[str, AssetCheckSpec]:
    """By hashed name of its output, each check of each asset."""
    return {
        keys.op_name(name, asset.key.to_user_string()): AssetCheckSpec(
            name, asset=asset.key, description=description
        )
        for asset in bundle.assets
        for name, description in checks.descriptions.items()
    }
