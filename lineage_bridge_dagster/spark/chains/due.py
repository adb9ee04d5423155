"""Which chains a write has to compute, and which stored ones it has to look at."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from lineage_bridge_dagster.lineage.affected import GraphChange, affected
from lineage_bridge_dagster.lineage.catalog_tables import tables_of
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.model import Graph
from lineage_bridge_dagster.lineage.text import clean
from lineage_bridge_dagster.lineage.times import parse_iso


@dataclass(frozen=True, slots=True)
class Selection:
    """The chains that a write is asked for.

    Attributes:
        tables: the ids of all tables of the graph.
        selected: those whose chains are asked for.
        removes: whether chains of tables that the graph does not have are removed.
        until: if not None, only those of them that were found up to then.
    """

    tables: Sequence[str]
    selected: Sequence[str]
    removes: bool
    until: datetime | None

    @classmethod
    def of(cls, discovery: Discovery, table_ids: Sequence[str] | None) -> Selection:
        """Of these tables; None selects all, whose chains are then the only ones.

        A discovery that some tables are selected of removes chains only of tables that it would have found,
        and that no later one has found.
        """
        tables = [node.node_id for node in tables_of(discovery.graph)]
        if table_ids is None:
            return cls(tables, tables, removes=True, until=None)
        until = parse_iso(discovery.discovered_at)
        removes = until is not None and discovery.coverage.covers_all_tables
        return cls(tables, list(dict.fromkeys(table_ids)), removes, until)

    @property
    def present(self) -> set[str]:
        """The ids, as stored, of the tables that may have chains."""
        return {clean(table_id) for ids in (self.tables, self.selected) for table_id in ids}


@dataclass(frozen=True, slots=True)
class Due:
    """The chains that may differ from the stored ones.

    Attributes:
        tables: the ids of the tables whose chains are computed.
        others: ids, as stored, of which there may be chains though the graph has no such table; None if only
            a look at all stored chains tells.
        leaves_all: whether the chains of all tables are right after the write.
    """

    tables: Sequence[str]
    others: Collection[str] | None
    leaves_all: bool

    @property
    def is_nothing(self) -> bool:
        return not self.tables and self.others is not None and not self.others

    @classmethod
    def of(cls, selection: Selection) -> Due:
        """If nothing is known of what is stored: the chains of all selected tables."""
        selected = selection.selected
        return cls(selected, None if selection.removes else (), set(selected) >= set(selection.tables))

    @classmethod
    def after(cls, change: GraphChange, graph: Graph, selection: Selection, *, had_no_others: bool) -> Due:
        """If the stored chains are those of an earlier graph: the selected ones that the change can affect.

        Args:
            change: how the graph differs from the earlier one.
            graph: the graph.
            selection: the chains that are asked for.
            had_no_others: whether all stored chains are of tables of the earlier graph.
        """
        touched = affected(graph, change)
        hit = [table_id for table_id in selection.selected if table_id in touched]
        others: Collection[str] | None = ()
        if selection.removes:
            changed = {*change.removed, *change.nodes}
            others = changed - selection.present if had_no_others else None
        return cls(hit, others, touched.intersection(selection.tables) <= set(hit))
