"""A mini code location, and what tests do with one."""

from __future__ import annotations

from collections.abc import Iterable
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

from lineage_bridge_dagster.component import LineageBridgeComponent
from lineage_bridge_dagster.lineage.nodes import GlueTableNode, is_glue_table
from lineage_bridge_dagster_tests.assets.world import World


class FakeSpark:
    """Stands for the Spark resource: counts how often a session was asked for."""

    def __init__(self) -> None:
        self.sessions = 0

    class catalog_config:
        name = "glue"

    @property
    def spark_session(self) -> Any:
        self.sessions += 1
        return object()


class Location:
    """Definitions with some resources exchanged."""

    def __init__(
        self, definitions: Definitions, component: LineageBridgeComponent, resources: dict[str, Any]
    ) -> None:
        self.component = component
        base = {**(definitions.resources or {}), **resources}
        self.definitions = Definitions(
            assets=definitions.assets,
            jobs=definitions.jobs,
            sensors=definitions.sensors,
            schedules=definitions.schedules,
            resources=base,
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
        """Run some assets in this process; a failure is in the result."""
        selection = [AssetKey.from_user_string(key) for key in keys] or None
        return self.definitions.resolve_job_def(job).execute_in_process(
            instance=instance, asset_selection=selection, raise_on_error=False
        )

    def parents(self, key: str) -> set[str]:
        node = self.repository.asset_graph.get(AssetKey.from_user_string(key))
        return {parent.to_user_string() for parent in node.parent_keys}


def freshness_checks(definitions: Definitions) -> JobDefinition:
    """What the freshness schedule runs: the check of every table, as the run's own process selects it."""
    checks = definitions.get_repository_def().asset_graph.asset_check_keys
    return definitions.resolve_job_def("materialize_lineage").get_subset(
        asset_selection=set(), asset_check_selection={key for key in checks if key.name == "table_fresh"}
    )


def create_tables(glue: BaseClient, world: World, skip: Iterable[str] = ()) -> None:
    """The Glue tables of a world, each an Iceberg table with a description and a parameter of its owner's."""
    made: set[str] = set()
    for node in world.graph.nodes.values():
        if not is_glue_table(node):
            continue
        place = GlueTableNode.of(node).shown_place
        database, table = place.database, place.table
        if table in skip:
            continue
        if database not in made:
            glue.create_database(DatabaseInput={"Name": database})
            made.add(database)
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
