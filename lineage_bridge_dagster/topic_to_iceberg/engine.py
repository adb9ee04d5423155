"""The engine behind the assets: a `TopicTable` on Spark for each topic."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.catalogs.glue.client import glue_client
from lineage_bridge_dagster.catalogs.glue.stamp import stamp_table
from lineage_bridge_dagster.catalogs.iceberg.topic_progress import summary_of
from lineage_bridge_dagster.catalogs.settings.catalogs import Catalogs
from lineage_bridge_dagster.config.aws_settings import AwsSettings
from lineage_bridge_dagster.confluent.api.brokers import TopicReader
from lineage_bridge_dagster.confluent.api.topic_records import oldest_after
from lineage_bridge_dagster.confluent.cluster_connection import ClusterConnection
from lineage_bridge_dagster.confluent.registered_schemas import fetch_readable, fetch_schemas
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.lineage.glue_names import GluePlace
from lineage_bridge_dagster.lineage.loaded_topics import STAMP, LoadedTopic
from lineage_bridge_dagster.schemas.schemas import SubjectSchemas
from lineage_bridge_dagster.spark import classic
from lineage_bridge_dagster.spark.kafka import REQUEST_SECONDS, Offsets, SparkTopic
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.headers import LetterOrigin
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.letter import DeadLetterQueue
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.topic import DeadLetterTopic
from lineage_bridge_dagster.topic_to_iceberg.loader import Loader, LoadStatus, OpenLoader
from lineage_bridge_dagster.topic_to_iceberg.loading.backfill import Backfill
from lineage_bridge_dagster.topic_to_iceberg.loading.evolution import spark_columns
from lineage_bridge_dagster.topic_to_iceberg.loading.model import LoadStep, TopicRecords, TopicSchemas
from lineage_bridge_dagster.topic_to_iceberg.loading.slices import SliceReport, TimeSlice
from lineage_bridge_dagster.topic_to_iceberg.loading.staging import StagedTable
from lineage_bridge_dagster.topic_to_iceberg.loading.topic_table import TopicTable
from lineage_bridge_dagster.topic_to_iceberg.settings.topic_load import TopicLoad

if TYPE_CHECKING:
    from mypy_boto3_glue.client import GlueClient
    from pyspark.sql import SparkSession

#: The time, in Unix milliseconds, of the oldest record between offsets and ends; None if there is none.
OldestUnread = Callable[[Offsets, Offsets], int | None]

#: Kinds of delete files that a snapshot counts.
_DELETES = ("total-equality-deletes", "total-position-deletes")

#: Property of a table that does not begin at its topic's first records: partition -> offset.
START = "topic_to_iceberg.start-offsets"

#: Seconds for which a table that has all records is not looked at, unless more come: somebody may drop it.
_IDLE_SECONDS = 30.0

_log = logging.getLogger(__name__)


class TableLoader:
    """Loads one topic.

    Args:
        spark: the session.
        load: the topic and its table.
        topic: its records.
        schemas: fetches its schemas.
        oldest_unread: finds the time of the oldest record that waits.
        origin: the stamp of the table: the topic with its environment and cluster. Tableflow's tables have
            none: they are known by their location, and one elsewhere makes way.
        queue: where dead letters go, for failures that are logged.
        stamp: puts the stamp where discoveries look for it, once the table exists.
        clock: seconds of a clock that never goes back.
    """

    def __init__(
        self,
        spark: SparkSession,
        load: TopicLoad,
        topic: TopicRecords,
        schemas: Callable[[], TopicSchemas],
        oldest_unread: OldestUnread,
        *,
        origin: LoadedTopic | None,
        queue: DeadLetterQueue | None = None,
        stamp: Callable[[TopicLoad, LoadedTopic], None] = lambda _load, _origin: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._spark = spark
        self._load = load.model_copy(
            update={"origin": origin.stamp if origin else "", "replace_moved": origin is None}
        )
        self._topic = topic
        self._fetch = schemas
        self._last = TopicSchemas()
        self._oldest_unread = oldest_unread
        self._origin = origin
        self._queue = queue
        self._stamp = stamp
        self._clock = clock
        self._exists = False
        #: Where a table begins that waits for its columns.
        self._begin: Offsets | None = None
        #: The offsets of a table that was caught up, and until when it is left alone.
        self._idle: tuple[Offsets, float] = ({}, float("-inf"))
        self._table = self._open(self._load)

    def _open(self, load: TopicLoad) -> TopicTable:
        return TopicTable(
            self._spark,
            self._topic,
            load,
            self._schemas,
            dead_letter_queue=self._queue,
            origin=self._start_offsets,
        )

    def ensure(self) -> None:
        """Create the table if it does not exist, with the offsets where it begins.

        They are a property from its creation: a start at the end of the topic is the end of that time, also
        for a later run, if no record came in between. Without a record and a schema the columns are not
        known, so the table is left to the first `advance` that has either; it begins where it would have now.
        """
        self._exists = False
        self._idle = ({}, float("-inf"))
        if not self._table.ensure(create=False):
            if self._load.start != "earliest":
                self._begin = self._first_offsets() if self._begin is None else self._begin
            if self._is_blank():
                return
            if self._begin is not None:
                properties = {**self._load.properties, START: summary_of(self._begin)}
                self._table = self._open(self._load.model_copy(update={"properties": properties}))
            self._table.ensure()
        self._exists, self._begin = True, None
        if self._origin is not None:
            self._stamp(self._load, self._origin)

    def _is_blank(self) -> bool:
        first, ends = self._topic.bounds()
        return first == ends and self._schemas().value.latest is None

    def ends(self) -> Offsets:
        return self._topic.bounds()[1]

    def advance(self) -> LoadStep:
        if not self._exists:
            ends = self.ends()
            self.ensure()
            if not self._exists:
                return LoadStep(ends, caught_up=True)
        offsets, until = self._idle
        if self._clock() < until and offsets == self.ends():
            return LoadStep(offsets, caught_up=True)
        done = self._table.advance()
        if done.caught_up:
            self._idle = (done.offsets, self._clock() + _IDLE_SECONDS)
        return done

    def backfill(self, slices: Sequence[TimeSlice], late: timedelta | None) -> Iterator[SliceReport]:
        """Load slices again, whatever the table's offsets."""
        backfill = Backfill(
            self._spark,
            self._topic,
            self._load,
            self._schemas,
            dead_letter_queue=self._queue,
            origin=self._start_offsets,
        )
        return backfill.run(slices, late)

    def _first_offsets(self) -> Offsets:
        at = self._load.start_time
        return self.ends() if at is None else self._topic.offsets_at(int(at.timestamp() * 1000))

    def _start_offsets(self) -> Offsets:
        """Where the table begins: as its property says, else at the topic's first records."""
        return _start_of(classic.load_table(self._spark, self._load.name.sql))

    def columns(self) -> Mapping[str, str]:
        table = classic.find_table(self._spark, self._load.name.sql)
        return {} if table is None else self._columns_of(table)

    def _columns_of(self, table: Any) -> dict[str, str]:
        fields = spark_columns(self._spark, table).fields
        return {field.name: field.dataType.simpleString() for field in fields}

    def status(self) -> LoadStatus:
        first, ends = self._topic.bounds()
        found = classic.find_table(self._spark, self._load.name.sql)
        table = None if found is None else StagedTable(self._spark, self._load.name, found)
        progress = table.progress() if table else None
        offsets = progress.offsets if progress else _start_of(found) if table else {}
        # What retention removed, or what was before the start, does not wait.
        done = {p: max(offsets.get(p, begin), begin) for p, begin in first.items()}
        if table is None:
            return LoadStatus(offsets=done, ends=ends, oldest_unread_ms=self._oldest_unread(done, ends))
        snapshot = table.current_snapshot()
        has_deletes = snapshot is not None and any(map(snapshot.count, _DELETES))
        return LoadStatus(
            snapshot_id=snapshot.snapshot_id if snapshot else None,
            committed_ms=snapshot.committed_at if snapshot else None,
            rows=None if snapshot is None or has_deletes else snapshot.count("total-records"),
            columns=self._columns_of(found),
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


def _start_of(table: Any) -> Offsets:
    """Where a Java table begins: as its property says, else at the topic's first records."""
    text = table.properties().get(START)
    return {} if text is None else {int(p): int(at) for p, at in json.loads(str(text)).items()}


class RegisteredSchemas:
    """The schemas of a topic, fetched at each call; those that are known are not resolved again.

    Args:
        connection: the cluster's.
        topic: its name.
        message: the full name of the Protobuf message of its values; empty for the first of their schema.
    """

    def __init__(self, connection: ClusterConnection, topic: str, message: str = "") -> None:
        self._connection = connection
        self._message = message
        self._last = TopicSchemas(SubjectSchemas(f"{topic}-key"), SubjectSchemas(f"{topic}-value"))
        self._is_first = True

    def __call__(self) -> TopicSchemas:
        if url := self._connection.registry_url:
            with self._connection.registry() as registry:
                key, value = (
                    fetch_readable(registry, url, known.subject)
                    if self._is_first
                    else fetch_schemas(registry, url, known.subject, known=known)
                    for known in (self._last.key, self._last.value)
                )
            self._last = TopicSchemas(key, replace(value, message=self._message))
            self._is_first = False
        return self._last


class GlueStamps:
    """Puts stamps into the parameters of Glue's tables, where a scan of Glue sees them.

    Iceberg's own catalog for Glue keeps its properties in the table's metadata file alone. Without the right
    to change the table it is loaded all the same, and only its lineage is missing.
    """

    def __init__(self, catalogs: Catalogs) -> None:
        self._catalogs = catalogs
        self._done: set[str] = set()
        #: Shared by the tables of a catalog: to create one takes longer than a stamp.
        self._clients: dict[str, GlueClient] = {}

    def __call__(self, load: TopicLoad, origin: LoadedTopic) -> None:
        settings = self._catalogs[load.catalog]
        if settings.glue_account is None or load.dotted in self._done:
            return
        try:
            stamp_table(self._client(load.catalog), GluePlace(load.database, load.table), STAMP, origin.stamp)
        except LineageBridgeError as error:
            _log.warning("The lineage of %s will not be found: %s", load.dotted, error)
        else:
            self._done.add(load.dotted)

    def _client(self, catalog: str) -> GlueClient:
        if (client := self._clients.get(catalog)) is None:
            settings = self._catalogs[catalog]
            aws = AwsSettings(
                region=settings.region,
                profile=settings.profile,
                role_arn=settings.role_arn,
                endpoint_url=settings.glue_endpoint,
                catalog_id=settings.glue_account or None,
            )
            client = self._clients[catalog] = glue_client(aws)
        return client


def _queue(connection: ClusterConnection, load: TopicLoad) -> DeadLetterQueue:
    origin = LetterOrigin(load.dotted, load.mode, connection.cluster_id)
    return DeadLetterTopic(load.dead_letter_topic, load.topic, connection.bootstrap, origin)


def loaders(
    spark: SparkSession,
    connection: ClusterConnection,
    catalogs: Catalogs,
    *,
    has_origin: bool = True,
) -> OpenLoader:
    """Open loaders of a cluster's topics, whose tables are in these catalogs.

    Args:
        spark: a session that has the catalogs.
        has_origin: whether the tables carry their topic; see `TableLoader`.
    """
    stamps, reader = GlueStamps(catalogs), TopicReader(connection.bootstrap, timeout_seconds=REQUEST_SECONDS)

    def open_loader(load: TopicLoad) -> Loader:
        def oldest_unread(offsets: Offsets, ends: Offsets) -> int | None:
            return oldest_after(connection.bootstrap, load.topic, offsets, ends)

        return TableLoader(
            spark,
            load,
            SparkTopic(load.topic, connection.bootstrap, reader=reader),
            RegisteredSchemas(connection, load.topic, load.protobuf_message),
            oldest_unread,
            origin=LoadedTopic(connection.environment_id, connection.cluster_id, load.topic)
            if has_origin
            else None,
            stamp=stamps,
            queue=_queue(connection, load) if load.failures == "log" else None,
        )

    return open_loader
