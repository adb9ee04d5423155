"""Bundles of about a hundred assets that share one op, with their checks.

One op per asset is slow to load at ten thousand assets; one op for all puts every output into every run. The
bundle of an asset follows from a hash of its key, so that a new asset changes only one bundle.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from dagster import (
    AssetCheckSpec,
    AssetExecutionContext,
    AssetKey,
    AssetsDefinition,
    Nothing,
)

from lineage_bridge_dagster.assets.inventory import Asset
from lineage_bridge_dagster.assets.kinds import AssetKind, Checks
from lineage_bridge_dagster.dagster_internals.definitions import (
    ASSET_SUBSET_INPUT_PREFIX,
    BundleOp,
    CopiedIn,
    CopiedOut,
    DecoratedOpFunction,
    changed,
    with_compute,
)
from lineage_bridge_dagster.specs import keys
from lineage_bridge_dagster.specs.names import AssetNames

#: Mean number of assets per bundle above which the number of bundles doubles.
SIZE = 100

#: Materializes some assets of a kind.
Execute = Callable[[AssetExecutionContext, AssetKind, Sequence[Asset]], Iterator[Any]]


@dataclass(frozen=True)
class Bundle:
    """Assets of one op, sorted by key."""

    name: str
    assets: tuple[Asset, ...]


def bundles(prefix: str, assets: Sequence[Asset]) -> list[Bundle]:
    """Divide assets into `2^n` bundles, by the leading bits of their keys' hashes.

    The number doubles only when the mean size passes `SIZE`, so a new asset hardly ever moves another.
    """
    bits = 0
    while len(assets) > SIZE << bits:
        bits += 1
    by_number: dict[int, list[Asset]] = {}
    for asset in assets:
        by_number.setdefault(_leading_bits(asset.key, bits), []).append(asset)
    return [
        Bundle(
            f"{prefix}_{number:0{(bits + 3) // 4}x}" if bits else prefix,
            tuple(sorted(by_number[number], key=lambda asset: asset.key)),
        )
        for number in sorted(by_number)
    ]


def _leading_bits(key: AssetKey, bits: int) -> int:
    digest = hashlib.sha256(key.to_user_string().encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") >> (64 - bits)


class Defined(NamedTuple):
    """The definition of a bundle, and what it was made of."""

    bundle: Bundle
    kind: AssetKind
    io_manager: str
    definition: AssetsDefinition

    def is_for(self, bundle: Bundle, kind: AssetKind, names: AssetNames) -> bool:
        """Whether another bundle would have the same definition, but for what its op calls."""
        known, checks = self.kind, self.kind.checks and self.kind.checks.descriptions
        return (
            (known.resources, known.pool, checks, self.io_manager)
            == (kind.resources, kind.pool, kind.checks and kind.checks.descriptions, names.io_manager)
            and len(self.bundle.assets) == len(bundle.assets)
            and all(
                before.spec is now.spec for before, now in zip(self.bundle.assets, bundle.assets, strict=True)
            )
        )


def bundle_definitions(
    kind: AssetKind, names: AssetNames, execute: Execute, last: dict[str, Defined] | None = None
) -> list[AssetsDefinition]:
    """Define the assets of a kind, one op per bundle.

    Args:
        execute: materializes assets.
        last: the definitions of the load before in this process, by the names of their ops, of which those
            of the same assets are taken over. It holds the new ones afterwards.
    """
    last = {} if last is None else last
    before = {name: last.pop(name) for name in [*last] if last[name].kind.name == kind.name}
    found = []
    for bundle in bundles(names.prefixed(kind.name), kind.assets):
        known = before.get(bundle.name)
        if known and known.is_for(bundle, kind, names):
            definition = with_compute(known.definition, _compute(bundle, kind, execute))
        else:
            definition = _definition(bundle, kind, names, execute)
        last[bundle.name] = Defined(bundle, kind, names.io_manager, definition)
        found.append(definition)
    return found


def _compute(
    bundle: Bundle, kind: AssetKind, execute: Execute
) -> Callable[[AssetExecutionContext], Iterator[Any]]:
    """The function of a bundle's op."""

    def _bundle(context: AssetExecutionContext) -> Iterator[Any]:
        yield from _run(context, bundle, kind, execute)

    return _bundle


def _definition(bundle: Bundle, kind: AssetKind, names: AssetNames, execute: Execute) -> AssetsDefinition:
    """Define one op for a bundle; a run may select any subset of its assets and checks.

    Dagster's decorators would name inputs, outputs and checks after their keys, and take `o.v1`, `o-v1` and
    `o_v1` for one. Outputs carry no value; their IO manager loads the assets as inputs of downstream ones.
    """
    outputs = {keys.op_name("out", asset.key.to_user_string()): asset.key for asset in bundle.assets}
    checks = _check_specs(bundle, kind.checks) if kind.checks else {}
    inputs = _inputs(bundle, outputs)

    bundle_op = BundleOp(
        DecoratedOpFunction(_compute(bundle, kind, execute)),
        name=bundle.name,
        ins=dict.fromkeys(inputs, CopiedIn(Nothing)),
        outs={
            **dict.fromkeys(outputs, CopiedOut(Any, is_required=False, io_manager_key=names.io_manager)),
            **dict.fromkeys(checks, CopiedOut(Nothing, is_required=False)),
        },
        required_resource_keys=set(kind.resources),
        pool=kind.pool,
    )
    return AssetsDefinition(
        node_def=bundle_op,
        keys_by_input_name=inputs,
        keys_by_output_name=outputs,
        check_specs_by_output_name=checks,
        specs=[asset.spec for asset in bundle.assets],
        can_subset=True,
    )


def _run(context: AssetExecutionContext, bundle: Bundle, kind: AssetKind, execute: Execute) -> Iterator[Any]:
    """Materialize the selected assets, evaluate the selected checks, and only then raise a failure.

    A table that cannot be pushed is the one whose checks are needed most.
    """
    failure: Exception | None = None
    selected = [asset for asset in bundle.assets if asset.key in context.selected_asset_keys]
    if selected:
        try:
            yield from execute(context, kind, selected)
        except Exception as error:
            failure = error
    if kind.checks is not None:
        checked = {check.asset_key for check in context.selected_asset_check_keys}
        if checked:
            yield from kind.checks.evaluate(
                context, [asset for asset in bundle.assets if asset.key in checked]
            )
    if failure is not None:
        raise failure


def _inputs(bundle: Bundle, outputs: Mapping[str, AssetKey]) -> dict[str, AssetKey]:
    """Return the keys that the bundle's assets depend on, by the hashed names of inputs.

    One asset of the bundle may depend on another through an asset of a different op. Dagster then divides the
    bundle into several steps and passes inputs with this prefix between them.
    """
    own = {key: name for name, key in outputs.items()}
    upstream = sorted({key for asset in bundle.assets for key in asset.deps})
    return {
        ASSET_SUBSET_INPUT_PREFIX + own[key] if key in own else keys.op_name("in", key.to_user_string()): key
        for key in upstream
    }


def _check_specs(bundle: Bundle, checks: Checks) -> dict[str, AssetCheckSpec]:
    """Return the checks of each asset, by the hashed names of their outputs."""
    first = bundle.assets[0].key
    like = [AssetCheckSpec(name, asset=first, description=text) for name, text in checks.descriptions.items()]
    return {
        keys.op_name(check.name, asset.key.to_user_string()): changed(check, asset_key=asset.key)
        for asset in bundle.assets
        for check in like
    }
