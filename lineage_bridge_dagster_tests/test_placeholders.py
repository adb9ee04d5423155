"""Code locations whose assets load what no discovery has found yet, or no longer finds."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from dagster import AssetKey, DagsterInstance, DagsterInvalidDefinitionError, Definitions
from dagster._core.definitions.assets.graph.asset_graph import AssetNode
from dagster.components.core.component_tree import ComponentTree
from dagster.components.testing import DefsFolderSandbox, create_defs_folder_sandbox

from lineage_bridge_dagster.automation.state import StateStore
from lineage_bridge_dagster.component import LineageBridgeComponent
from lineage_bridge_dagster_tests.assets.world import EAST, world
from lineage_bridge_dagster_tests.project import loading

KEY = "LineageBridgeComponent"
TYPE = "lineage_bridge_dagster.component.LineageBridgeComponent"

ORDERS = f"glue/{EAST}/o.v1"
GONE = f"glue/{EAST}/gone"


def report(*keys: str, name: str = "report") -> str:
    """A module with an asset that loads others."""
    inputs = ", ".join(f"'i{i}': AssetIn(AssetKey({key.split('/')}))" for i, key in enumerate(keys))
    arguments = ", ".join(f"i{i}" for i in range(len(keys)))
    return f"""
        from dagster import AssetIn, AssetKey, asset

        @asset(ins={{{inputs}}}, io_manager_key="lineage_io_manager")
        def {name}({arguments}): ...
    """


@contextmanager
def location(*modules: str, instances: tuple[dict[str, Any], ...] = ({},)) -> Iterator[ComponentTree]:
    """The components of a project with these modules and instances."""
    with create_defs_folder_sandbox() as sandbox:
        add(sandbox, *modules)
        for number, attributes in enumerate(instances):
            sandbox.scaffold_component(
                component_cls=LineageBridgeComponent,
                defs_path=f"lineage_{number}",
                defs_yaml_contents={
                    "type": TYPE,
                    "attributes": {"aws": {"region": "us-east-1"}, **attributes},
                },
            )
        with sandbox.build_component_tree() as tree:
            yield tree


def add(sandbox: DefsFolderSandbox, *modules: str) -> None:
    for number, module in enumerate(modules):
        (sandbox.defs_folder_path / f"module_{number}.py").write_text(textwrap.dedent(module))


def stand_ins(definitions: Definitions) -> list[AssetNode]:
    """The assets that no discovery has found, but for the one that says that there is none."""
    nodes = definitions.get_repository_def().asset_graph.asset_nodes
    return [
        node
        for node in nodes
        if "lineage_bridge/not_discovered" in node.metadata and node.key.path[-1] != "discovery"
    ]


def external(definitions: Definitions) -> dict[str, str]:
    """The keys of external assets that are placeholders, with the IO managers that load them."""
    nodes = stand_ins(definitions)
    assert all(node.is_external and "Run the refresh job" in (node.description or "") for node in nodes)
    return {node.key.to_user_string(): node.io_manager_key for node in nodes}


def test_a_location_loads_on_an_empty_home(instance: DagsterInstance) -> None:
    keys = (ORDERS, f"kafka/{EAST}/o.v1", f"upstream_chain/{EAST}/o.v1", "glue/lake/sales/orders")
    multi = f"""
        from dagster import AssetIn, AssetKey, AssetOut, asset_check, graph_asset, multi_asset, op

        @multi_asset(outs={{"a": AssetOut(), "b": AssetOut()}}, ins={{"t": AssetIn(["glue", "db", "multi"])}})
        def both(t):
            return 1, 2

        @op
        def first(x):
            return x

        @graph_asset(ins={{"t": AssetIn(["glue", "db", "graph"])}})
        def whole(t):
            return first(t)

        @asset_check(asset=["glue", "{EAST}", "o.v1"])
        def check_of_orders(): ...
    """
    with location(report(*keys), multi) as tree:
        found = external(tree.build_defs())
        job = tree.build_defs().get_repository_def().get_job("refresh")

    assert found == dict.fromkeys((*keys, "glue/db/multi", "glue/db/graph"), "lineage_io_manager")
    assert job.name == "refresh"


def test_a_misspelt_key_of_other_assets_stays_an_error(instance: DagsterInstance) -> None:
    with (
        location(report(ORDERS, "ordesr")) as tree,
        pytest.raises(DagsterInvalidDefinitionError, match="ordesr"),
    ):
        tree.build_defs().get_repository_def()


def test_keys_that_are_only_waited_for_get_no_placeholder(instance: DagsterInstance) -> None:
    waits = f"""
        from dagster import AssetKey, asset

        @asset(deps=[AssetKey(["glue", "{EAST}", "o.v1"])])
        def report(): ...
    """
    with location(waits) as tree:
        assert not external(tree.build_defs())


@pytest.mark.parametrize(
    "attributes",
    [{"translation": {"key_prefix": "lake"}}, {"name": "eu", "translation": {"key_prefix": "lake"}}],
)
def test_translated_keys_get_placeholders(instance: DagsterInstance, attributes: dict[str, Any]) -> None:
    manager = f"{attributes['name']}_lineage_io_manager" if "name" in attributes else "lineage_io_manager"
    module = report(f"lake/{ORDERS}").replace("lineage_io_manager", manager)
    with location(module, instances=(attributes,)) as tree:
        definitions = tree.build_defs()
        found = {node.key.to_user_string(): node.io_manager_key for node in stand_ins(definitions)}
        assert found == {f"lake/{ORDERS}": manager}


def test_what_a_discovery_found_replaces_placeholders_at_a_reload(instance: DagsterInstance) -> None:
    with location(report(ORDERS, GONE)) as tree:
        assert set(external(tree.build_defs())) == {ORDERS, GONE}

        StateStore.of(instance, KEY).store(world().discovery())
        with loading():
            definitions = tree.reload_with_state([KEY])

        assert set(external(definitions)) == {GONE}
        graph = definitions.get_repository_def().asset_graph
        assert graph.get(AssetKey(ORDERS.split("/"))).is_materializable


def test_one_of_two_instances_adds_the_placeholders_that_neither_has(instance: DagsterInstance) -> None:
    StateStore.of(instance, f"{KEY}[us]").store(world().discovery())
    both = ({"name": "eu"}, {"name": "us"})
    module = report(ORDERS, GONE).replace("lineage_io_manager", "us_lineage_io_manager")
    with location(module, instances=both) as tree:
        assert external_of_any(tree.build_defs()) == {GONE}
        StateStore.of(instance, f"{KEY}[us]").store(world().discovery())
        with loading():
            assert external_of_any(tree.reload_with_state([f"{KEY}[us]"])) == {GONE}


def external_of_any(definitions: Definitions) -> set[str]:
    return {node.key.to_user_string() for node in stand_ins(definitions)}


def test_components_may_build_on_the_instance(instance: DagsterInstance) -> None:
    """One that looks at the definitions of the instance is itself looked through for what it loads."""
    builds = f"""
        from dagster import AssetIn, AssetKey, ComponentLoadContext, Definitions, asset, definitions

        @definitions
        def defs(context: ComponentLoadContext) -> Definitions:
            jobs = [job.name for job in context.build_defs("lineage_0").jobs]

            @asset(ins={{"t": AssetIn(AssetKey({GONE.split("/")}))}}, metadata={{"jobs": jobs}})
            def report(t): ...

            return Definitions(assets=[report])
    """
    with location(builds) as tree:
        definitions = tree.build_defs()

    assert set(external(definitions)) == {GONE}
    node = definitions.get_repository_def().asset_graph.get(AssetKey("report"))
    assert "refresh" in str(node.metadata["jobs"])
