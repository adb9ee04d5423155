"""Bundles: assets of one op that depend on each other by way of another op's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from dagster import AssetExecutionContext, DagsterInstance, Definitions, MaterializeResult

from lineage_bridge_dagster.assets.bundles import bundles, definition
from lineage_bridge_dagster.assets.inventory import Asset, build_inventory
from lineage_bridge_dagster.component import LineageBridgeComponent
from lineage_bridge_dagster.lineage.model import EdgeType
from lineage_bridge_dagster_tests.assets.world import EAST, World


def row_of_mirrors(length: int) -> tuple[Asset, ...]:
    """Topics that are each a mirror of the one before."""
    w = World()
    topics = [w.topic(EAST, f"t{number:02d}") for number in range(length)]
    for source, mirror in pairwise(topics):
        w.edge(source, mirror, EdgeType.TRANSFORMS)
    return build_inventory(w.discovery(), LineageBridgeComponent().get_asset_spec).topics


def test_assets_of_one_op_that_depend_on_each_other_through_another_op_run_in_order() -> None:
    ran: list[str] = []

    def execute(_context: AssetExecutionContext, assets: Sequence[Asset]) -> Iterator[Any]:
        for asset in assets:
            ran.append(asset.node.qualified_name)
            yield MaterializeResult(asset_key=asset.key)

    assets = row_of_mirrors(20)
    cut = bundles("topics", assets, size=5)
    assert len(cut) > 1
    made = Definitions(assets=[definition(each, execute, io_manager_key="io_manager") for each in cut])
    with DagsterInstance.ephemeral() as instance:
        assert made.resolve_implicit_global_asset_job_def().execute_in_process(instance=instance).success
    assert ran == [asset.node.qualified_name for asset in assets]
