"""Chains brought to those of a discovery: a chain that differs from the stored one is replaced as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.lineage.catalog_tables import tables_of
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.text import clean
from lineage_bridge_dagster.lineage.times import parse_iso
from lineage_bridge_dagster.spark.chains.computed import ComputedChains
from lineage_bridge_dagster.spark.chains.frames import PART_ROWS, frame_of
from lineage_bridge_dagster.spark.chains.lineage_tables import COLUMNS, UPSTREAM_CHAINS, digests, of_columns
from lineage_bridge_dagster.spark.commits import CommitMarker
from lineage_bridge_dagster.spark.iceberg_tables import TableName
from lineage_bridge_dagster.spark.merge import MergeKeys, merge, persisted
from lineage_bridge_dagster.spark.snapshot import Snapshot

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: Up to this many tables, a query names each of them.
_FEW_TABLES = 200

_KEYS = MergeKeys(("table_id", "node_id"), delete_column="_removed")


@dataclass(frozen=True, slots=True)
class Selection:
    """The chains that a write is asked for.

    Attributes:
        tables: the ids of all tables of the graph.
        selected: those whose chains are asked for.
        removes: whether chains of tables that the graph does not have are removed.
        until: if not None, only the chains that were found up to this time.
    """

    tables: Sequence[str]
    selected: Sequence[str]
    removes: bool
    until: datetime | None

    @classmethod
    def of(cls, discovery: Discovery, table_ids: Sequence[str] | None) -> Selection:
        """Select some tables; None selects all, whose chains are then the only ones.

        A discovery from which some tables are selected removes chains only of tables that it would have
        found, and that no later one has found.

        Raises:
            LineageBridgeError: a table is not in the graph.
        """
        graph = discovery.graph
        tables = [node.node_id for node in tables_of(graph)]
        if table_ids is None:
            return cls(tables, tables, removes=True, until=None)
        selected = list(dict.fromkeys(table_ids))
        if missing := [table_id for table_id in selected if table_id not in graph]:
            raise LineageBridgeError(
                f"{len(missing)} of {len(selected)} tables are not in the discovery, such as {missing[0]}.",
                hint="Run a discovery, and select tables that it has found.",
            )
        until = parse_iso(discovery.discovered_at)
        return cls(tables, selected, until is not None and discovery.coverage.covers_all_tables, until)

    @property
    def has_all(self) -> bool:
        """Whether all tables of the graph are selected."""
        return self.selected is self.tables or set(self.selected) >= set(self.tables)

    @property
    def present(self) -> pa.Array:
        """The ids, as stored, of the tables that may have chains."""
        ids = self.tables if self.selected is self.tables else chain(self.tables, self.selected)
        return pa.array(map(clean, ids), pa.string())


def with_digest(tables: pa.Table, summary: pa.Table) -> pa.Table:
    """The tables that have hops, in the order of the walk's summary, with the `chain_digest` of each."""
    chains = tables.take(pc.index_in(summary["table"], value_set=tables["table"]))
    # A part at a time, since Python's texts are several times as large as Arrow's.
    parts = [
        _digest_texts(chains.slice(start, PART_ROWS), summary.slice(start, PART_ROWS))
        for start in range(0, chains.num_rows, PART_ROWS)
    ]
    return chains.append_column("chain_digest", pa.chunked_array(parts, pa.string()))


def _digest_texts(tables: pa.Table, summary: pa.Table) -> pa.Array:
    names = zip(*(tables[name].to_pylist() for name in ("table_id", "database", "table_name")), strict=True)
    of_names = digests(names, of_columns(UPSTREAM_CHAINS))
    numbers = (of_names ^ summary["digest"].to_numpy()).view(np.uint64).tolist()
    flags = zip(summary["complete"].to_pylist(), summary["stale"].to_pylist(), strict=True)
    texts = [
        f"{number:016x}{'c' if complete else 'p'}{'s' if stale else 'f'}"
        for number, (complete, stale) in zip(numbers, flags, strict=True)
    ]
    return pa.array(texts, pa.string())


def differing(table_ids: pa.Array, chains: pa.Table, stored: pa.Table) -> pa.Array:
    """The selected tables whose stored chains differ from the wanted ones.

    Args:
        chains: `table_id, chain_digest` of the selected tables that have hops.
        stored: the different pairs of `table_id` and `chain_digest` that are stored, of any tables.
    """
    by_table = stored.group_by("table_id").aggregate([("chain_digest", "min"), ([], "count_all")])
    # Neither several digests of a table nor a missing one is the digest of any chain.
    known = pc.if_else(pc.equal(by_table["count_all"], 1), by_table["chain_digest_min"], "several")
    known = pc.fill_null(known, "none")
    found = known.take(pc.index_in(table_ids, value_set=by_table["table_id"]))
    wanted = chains["chain_digest"].take(pc.index_in(table_ids, value_set=chains["table_id"]))
    differs: pa.ChunkedArray = pc.not_equal(pc.fill_null(found, ""), pc.fill_null(wanted, ""))
    return table_ids.filter(differs.combine_chunks())


@dataclass(slots=True)
class ChainUpdate:
    """Brings the chains table to a walk.

    Attributes:
        computed: the chains of the selected tables.
        chains: those of these tables that have hops, with the digests of their chains.
        selection: the tables that were selected.
        discovered_at: the time of the discovery.
        changed: tables whose chains differ from the stored ones, after `write`.
        kept: tables that are not in the graph and whose chains were found later, after `write`.
    """

    spark: SparkSession
    table: TableName
    computed: ComputedChains
    chains: pa.Table
    selection: Selection
    discovered_at: datetime | None
    marker: CommitMarker = field(default_factory=CommitMarker)
    changed: int = 0
    kept: int = 0

    def write(self, since: Snapshot | None) -> None:
        """Replace the rows of chains that differ from what is stored now, in at most one commit.

        Args:
            since: the newest snapshot of the table, or that of a moment ago.
        """
        from pyspark.sql import functions as F

        spark, table = self.spark, self.table.sql
        rows = spark.table(table).select("table_id", "chain_digest")
        selected = pc.unique(pa.array(map(clean, self.selection.selected), pa.string()))
        few = not self.selection.removes and len(selected) <= _FEW_TABLES
        if few:
            rows = rows.where(F.col("table_id").isin(selected.to_pylist()))
        found = rows.distinct().toArrow()
        stored = pc.unique(found["table_id"])
        gone = stored.filter(pc.invert(pc.is_in(stored, value_set=self.selection.present)))
        if not self.selection.removes:
            gone = gone.slice(0, 0)
        removed = self._found_by_then(gone)
        self.kept = len(gone) - len(removed)
        ids = pc.unique(pa.concat_arrays([differing(selected, self.chains, found), removed]))
        self.changed = len(ids)
        if not self.changed:
            return
        replaced = ids.filter(pc.is_in(ids, value_set=stored))
        with self._rows(ids) as fresh:
            if not len(replaced):
                self.marker.add(fresh, table, since)
            elif not few and len(replaced) == len(stored):
                # No row stays, so replacing all of them is cheaper than matching.
                self.marker.writer(fresh, table).overwrite(F.lit(True))
            else:
                self._merge(fresh, replaced)

    def _found_by_then(self, table_ids: pa.Array) -> pa.Array:
        """Those of some tables all of whose rows were found up to the selection's time."""
        from pyspark.sql import functions as F

        if not len(table_ids) or self.selection.until is None:
            return table_ids
        later = F.coalesce(F.col("discovered_at") > F.lit(self.selection.until), F.lit(True))
        kept = self._stored(table_ids).where(later).select("table_id").distinct().toArrow()
        return table_ids.filter(pc.invert(pc.is_in(table_ids, value_set=kept["table_id"])))

    def _stored(self, table_ids: pa.Array) -> DataFrame:
        """The stored rows of some tables."""
        from pyspark.sql import functions as F

        ids = frame_of(self.spark, pa.table({"table_id": table_ids}))
        return self.spark.table(self.table.sql).join(F.broadcast(ids), "table_id", "left_semi")

    @contextmanager
    def _rows(self, table_ids: pa.Array) -> Iterator[DataFrame]:
        """The rows of some tables' chains."""
        from pyspark.sql import functions as F

        tables = self.chains.filter(pc.is_in(self.chains["table_id"], value_set=table_ids))
        with self.computed.rows(tables) as rows:
            yield (
                rows.withColumn("discovered_at", F.lit(self.discovered_at).cast("timestamp"))
                .withColumn("computed_at", F.lit(datetime.now(UTC)).cast("timestamp"))
                .select(*(column for column, _, _ in COLUMNS[UPSTREAM_CHAINS]))
            )

    def _merge(self, fresh: DataFrame, replaced: pa.Array) -> None:
        """Add chains, and replace those of some tables, at least one.

        Rows to delete are part of the source, with a flag, so that MERGE joins on matches alone: for
        `NOT MATCHED BY SOURCE` it would read the rows of all other tables.
        """
        from pyspark.sql import functions as F

        keys, flag = list(_KEYS.columns), _KEYS.delete_column
        removed = self._stored(replaced).join(fresh.select(*keys), keys, "left_anti")
        source = fresh.withColumn(flag, F.lit(False)).unionByName(removed.withColumn(flag, F.lit(True)))
        with persisted(source) as rows:
            merge(rows, self.table, _KEYS, self.marker)
