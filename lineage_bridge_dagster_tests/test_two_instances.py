"""Two instances of the component in one code location, as for two organizations or AWS accounts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from dagster import AssetKey, DagsterInstance, Definitions
from dagster.components.testing import create_defs_folder_sandbox

from lineage_bridge_dagster.assets.resources import ConfluentResource, GlueResource
from lineage_bridge_dagster.automation.state import StateStore
from lineage_bridge_dagster.component import LineageBridgeComponent
from lineage_bridge_dagster.embedded.aws import ACCESS_KEY, SECRET_KEY, StrictAws
from lineage_bridge_dagster.lineage.model import EdgeType
from lineage_bridge_dagster.spark.chains import write
from lineage_bridge_dagster.spark.io.manager import PySparkIcebergIOManager
from lineage_bridge_dagster.spark.session import SparkResource
from lineage_bridge_dagster_tests.assets.location import FakeConfluent, FakeSpark, create_tables
from lineage_bridge_dagster_tests.assets.world import EAST, WEST, World

#: Region and Kafka cluster of each instance.
INSTANCES = {"eu": ("eu-west-1", WEST), "us": ("us-east-1", EAST)}


def world_of(name: str) -> World:
    """Return a connector, its topic and the topic's table in an instance's region and cluster."""
    region, cluster = INSTANCES[name]
    w = World()
    w.edge(w.connector(cluster, "generator", "DatagenSource"), w.topic(cluster, "orders"), EdgeType.PRODUCES)
    table = w.glue(cluster, "orders")
    w.graph.nodes[table] = w.graph.nodes[table].with_attributes(aws_region=region)
    return w


@pytest.fixture
def accounts(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, StrictAws]]:
    """A Glue catalog for each instance, with its table."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
    with StrictAws() as eu, StrictAws() as us:
        by_name = {"eu": eu, "us": us}
        for name, aws in by_name.items():
            glue = GlueResource(region_name=INSTANCES[name][0], endpoint_url=aws.endpoint_url)
            create_tables(glue.client(), world_of(name))
        yield by_name


@pytest.fixture
def definitions(instance: DagsterInstance, accounts: dict[str, StrictAws]) -> Iterator[Definitions]:
    """One defs folder with both instances, each with its own state."""
    with create_defs_folder_sandbox() as sandbox:
        for name, (region, cluster) in INSTANCES.items():
            StateStore.of(instance, f"LineageBridgeComponent[{name}]").store(world_of(name).discovery())
            attributes = {
                "name": name,
                "confluent": {"clusters": cluster},
                "aws": {"region": region, "endpoint_url": accounts[name].endpoint_url},
                "spark": {"namespace": f"lineage_{name}"},
            }
            sandbox.scaffold_component(
                component_cls=LineageBridgeComponent,
                defs_path=name,
                defs_yaml_contents={
                    "type": "lineage_bridge_dagster.component.LineageBridgeComponent",
                    "attributes": attributes,
                },
            )
        with sandbox.build_all_defs() as loaded:
            yield loaded


def test_each_instance_has_its_own_definitions_and_resources(definitions: Definitions) -> None:
    repository = definitions.get_repository_def()
    jobs = {job.name for job in repository.get_all_jobs()}
    assert {
        f"{name}_{job}" for name in INSTANCES for job in ("refresh", "push", "materialize_lineage")
    } <= jobs
    assert {sensor.name for sensor in repository.sensor_defs} == {"eu_lineage_sensor", "us_lineage_sensor"}
    resources = definitions.resources or {}
    for name, (region, cluster) in INSTANCES.items():
        glue, confluent = resources[f"{name}_glue"], resources[f"{name}_confluent"]
        manager = resources[f"{name}_lineage_io_manager"]
        assert isinstance(glue, GlueResource)
        assert glue.region_name == region
        assert isinstance(confluent, ConfluentResource)
        assert confluent.clusters == [cluster]
        assert isinstance(resources[f"{name}_spark"], SparkResource)
        assert isinstance(manager, PySparkIcebergIOManager)
        assert manager.namespace == f"lineage_{name}"
        assert repository.asset_graph.has(AssetKey(["lineage_bridge", name, "discovery"]))


def test_one_run_over_both_instances_pushes_each_table_to_its_own_glue(
    definitions: Definitions,
    instance: DagsterInstance,
    accounts: dict[str, StrictAws],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each instance has its own run cache."""
    monkeypatch.setattr(write, "write_lineage", FakeSpark.write_lineage)
    fakes: dict[str, Any] = {f"{name}_spark": FakeSpark() for name in INSTANCES}
    fakes |= {f"{name}_confluent": FakeConfluent() for name in INSTANCES}
    loaded = Definitions(assets=definitions.assets, resources={**(definitions.resources or {}), **fakes})
    result = loaded.resolve_implicit_global_asset_job_def().execute_in_process(instance=instance)
    assert result.success
    checks = {
        (evaluation.asset_key.path[1], evaluation.check_name)
        for evaluation in result.get_asset_check_evaluations()
    }
    for name, (_, cluster) in INSTANCES.items():
        assert instance.get_latest_materialization_event(AssetKey(["glue", cluster, "orders"]))
        assert accounts[name].calls["UpdateTable"] == 1
        assert [len(tables) for tables in fakes[f"{name}_spark"].writes] == [1]
        assert {(cluster, "lineage_in_sync"), (name, "discovery_complete")} <= checks


STATE = {"key": "k", "management_type": "VERSIONED_STATE_STORAGE"}


def resources_of(*instances: Mapping[str, Any]) -> Mapping[str, Any]:
    """The resources of instances with these attributes, in one code location."""
    with create_defs_folder_sandbox() as sandbox:
        for number, attributes in enumerate(instances):
            sandbox.scaffold_component(
                component_cls=LineageBridgeComponent,
                defs_path=f"instance{number}",
                defs_yaml_contents={
                    "type": "lineage_bridge_dagster.component.LineageBridgeComponent",
                    "attributes": dict(attributes),
                },
            )
        with sandbox.build_all_defs() as loaded:
            return loaded.resources or {}


def test_instances_have_catalogs_and_lineage_tables_of_their_own_unless_configured() -> None:
    """A write replaces the nodes and edges of its namespace, and one session has all catalogs by name."""
    found = resources_of({}, {"name": "EU"}, {"name": "us"}, {"name": "own", "spark": {"namespace": "n"}})
    managers = {name: found[f"{name}lineage_io_manager"] for name in ("", "EU_", "us_", "own_")}
    assert {name: manager.namespace for name, manager in managers.items()} == {
        "": "lineage_bridge",
        "EU_": "lineage_bridge_eu",
        "us_": "lineage_bridge_us",
        "own_": "n",
    }
    assert {name: manager.spark.catalog_config.name for name, manager in managers.items()} == {
        "": "glue",
        "EU_": "glue_EU",
        "us_": "glue_us",
        "own_": "glue_own",
    }


def test_configured_name_of_the_catalog_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    found = resources_of({"name": "eu"}, {"name": "us", "spark": {"catalog": {"name": "lake"}}})
    monkeypatch.setenv("LINEAGE_BRIDGE_CATALOG_NAME", "shared")
    assert found["eu_spark"].catalog_config.name == "shared"
    assert found["us_spark"].catalog_config.name == "lake"


@pytest.mark.parametrize(
    ("instances", "expected"),
    [
        (({}, {}), "2 instances of the component have no name"),
        (({"name": "eu"}, {"name": "us"}, {"name": "eu"}), "2 instances of the component have the name eu"),
        (({"name": "eu"}, {"name": "EU"}), "2 instances of the component have the name eu"),
        (
            ({"name": "eu", "defs_state": STATE}, {"name": "us", "defs_state": STATE}),
            "store their discoveries under the key k",
        ),
    ],
)
def test_instances_that_nothing_tells_apart_do_not_load(
    instances: tuple[dict[str, Any], ...], expected: str
) -> None:
    with pytest.raises(Exception, match="building definitions") as raised:
        resources_of(*instances)
    causes = []
    error: BaseException | None = raised.value
    while error is not None:
        causes.append(str(error))
        error = error.__cause__ or error.__context__
    assert any(expected in cause for cause in causes), causes


def test_a_key_prefix_keeps_tables_and_external_datasets_of_the_same_name_apart(
    instance: DagsterInstance,
) -> None:
    """As `dg scaffold defs` writes it for a second instance."""
    w = World()
    connector = w.connector(EAST, "orders-cdc", "PostgresCdcSourceV2")
    w.edge(w.dataset("postgres://db:5432/shop.public.orders"), connector, EdgeType.CONSUMES)
    w.edge(connector, w.topic(EAST, "orders"), EdgeType.PRODUCES)
    w.glue(EAST, "orders")
    instances: dict[str, dict[str, Any]] = {
        "": {},
        "us": {"name": "us", "translation": {"key_prefix": "us"}},
    }
    with create_defs_folder_sandbox() as sandbox:
        for name, attributes in instances.items():
            key = f"LineageBridgeComponent[{name}]" if name else "LineageBridgeComponent"
            StateStore.of(instance, key).store(w.discovery())
            sandbox.scaffold_component(
                component_cls=LineageBridgeComponent,
                defs_path=name or "first",
                defs_yaml_contents={
                    "type": "lineage_bridge_dagster.component.LineageBridgeComponent",
                    "attributes": attributes,
                },
            )
        with sandbox.build_all_defs() as loaded:
            keys = {key.to_user_string() for key in loaded.resolve_asset_graph().get_all_asset_keys()}
    for shared in (f"glue/{EAST}/orders", "external/postgres:||db:5432|shop.public.orders"):
        assert {shared, f"us/{shared}"} <= keys
