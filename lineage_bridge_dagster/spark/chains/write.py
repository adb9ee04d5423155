"""Chains of all selected tables, computed on Spark and stored in one commit.

The rows of a table's chain are replaced when the chain changed and left alone otherwise, and so are those
of tables that were not selected. Nodes, edges and coverage are committed first, so that a chain never names
a node that a reader can't find.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.iceberg import spark_name
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.nodes import glue_tables
from lineage_bridge_dagster.lineage.text import clean
from lineage_bridge_dagster.spark.chains.adjacency import adjacency, shared
from lineage_bridge_dagster.spark.chains.hops import hop_rows, incomplete_nodes
from lineage_bridge_dagster.spark.chains.lineage_tables import (
    COLUMNS,
    UPSTREAM_CHAINS,
    Records,
    graph_records,
    timestamp,
)
from lineage_bridge_dagster.spark.iceberg_tables import (
    current_snapshot,
    ensure_namespace,
    exists,
    explain_missing_warehouse,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NAMESPACE = "lineage_bridge"

#: Key in the snapshot summary of `nodes`, `edges` and `coverage`. A summary, and no table property: Glue
#: shows table properties as parameters, and those are the pushed lineage's place.
_DIGEST = "content-digest"

_MAX_ATTEMPTS = 6

#: What changes between two computations of one chain without the chain having changed.
_NOT_IN_DIGEST = frozenset({"chain_digest", "discovered_at", "computed_at", "complete", "stale_since"})

_CONFLICTS = ("CommitFailedException", "ValidationException", "conflicting", "ConcurrentModification")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Commit:
    """How a lineage table stands after a write. `written` is False when nothing had changed."""

    table: str
    written: bool
    snapshot_id: int | None


@dataclass(frozen=True, slots=True)
class LineageWrite:
    """What a bulk write did.

    Attributes:
        tables: tables selected.
        changed: those of them whose rows were replaced, tables that left counted in.
        hops: table id -> rows of its chain, for every selected table.
        commits: how each lineage table stands.
    """

    tables: int
    changed: int
    hops: Mapping[str, int] = field(default_factory=dict)
    commits: tuple[Commit, ...] = ()

    @property
    def rows(self) -> int:
        """Rows of all selected chains."""
        return sum(self.hops.values())

    @property
    def snapshot_id(self) -> int | None:
        """The snapshot of `upstream_chains` that holds the chains."""
        return next((c.snapshot_id for c in self.commits if c.table == UPSTREAM_CHAINS), None)

    @property
    def written(self) -> bool:
        """Whether `upstream_chains` got a commit."""
        return any(c.written for c in self.commits if c.table == UPSTREAM_CHAINS)


def write_lineage(
    spark: SparkSession,
    discovery: Discovery,
    table_ids: Sequence[str] | None = None,
    catalog: str = "glue",
    namespace: str = NAMESPACE,
    *,
    sql: str = "redacted",
    progress: Callable[[str], None] = lambda _line: None,
) -> LineageWrite:
    """Write nodes, edges, coverage and the chains of the selected tables.

    Args:
        spark: a session in which the catalog is configured.
        discovery: what was found.
        table_ids: node ids of the tables; None means all Glue tables, and then the rows of tables that
            the graph no longer has are removed too.
        catalog: the catalog's name in Spark.
        namespace: where the lineage tables are.
        sql: how SQL text is shown in the chains: full, redacted, hash or none.
        progress: told of each step when it is done, and how long it took.

    Raises:
        LineageBridgeError: a table is not in the graph, or commits went on conflicting.
        ConfigurationError: the catalog has no warehouse.
    """
    graph = discovery.graph
    everything = table_ids is None
    if table_ids is None:
        table_ids = [node.node_id for node in glue_tables(graph)]
    chosen = list(dict.fromkeys(table_ids))
    missing = [table_id for table_id in chosen if table_id not in graph]
    if missing:
        raise LineageBridgeError(
            f"{len(missing)} of {len(chosen)} tables are not in the discovery, the first being {missing[0]}.",
            hint="Run a discovery, and ask for the tables that it names.",
        )
    said = _Steps(progress)
    ensure_namespace(spark, catalog, namespace)
    commits = [_replace(spark, catalog, namespace, records) for records in graph_records(discovery)]
    written = [commit.table for commit in commits if commit.written]
    said.done(f"Stored {', '.join(written)}" if written else "Nodes, edges and coverage are stored already")
    name = _ensure_table(spark, catalog, namespace, UPSTREAM_CHAINS)
    with shared(spark, adjacency(graph, incomplete_nodes(discovery))) as arrays:
        rows = _with_digest(hop_rows(spark, graph, arrays, chosen, sql)).persist()
        try:
            stored_as = {clean(table_id): table_id for table_id in chosen}
            hops = dict.fromkeys(chosen, 0)
            digests: dict[str, str] = {}
            for table_id, digest, count in rows.groupBy("table_id", "chain_digest").count().collect():
                hops[stored_as[table_id]], digests[table_id] = count, digest
            said.done(f"Computed the chains of {len(chosen):,} tables: {sum(hops.values()):,} hops")
            at = timestamp(discovery.discovered_at)
            changed = _retried(
                f"{catalog}.{namespace}.{UPSTREAM_CHAINS}",
                lambda: _store(spark, name, rows, digests, None if everything else list(stored_as), at),
            )
        finally:
            rows.unpersist()
    said.done(f"Stored {changed:,} changed chains" if changed else "No chain changed, so none was stored")
    after = current_snapshot(spark, name)
    commits.append(Commit(UPSTREAM_CHAINS, bool(changed), after.snapshot_id if after else None))
    return LineageWrite(len(chosen), changed, hops, tuple(commits))


class _Steps:
    """Tells each step with the seconds since the one before."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._began = time.monotonic()

    def done(self, what: str) -> None:
        self._say(f"{what} ({time.monotonic() - self._began:.1f} s)")
        self._began = time.monotonic()


def _with_digest(rows: DataFrame) -> DataFrame:
    """Add `chain_digest`: rows combine by exclusive or, for a chain has no order and no row twice."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    content = [name for name in rows.columns if name not in _NOT_IN_DIGEST]
    # NULL and "" must differ, and xxhash64 skips NULL.
    parts = [F.coalesce(F.col(name).cast("string"), F.lit("\0")) for name in content]
    digest = F.bit_xor(F.xxhash64(*parts)).over(Window.partitionBy("table_id"))
    flags = F.concat_ws(
        "",
        F.when(F.col("complete"), "c").otherwise("p"),
        F.when(F.max("stale_since").over(Window.partitionBy("table_id")).isNull(), "f").otherwise("s"),
    )
    return rows.withColumn("chain_digest", F.concat(F.lower(F.hex(digest)), flags))


def _store(
    spark: SparkSession,
    name: str,
    rows: DataFrame,
    digests: Mapping[str, str],
    selected: Sequence[str] | None,
    discovered_at: datetime | None,
) -> int:
    """Bring the chains table to the computed rows, in at most one commit; returns how many tables changed."""
    from pyspark.sql import functions as F

    stored: dict[str, set[str]] = {}
    for table_id, digest in spark.table(name).select("table_id", "chain_digest").distinct().collect():
        stored.setdefault(table_id, set()).add(digest)
    within = stored.keys() | digests.keys() if selected is None else set(selected)
    changed = sorted(t for t in within if stored.get(t, set()) != ({digests[t]} if t in digests else set()))
    if not changed:
        return 0
    ids = spark.createDataFrame(pa.table({"table_id": pa.array(changed, pa.string())}))
    fresh = (
        rows.join(F.broadcast(ids), "table_id", "left_semi")
        .withColumn("discovered_at", F.lit(discovered_at).cast("timestamp"))
        .withColumn("computed_at", F.lit(datetime.now(UTC)).cast("timestamp"))
        .select(*(column for column, _, _ in COLUMNS[UPSTREAM_CHAINS]))
    )
    if not stored:
        fresh.sortWithinPartitions("table_id", "hop").writeTo(name).append()
    elif stored.keys() <= set(changed):
        # No row is to stay, so replacing all is cheaper than matching.
        fresh.sortWithinPartitions("table_id", "hop").writeTo(name).overwrite(F.lit(True))
    else:
        _merge(spark, name, fresh, ids)
    return len(changed)


def _merge(spark: SparkSession, name: str, fresh: DataFrame, ids: DataFrame) -> None:
    """Replace the chains of some tables among others, in one commit.

    Rows that are to go are put among the source, marked: so MERGE joins on matches alone and never looks at
    the rows of other tables as `NOT MATCHED BY SOURCE` would have it do.
    """
    from pyspark.sql import functions as F

    old = spark.table(name).join(F.broadcast(ids), "table_id", "left_semi")
    gone = old.join(fresh.select("table_id", "node_id"), ["table_id", "node_id"], "left_anti")
    source = fresh.withColumn("_gone", F.lit(False)).unionByName(gone.withColumn("_gone", F.lit(True)))
    view = f"lineage_bridge_merge_{time.monotonic_ns()}"
    source.persist()
    try:
        source.createOrReplaceTempView(view)
        columns = [f"`{column}`" for column, _, _ in COLUMNS[UPSTREAM_CHAINS]]
        spark.sql(
            # Names are quoted and columns are our own.
            f"MERGE INTO {name} t USING {view} s "  # noqa: S608
            "ON t.table_id = s.table_id AND t.node_id = s.node_id "
            "WHEN MATCHED AND s._gone THEN DELETE "
            f"WHEN MATCHED THEN UPDATE SET {', '.join(f't.{c} = s.{c}' for c in columns)} "
            f"WHEN NOT MATCHED AND NOT s._gone THEN INSERT ({', '.join(columns)}) "
            f"VALUES ({', '.join(f's.{c}' for c in columns)})"
        )
    finally:
        spark.catalog.dropTempView(view)
        source.unpersist()


def _replace(spark: SparkSession, catalog: str, namespace: str, records: Records) -> Commit:
    """Replace all rows of a lineage table in one commit, unless it holds the same already."""
    from pyspark.sql import functions as F

    name = _ensure_table(spark, catalog, namespace, records.table)
    before = current_snapshot(spark, name)
    if before is not None and before.summary.get(_DIGEST) == records.digest:
        return Commit(records.table, False, before.snapshot_id)
    frame = spark.createDataFrame(records.rows)

    def commit() -> None:
        # Any of a number of concurrent writers may win: each writes a whole discovery.
        writer = frame.writeTo(name).option(f"snapshot-property.{_DIGEST}", records.digest)
        # No isolation level: without a snapshot to validate from, it would take the table's own history for
        # conflicts, and every overwrite after the second would fail.
        writer.overwrite(F.lit(True))

    _retried(f"{catalog}.{namespace}.{records.table}", commit)
    after = current_snapshot(spark, name)
    return Commit(records.table, True, after.snapshot_id if after else None)


def _ensure_table(spark: SparkSession, catalog: str, namespace: str, table: str) -> str:
    name = spark_name(catalog, namespace, table)
    if exists(spark, name):
        return name
    columns = ", ".join(f"`{c}` {kind} COMMENT '{_escaped(comment)}'" for c, kind, comment in COLUMNS[table])
    properties = {
        "format-version": "2",
        # A merge then writes what changed, not each file that it touches.
        "write.merge.mode": "merge-on-read",
        "write.metadata.delete-after-commit.enabled": "true",
        "write.metadata.previous-versions-max": "100",
    }
    listed = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
    with _explained(catalog):
        spark.sql(f"CREATE TABLE IF NOT EXISTS {name} ({columns}) USING iceberg TBLPROPERTIES ({listed})")
    return name


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")


@contextmanager
def _explained(catalog: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        better = explain_missing_warehouse(error, catalog)
        if better is error:
            raise
        raise better from error


def _retried(table: str, commit: Callable[[], Any]) -> Any:
    """Run a commit again, from what is then stored, while others commit to the table between."""
    for attempt in range(1, _MAX_ATTEMPTS + 1):
        try:
            return commit()
        except Exception as error:
            if not any(word in str(error) for word in _CONFLICTS):
                raise
            if attempt == _MAX_ATTEMPTS:
                raise LineageBridgeError(
                    f"{_MAX_ATTEMPTS} commits to {table} conflicted with another writer's.",
                    hint="Let one run at a time write the lineage tables, then run this one again.",
                ) from error
            _log.info("A commit to %s conflicted; trying again (%d)", table, attempt)
            time.sleep(random.uniform(0.2, 1.0) * attempt)  # noqa: S311
    raise AssertionError
