"""Tables of a shop in Glue, whose columns come from a database, and pushes of their lineage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from lineage_bridge_dagster.catalogs.business_context.business_context import BusinessContext
from lineage_bridge_dagster.catalogs.glue.enrichment import enrich
from lineage_bridge_dagster.catalogs.push import push_tables, push_to
from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.catalogs.settings.catalogs import Catalogs
from lineage_bridge_dagster.catalogs.settings.push_settings import PushSettings
from lineage_bridge_dagster.lineage.columns import Column, ColumnFlow, ColumnInput, How, to_attribute
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.model import Graph, NodeType
from lineage_bridge_dagster.lineage.push_results import PushReport, TableResult
from lineage_bridge_dagster_tests.aws.extended import ExtendedAws
from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog, GlueClient
from lineage_bridge_dagster_tests.catalogs.glue.graphs import CLUSTER, REGION, add_table, discovery
from lineage_bridge_dagster_tests.catalogs.glue.runs import clock, no_sleep

DATASET = "postgres://pg1.example:5432/shop.public.orders"
SETTINGS = PushSettings(business_context=True, owner="shop")


@dataclass
class Shop:
    """A strict Glue, what others do in it, and the product's client.

    Attributes:
        graph: Of the tables that were added.
    """

    aws: ExtendedAws
    catalog: Catalog
    client: GlueClient
    graph: Graph = field(default_factory=Graph)

    def add(self, name: str, columns: Sequence[str] = ("id", "note", "$$topic"), **options: Any) -> None:
        """Add a table with these columns; each but the last is a field of its topic, fed by the database."""
        storage = {
            "Location": f"s3://bucket/{name}",
            "Columns": [{"Name": c, "Type": "string"} for c in columns],
        }
        self.catalog.create(name, StorageDescriptor=storage)
        add_table(self.graph, name, **options)
        (topic,) = (n for n in self.graph.of_type(NodeType.KAFKA_TOPIC) if n.qualified_name == name)
        fields = [{"name": c, "type": "string"} for c in columns[:-1]]
        self.graph.add_node(replace(topic, attributes={**topic.attributes, "schema_fields": fields}))
        (source,) = (n.node_id for n in self.graph.of_type(NodeType.EXTERNAL_DATASET))
        (connector,) = self.graph.of_type(NodeType.CONNECTOR)
        flow = ColumnFlow(
            Column(topic.node_id, "id"), (ColumnInput(Column(source, "order_id"), How.IDENTITY),)
        )
        lineage, _ = to_attribute([flow])
        self.graph.add_node(
            replace(connector, attributes={**connector.attributes, "column_lineage": lineage})
        )

    def arn(self, name: str = "orders.v1") -> str:
        return self.aws.assets.arn(REGION, CLUSTER, name)

    @property
    def discovery(self) -> Discovery:
        """The graph as a discovery with what Glue tells of the tables."""
        found = enrich(Discovery(self.graph), self.client, region=REGION, clock=clock)
        return discovery(found.graph)

    def push_all(
        self, found: Discovery | None = None, *, dry_run: bool = False, **settings: Any
    ) -> PushReport:
        """Push to Glue and to its business context."""
        return push_tables(
            found or self.discovery,
            self.client,
            lambda: Catalogs(CatalogSettings()),
            SETTINGS.model_copy(update=settings),
            dry_run=dry_run,
        )

    def push(self, found: Discovery | None = None, **settings: Any) -> PushReport:
        """Push to the business context alone."""
        return push_to([self.context(**settings)], found or self.discovery)

    def only(self, **settings: Any) -> TableResult:
        (result,) = self.push(**settings).results
        return result

    def context(self, **settings: Any) -> BusinessContext:
        settings_ = SETTINGS.model_copy(update=settings)
        return BusinessContext(self.client, settings_, clock=clock, sleep=no_sleep)

    def forms(self, column: str = "", name: str = "orders.v1") -> dict[str, dict[str, Any]]:
        """What is attached to a table's asset, or to a column of it."""
        arn = self.arn(name)
        return self.aws.assets.attached(REGION, self.aws.assets.ids.get(arn, arn), column)

    @property
    def writes(self) -> int:
        """The calls so far that change something in the business context."""
        calls = self.aws.calls
        return sum(calls[name] for name in ("PutFormType", "PutAttachment", "DeleteAttachment"))
