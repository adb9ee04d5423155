"""A reload takes over what did not change, and makes exactly what a first load makes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from dagster import AssetKey, AssetSpec

from lineage_bridge_dagster import component
from lineage_bridge_dagster.assets.inventory import Asset, GetAssetSpec, Include, Inventory, build_inventory
from lineage_bridge_dagster.assets.settings import IncludeConfig
from lineage_bridge_dagster.catalogs.settings.yaml_sections import PushConfig
from lineage_bridge_dagster.component import LineageBridgeComponent
from lineage_bridge_dagster.lineage import graph_json, ids
from lineage_bridge_dagster.lineage.columns import (
    COLUMN_LINEAGE,
    KEY_COLUMNS,
    Column,
    ColumnFlow,
    ColumnInput,
    How,
    to_attribute,
)
from lineage_bridge_dagster.lineage.coverage import Coverage, Status
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.graph_changes import dependent
from lineage_bridge_dagster.lineage.model import Edge, EdgeType, Graph, Node, NodeType
from lineage_bridge_dagster.specs.graph_view import NodeContext, Role
from lineage_bridge_dagster.specs.translator import LineageTranslator
from lineage_bridge_dagster_tests.assets.world import EAST, ENV, WEST, world

DEFAULT = LineageTranslator().get_asset_spec


def topic(name: str, cluster: str = EAST) -> str:
    return ids.topic_id(ENV, cluster, name)


@cache
def discovery() -> Discovery:
    """The world with all cases, and columns that flow through it."""
    w = world()
    graph = w.graph
    for name in ("shop.public.orders", "customers", "o.v1", "Orders"):
        fields = [{"name": "id", "type": "string"}, {"name": "total", "type": "int"}]
        schema = Node(
            node_id=ids.schema_id(ENV, name),
            system="confluent",
            node_type=NodeType.SCHEMA,
            qualified_name=f"{name}-value",
            attributes={"fields": fields},
        )
        graph.add_node(schema)
        w.edge(topic(name), schema.node_id, EdgeType.HAS_SCHEMA)
        at = topic(name)
        graph.nodes[at] = graph.nodes[at].with_attributes(schema_fields=fields, **{KEY_COLUMNS: ["id"]})
    flows = [
        ColumnFlow(
            Column(topic("o.v1"), name),
            tuple(ColumnInput(Column(topic(source), name), How.IDENTITY) for source in sources),
        )
        for name, sources in (("id", ["shop.public.orders", "customers"]), ("total", ["shop.public.orders"]))
    ]
    job = next(node for node in graph.nodes.values() if node.qualified_name == "enrich-orders")
    graph.nodes[job.node_id] = job.with_attributes(**{COLUMN_LINEAGE: to_attribute(flows)[0]})
    return w.discovery()


def later(found: Discovery, *, without: Any = None, **changed: Any) -> Discovery:
    """The next discovery of the same things, each of which is seen again."""
    at = "2027-01-01T00:00:00Z"
    nodes = {key: replace(node, last_seen=at) for key, node in found.graph.nodes.items() if key != without}
    edges = {key: replace(edge, last_seen=at) for key, edge in found.graph.edges.items() if key != without}
    graph = Graph()
    graph.nodes, graph.edges = nodes, edges
    return replace(found, graph=graph, discovered_at=at, **changed)


def with_entry(entry: Node | Edge) -> Discovery:
    """The next discovery, in which this entry is another or new."""
    found = later(discovery())
    if isinstance(entry, Node):
        found.graph.nodes[entry.node_id] = entry
    else:
        found.graph.edges[entry.key] = entry
    return found


def changes() -> Iterator[Discovery]:
    """Each node and each edge changed and gone, and an edge more from each node to each other of its kind."""
    graph = discovery().graph
    for node in graph.nodes.values():
        yield later(discovery(), without=node.node_id)
        yield with_entry(replace(node, display_name="renamed", qualified_name="renamed"))
        yield with_entry(
            node.with_attributes(
                phase="FAILED",
                state="FAILED",
                partitions=True,
                schema_fields=[],
                columns=[],
                column_lineage=[],
            )
        )
    for edge in graph.edges.values():
        yield later(discovery(), without=edge.key)
        yield with_entry(replace(edge, confidence=0.5, attributes={"evidence": "inferred", "inputs": []}))
        yield with_entry(Edge(edge.dst_id, edge.src_id, edge.edge_type))


def assets(inventory: Inventory) -> dict[tuple[str, Role], Asset]:
    return {
        (asset.node.node_id, asset.role): asset for asset in (*inventory.materializable, *inventory.external)
    }


def content(inventory: Inventory) -> dict[tuple[str, Role], Any]:
    return {key: (asset.spec, asset.deps) for key, asset in assets(inventory).items()}


def taken_over(before: Inventory, after: Inventory) -> set[tuple[str, Role]]:
    known = assets(before)
    return {key for key, asset in assets(after).items() if key in known and known[key].spec is asset.spec}


def reloaded(
    found: Discovery, get_asset_spec: GetAssetSpec = DEFAULT, *, keeps_specs: bool = True, **include: bool
) -> tuple[Inventory, Inventory, Inventory]:
    """The inventory before, the next one after it, and the next one as a first load makes it."""
    before = build_inventory(discovery(), get_asset_spec, keeps_specs=keeps_specs)
    shown = Include(**include)
    after = build_inventory(found, get_asset_spec, shown, before, keeps_specs=keeps_specs)
    return before, after, build_inventory(found, get_asset_spec, shown, keeps_specs=keeps_specs)


def test_all_is_taken_over_when_it_was_only_seen_again() -> None:
    before, after, fresh = reloaded(later(discovery()))
    assert taken_over(before, after) == assets(before).keys()
    assert content(after) == content(fresh)


def test_whatever_changes_a_reload_makes_what_a_first_load_makes() -> None:
    before = build_inventory(discovery(), DEFAULT, keeps_specs=True)
    kept = total = 0
    for found in changes():
        after = build_inventory(found, DEFAULT, None, before, keeps_specs=True)
        assert content(after) == content(build_inventory(found, DEFAULT))
        kept += len(taken_over(before, after))
        total += len(assets(after))
    assert total * 0.3 < kept < total


def test_what_one_table_gains_leaves_the_assets_beside_it() -> None:
    found = with_entry(Node(node_id="t", node_type=NodeType.KAFKA_TOPIC, qualified_name="t", cluster_id=WEST))
    found.graph.add_edge(Edge(topic("customers"), "t", EdgeType.TRANSFORMS))
    before, after, fresh = reloaded(found)
    assert content(after) == content(fresh)
    missing = {node_id for node_id, _ in assets(before).keys() - taken_over(before, after)}
    assert missing == dependent(found.graph, ["t", topic("customers")]) & before.key_of.keys()
    assert len(missing) == 16 < len(before.key_of)


def denied() -> Discovery:
    coverage = Coverage()
    for each in discovery().coverage:
        coverage.add(replace(each, status=Status.DENIED, reason="No.") if each.scope.api == "flink" else each)
    return later(discovery(), coverage=coverage)


def test_a_scope_that_can_no_longer_be_read_shows_everywhere() -> None:
    before, after, fresh = reloaded(denied())
    assert content(after) == content(fresh) != content(before)
    assert not taken_over(before, after)


def test_another_selection_of_nodes_changes_everything() -> None:
    before, after, fresh = reloaded(later(discovery()), processes=False)
    assert content(after) == content(fresh) != content(before)
    assert not taken_over(before, after)


class Hooks:
    """Users' translations, which read what nobody else sees."""

    def __init__(self) -> None:
        self.word = "one"

    def owners(self, node: Node, context: NodeContext) -> AssetSpec:
        return DEFAULT(node, context).replace_attributes(owners=[f"team:{self.word}"])

    def key(self, node: Node, context: NodeContext) -> AssetSpec:
        spec = DEFAULT(node, context)
        return spec.replace_attributes(key=spec.key.with_prefix(self.word))

    def in_place(self, node: Node, context: NodeContext) -> AssetSpec:
        spec: Any = DEFAULT(node, context)
        spec.metadata[self.word] = self.word
        spec.tags[self.word] = "yes"
        return spec

    def node(self, node: Node, context: NodeContext) -> AssetSpec:
        return DEFAULT(replace(node, cluster_name=self.word), context)

    def context(self, node: Node, context: NodeContext) -> AssetSpec:
        return DEFAULT(node, replace(context, keys={}) if self.word == "two" else context)

    def sometimes(self, node: Node, context: NodeContext) -> AssetSpec:
        return AssetSpec(DEFAULT(node, context).key) if self.word == "two" else DEFAULT(node, context)


@pytest.mark.parametrize("name", [name for name in vars(Hooks) if not name.startswith("_")])
def test_a_hook_is_asked_again_and_nothing_of_its_last_answer_stays(name: str) -> None:
    hooks = Hooks()
    hook: Callable[[Node, NodeContext], AssetSpec] = getattr(hooks, name)
    before = build_inventory(discovery(), hook)
    old = content(before)
    hooks.word = "two"
    found = later(discovery())
    after = build_inventory(found, hook, None, before)
    assert content(after) == content(build_inventory(found, hook)) != old


def test_a_second_asset_of_one_key_stays_apart_when_the_first_one_comes_or_goes() -> None:
    def same(node: Node, context: NodeContext) -> AssetSpec:
        spec = DEFAULT(node, context)
        return spec.replace_attributes(key=[*spec.key.path[:-1], "all"]) if "o.v1" in spec.key.path else spec

    inventories: list[Inventory] = []
    for found in (discovery(), later(discovery(), without=topic("all")), later(discovery())):
        last = inventories[-1] if inventories else None
        inventories.append(build_inventory(found, same, None, last, keeps_specs=True))
        assert content(inventories[-1]) == content(build_inventory(found, same))


@pytest.mark.parametrize(
    "changed", [{"push": PushConfig(sql="none")}, {"include": IncludeConfig(topics=False)}]
)
def test_a_component_with_other_settings_loads_as_if_it_were_the_first(
    changed: dict[str, Any], tmp_path: Path
) -> None:
    graph_json.dump(discovery(), tmp_path / "state")

    def load(**settings: Any) -> dict[AssetKey, AssetSpec]:
        defs = LineageBridgeComponent(**settings).build_defs_from_state(None, tmp_path / "state")  # type: ignore[arg-type]
        return {spec.key: spec for spec in defs.resolve_all_asset_specs()}

    before, after = load(), load(**changed)
    component._inventories.clear()
    assert after == load(**changed) != before
