"""Which chains a write has to compute, and which stored ones it has to look at."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain

import pyarrow as pa

from lineage_bridge_dagster.lineage.affected import GraphChange
from lineage_bridge_dagster.lineage.text import clean
from lineage_bridge_dagster.lineage.times import parse_iso
from lineage_bridge_dagster.spark.chains.source import Source


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
    def of(cls, source: Source, table_ids: Sequence[str] | None) -> Selection:
        """Of these tables; None selects all, whose chains are then the only ones.

        A discovery that some tables are selected of removes chains only of tables that it would have found,
        and that no later one has found.
        """
        tables = source.tables()
        if table_ids is None:
            return cls(tables, tables, removes=True, until=None)
        until = parse_iso(source.discovered_at)
        removes = until is not None and source.coverage.covers_all_tables
        return cls(tables, list(dict.fromkeys(table_ids)), removes, until)

    @property
    def present(self) -> pa.Array:
        """The ids, as stored, of the tables that may have chains."""
        ids = self.tables if self.selected is self.tables else chain(self.tables, self.selected)
        return pa.array(map(clean, ids), pa.string())


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
        others = None if selection.removes else ()
        return cls(selected, others, selected is selection.tables or set(selected) >= set(selection.tables))

    @classmethod
    def after(cls, change: GraphChange, source: Source, selection: Selection, *, had_no_others: bool) -> Due:
        """If the stored chains are those of an earlier graph: the selected ones that the change can affect.

        Args:
            change: how the graph differs from the earlier one.
            source: the graph.
            selection: the chains that are asked for.
            had_no_others: whether all stored chains are of tables of the earlier graph.
        """
        touched = source.affected(change)
        hit = [table_id for table_id in selection.selected if table_id in touched]
        others: Collection[str] | None = ()
        if selection.removes:
            changed = {*change.removed, *change.nodes}
            others = changed.difference(selection.present.to_pylist()) if had_no_others else None
        return cls(hit, others, touched & set(selection.tables) <= set(hit))
