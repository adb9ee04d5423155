"""Topics as DataFrames, by ranges of offsets."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from lineage_bridge_dagster.confluent.api.bootstrap import Bootstrap
from lineage_bridge_dagster.confluent.api.brokers import TopicReader
from lineage_bridge_dagster.spark import classic
from lineage_bridge_dagster.spark.division import most_of_partition

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_WARNS = "org.apache.spark.sql.kafka010.KafkaSourceProvider"

#: Partition -> the offset of the next record.
Offsets = Mapping[int, int]


#: Seconds after which a request to the brokers fails.
REQUEST_SECONDS = 15.0

#: How the consumers of Spark's source fetch. After each poll it asks for the partition's first and end offset
#: on the connection on which the next fetch is already under way, and brokers answer in order. At the end of
#: a partition that fetch would wait for records to come, by default for 500 ms: once for each partition and
#: batch. Brokers answer a fetch of no bytes at least at once, and still wait for records in tiered storage,
#: for which a shorter `fetch.max.wait.ms` may be too short. The fewer polls, the fewer questions: by default
#: a poll has 500 records.
_FETCHING = {"kafka.fetch.min.bytes": "0", "kafka.max.poll.records": "10000"}


@dataclass(frozen=True)
class SparkTopic:
    """A topic of one cluster."""

    name: str
    bootstrap: Bootstrap
    timeout_seconds: float = REQUEST_SECONDS
    #: A reader of the cluster's brokers, so that topics share connections; by default the topic has its own.
    reader: TopicReader | None = field(default=None, repr=False, compare=False)

    @cached_property
    def _reader(self) -> TopicReader:
        # Cached because a client holds threads and connections, and `bounds` is called every few seconds.
        return self.reader or TopicReader(self.bootstrap, timeout_seconds=self.timeout_seconds)

    def topic_id(self) -> str:
        """Return the topic's id, which a topic created again does not share; empty if the brokers have none.

        Raises:
            TopicNotFoundError: the cluster has no such topic.
            BrokerError: the brokers did not respond, or rejected the request.
        """
        return self._reader.topic_id(self.name)

    def bounds(self) -> tuple[Offsets, Offsets]:
        """Return the first and the end offset of every partition; the end excludes open transactions.

        Raises:
            TopicNotFoundError: the cluster has no such topic.
            BrokerError: the brokers did not respond, or rejected the request.
        """
        return self._reader.committed_bounds(self.name)

    def offsets_at(self, at_ms: int) -> Offsets:
        """Return the offset of each partition's first record at or after a time in Unix milliseconds.

        Raises:
            TopicNotFoundError: the cluster has no such topic.
            BrokerError: the brokers did not respond, or rejected the request.
        """
        return self._reader.offsets_at(self.name, at_ms)

    def read(
        self,
        spark: SparkSession,
        start: Offsets | None = None,
        end: Offsets | None = None,
        options: Mapping[str, str] | None = None,
        *,
        topic_id: str = "",
        tasks: int = 0,
    ) -> DataFrame:
        """Return a lazy DataFrame of the records, with the columns of Spark's Kafka source and `headers`.

        Args:
            start: the first offset of each partition; by default the earliest one.
            end: the end offset of each partition, exclusive; by default the end when the frame is computed.
            options: further options of the Kafka source; its timestamps take precedence over offsets.
            topic_id: the topic's id, by which reads of the same topic share consumers.
            tasks: by which records between `start` and `end` are read, about; 0 for one of each partition.
        """
        reader = spark.read.format("kafka").options(**self.bootstrap.spark_options())
        # Flink and others write in transactions; aborted records must not appear.
        reader = reader.option("kafka.isolation.level", "read_committed").option("includeHeaders", "true")
        reader = reader.options(**_FETCHING)
        # Offsets must cover exactly the partitions read, so partitions added since are not subscribed to.
        if start is not None:
            reader = reader.option("assign", json.dumps({self.name: sorted(start)}))
            reader = reader.option("startingOffsets", _offsets(self.name, start))
            reader = reader.option("endingOffsets", _offsets(self.name, end) if end is not None else "latest")
        else:
            reader = reader.option("subscribe", self.name)
            reader = reader.option("startingOffsets", "earliest").option("endingOffsets", "latest")
        if topic_id:
            _allow_groups(spark)
            reader = reader.option("kafka.group.id", self._group(topic_id))
        if not tasks or start is None or end is None:
            return reader.options(**(options or {})).load()
        sizes = [size for partition, at in start.items() if (size := end[partition] - at) > 0]
        reader = reader.option("maxRecordsPerPartition", str(most_of_partition(sizes, tasks)))
        records = reader.options(**(options or {})).load()
        # Tasks of more partitions than that are joined, which moves no record.
        return records.coalesce(tasks) if len(sizes) > tasks else records

    def _group(self, topic_id: str) -> str:
        """The group of consumers that reads share.

        Spark keeps consumers with the records that they have fetched ahead, by group, topic and partition
        alone: the group must tell apart clusters, their credentials, and a topic from one created again.
        Nothing joins the group, as partitions are assigned and no offsets committed.
        """
        options = json.dumps([topic_id, *sorted(self.bootstrap.spark_options().items())])
        return f"lineage-bridge-{hashlib.sha256(options.encode()).hexdigest()[:32]}"


def _offsets(topic: str, offsets: Offsets) -> str:
    return json.dumps({topic: {str(partition): offset for partition, offset in sorted(offsets.items())}})


def _allow_groups(spark: SparkSession) -> None:
    """Have Spark not warn at each read that queries of one group may disturb each other."""
    if not classic.is_classic(spark):
        return
    level = classic.java_class(spark, "org.apache.logging.log4j.Level").ERROR
    classic.java_class(spark, "org.apache.logging.log4j.core.config.Configurator").setLevel(_WARNS, level)
