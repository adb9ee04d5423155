"""Which Glue tables are those that sink connectors write: by their names in Glue, or by their folders. Pure.

A connector that writes through Glue, such as Iceberg's with `GlueCatalog`, names the table. One that writes
files, such as those to S3, names a folder, which a crawler or a statement may have made a table of.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lineage_bridge_dagster.catalogs.glue.glue_table import GlueTable, normalize_location
from lineage_bridge_dagster.catalogs.glue.table_nodes import pushed_environment
from lineage_bridge_dagster.lineage.catalog_tables import materializes
from lineage_bridge_dagster.lineage.coverage import Note, Scope
from lineage_bridge_dagster.lineage.glue_names import GluePlace
from lineage_bridge_dagster.lineage.model import Edge, EdgeType, Evidence, Graph, Node, NodeType, scopes_of
from lineage_bridge_dagster.lineage.nodes import ConnectorNode
from lineage_bridge_dagster.lineage.unknowns import ELSEWHERE_TABLES

#: A table of Glue, as OpenLineage names its dataset.
_ARN = re.compile(
    r"arn:aws[a-z-]*:glue:(?P<region>[^:/]+):(?P<account>[^:/]*)/table/(?P<database>[^/]+)/(?P<table>.+)"
)
#: Where Iceberg's `GlueCatalog` puts a table unless its database has a folder of its own.
_FOLDER = re.compile(r".+/(?P<database>[^/]+)\.db/(?P<table>[^/]+)")
#: Confidence in a table that is found by its name alone: the connector does not say in which account.
_BY_NAME = 0.8
#: Confidence in a table over a folder above the one that the connector writes to.
_ABOVE = 0.8


@dataclass(frozen=True, slots=True)
class WrittenDataset:
    """A dataset that sink connectors write.

    Attributes:
        scopes: Those of the dataset and of the edges to it.
        place: Database and table in lower case, if the dataset is a table of Glue.
        account: The AWS account of that table; empty if the connector does not say.
        region: The AWS region of that table; empty if the connector does not say.
        location: The folder, if the dataset is one.
    """

    node: Node
    writers: tuple[Node, ...]
    scopes: frozenset[str]
    place: GluePlace | None = None
    account: str = ""
    region: str = ""
    location: str = ""

    def is_elsewhere(self, table: GlueTable) -> bool:
        """Whether the connector names another account than that of a table of the same name."""
        return bool(self.account) and table.catalog_id not in (None, self.account)


@dataclass(frozen=True, slots=True)
class SinkMatch:
    """A dataset that is, or becomes, a Glue table, and how sure that is."""

    written: WrittenDataset
    evidence: Evidence
    confidence: float
    matched_by: str


class SinkTables:
    """The datasets of a graph that may be Glue tables."""

    def __init__(self, graph: Graph, region: str) -> None:
        self._region = region
        self._by_place: dict[GluePlace, list[WrittenDataset]] = defaultdict(list)
        self._by_location: dict[str, list[WrittenDataset]] = defaultdict(list)
        self._inside: dict[str, list[WrittenDataset]] = defaultdict(list)
        self._elsewhere: list[WrittenDataset] = []
        for written in _written(graph):
            if written.place is not None and written.region not in ("", region):
                self._elsewhere.append(written)
                continue
            if written.place is not None:
                self._by_place[written.place].append(written)
            if written.location:
                self._by_location[written.location].append(written)
                for folder in _folders_above(written.location):
                    self._inside[folder].append(written)

    @property
    def places(self) -> frozenset[GluePlace]:
        """Where tables are expected by their names."""
        return frozenset(self._by_place)

    def matches(self, table: GlueTable) -> list[SinkMatch]:
        """The datasets that a table is made of, each once."""
        if table.raw.get("TargetTable"):
            # A resource link: the table itself is found in its own catalog.
            return []
        location = normalize_location(table.location)
        found: dict[str, SinkMatch] = {}
        for written in self._by_location.get(location, ()) if location else ():
            found[written.node.node_id] = SinkMatch(written, Evidence.OBSERVED, 1.0, "location")
        for written in self._by_place.get(table.place.folded, ()):
            if written.is_elsewhere(table) or not (written.account or _is_iceberg(table)):
                continue
            sure = 1.0 if written.account else _BY_NAME
            found.setdefault(written.node.node_id, SinkMatch(written, Evidence.DECLARED, sure, "name"))
        if location and not _is_iceberg(table):
            # An Iceberg table has only the files that its metadata lists, wherever its folder is.
            for written in self._inside.get(location, ()):
                match = SinkMatch(written, Evidence.OBSERVED, _ABOVE, "location_above")
                found.setdefault(written.node.node_id, match)
        return sorted(found.values(), key=lambda match: match.written.node.node_id)

    def notes(self, tables: Iterable[GlueTable]) -> tuple[Note, ...]:
        """A note on the tables that connectors write in other regions and accounts, which are not read."""
        names = [written.node.qualified_name for written in self._elsewhere]
        for table in tables:
            names += [
                written.node.qualified_name
                for written in self._by_place.get(table.place.folded, ())
                if written.is_elsewhere(table)
            ]
        return (Note(ELSEWHERE_TABLES, tuple(sorted(set(names)))),) if names else ()


def source_of(table: GlueTable, matches: Sequence[SinkMatch]) -> Node:
    """The connector that gives a table its environment and cluster: that of the last push, else the first."""
    writers = sorted(
        {writer.node_id: writer for match in matches for writer in match.written.writers}.items()
    )
    pushed = pushed_environment(table)
    return next((writer for _, writer in writers if writer.environment_id == pushed), writers[0][1])


def add_edges(graph: Graph, table: Node, matches: Iterable[SinkMatch], scope: Scope, now: str) -> Node:
    """Add a table's node, and the edges from the datasets that it is made of.

    Its scopes are those of Glue and of the connectors, so that an outage of either does not remove it.
    """
    matches = list(matches)
    scopes = sorted({str(scope)}.union(*(match.written.scopes for match in matches)))
    node = graph.add_node(table.with_attributes(scopes=scopes))
    for match in matches:
        graph.add_edge(
            materializes(
                match.written.node,
                node,
                scope,
                sorted({str(scope), *match.written.scopes}),
                now,
                evidence=match.evidence,
                confidence=match.confidence,
                matched_by=match.matched_by,
            )
        )
    return node


def _written(graph: Graph) -> Iterator[WrittenDataset]:
    edges: dict[str, list[Edge]] = defaultdict(list)
    for edge in graph.edges.values():
        if edge.edge_type == EdgeType.PRODUCES and edge.src_id in graph:
            edges[edge.dst_id].append(edge)
    for node in graph.of_type(NodeType.EXTERNAL_DATASET):
        writers = [
            writer
            for edge in edges.get(node.node_id, ())
            if (writer := graph.nodes[edge.src_id]).node_type == NodeType.CONNECTOR
        ]
        if not writers:
            continue
        scopes = scopes_of(node.attributes).union(
            *(scopes_of(edge.attributes) for edge in edges[node.node_id])
        )
        yield _of(node, tuple(sorted(writers, key=lambda each: each.node_id)), frozenset(scopes))


def _of(node: Node, writers: tuple[Node, ...], scopes: frozenset[str]) -> WrittenDataset:
    name = node.qualified_name
    if (arn := _ARN.fullmatch(name)) is not None:
        place = GluePlace(arn["database"], arn["table"]).folded
        return WrittenDataset(node, writers, scopes, place, arn["account"], arn["region"])
    location = normalize_location(name) if "://" in name else ""
    by_glue = list(filter(_is_glue_catalog, (ConnectorNode.of(writer).config for writer in writers)))
    if by_glue and (folder := _FOLDER.fullmatch(location)) is not None:
        region = str(by_glue[0].get("iceberg.catalog.client.region") or "")
        place = GluePlace(folder["database"], folder["table"]).folded
        return WrittenDataset(node, writers, scopes, place, "", region, location)
    return WrittenDataset(node, writers, scopes, location=location)


def _is_glue_catalog(config: Mapping[str, Any]) -> bool:
    """Whether a connector writes Iceberg tables through Glue's own catalog."""
    named = config.get("iceberg.catalog.catalog-impl") or config.get("iceberg.catalog.type") or ""
    last = str(named).rpartition(".")[2].lower()
    return last in ("glue", "gluecatalog")


def _is_iceberg(table: GlueTable) -> bool:
    return str(table.parameters.get("table_type") or "").upper() == "ICEBERG"


def _folders_above(location: str) -> Iterator[str]:
    """The folders above a folder, without the bucket itself."""
    scheme, separator, rest = location.partition("://")
    parts = rest.split("/")
    for length in range(len(parts) - 1, 1, -1):
        yield scheme + separator + "/".join(parts[:length])
