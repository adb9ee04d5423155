"""The component in a defs folder: its YAML, a stored state and subclasses."""

from __future__ import annotations

from pathlib import Path

import pytest
from dagster import AssetSpec, DagsterInstance, Definitions
from dagster._core.definitions.definitions_load_context import (
    DefinitionsLoadContext,
    DefinitionsLoadType,
)
from dagster._core.definitions.repository_definition.repository_definition import RepositoryLoadData
from dagster.components.testing import create_defs_folder_sandbox
from dagster_shared.serdes.objects.models.defs_state_info import DefsStateInfo

from lineage_bridge_dagster.automation.state import StateStore
from lineage_bridge_dagster.component import LineageBridgeComponent
from lineage_bridge_dagster.lineage.model import Node
from lineage_bridge_dagster.specs.graph_view import NodeContext
from lineage_bridge_dagster.specs.names import AssetNames
from lineage_bridge_dagster_tests.assets.location import failure_of
from lineage_bridge_dagster_tests.assets.world import EAST, World, many, world
from lineage_bridge_dagster_tests.project import load

KEY = "LineageBridgeComponent"


def test_loads_without_variables_and_without_a_state(instance: DagsterInstance) -> None:
    repository = load().get_repository_def()
    assert [sensor.name for sensor in repository.sensor_defs] == ["lineage_sensor"]
    assert repository.asset_graph.get_all_asset_keys() == {AssetNames().discovery_key}


def test_loads_the_newest_state(instance: DagsterInstance) -> None:
    store = StateStore.of(instance, KEY)
    store.store(world().discovery())
    repository = load().get_repository_def()
    keys = {key.to_user_string() for key in repository.asset_graph.get_all_asset_keys()}
    assert {f"kafka/{EAST}/o.v1", f"glue/{EAST}/o.v1", f"upstream_chain/{EAST}/o.v1"} <= keys
    assert {"refresh", "push", "materialize_lineage"} <= {job.name for job in repository.get_all_jobs()}


def test_a_load_that_is_told_no_version_uses_the_newest_one_from_then_on(instance: DagsterInstance) -> None:
    """`dg launch` plans a run with the newest state, and then loads the definitions without any."""
    from lineage_bridge_dagster.definitions import defs

    store = StateStore.of(instance, KEY)
    store.store(many(1).discovery())
    with DefinitionsLoadContext.scoped(DefinitionsLoadContext(DefinitionsLoadType.RECONSTRUCTION)):
        for _ in range(2):
            loaded = defs()
            assert isinstance(loaded, Definitions)
            keys = loaded.get_repository_def().asset_graph.get_all_asset_keys()
            assert [key.path[-1] for key in keys if key.path[0] == "glue"] == ["topic.00000"]
            store.store(many(2).discovery())


@pytest.mark.parametrize(
    ("variables", "pools"),
    [
        ({}, {"spark"}),
        ({"LINEAGE_BRIDGE_SPARK_MASTER": "local[1]", "SPARK_REMOTE": "sc://elsewhere"}, {"spark"}),
        ({"LINEAGE_BRIDGE_SPARK_REMOTE": "sc://localhost"}, set()),
        ({"SPARK_REMOTE": "sc://localhost"}, set()),
    ],
)
def test_chains_are_in_the_pool_of_runs_that_start_a_spark_of_their_own(
    instance: DagsterInstance,
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
    pools: set[str],
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    StateStore.of(instance, KEY).store(world().discovery())
    job = load().get_repository_def().get_job("materialize_lineage")
    assert {node.definition.pool for node in job.graph.nodes} - {None} == pools


def test_a_run_loads_the_state_version_of_its_plan_even_if_a_newer_one_exists(
    instance: DagsterInstance,
) -> None:
    """The process of a run loads the state that its plan names."""
    from lineage_bridge_dagster.definitions import defs

    store = StateStore.of(instance, KEY)
    planned = store.store(many(1).discovery())
    store.store(many(2).discovery())
    data = RepositoryLoadData(defs_state_info=DefsStateInfo.add_version(None, KEY, planned))
    with DefinitionsLoadContext.scoped(
        DefinitionsLoadContext(DefinitionsLoadType.RECONSTRUCTION, repository_load_data=data)
    ):
        loaded = defs()
    assert isinstance(loaded, Definitions)
    keys = loaded.get_repository_def().asset_graph.get_all_asset_keys()
    assert [key.path[-1] for key in keys if key.path[0] == "glue"] == ["topic.00000"]


def test_the_yaml_has_no_field_for_a_secret() -> None:
    text = (Path(__file__).parents[1] / "lineage_bridge_dagster/defs/confluent_to_glue/defs.yaml").read_text()
    # Only a comment names keys and secrets.
    code = "\n".join(line.partition("#")[0] for line in text.splitlines())
    assert "_API_KEY" not in code
    assert "_API_SECRET" not in code


def test_a_yaml_instance_overrides_asset_attributes(tmp_path: Path, instance: DagsterInstance) -> None:
    store = StateStore.of(instance, KEY)
    store.store(world().discovery())
    with create_defs_folder_sandbox() as sandbox:
        path = sandbox.scaffold_component(
            component_cls=LineageBridgeComponent,
            defs_yaml_contents={
                "type": "lineage_bridge_dagster.component.LineageBridgeComponent",
                "attributes": {
                    "aws": {"region": "us-east-1"},
                    "translation": {"group_name": "all_of_it", "owners": ["team:data"]},
                },
            },
        )
        with sandbox.load_component_and_build_defs(defs_path=path) as (component, defs):
            assert isinstance(component, LineageBridgeComponent)
            nodes = [spec for spec in defs.resolve_all_asset_specs() if spec.key.path[0] == "glue"]
            assert nodes
            assert {spec.group_name for spec in nodes} == {"all_of_it"}
            assert all(list(spec.owners) == ["team:data"] for spec in nodes)


def test_a_subclass_can_override_get_asset_spec(tmp_path: Path) -> None:
    from lineage_bridge_dagster.lineage import graph_json

    class CustomComponent(LineageBridgeComponent):
        def get_asset_spec(self, node: Node, context: NodeContext) -> AssetSpec:
            spec = super().get_asset_spec(node, context)
            return spec.replace_attributes(key=spec.key.with_prefix("ours"))

    state = tmp_path / "state"
    graph_json.dump(world().discovery(), state)
    component = CustomComponent(aws={"region": "us-east-1"})  # type: ignore[arg-type]
    definitions = component.build_defs_from_state(None, state)
    graph = definitions.get_repository_def().asset_graph
    keys = {key.to_user_string() for key in graph.get_all_asset_keys()}
    # The discovery is not a node, so the hook does not translate it.
    assert all(key.startswith("ours/") for key in keys - {"lineage_bridge/discovery"})
    # Dependencies follow the keys that the hook returned.
    table = next(key for key in graph.get_all_asset_keys() if key.path[1] == "glue")
    assert all(parent.path[0] == "ours" for parent in graph.get(table).parent_keys)


@pytest.mark.parametrize("job", ["push", "materialize_lineage", "lineage_upkeep", "impact"])
def test_jobs_fail_and_name_the_one_to_run_first(instance: DagsterInstance, job: str) -> None:
    run = (
        load()
        .get_job_def(job)
        .execute_in_process(
            run_config={"ops": {"push": {"config": {"dry_run": True}}}} if job == "push" else None,
            instance=instance,
            raise_on_error=False,
        )
    )
    failure = failure_of(run)
    assert "no discovery is stored yet" in failure
    assert "dg launch --job refresh" in failure


def test_a_discovery_without_topics_says_where_to_look(instance: DagsterInstance) -> None:
    StateStore.of(instance, KEY).store(World().discovery())
    run = (
        load().get_job_def("materialize_lineage").execute_in_process(instance=instance, raise_on_error=False)
    )
    assert "confluent.environments" in failure_of(run)
