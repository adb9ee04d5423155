"""The engine behind the assets: a `TopicTable` on Spark for each topic."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from lineage_bridge_dagster.config.topic_loads import TopicLoad
from lineage_bridge_dagster.confluent.api.record_times import oldest_after
from lineage_bridge_dagster.confluent.cluster_connection import ClusterConnection
from lineage_bridge_dagster.confluent.registered_schemas import fetch_schemas
from lineage_bridge_dagster.dead_letters.headers import Origin
from lineage_bridge_dagster.dead_letters.letter import DeadLetterQueue
from lineage_bridge_dagster.dead_letters.topic import DeadLetterTopic
from lineage_bridge_dagster.spark.iceberg_tables import TableName, current_snapshot, exists
from lineage_bridge_dagster.spark.kafka import KafkaTopic, Offsets
from lineage_bridge_dagster.spark.tableflow.config import (
    Failures,
    TopicRecords,
    TopicSchemas,
    TopicTableConfig,
)
from lineage_bridge_dagster.spark.tableflow.topic_table import TopicTable
from lineage_bridge_dagster.topic_to_iceberg.loader import Loader, OpenLoader, Step, TableLook
from lineage_bridge_dagster.topics.schemas import SubjectSchemas

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: The time, in Unix milliseconds, of the oldest record between offsets and ends; None if there is none.
OldestUnread = Callable[[Offsets, Offsets], int | None]

#: Kinds of delete files that a snapshot counts.
_DELETES = ("total-equality-deletes", "total-position-deletes")


class TableLoader:
    """Loads one topic."""

    def __init__(
        self,
        spark: SparkSession,
        load: TopicLoad,
        topic: TopicRecords,
        schemas: Callable[[], TopicSchemas],
        oldest_unread: OldestUnread,
        *,
        queue: DeadLetterQueue | None = None,
    ) -> None:
        self._spark = spark
        self._topic = topic
        self._logs = load.failures == "log"
        self._fetch = schemas
        self._last = TopicSchemas()
        self._oldest_unread = oldest_unread
        self._name = TableName(load.catalog, load.database, load.table)
        self._table = TopicTable(
            spark,
            topic,
            table_config(load),
            self._schemas,
            max_records=load.batch_records,
            dead_letter_queue=queue,
        )

    def ensure(self) -> None:
        # A table at another location than the configured one stays where it is.
        self._table.ensure()

    def ends(self) -> Offsets:
        return self._topic.bounds()[1]

    def advance(self) -> Step:
        done = self._table.advance()
        return Step(
            done.offsets,
            done.caught_up,
            rows=done.rows,
            inserted=done.rows,
            skipped=0 if self._logs else done.skipped,
            dead_letters=done.skipped if self._logs else 0,
            committed=bool(done.rows or done.skipped),
        )

    def look(self) -> TableLook:
        first, ends = self._topic.bounds()
        offsets = self._table.offsets() if exists(self._spark, self._name) else {}
        # What retention removed, or what was before the start, does not wait.
        done = {p: max(offsets.get(p, begin), begin) for p, begin in first.items()}
        if not exists(self._spark, self._name):
            return TableLook(offsets=done, ends=ends, oldest_unread_ms=self._oldest_unread(done, ends))
        snapshot = current_snapshot(self._spark, self._name)
        columns = {
            each.name: each.dataType.simpleString()
            for each in self._spark.table(self._name.sql).schema.fields
        }
        has_deletes = snapshot is not None and any(map(snapshot.count, _DELETES))
        return TableLook(
            snapshot_id=snapshot.snapshot_id if snapshot else None,
            committed_ms=snapshot.committed_at if snapshot else None,
            rows=None if snapshot is None or has_deletes else snapshot.count("total-records"),
            columns=columns,
            offsets=done,
            ends=ends,
            oldest_unread_ms=self._oldest_unread(done, ends),
            schema_ids=tuple(
                sorted(schema.id for side in (self._last.key, self._last.value) for schema in side.versions)
            ),
        )

    def _schemas(self) -> TopicSchemas:
        self._last = self._fetch()
        return self._last


class RegisteredSchemas:
    """The schemas of a topic, fetched at each call; those that are known are not resolved again."""

    def __init__(self, connection: ClusterConnection, topic: str) -> None:
        self._connection = connection
        self._last = TopicSchemas(SubjectSchemas(f"{topic}-key"), SubjectSchemas(f"{topic}-value"))

    def __call__(self) -> TopicSchemas:
        if url := self._connection.registry_url:
            with self._connection.registry() as registry:
                key, value = (
                    fetch_schemas(registry, url, known.subject, known=known)
                    for known in (self._last.key, self._last.value)
                )
            self._last = TopicSchemas(key, value)
        return self._last


def table_config(load: TopicLoad) -> TopicTableConfig:
    """The engine's configuration of a table."""
    return TopicTableConfig(
        TableName(load.catalog, load.database, load.table),
        load.location,
        cast("Failures", load.failures.upper()),
        load.portable_names,
        mode=load.mode,
        partition_by=load.partition_by,
        sort_by=load.sort_by,
        properties=load.properties,
    )


def _queue(connection: ClusterConnection, load: TopicLoad) -> DeadLetterQueue:
    origin = Origin(load.dotted, load.mode, connection.cluster_id)
    return DeadLetterTopic(load.dead_letter_topic, load.topic, connection.bootstrap, origin)


def loaders(spark: SparkSession, connection: ClusterConnection) -> OpenLoader:
    """Open loaders of a cluster's topics."""

    def open_loader(load: TopicLoad) -> Loader:
        def oldest_unread(offsets: Offsets, ends: Offsets) -> int | None:
            return oldest_after(connection.bootstrap, load.topic, offsets, ends)

        return TableLoader(
            spark,
            load,
            KafkaTopic(load.topic, connection.bootstrap),
            RegisteredSchemas(connection, load.topic),
            oldest_unread,
            queue=_queue(connection, load) if load.failures == "log" else None,
        )

    return open_loader
