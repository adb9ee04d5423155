"""Graphs, Glue tables and the other writers of a catalog, for the tests of this room."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.glue import GlueTable
from lineage_bridge_dagster.lineage import ids
from lineage_bridge_dagster.lineage.coverage import Coverage, Scope, ScopeReport, Status
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.glue_names import GluePlace, glue_table_name
from lineage_bridge_dagster.lineage.model import Edge, EdgeType, Graph, Node, NodeType

if TYPE_CHECKING:
    from lineage_bridge_dagster.embedded.aws import StrictAws

REGION = "us-east-1"
ENVIRONMENT = "env-abc123"
CLUSTER = "lkc-abc123"
NOW = datetime(2026, 4, 30, 12, 34, 56, 789000, tzinfo=UTC)


def clock() -> datetime:
    return NOW


def no_sleep(_seconds: float) -> None:
    return None


def raw_table(name: str = "orders.v1", database: str = CLUSTER, **changes: Any) -> dict[str, Any]:
    """A Glue answer for an Iceberg table as Tableflow leaves it."""
    return {
        "Name": name,
        "DatabaseName": database,
        "CatalogId": "123456789012",
        "VersionId": "7",
        "CreateTime": NOW,
        "UpdateTime": NOW,
        "CreatedBy": "arn:aws:sts::123456789012:assumed-role/tableflow/session",
        "IsRegisteredWithLakeFormation": False,
        "IsMultiDialectView": False,
        "Owner": "tableflow",
        "Retention": 3,
        "LastAccessTime": NOW,
        "TableType": "EXTERNAL_TABLE",
        "PartitionKeys": [],
        "Parameters": {
            "table_type": "ICEBERG",
            "metadata_location": f"s3://bucket/{name}/metadata/00007-x.metadata.json",
            "previous_metadata_location": f"s3://bucket/{name}/metadata/00006-x.metadata.json",
        },
        "StorageDescriptor": {
            "Location": f"s3://bucket/{name}",
            "Columns": [{"Name": "id", "Type": "bigint", "Comment": "the key", "Parameters": {"k": "v"}}],
            "Compressed": False,
            "SerdeInfo": {"SerializationLibrary": "some.serde", "Parameters": {"a": "b"}},
            "BucketColumns": ["id"],
        },
        **changes,
    }


def glue_table(name: str = "orders.v1", database: str = CLUSTER, **changes: Any) -> GlueTable:
    return GlueTable.from_raw(raw_table(name, database, **changes), database)


def tableflow_node(
    topic: str,
    *,
    cluster: str = CLUSTER,
    environment: str = ENVIRONMENT,
    database: str | None = None,
    path: str | None = None,
    **attributes: Any,
) -> Node:
    return Node(
        ids.tableflow_table_id(environment, cluster, topic),
        "confluent",
        NodeType.TABLEFLOW_TABLE,
        f"{cluster}.{topic}",
        display_name=f"{cluster}.{topic}",
        environment_id=environment,
        cluster_id=cluster,
        attributes={
            "glue_database": database or cluster,
            "glue_table": glue_table_name(topic),
            "table_path": path,
            "catalog_types": ["AWS_GLUE"],
            "region": REGION,
            "phase": "RUNNING",
            "scope": f"tableflow:{environment}:{cluster}",
            **attributes,
        },
    )


def add_table(
    graph: Graph,
    topic: str,
    *,
    cluster: str = CLUSTER,
    environment: str = ENVIRONMENT,
    database: str | None = None,
    connector: str | None = "debezium-pg",
    glue: bool = True,
    path: str | None = None,
) -> Node:
    """dataset -> connector -> topic -> Tableflow table -> Glue table; returns the last of them."""
    scope = {"scope": f"kafka:{environment}:{cluster}"}
    topic_node = graph.add_node(
        Node(
            ids.topic_id(environment, cluster, topic),
            "confluent",
            NodeType.KAFKA_TOPIC,
            topic,
            environment_id=environment,
            cluster_id=cluster,
            attributes={
                **scope,
                "schema_fields": [{"name": "id", "type": "long"}, {"name": "note", "type": "string"}],
            },
        )
    )
    flow = graph.add_node(
        tableflow_node(topic, cluster=cluster, environment=environment, database=database, path=path)
    )
    graph.add_edge(Edge(topic_node.node_id, flow.node_id, EdgeType.MATERIALIZES, attributes=scope))
    if connector:
        source = graph.add_node(
            Node(
                ids.connector_id(environment, cluster, connector),
                "confluent",
                NodeType.CONNECTOR,
                connector,
                environment_id=environment,
                cluster_id=cluster,
                attributes={
                    "connector_class": "PostgresCdcSourceV2",
                    "scope": f"connect:{environment}:{cluster}",
                },
            )
        )
        dataset = graph.add_node(
            Node(
                ids.external_dataset_id("postgres://pg1.example:5432/shop.public.orders"),
                "external",
                NodeType.EXTERNAL_DATASET,
                "postgres://pg1.example:5432/shop.public.orders",
            )
        )
        graph.add_edge(Edge(dataset.node_id, source.node_id, EdgeType.CONSUMES))
        graph.add_edge(Edge(source.node_id, topic_node.node_id, EdgeType.PRODUCES))
    if not glue:
        return flow
    table = graph.add_node(
        glue_node(topic, database=database or cluster, environment=environment, cluster=cluster)
    )
    graph.add_edge(Edge(flow.node_id, table.node_id, EdgeType.MATERIALIZES))
    return table


def glue_node(
    topic: str,
    *,
    database: str = CLUSTER,
    environment: str = ENVIRONMENT,
    cluster: str = CLUSTER,
    **attributes: Any,
) -> Node:
    name = glue_table_name(topic)
    place = GluePlace(database, name)
    return Node(
        ids.glue_table_id(environment, place),
        "aws",
        NodeType.CATALOG_TABLE,
        place.qualified_name,
        display_name=f"{database}.{name}",
        environment_id=environment,
        cluster_id=cluster,
        catalog_type="AWS_GLUE",
        attributes={
            "database": database,
            "table_name": name,
            "aws_region": REGION,
            "scope": f"glue::{REGION}",
            **attributes,
        },
    )


def complete_coverage(*more: ScopeReport) -> Coverage:
    scopes = [
        Scope("environments"),
        Scope("clusters", ENVIRONMENT),
        Scope("kafka", ENVIRONMENT, CLUSTER),
        Scope("connect", ENVIRONMENT, CLUSTER),
        Scope("tableflow", ENVIRONMENT, CLUSTER),
        Scope("glue", "", REGION),
    ]
    return Coverage([*(ScopeReport(scope, Status.COMPLETE) for scope in scopes), *more])


def discovery(graph: Graph, coverage: Coverage | None = None) -> Discovery:
    return Discovery(graph, coverage if coverage is not None else complete_coverage(), "2026-04-30T00:00:00Z")


class Catalog:
    """The other writers: Tableflow's commits, people, and whoever creates tables.

    It speaks to the server with a client of its own; `calls` counts what everyone else sent meanwhile.
    """

    def __init__(self, aws: StrictAws, region: str = REGION) -> None:
        self._aws = aws
        self.glue = aws.client("glue", region)
        self._lock = threading.Lock()

    def create(
        self,
        name: str,
        database: str = CLUSTER,
        *,
        parameters: Mapping[str, str] | None = None,
        **changes: Any,
    ) -> None:
        with contextlib.suppress(self.glue.exceptions.AlreadyExistsException):
            self.glue.create_database(DatabaseInput={"Name": database})
        writable = {
            key: value
            for key, value in raw_table(name, database).items()
            if key in ("Name", "Owner", "Retention", "TableType", "Parameters", "StorageDescriptor")
        }
        table_input = {**writable, **changes}
        table_input["Parameters"] = {**table_input["Parameters"], **(parameters or {})}
        self.glue.create_table(DatabaseName=database, TableInput=table_input)

    def table(self, name: str, database: str = CLUSTER) -> dict[str, Any]:
        found: dict[str, Any] = self.glue.get_table(DatabaseName=database, Name=name)["Table"]
        return found

    def parameters(self, name: str, database: str = CLUSTER) -> dict[str, str]:
        found: dict[str, str] = self.table(name, database)["Parameters"]
        return found

    def commit(self, name: str, database: str = CLUSTER, **changes: Any) -> str:
        """An Iceberg commit: `metadata_location` moves, under the version that was read.

        Returns the new location.
        """
        table = self.table(name, database)
        parameters = dict(table["Parameters"])
        number = int(parameters["metadata_location"].rpartition("/")[2].split("-")[0]) + 1
        location = f"s3://bucket/{name}/metadata/{number:05d}-x.metadata.json"
        parameters["previous_metadata_location"] = parameters["metadata_location"]
        parameters["metadata_location"] = location
        self.edit(name, database, table=table, Parameters=parameters, **changes)
        return location

    def edit(
        self, name: str, database: str = CLUSTER, *, table: dict[str, Any] | None = None, **changes: Any
    ) -> None:
        """Change fields of a table, as a person in the console does."""
        table = table or self.table(name, database)
        keep = (
            "Name",
            "Description",
            "Owner",
            "Retention",
            "TableType",
            "Parameters",
            "StorageDescriptor",
            "PartitionKeys",
        )
        table_input = {key: table[key] for key in keep if key in table} | changes
        self.glue.update_table(
            DatabaseName=database,
            TableInput={key: value for key, value in table_input.items() if value is not None},
            VersionId=table["VersionId"],
            SkipArchive=True,
        )
