"""Kafka topics: materializing one records its offsets, settings and schema."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from dagster import AssetExecutionContext, DataVersion, Failure, MaterializeResult, MetadataValue

from lineage_bridge_dagster.assets.column_lineage import column_metadata
from lineage_bridge_dagster.assets.failures import readable_failures
from lineage_bridge_dagster.assets.instance import ComponentInstance
from lineage_bridge_dagster.assets.inventory import Asset
from lineage_bridge_dagster.assets.kinds import AssetKind
from lineage_bridge_dagster.assets.metadata import TopicMetadata
from lineage_bridge_dagster.assets.progress import Progress
from lineage_bridge_dagster.assets.run_cache import selected_in_run
from lineage_bridge_dagster.assets.throughput import Reading, last_readings, throughput
from lineage_bridge_dagster.assets.times import last_updated, now_ms
from lineage_bridge_dagster.assets.topic_facts import TopicFacts
from lineage_bridge_dagster.specs.markdown import markdown_table
from lineage_bridge_dagster.specs.metadata import StandardMetadata
from lineage_bridge_dagster.text import byte_size, duration, plural


def topic_assets(instance: ComponentInstance) -> AssetKind:
    """The topics of an instance."""
    return AssetKind(
        "topics",
        instance.inventory.topics,
        frozenset({instance.names.confluent}),
        partial(materialize_topics, instance),
    )


def materialize_topics(
    instance: ComponentInstance, context: AssetExecutionContext, assets: Sequence[Asset]
) -> Iterator[MaterializeResult[Any]]:
    """Read the topics and report each.

    Raises:
        Failure: some topics could not be read; it names them. The others are materialized nevertheless.
    """
    inventory = instance.inventory
    by_node = {asset.node.node_id: asset for asset in assets}
    previous = last_readings(context.instance, [asset.key for asset in assets])
    failed: list[tuple[str, str]] = []
    # One progress for all topics of the run; a step has only about a hundred of them.
    progress = instance.cache.get(
        context.run.run_id,
        "progress of topics",
        lambda: Progress("Reading topics", len(selected_in_run(context, inventory.topics))),
    )
    with readable_failures():
        for node, facts in instance.confluent(context).read_topics([asset.node for asset in assets]):
            if isinstance(facts, Exception):
                failed.append((node.qualified_name, str(facts)))
                progress.advance(context.log.info, "failed")
                continue
            key = by_node[node.node_id].key
            yield MaterializeResult(
                asset_key=key,
                data_version=DataVersion(facts.version),
                metadata={
                    **topic_metadata(facts),
                    **throughput(Reading(now_ms(), facts.written), previous.get(key)),
                    **column_metadata(inventory, node),
                },
            )
            progress.advance(context.log.info, "read")
    context.log.info("This step read %d of %s", len(assets) - len(failed), plural(len(assets), "topic"))
    if progress.complete:
        context.log.info(progress.summary())
    if failed:
        names = ", ".join(name for name, _ in sorted(failed)[:20])
        raise Failure(
            description=f"{len(failed)} topics could not be read: {names}. "
            f"First reason: {sorted(failed)[0][1]}",
            metadata={"topics": MetadataValue.md(markdown_table(["topic", "reason"], sorted(failed)))},
            allow_retries=False,
        )


def topic_metadata(facts: TopicFacts) -> dict[str, Any]:
    """Return partitions, offsets, retention and schema; the row count is the number of offsets."""
    records = sum(partition.records for partition in facts.partitions)
    rows = [[p.partition, p.begin, p.end, p.records] for p in facts.partitions]
    offsets = markdown_table(["partition", "first offset", "next offset", "records"], rows)
    return {
        **StandardMetadata(row_count=records, last_updated_timestamp=last_updated(facts.last_record_ms)),
        **TopicMetadata(
            partitions=len(facts.partitions),
            offsets=MetadataValue.md(f"{records} records in {len(facts.partitions)} partitions\n\n{offsets}"),
            retention=retention_text(facts),
            cleanup_policy=facts.cleanup_policy or None,
            schema_version=facts.schema_version,
            schema_subject=facts.schema_subject or None,
        ),
    }


def retention_text(facts: TopicFacts) -> str:
    """Return the retention in words: `7 days`, `unlimited`, `1 hour or 1 GiB per partition`."""
    if facts.retention_ms is None and facts.retention_bytes is None:
        return "unknown"
    limits = []
    if facts.retention_ms is not None and facts.retention_ms >= 0:
        limits.append(duration(facts.retention_ms))
    if facts.retention_bytes is not None and facts.retention_bytes >= 0:
        limits.append(f"{byte_size(facts.retention_bytes)} per partition")
    return " or ".join(limits) or "unlimited"
