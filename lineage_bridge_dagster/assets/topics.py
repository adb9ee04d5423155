"""Kafka topics: materializing one records what the topic is now."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dagster import AssetExecutionContext, DataVersion, Failure, MaterializeResult, MetadataValue

from lineage_bridge_dagster.assets.column_lineage import column_metadata
from lineage_bridge_dagster.assets.failures import readable_failures
from lineage_bridge_dagster.assets.inventory import Asset, Inventory
from lineage_bridge_dagster.assets.progress import Progress
from lineage_bridge_dagster.assets.run_cache import OncePerRun, selected_of_run
from lineage_bridge_dagster.assets.throughput import Reading, last_readings, throughput
from lineage_bridge_dagster.assets.times import last_updated, now_ms
from lineage_bridge_dagster.lineage.model import Node
from lineage_bridge_dagster.specs.markdown import markdown_table
from lineage_bridge_dagster.text import byte_size, duration, plural


@dataclass(frozen=True)
class PartitionFacts:
    """One partition: its number, its first offset and the offset after its last record."""

    partition: int
    low: int
    high: int

    @property
    def records(self) -> int:
        return max(0, self.high - self.low)


@dataclass(frozen=True)
class TopicFacts:
    """What a broker says of a topic. Retention is in milliseconds and bytes; -1 is without limit."""

    partitions: Sequence[PartitionFacts]
    retention_ms: int | None = None
    retention_bytes: int | None = None
    cleanup_policy: str | None = None
    schema_subject: str | None = None
    schema_version: int | None = None
    #: Unix milliseconds; None where no record has a time. It adds nothing to the version: offsets tell more.
    last_record_ms: int | None = None
    config: Mapping[str, str] = field(default_factory=dict)

    @property
    def written(self) -> int:
        """Records ever written, those that retention has removed too."""
        return sum(partition.high for partition in self.partitions)

    @property
    def version(self) -> str:
        """Changes only when the topic did: a record, a partition, a setting or its schema."""
        text = json.dumps(
            [
                [[p.partition, p.low, p.high] for p in sorted(self.partitions, key=lambda p: p.partition)],
                self.retention_ms,
                self.retention_bytes,
                self.cleanup_policy,
                self.schema_subject,
                self.schema_version,
                sorted(self.config.items()),
            ]
        )
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


#: Facts of topics, one pair each, in any order; an error where a topic could not be read.
ReadTopics = Callable[[Iterable[Node]], Iterator[tuple[Node, TopicFacts | Exception]]]

_READING: OncePerRun[Progress] = OncePerRun()


def execute_topics(
    context: AssetExecutionContext, assets: Sequence[Asset], inventory: Inventory, read: ReadTopics
) -> Iterator[MaterializeResult[Any]]:
    """Read the topics and report each.

    Raises:
        Failure: some topics could not be read; it names them, and the others are materialized all the same.
    """
    by_node = {asset.node.node_id: asset for asset in assets}
    before = last_readings(context.instance, [asset.key for asset in assets])
    bad: list[tuple[str, str]] = []
    # Over all of the run's topics, for an op has some hundred of them.
    progress = _READING.get(
        context.run.run_id,
        lambda: Progress("Reading topics", len(selected_of_run(context, inventory.topics))),
    )
    with readable_failures():
        for node, facts in read([asset.node for asset in assets]):
            if isinstance(facts, Exception):
                bad.append((node.qualified_name, str(facts)))
                progress.did(context.log.info, "failed")
                continue
            key = by_node[node.node_id].key
            yield MaterializeResult(
                asset_key=key,
                data_version=DataVersion(facts.version),
                metadata={
                    **topic_metadata(facts),
                    **throughput(Reading(now_ms(), facts.written), before.get(key)),
                    **column_metadata(inventory, node),
                },
            )
            progress.did(context.log.info, "read")
    context.log.info("This step read %d of %s", len(assets) - len(bad), plural(len(assets), "topic"))
    if progress.complete:
        context.log.info(progress.summary())
    if bad:
        names = ", ".join(name for name, _ in sorted(bad)[:20])
        raise Failure(
            description=f"{len(bad)} topics could not be read: {names}. First reason: {sorted(bad)[0][1]}",
            metadata={"topics": MetadataValue.md(markdown_table(["topic", "reason"], sorted(bad)))},
            allow_retries=False,
        )


def topic_metadata(facts: TopicFacts) -> dict[str, Any]:
    """Partitions, offsets, retention and schema as metadata; the record count is what the offsets span."""
    records = sum(partition.records for partition in facts.partitions)
    rows = [[p.partition, p.low, p.high, p.records] for p in facts.partitions]
    metadata: dict[str, Any] = {
        "dagster/row_count": records,
        "lineage_bridge/partitions": len(facts.partitions),
        "lineage_bridge/offsets": MetadataValue.md(
            f"{records} records in {len(facts.partitions)} partitions\n\n"
            + markdown_table(["partition", "first offset", "next offset", "records"], rows)
        ),
        "lineage_bridge/retention": retention_text(facts),
    }
    metadata |= last_updated(facts.last_record_ms, now_ms())
    if facts.cleanup_policy:
        metadata["lineage_bridge/cleanup_policy"] = facts.cleanup_policy
    if facts.schema_version is not None:
        metadata["lineage_bridge/schema_version"] = facts.schema_version
    if facts.schema_subject:
        metadata["lineage_bridge/schema_subject"] = facts.schema_subject
    return metadata


def retention_text(facts: TopicFacts) -> str:
    """Retention in words: `7 days`, `for ever`, `1 hour or 1 GiB a partition`."""
    if facts.retention_ms is None and facts.retention_bytes is None:
        return "unknown"
    limits = []
    if facts.retention_ms is not None and facts.retention_ms >= 0:
        limits.append(duration(facts.retention_ms))
    if facts.retention_bytes is not None and facts.retention_bytes >= 0:
        limits.append(f"{byte_size(facts.retention_bytes)} a partition")
    return " or ".join(limits) or "for ever"
