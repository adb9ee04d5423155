"""What a REST catalog tells of a table: attributes of the table's node, and of a Tableflow table that
Tableflow's own catalog has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lineage_bridge_dagster.lineage.model import Graph, Node, NodeType
from lineage_bridge_dagster.lineage.nodes import NodeView

#: Attributes that change with every commit to the table.
COMMIT_ATTRIBUTES = frozenset({"snapshot_id", "last_commit", "rows"})

#: The attribute with the settings by which others reach the catalog, and which those are. None is secret.
CATALOG_SETTINGS = "catalog_settings"
SHOWN_SETTINGS = (
    "type",
    "uri",
    "warehouse",
    "region",
    "signing_name",
    "signing_region",
    "oauth2_server_uri",
    "scope",
    "s3_endpoint",
)


class CatalogFacts(NodeView):
    """A table as its REST catalog has it."""

    __slots__ = ()

    @property
    def catalog(self) -> str:
        """The name of the catalog in the settings; empty if the table was read in none."""
        return self.text("catalog")

    @property
    def settings(self) -> dict[str, str]:
        """Those of `SHOWN_SETTINGS` that the catalog has."""
        found = self.node.attributes.get(CATALOG_SETTINGS)
        values = found if isinstance(found, Mapping) else {}
        return {name: value for name in SHOWN_SETTINGS if isinstance(value := values.get(name), str)}

    @property
    def snapshot_id(self) -> str:
        """The current snapshot; empty before the first commit of rows."""
        return self.text("snapshot_id")

    @property
    def last_commit(self) -> str:
        """When the current snapshot was committed, as ISO 8601."""
        return self.text("last_commit")

    @property
    def rows(self) -> int | None:
        value = self.node.attributes.get("rows")
        return value if isinstance(value, int) and not isinstance(value, bool) else None


def tableflow_place(node: Node) -> tuple[str, str, str, str]:
    """Whose own catalog has a Tableflow table: organization, environment, cloud and region of its cluster.

    What is not known is empty.
    """
    view = NodeView.of(node)
    return (
        view.text("organization_id"),
        node.environment_id or "",
        view.text("cluster_cloud"),
        view.text("cluster_region"),
    )


def tableflow_places(graph: Graph) -> Iterator[tuple[str, str, str, str]]:
    """The places in which Tableflow has tables, each once."""
    return iter(dict.fromkeys(map(tableflow_place, graph.of_type(NodeType.TABLEFLOW_TABLE))))
