"""The local stack's Tableflow: its topics as instances of `TopicToIcebergComponent`.

The topics of a cluster that have Tableflow on are an instance that runs continuously: they are loaded by the
same loop and the same engine, with the same dead letters. What is Tableflow's own is here: which topics are
enabled, the location of a table that the emulator chose, and a table's status. Tables have no stamp of their
topic, as Tableflow claims them. Tables in Confluent's own storage go to Tableflow's catalog in place of Glue.

When Tableflow is disabled on a topic, its table is dropped from the catalog, but the files stay in the
bucket: Confluent's own role for Glue requires `glue:DeleteTable`, whereas a customer cleans up their own
bucket.

If two topics' names fold to the same Glue table, the topic that was enabled first gets it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING

from lineage_bridge_dagster.catalogs.settings.catalogs import Catalogs
from lineage_bridge_dagster.confluent.api.session import ConfluentSession
from lineage_bridge_dagster.confluent.cluster_connection import ClusterConnection, connect
from lineage_bridge_dagster.confluent.cluster_settings import KafkaConfig
from lineage_bridge_dagster.embedded.tableflow_topics import Emulator, Entry
from lineage_bridge_dagster.spark.iceberg_tables import TableName, exists, location
from lineage_bridge_dagster.text import plural
from lineage_bridge_dagster.topic_to_iceberg.engine import loaders
from lineage_bridge_dagster.topic_to_iceberg.loader import Loader, OpenLoader
from lineage_bridge_dagster.topic_to_iceberg.loading.creation import drop
from lineage_bridge_dagster.topic_to_iceberg.reports import LoadReport
from lineage_bridge_dagster.topic_to_iceberg.rotation import Rotation
from lineage_bridge_dagster.topic_to_iceberg.settings.load_plan import CatalogKinds, LoadPlan
from lineage_bridge_dagster.topic_to_iceberg.settings.topic_entries import DefaultsConfig
from lineage_bridge_dagster.topic_to_iceberg.settings.topic_load import TopicLoad

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Seconds between two passes over the topics.
PASS_SECONDS = 2.0

#: The least time in seconds between two commits to a table that has caught up. The sample clickstream never
#: ends, and each commit takes Spark time that a small machine needs for Dagster.
COMMIT_SECONDS = 10.0

#: Seconds between two reports of a table whose status stays the same.
_REPORT_SECONDS = 600.0

#: How Tableflow loads topics. Confluent documents no error for either of what it accepts.
_DEFAULTS = DefaultsConfig.model_validate(
    {"batch_records": 100_000, "accept": ["lost_records", "recreated_topic"]}
)

_log = logging.getLogger("lineage_bridge_dagster.materializer")


class TableflowService:
    """Keeps the tables of all enabled topics up to date. It is used by one thread."""

    def __init__(
        self,
        spark: SparkSession,
        emulator: Emulator,
        catalogs: Catalogs,
        confluent: ConfluentSession,
        report_progress: Callable[..., None] = lambda **_: None,
        *,
        managed_catalog: str = "",
        interval: float = COMMIT_SECONDS,
        connect: Callable[[KafkaConfig], ClusterConnection] | None = None,
    ) -> None:
        """Create one.

        Args:
            spark: the session, which has the catalogs.
            catalogs: those of the tables; those in the customers' buckets are in the default one, Glue's.
            confluent: for the clusters and the Schema Registry.
            managed_catalog: the catalog of tables in Confluent's own storage; without it they are not
                written.
            interval: the least time between two commits to a table that has caught up, in seconds.
            connect: replaces the look-up of a cluster at Confluent's control plane.
        """
        self._spark = spark
        self._emulator = emulator
        self._catalogs = catalogs
        self._catalog_of = {False: catalogs.default.name, True: managed_catalog}
        types = {name: each.type for name, each in catalogs.items()}
        self._kinds = CatalogKinds(catalogs.default.name, types)
        self._connect = connect or partial(_connected, confluent)
        self._report_progress = report_progress
        self._rotation = Rotation([], self._open, commit_seconds=interval, report_seconds=_REPORT_SECONDS)
        #: The entry of each load's table.
        self._entries: dict[str, Entry] = {}
        #: Phase and error message by the table's path, as far as they are known.
        self._statuses: dict[str, tuple[str, str]] = {}
        self._synced: set[str] = set()
        self._openers: dict[str, OpenLoader] = {}

    @property
    def wait(self) -> float:
        """Seconds until the next pass."""
        return min(PASS_SECONDS, self._rotation.wait) if self._entries else PASS_SECONDS

    def step(self, stop: threading.Event | None = None) -> None:
        """Process every topic once.

        Raises:
            httpx.HTTPError: the emulator did not respond or returned an error.
        """
        dropped = self._emulator.dropped()
        enabled = self._emulator.enabled()
        self._follow(enabled)
        for entry in dropped:
            self._drop(entry)
        # Also what could not be reported before.
        for entry in enabled:
            self._tell(entry)
        for report in self._rotation.turn(lambda: stop is not None and stop.is_set()):
            entry = self._entries[report.load.dotted]
            self._note(entry, report)
            self._tell(entry)
            self._report_progress(tables=len(enabled), synced=len(self._synced))
        self._report_progress(tables=len(enabled), synced=len(self._synced))

    def _follow(self, enabled: Sequence[Entry]) -> None:
        """Load the topics that are enabled now, each cluster's as an instance of the component."""
        paths = {entry.table_path for entry in enabled}
        self._statuses = {path: status for path, status in self._statuses.items() if path in paths}
        self._synced &= paths
        self._entries = {}
        loads: list[TopicLoad] = []
        written = [entry for entry in enabled if entry.iceberg and self._catalog_of[entry.managed]]
        # Sorting is stable: of two topics with one table, that which was enabled first has it.
        for cluster, entries in groupby(sorted(written, key=_cluster), _cluster):
            by_topic = {entry.topic: entry for entry in entries}
            plan = LoadPlan(
                [entry.config(self._catalog_of[entry.managed]) for entry in by_topic.values()],
                _DEFAULTS,
                database=cluster,
                catalogs=self._kinds,
            )
            for load in plan.loads(()):
                self._entries[load.dotted] = by_topic[load.topic]
                loads.append(load)
            for collision in plan.collisions(()):
                first, *others = collision.topics
                for other in others:
                    message = f"{collision}; {first} was enabled first and has it."
                    self._statuses[by_topic[other].table_path] = ("FAILED", message)
        self._rotation.follow(loads)

    def _open(self, load: TopicLoad) -> Loader:
        entry = self._entries[load.dotted]
        if entry.cluster not in self._openers:
            connection = self._connect(KafkaConfig(environment=entry.environment, cluster=entry.cluster))
            self._openers[entry.cluster] = loaders(self._spark, connection, self._catalogs, has_origin=False)
        return self._openers[entry.cluster](load)

    def _note(self, entry: Entry, report: LoadReport) -> None:
        """Note what Tableflow says of a table from now on.

        A table stays PENDING without a topic or columns, and a failure that passes by itself changes nothing.
        """
        path, error = entry.table_path, report.error
        self._synced.discard(path)
        if error is not None:
            _log.warning("%s: %s", report.load.dotted, error.message)
            if error.suspended:
                self._statuses[path] = ("FAILED", error.message[:1000])
        elif report.status is not None and report.status.columns:
            _log.info(
                "%s: %s, %d skipped",
                report.load.dotted,
                plural(report.totals.rows, "row"),
                report.totals.rejected,
            )
            self._statuses[path] = ("RUNNING", "")
            self._synced.add(path)

    def _tell(self, entry: Entry) -> None:
        status = self._statuses.get(entry.table_path)
        if status is not None and status != (entry.phase, entry.error_message):
            self._emulator.report(entry, *status)

    def _drop(self, entry: Entry) -> None:
        table = TableName(self._catalog_of[entry.managed], entry.database, entry.table)
        # If the topic has been enabled again, the name may already belong to a new table.
        if exists(self._spark, table) and location(self._spark, table) == entry.table_path:
            drop(self._spark, table)
        self._emulator.confirm_drop(entry)


def _cluster(entry: Entry) -> str:
    return entry.cluster


def _connected(confluent: ConfluentSession, kafka: KafkaConfig) -> ClusterConnection:
    return connect(confluent.settings, kafka)
