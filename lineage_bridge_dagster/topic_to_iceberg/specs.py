"""What the assets of a topic's table have in common."""

from collections.abc import Mapping

from dagster import AssetDep, AssetKey, AssetSpec, PartitionsDefinition

from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.specs import keys
from lineage_bridge_dagster.specs.metadata import LineageMetadata, StandardMetadata
from lineage_bridge_dagster.topic_to_iceberg.instance import LoadInstance, LoadNames, topic_key
from lineage_bridge_dagster.topic_to_iceberg.metadata import LoadMetadata
from lineage_bridge_dagster.topic_to_iceberg.settings.topic_load import TopicLoad


def table_spec(
    instance: LoadInstance,
    load: TopicLoad,
    key: AssetKey,
    *,
    description: str,
    tags: Mapping[str, str] | None = None,
    partitions: PartitionsDefinition[str] | None = None,
) -> AssetSpec:
    """The spec of an asset that writes a topic's table."""
    cluster = instance.cluster
    catalog = () if load.in_default_glue else (load.catalog,)
    return AssetSpec(
        key,
        deps=[AssetDep(topic_key(cluster, load.topic))],
        group_name=keys.group_name("topic_to_iceberg", *catalog, load.database),
        kinds={"spark", "iceberg", "kafka"},
        description=description,
        tags=tags,
        partitions_def=partitions,
        metadata={
            **LineageMetadata(
                cluster_id=cluster.cluster_id,
                environment_id=cluster.environment_id or None,
                catalog=load.catalog,
                database=load.database,
                table=load.table,
                topic=load.topic,
                error_handling=load.failures,
                dead_letter_topic=load.dead_letter_topic if load.failures == "log" else None,
            ),
            **LoadMetadata(load_mode=load.mode),
            **StandardMetadata(table_name=load.dotted),
        },
    )


def missing_topics(names: LoadNames, problem: LineageBridgeError | None) -> AssetSpec:
    """What stands in the graph for the topics that only the cluster's list tells.

    Args:
        problem: why the stored list cannot be used; None if none is stored.
    """
    reason = f"The stored list cannot be used. {problem.message}" if problem else "No list is stored yet."
    step = "Run dg utils refresh-defs-state, which lists the topics of the cluster."
    return AssetSpec(
        names.topics_key,
        group_name="topic_to_iceberg",
        description="Topics that fit a pattern, and those of a cluster that is given by its name, are in the "
        f"stored list of the cluster's topics. {reason} {step}",
        metadata=dict(LineageMetadata(not_discovered=reason, next_step=step)),
    )
