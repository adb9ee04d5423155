"""Assets of a discovery: keys that stay apart, cycles, and ksqlDB queries between their topics."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from botocore.client import BaseClient
from dagster import (
    AssetIn,
    AssetKey,
    DagsterInstance,
    Definitions,
    InputContext,
    IOManager,
    OutputContext,
    asset,
)

from lineage_bridge_dagster.assets.inventory import Asset, Include, Inventory, build_inventory
from lineage_bridge_dagster.lineage import ids
from lineage_bridge_dagster.lineage.coverage import Scope, ScopeReport, Status
from lineage_bridge_dagster.lineage.model import Edge, EdgeType, Node, NodeType
from lineage_bridge_dagster.lineage.selection import ClusterSelection
from lineage_bridge_dagster.spark.io.source import AssetSource
from lineage_bridge_dagster.specs.translator import LineageTranslator
from lineage_bridge_dagster_tests.assets.location import Location, create_tables, latest
from lineage_bridge_dagster_tests.assets.world import EAST, ENV, WEST, World, world

Build = Callable[..., Location]

SCOPE = Scope("ksqldb", ENV, "lksqlc-9")


def test_a_ksqldb_query_is_an_asset_between_its_topics() -> None:
    world = World()
    source, sink = world.topic(EAST, "clicks"), world.topic(EAST, "checkout-clicks")
    query = ids.ksqldb_query_id(ENV, SCOPE.place, "CSAS_CHECKOUT_3")
    world.reports.append(ScopeReport(SCOPE, Status.COMPLETE))
    world.graph.add_node(
        Node(
            node_id=query,
            system="confluent",
            node_type=NodeType.KSQLDB_QUERY,
            qualified_name="CSAS_CHECKOUT_3",
            display_name="CSAS_CHECKOUT_3",
            environment_id=ENV,
            environment_name="prod",
            cluster_id=SCOPE.place,
            cluster_name="streams",
            attributes={"sql": "CREATE STREAM CHECKOUT AS SELECT * FROM CLICKS;", "scope": str(SCOPE)},
        )
    )
    attributes = {"scope": str(SCOPE)}
    world.graph.add_edge(Edge(source, query, EdgeType.CONSUMES, attributes=attributes))
    world.graph.add_edge(Edge(query, sink, EdgeType.PRODUCES, attributes=attributes))
    inventory = build_inventory(world.discovery(), LineageTranslator().get_asset_spec, Include())
    key = AssetKey(["ksqldb", SCOPE.place, "CSAS_CHECKOUT_3"])
    external = {asset.key: asset for asset in inventory.external}
    assert set(external[key].deps) == {AssetKey(["kafka", EAST, "clicks"])}
    assert "ksqldb" in external[key].spec.kinds
    topics = {asset.key: asset for asset in inventory.topics}
    assert key in topics[AssetKey(["kafka", EAST, "checkout-clicks"])].deps


def deps_of_a_copied_topic(*, processes: bool) -> set[str]:
    """The dependencies of a topic that a connector copies from one of its two datasets."""
    w = World()
    connector, dataset = w.connector(EAST, "cdc", "PostgresCdcSourceV2"), w.dataset("postgres://pg:5432/s.a")
    w.edge(dataset, connector, EdgeType.CONSUMES)
    w.edge(w.dataset("postgres://pg:5432/s.b"), connector, EdgeType.CONSUMES)
    w.edge(connector, w.topic(EAST, "a"), EdgeType.PRODUCES, inputs=[dataset])
    inventory = build_inventory(
        w.discovery(), LineageTranslator().get_asset_spec, Include(processes=processes)
    )
    if processes:
        key = AssetKey(["connect", EAST, "cdc"])
        assert len(inventory.deps_of[key]) == 2
    return {key.to_user_string() for key in inventory.deps_of[AssetKey(["kafka", EAST, "a"])]}


def test_a_process_depends_on_all_its_inputs_and_one_that_is_no_asset_brings_those_of_its_output() -> None:
    assert deps_of_a_copied_topic(processes=True) == {"connect/lkc-east1/cdc"}
    (dataset,) = deps_of_a_copied_topic(processes=False)
    assert dataset.endswith("s.a")


def test_code_locations_of_a_cluster_each_share_no_asset_that_can_be_materialized() -> None:
    def inventory_of(*clusters: str) -> Inventory:
        found = world(clusters).discovery()
        selected = ClusterSelection(clusters, None).of(found.graph)
        return build_inventory(replace(found, graph=selected), LineageTranslator().get_asset_spec)

    def keys(assets: Iterable[Asset]) -> set[AssetKey]:
        return {asset.key for asset in assets}

    whole, east, west = inventory_of(), inventory_of(EAST), inventory_of(WEST)
    assert not keys(east.materializable) & keys(west.materializable)
    assert keys(east.materializable) | keys(west.materializable) == keys(whole.materializable)
    # The mirror's source is seen from both, and both have the same chain of it.
    assert AssetKey(["kafka", EAST, "Orders"]) in keys(west.external)
    for found in (east, west):
        for table in found.tables:
            chain = found.view.upstream.distances(table.node.node_id)
            assert chain == whole.view.upstream.distances(table.node.node_id)


def test_a_topic_of_another_cluster_is_loaded_as_one_of_the_own(location: Build) -> None:
    w = world([WEST])
    w.graph = ClusterSelection([WEST], None).of(w.graph)
    loaded: dict[AssetKey, AssetSource] = {}

    class Recording(IOManager):
        def load_input(self, context: InputContext) -> int:
            assert context.upstream_output is not None
            loaded[context.asset_key] = AssetSource.from_metadata(context.upstream_output.definition_metadata)
            return 0

        def handle_output(self, context: OutputContext, obj: object) -> None:
            pass

    names = [["kafka", EAST, "Orders"], ["kafka", WEST, "Orders"]]

    @asset(ins={"east": AssetIn(names[0]), "west": AssetIn(names[1])}, io_manager_key="lineage_io_manager")
    def report(east: int, west: int) -> None:
        pass

    built = location(w, lineage_io_manager=Recording())
    both = Definitions.merge(built.definitions, Definitions(assets=[report]))
    result = both.resolve_implicit_global_asset_job_def().execute_in_process(asset_selection=[report.key])
    assert result.success
    assert {key.path[1]: (found.topic, found.cluster_id) for key, found in loaded.items()} == {
        EAST: ("Orders", EAST),
        WEST: ("Orders", WEST),
    }


def test_two_way_mirrors_load(location: Build) -> None:
    built = location(world())
    assert built.parents("kafka/lkc-west1/Orders") == {"kafka/lkc-east1/Orders"}
    assert built.parents("kafka/lkc-east1/Orders") == set()


def test_names_that_differ_only_in_punctuation_load_and_run_together(
    location: Build, glue: BaseClient, instance: DagsterInstance
) -> None:
    w = world()
    create_tables(glue, w)
    built = location(w)
    fan_out = built.parents("flink/env-abc123/us-east-1/fan-out")
    assert fan_out == {f"kafka/{EAST}/{name}" for name in ("o.v1", "o-v1", "o_v1")}
    names = ("o.v1", "o-v1", "o_v1")
    keys = [f"{kind}/{EAST}/{name}" for kind in ("kafka", "upstream_chain", "glue") for name in names]
    assert built.materialize(instance, *keys).success
    assert all(latest(instance, key) for key in keys)
