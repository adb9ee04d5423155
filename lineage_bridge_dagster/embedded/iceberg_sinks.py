"""The local stack's Iceberg sink connectors: they append topics to tables of the S3 Tables bucket.

They write through Glue's Iceberg endpoint, with signed requests, as Iceberg's own sink does. A row has the
fields of the record's value, and a column with the name of the topic if a transform adds it. Each record
becomes one row, exactly once: the offsets are in the summary of the snapshot that has the rows.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.catalogs.iceberg.topic_progress import TopicProgress
from lineage_bridge_dagster.confluent.api.bootstrap import Bootstrap
from lineage_bridge_dagster.confluent.api.errors import TopicNotFoundError
from lineage_bridge_dagster.confluent.api.schema_registry import SchemaRegistryClient
from lineage_bridge_dagster.confluent.api.session import ConfluentSession
from lineage_bridge_dagster.confluent.registered_schemas import fetch_schemas
from lineage_bridge_dagster.embedded.tableflow_topics import Emulator
from lineage_bridge_dagster.embedded.world.connectors import routes, topic_field
from lineage_bridge_dagster.schemas.schemas import SubjectSchemas
from lineage_bridge_dagster.spark.commits import CommitMarker, commit
from lineage_bridge_dagster.spark.decoding.decoder import decoder_for
from lineage_bridge_dagster.spark.iceberg_tables import TableName, ancestors, ensure_namespace, exists
from lineage_bridge_dagster.spark.java_errors import is_jvm_gone
from lineage_bridge_dagster.spark.kafka import Offsets, SparkTopic
from lineage_bridge_dagster.topic_to_iceberg.loading.model import TopicRecords
from lineage_bridge_dagster.topic_to_iceberg.loading.offsets import TopicBounds, next_batch
from lineage_bridge_dagster.topic_to_iceberg.settings.topic_load import Accepted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: Key of a snapshot's summary: partition -> the offset after the last one whose record is a row. Iceberg's
#: own sink has offsets of its control topic below `kafka.connect.offsets`.
OFFSETS = "kafka.connect.source-offsets"

#: Seconds without another attempt after a failure.
_PAUSE = 15.0

_MAX_RECORDS = 100_000
_ACCEPT: tuple[Accepted, ...] = ("lost_records", "recreated_topic")

_PROPERTIES = {
    "format-version": "2",
    # Pushes of lineage commit to the same table.
    "commit.retry.num-retries": "20",
    "commit.retry.min-wait-ms": "50",
    "write.distribution-mode": "none",
}

_log = logging.getLogger("lineage_bridge_dagster.iceberg_sinks")


@dataclass(frozen=True, slots=True)
class Sink:
    """A sink connector, and where its topics and their schemas are."""

    connector: str
    state: str
    bootstrap: str
    schema_registry_url: str
    config: Mapping[str, str]

    @classmethod
    def parse(cls, raw: Mapping[str, Any]) -> Sink:
        """From an entry of the emulator's `/emulator/sinks`."""
        return cls(
            raw["connector"], raw["state"], raw["bootstrap"], raw["schema_registry_url"], raw["config"]
        )


@dataclass(slots=True)
class SinkTable:
    """Appends a topic's values to a table.

    Attributes:
        schemas: fetches the schemas of the topic's values.
        topic_field: the column with the topic's name; empty for none.
    """

    spark: SparkSession
    topic: TopicRecords
    name: TableName
    schemas: Callable[[], SubjectSchemas]
    topic_field: str = ""
    paused_until: float = 0.0
    _written: Offsets | None = None

    def step(self) -> int:
        """Append the records that the table does not have yet; returns their number. Creates the table.

        Raises:
            LineageBridgeError: the topic could not be read, or the commit failed.
        """
        first, last = self.topic.bounds()
        if self._written == last:
            return 0
        schemas = self.schemas()
        if schemas.latest is None:
            return 0
        self._ensure(schemas)
        batch = next_batch(
            self._progress(), TopicBounds(self.topic.name, first, last), _MAX_RECORDS, accept=_ACCEPT
        )
        start, end = batch.start, batch.end
        count = sum(end[partition] - start[partition] for partition in end)
        if count:
            frame = self._rows(self.topic.read(self.spark, start, end), schemas)
            marker = CommitMarker({OFFSETS: json.dumps(dict(sorted(end.items())))})
            commit(self.spark, self.name, marker, marker.writer(frame, self.name.sql).append)
        self._written = end
        return count

    def record_failure(self) -> None:
        """Delay the next attempt, which reads the offsets again: a commit may have succeeded."""
        self._written = None
        self.paused_until = time.monotonic() + _PAUSE

    def _ensure(self, schemas: SubjectSchemas) -> None:
        if self._written is not None or exists(self.spark, self.name):
            return
        ensure_namespace(self.spark, self.name.catalog, self.name.database)
        records = self.spark.createDataFrame([], "value binary, topic string")
        writer = self._rows(records, schemas).writeTo(self.name.sql).using("iceberg")
        for key, value in _PROPERTIES.items():
            writer = writer.tableProperty(key, value)
        writer.create()
        _log.info("Created %s", self.name)

    def _rows(self, records: DataFrame, schemas: SubjectSchemas) -> DataFrame:
        from pyspark.sql import functions as F

        frame = decoder_for(schemas).decode(records, "value")
        message = F.concat(F.lit(f"A value of {self.topic.name} cannot be decoded: "), F.col("_value_error"))
        frame = frame.where(
            F.when(F.col("_value_error").isNotNull(), F.raise_error(message).cast("boolean")).otherwise(True)
        )
        topic = [F.col("topic").alias(self.topic_field)] if self.topic_field else []
        return frame.select("_value.*", *topic)

    def _progress(self) -> TopicProgress | None:
        for snapshot in ancestors(self.spark, self.name):
            if OFFSETS in snapshot.summary:
                offsets = json.loads(snapshot.summary[OFFSETS]).items()
                return TopicProgress(snapshot.snapshot_id, {int(p): int(offset) for p, offset in offsets})
        return None


@dataclass(slots=True)
class IcebergSinks:
    """Keeps the tables of all running sink connectors, in a catalog of Spark's, up to date."""

    spark: SparkSession
    emulator: Emulator
    catalog: str
    confluent: ConfluentSession
    _tables: dict[tuple[str, str, TableName], SinkTable] = field(default_factory=dict)

    def step(self, stop: threading.Event | None = None) -> None:
        """Process every topic of every connector once.

        Raises:
            httpx.HTTPError: the emulator did not respond or returned an error.
        """
        for sink in map(Sink.parse, self.emulator.sinks()):
            for route in routes(sink.config) if sink.state == "RUNNING" else ():
                if stop is not None and stop.is_set():
                    return
                self._advance(sink, route.topic, TableName(self.catalog, *route.table))

    def _advance(self, sink: Sink, topic: str, name: TableName) -> None:
        key = (sink.bootstrap, topic, name)
        table = self._tables.get(key)
        if table is None:
            table = self._tables[key] = self._open(sink, topic, name)
        if time.monotonic() < table.paused_until:
            return
        try:
            count = table.step()
        except TopicNotFoundError as error:
            _log.info("%s", error.message)
        except Exception as error:
            if is_jvm_gone(error):
                raise
            table.record_failure()
            _log.warning("%s: %s: %s", sink.connector, name, error)
        else:
            if count:
                _log.info("%s: %d rows to %s", sink.connector, count, name)

    def _open(self, sink: Sink, topic: str, name: TableName) -> SinkTable:
        registry = SchemaRegistryClient(self.confluent, "")
        known = SubjectSchemas(f"{topic}-value")

        def schemas() -> SubjectSchemas:
            nonlocal known
            known = fetch_schemas(registry, sink.schema_registry_url, known.subject, known=known)
            return known

        bootstrap = Bootstrap.of_cluster(self.confluent.settings, sink.bootstrap, "", "")
        return SinkTable(self.spark, SparkTopic(topic, bootstrap), name, schemas, topic_field(sink.config))
