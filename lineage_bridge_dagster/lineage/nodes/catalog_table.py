"""Tables of catalogs: of Glue, of Iceberg REST catalogs, and of those to which nothing is pushed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lineage_bridge_dagster.lineage.glue_names import AWS_GLUE, GluePlace
from lineage_bridge_dagster.lineage.nodes.attribute import Api, Holds, attribute
from lineage_bridge_dagster.lineage.nodes.catalog_reports import CommitReport, GlueReport
from lineage_bridge_dagster.lineage.nodes.node import Node, NodeType, kind
from lineage_bridge_dagster.lineage.nodes.values import COLUMNS, Field

#: The `catalog_type` of tables of REST catalogs, S3 Tables among them.
ICEBERG_REST = "ICEBERG_REST"


@kind(NodeType.CATALOG_TABLE, system="external")
class CatalogTableNode(Node, GlueReport, CommitReport):
    """A table of a catalog."""

    __slots__ = ()

    #: The database; of a REST catalog, the levels of its namespace with dots between them.
    database: str = attribute(Api.GLUE, in_details=False)
    table_name: str = attribute(Api.GLUE, in_details=False)
    #: Its parameters in Glue, or properties.
    parameters: Mapping[str, Any] = attribute(
        Api.GLUE, volatile=True, holds=Holds.PARAMETERS, in_details=False, keeps_empty=True
    )
    aws_region: str = attribute(Api.GLUE, in_details=False)
    #: ISO 8601.
    create_time: str = attribute(Api.GLUE, keeps_empty=True)
    #: Tableflow and its integrations tell the topics that claim the table.
    conflict: str = attribute(Api.TABLEFLOW, Api.INTEGRATIONS, in_details=False)
    #: Why nothing is written to it; empty if that is not known.
    not_writable: str = attribute()
    #: If `topic_to_iceberg` loads it, that name, and the stamp that tells the topic: see `loaded_topics`.
    loader: str = attribute()
    loaded_topic: str = attribute()


@kind(NodeType.CATALOG_TABLE, AWS_GLUE, system="aws")
class GlueTableNode(CatalogTableNode):
    """A table of the AWS Glue catalog."""

    __slots__ = ()

    owner: str = attribute(Api.GLUE, keeps_empty=True)
    table_type: str = attribute(Api.GLUE, keeps_empty=True)
    partition_keys: Sequence[Field] = attribute(Api.GLUE, codec=COLUMNS, keeps_empty=True)
    input_format: str = attribute(Api.GLUE, keeps_empty=True)
    output_format: str = attribute(Api.GLUE, keeps_empty=True)
    #: The serialization library.
    serde_info: str = attribute(Api.GLUE, keeps_empty=True)
    #: The `SerDeInfo` of Glue's API.
    serde_details: Mapping[str, Any] = attribute(Api.GLUE, keeps_empty=True)
    description: str = attribute(Api.GLUE, volatile=True, holds=Holds.DESCRIPTION, keeps_empty=True)
    version_id: str = attribute(Api.GLUE, volatile=True, keeps_empty=True)
    #: The account.
    catalog_id: str = attribute(Api.GLUE, keeps_empty=True)
    #: ISO 8601.
    update_time: str = attribute(Api.GLUE, volatile=True, keeps_empty=True)

    @property
    def place(self) -> GluePlace | None:
        """Where Glue holds the table, from the attributes, else from the qualified name.

        The attributes do not name an account: a qualified name of another account or region does.
        None if neither gives both database and table.
        """
        parsed = GluePlace.parse(self.qualified_name)
        database, table = self.database, self.table_name
        if not (database and table):
            return parsed
        named = GluePlace(database, table)
        if parsed is None or self.qualified_name == named.qualified_name:
            return named
        return named._replace(away=parsed.away)

    @property
    def home_place(self) -> GluePlace | None:
        """`place` in lower case, to call Glue with; None if it is unknown or of another account or region.

        A table of the same name in the home account is a different one.
        """
        place = self.place
        return place.folded if place and place.is_home else None

    @property
    def shown_place(self) -> GluePlace:
        """`place`; if that is unknown, a substitute for keys and pages that need a name."""
        if (place := self.place) is not None:
            return place
        database, _, table = self.qualified_name.removeprefix("glue://").partition("/")
        return GluePlace(database, table or self.label)


@kind(NodeType.CATALOG_TABLE, ICEBERG_REST, system="iceberg")
class IcebergTableNode(CatalogTableNode):
    """A table of a REST catalog."""

    __slots__ = ()

    @property
    def namespace(self) -> tuple[str, ...]:
        return tuple(self.database.split("."))
