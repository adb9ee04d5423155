"""A small code location with fakes of Confluent and Spark, and the helpers of tests that run it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from botocore.client import BaseClient
from dagster import (
    AssetKey,
    DagsterInstance,
    Definitions,
    ExecuteInProcessResult,
    JobDefinition,
    RepositoryDefinition,
)

from lineage_bridge_dagster.assets.topic_facts import Backlog, TopicFacts
from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.catalogs.settings.catalogs import Catalogs
from lineage_bridge_dagster.component import LineageBridgeComponent
from lineage_bridge_dagster.confluent.api.brokers import PartitionOffsets
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.model import Node
from lineage_bridge_dagster.lineage.nodes import GlueTableNode
from lineage_bridge_dagster.spark.chains.write import LineageWrite
from lineage_bridge_dagster_tests.assets.world import REGION, World


class FakeSpark:
    """A Spark resource, and its session: records the tables whose chains are written.

    The fixture `location` puts `write_lineage` in the place of the function that writes chains.
    """

    def __init__(self) -> None:
        self.writes: list[Sequence[str]] = []
        self.error: Exception | None = None

    @property
    def catalog_config(self) -> CatalogSettings:
        return CatalogSettings(region=REGION)

    @property
    def all_catalogs(self) -> Catalogs:
        return Catalogs.of(self.catalog_config)

    @property
    def spark_session(self) -> Any:
        return self

    def write_lineage(self, _discovery: Discovery, table_ids: Sequence[str], **_: Any) -> LineageWrite:
        self.writes.append(table_ids)
        if self.error:
            raise self.error
        return LineageWrite(len(table_ids), 0)


class FakeConfluent:
    """A Confluent resource whose brokers return `facts` by topic; other topics have five records."""

    def __init__(self) -> None:
        self.facts: dict[str, TopicFacts | Exception] = {}

    def read_topics(self, nodes: Iterable[Node]) -> Iterator[tuple[Node, TopicFacts | Exception]]:
        for node in nodes:
            yield node, self.facts.get(node.qualified_name, TopicFacts([PartitionOffsets(0, 0, 5)]))

    def read_backlogs(
        self, since_ms: Iterable[tuple[Node, int | None]]
    ) -> Iterator[tuple[Node, Backlog | Exception]]:
        for node, _ in since_ms:
            yield node, Backlog(5, 1_000)


class Location:
    """Definitions with fakes in the place of Confluent and Spark."""

    def __init__(
        self, definitions: Definitions, component: LineageBridgeComponent, resources: dict[str, Any]
    ) -> None:
        self.component = component
        self.confluent = FakeConfluent()
        self.spark = FakeSpark()
        fakes = {"confluent": self.confluent, "spark": self.spark}
        self.definitions = Definitions(
            assets=definitions.assets,
            jobs=definitions.jobs,
            sensors=definitions.sensors,
            schedules=definitions.schedules,
            resources={**(definitions.resources or {}), **fakes, **resources},
            executor=definitions.executor,
        )

    @property
    def repository(self) -> RepositoryDefinition:
        return self.definitions.get_repository_def()

    def keys(self) -> set[str]:
        return {key.to_user_string() for key in self.repository.asset_graph.get_all_asset_keys()}

    def materialize(
        self, instance: DagsterInstance, *keys: str, job: str = "__ASSET_JOB"
    ) -> ExecuteInProcessResult:
        """Materialize some assets in this process; the result holds a failure."""
        selection = [AssetKey.from_user_string(key) for key in keys] or None
        return self.definitions.resolve_job_def(job).execute_in_process(
            instance=instance, asset_selection=selection, raise_on_error=False
        )

    def parents(self, key: str) -> set[str]:
        node = self.repository.asset_graph.get(AssetKey.from_user_string(key))
        return {parent.to_user_string() for parent in node.parent_keys}


def failure_of(result: ExecuteInProcessResult) -> str:
    """Return the description of a run's first failure; one that is not ours has none, and shows itself."""
    data = next(event.step_failure_data for event in result.all_events if event.is_step_failure)
    return str(data.user_failure_data.description if data.user_failure_data else data.error)


def freshness_checks(definitions: Definitions) -> JobDefinition:
    """Return the job that the freshness schedule runs: the check of every table, as a run selects it."""
    checks = definitions.get_repository_def().asset_graph.asset_check_keys
    return definitions.resolve_job_def("materialize_lineage").get_subset(
        asset_selection=set(), asset_check_selection={key for key in checks if key.name == "table_fresh"}
    )


def create_tables(glue: BaseClient, world: World, skip: Iterable[str] = ()) -> None:
    """Create the Glue tables of a world, each with a description and a parameter that its owner set."""
    databases: set[str] = set()
    for node in world.graph.nodes.values():
        if not isinstance(node, GlueTableNode):
            continue
        place = GlueTableNode.of(node).shown_place
        database, table = place.database, place.table
        if table in skip:
            continue
        if database not in databases:
            glue.create_database(DatabaseInput={"Name": database})
            databases.add(database)
        glue.create_table(
            DatabaseName=database,
            TableInput={
                "Name": table,
                "Description": "Kept by the data team.",
                "TableType": "EXTERNAL_TABLE",
                "Parameters": {
                    "table_type": "ICEBERG",
                    "metadata_location": f"s3://bucket/{database}/{table}/metadata/1.json",
                    "owner_note": "hands off",
                },
                "StorageDescriptor": {"Location": f"s3://bucket/{database}/{table}", "Columns": []},
            },
        )


def latest(instance: DagsterInstance, key: str) -> Any:
    """Return the last materialization of an asset."""
    event = instance.get_latest_materialization_event(AssetKey.from_user_string(key))
    return event.asset_materialization if event else None
