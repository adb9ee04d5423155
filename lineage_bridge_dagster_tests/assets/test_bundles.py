"""Bundles of assets that depend on each other through the op of another bundle."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import pairwise
from typing import Any

import pytest
from dagster import AssetExecutionContext, DagsterInstance, Definitions, MaterializeResult, mem_io_manager

from lineage_bridge_dagster.assets import bundles as bundles_module
from lineage_bridge_dagster.assets.bundles import Defined, bundle_definitions, bundles
from lineage_bridge_dagster.assets.inventory import Asset, build_inventory
from lineage_bridge_dagster.assets.kinds import AssetKind
from lineage_bridge_dagster.component import LineageBridgeComponent
from lineage_bridge_dagster.lineage.model import EdgeType
from lineage_bridge_dagster.specs.names import AssetNames
from lineage_bridge_dagster_tests.assets.location import Location
from lineage_bridge_dagster_tests.assets.world import EAST, REGION, World, world

Build = Callable[..., Location]


def chain_of_mirrors(length: int) -> tuple[Asset, ...]:
    """Topics of which each mirrors the one before it."""
    w = World()
    topics = [w.topic(EAST, f"t{number:02d}") for number in range(length)]
    for source, mirror in pairwise(topics):
        w.edge(source, mirror, EdgeType.TRANSFORMS)
    return build_inventory(w.discovery(), LineageBridgeComponent().get_asset_spec).topics


def test_assets_of_one_op_that_depend_on_each_other_through_another_op_run_in_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ran: list[str] = []

    def materialize(_context: AssetExecutionContext, assets: Sequence[Asset]) -> Iterator[Any]:
        for asset in assets:
            ran.append(asset.node.qualified_name)
            yield MaterializeResult(asset_key=asset.key)

    assets = chain_of_mirrors(20)
    monkeypatch.setattr(bundles_module, "SIZE", 5)
    assert len(bundles("topics", assets)) > 1
    kind = AssetKind("topics", assets, frozenset(), materialize)
    definitions = Definitions(
        assets=bundle_definitions(kind, AssetNames(), LineageBridgeComponent().execute),
        resources={"lineage_io_manager": mem_io_manager},
    )
    with DagsterInstance.ephemeral() as instance:
        assert (
            definitions.resolve_implicit_global_asset_job_def().execute_in_process(instance=instance).success
        )
    assert ran == [asset.node.qualified_name for asset in assets]


def test_a_subclass_wraps_execute(location: Build, instance: DagsterInstance) -> None:
    seen: list[tuple[str, Collection[str]]] = []

    class Watched(LineageBridgeComponent):
        def execute(
            self, context: Any, kind: AssetKind, assets: Sequence[Asset]
        ) -> Iterator[MaterializeResult[Any]]:
            seen.append((kind.name, [asset.key.to_user_string() for asset in assets]))
            yield from super().execute(context, kind, assets)

    built = location(world(), Watched(aws={"region": REGION}))
    assert built.materialize(instance, f"kafka/{EAST}/o.v1").success
    assert seen == [("topics", [f"kafka/{EAST}/o.v1"])]


def test_the_next_load_takes_over_the_definitions_of_the_same_assets_and_calls_its_own_code(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bundles_module, "SIZE", 5)
    ran: list[str] = []

    def kind(assets: Sequence[Asset], load: str, **more: Any) -> AssetKind:
        def materialize(_context: AssetExecutionContext, given: Sequence[Asset]) -> Iterator[Any]:
            ran.append(load)
            yield from (MaterializeResult(asset_key=asset.key) for asset in given)

        return AssetKind("topics", assets, frozenset(), materialize, **more)

    assets, last = chain_of_mirrors(20), dict[str, Defined]()
    execute = LineageBridgeComponent().execute
    first, second, third, other, named = (
        bundle_definitions(given, names, execute, last)
        for given, names in (
            (kind(assets, "first"), AssetNames()),
            (kind(assets, "second"), AssetNames()),
            (kind(assets[:-1], "third"), AssetNames()),
            (kind(assets[:-1], "other", pool="spark"), AssetNames()),
            (kind(assets[:-1], "named", pool="spark"), AssetNames("eu")),
        )
    )
    assert [len(each) for each in (first, second, third, other)] == [4] * 4
    outputs = [
        {id(definition.op.output_defs) for definition in load}
        for load in (first, second, third, other, named)
    ]
    assert outputs[0] == outputs[1]
    assert len(outputs[1] & outputs[2]) == 3
    assert not outputs[2] & outputs[3]
    assert not outputs[3] & outputs[4]
    assert last.keys() == {definition.op.name for definition in named}
    with DagsterInstance.ephemeral() as instance:
        for load in (first, second):
            resources = {"lineage_io_manager": mem_io_manager}
            job = Definitions(load, resources=resources).resolve_implicit_global_asset_job_def()
            assert job.execute_in_process(instance=instance).success
    assert list(dict.fromkeys(ran)) == ["first", "second"]
