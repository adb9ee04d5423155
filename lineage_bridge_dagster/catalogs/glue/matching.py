"""Which Glue table a Tableflow table became."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from lineage_bridge_dagster.catalogs.glue.glue_table import GlueTable, normalize_location
from lineage_bridge_dagster.lineage.glue_names import GluePlace
from lineage_bridge_dagster.lineage.model import Node
from lineage_bridge_dagster.lineage.nodes import TableflowNode


class MatchedBy(StrEnum):
    """What showed that a Glue table is Tableflow's: its storage location, or only its expected name."""

    LOCATION = "location"
    NAME = "name"


@dataclass(frozen=True, slots=True)
class TableMatch:
    """A Tableflow table and the Glue table that it became."""

    source: Node
    table: GlueTable
    by: MatchedBy

    @property
    def location_differs(self) -> bool:
        """Whether the name matches and the location does not: perhaps a table from before the topic was
        deleted and created again."""
        path = normalize_location(TableflowNode.of(self.source).table_path)
        return self.by is MatchedBy.NAME and bool(path and self.table.location)


def match_tables(sources: Iterable[Node], tables: Iterable[GlueTable]) -> dict[str, TableMatch]:
    """Match Tableflow tables with Glue tables, by storage location first, then by the expected name.

    The location comes first because Tableflow may have chosen another name than expected. A database is
    never assumed: without a known one, only the location can match.

    Returns:
        The matches by the node id of the Tableflow table.
    """
    by_place: dict[GluePlace, GlueTable] = {}
    by_location: dict[str, list[GlueTable]] = {}
    for table in tables:
        by_place[table.place.folded] = table
        if table.location and table.read_only_reason is None:
            by_location.setdefault(normalize_location(table.location), []).append(table)
    matches: dict[str, TableMatch] = {}
    for node in sources:
        view = TableflowNode.of(node)
        expected, path = view.expected_place, normalize_location(view.table_path)
        if path and path in by_location:
            table = _closest(by_location[path], expected)
            matches[node.node_id] = TableMatch(node, table, MatchedBy.LOCATION)
        elif expected is not None and expected in by_place:
            matches[node.node_id] = TableMatch(node, by_place[expected], MatchedBy.NAME)
    return matches


def place_of(source: Node, match: TableMatch | None) -> GluePlace | None:
    """Where a Tableflow table is in Glue, else where it is expected, if that is known."""
    return match.table.place if match else TableflowNode.of(source).expected_place


def find_conflicts(sources: Iterable[Node], matches: Mapping[str, TableMatch]) -> dict[GluePlace, str]:
    """The Glue tables that several topics claim, each with a sentence that names the topics."""
    claims: dict[GluePlace, list[Node]] = {}
    for node in sources:
        if (place := place_of(node, matches.get(node.node_id))) is not None:
            claims.setdefault(place, []).append(node)
    return {
        place: f"{' and '.join(sorted(map(topic_of, nodes)))} all become {place.qualified_name}"
        for place, nodes in claims.items()
        if len(nodes) > 1
    }


def _closest(tables: Iterable[GlueTable], expected: GluePlace | None) -> GlueTable:
    """Choose among tables registered at one location: the expected one, else one in its database."""

    def distance(table: GlueTable) -> tuple[bool, bool, str, str]:
        place = table.place.folded
        in_database = expected is not None and place.database == expected.database
        return place != expected, not in_database, table.database, table.name

    return min(tables, key=distance)


def topic_of(source: Node) -> str:
    """A Tableflow table's topic, with its cluster."""
    topic = TableflowNode.of(source).topic
    return f"{source.cluster_id}.{topic}" if source.cluster_id else topic
