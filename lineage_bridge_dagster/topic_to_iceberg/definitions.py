"""The assets that load topics: one op for all of an instance, of which a run may select any."""

from collections.abc import Iterator
from typing import Any

from dagster import (
    AssetCheckSpec,
    AssetExecutionContext,
    AssetsDefinition,
    AssetSpec,
    In,
    Nothing,
    Out,
    op,
)

from lineage_bridge_dagster.specs import keys
from lineage_bridge_dagster.topic_to_iceberg.checks import DESCRIPTIONS
from lineage_bridge_dagster.topic_to_iceberg.execution import load
from lineage_bridge_dagster.topic_to_iceberg.instance import LoadInstance
from lineage_bridge_dagster.topic_to_iceberg.settings.topic_load import TopicLoad
from lineage_bridge_dagster.topic_to_iceberg.specs import table_spec

_DESCRIPTION = {
    "append": "Each record of the topic is a row.",
    "upsert": "Each key of the topic is a row, with its last record; a record without a value deletes it.",
    "debezium": "Each row that Debezium captured is a row, with its last state.",
}


def load_specs(instance: LoadInstance) -> list[AssetSpec]:
    """The assets that load the topics of an instance."""
    return [_spec(instance, load) for load in instance.loads]


def _spec(instance: LoadInstance, load: TopicLoad) -> AssetSpec:
    cluster = instance.cluster
    tags = {"cluster": cluster.cluster_id, "environment": cluster.environment_id}
    return table_spec(
        instance,
        load,
        instance.key_of[load.topic],
        description=f"Loads the topic `{load.topic}` into the Iceberg table `{load.dotted}`. "
        f"{_DESCRIPTION[load.mode]}",
        tags={keys.tag_key(name): keys.tag_value(value) for name, value in tags.items() if value},
    )


def load_assets(instance: LoadInstance) -> list[AssetsDefinition]:
    """Define the assets with their checks; none for an instance without topics."""
    if not instance.loads:
        return []
    specs = load_specs(instance)
    names = {spec.key: spec.key.to_user_string() for spec in specs}
    outputs = {keys.op_name("out", name): key for key, name in names.items()}
    inputs = {
        keys.op_name("in", dep.asset_key.to_user_string()): dep.asset_key
        for spec in specs
        for dep in spec.deps
    }
    checks = {
        keys.op_name(check, name): AssetCheckSpec(check, asset=key, description=description)
        for key, name in names.items()
        for check, description in DESCRIPTIONS.items()
    }

    @op(
        name=instance.names.op,
        ins=dict.fromkeys(inputs, In(Nothing)),
        out={
            **dict.fromkeys(outputs, Out(Nothing, is_required=False)),
            **dict.fromkeys(checks, Out(Nothing, is_required=False)),
        },
        required_resource_keys={instance.names.spark, instance.names.confluent},
    )
    def load_topics(context: AssetExecutionContext) -> Iterator[Any]:
        yield from load(instance, context)

    return [
        AssetsDefinition(
            node_def=load_topics,
            keys_by_input_name=inputs,
            keys_by_output_name=outputs,
            check_specs_by_output_name=checks,
            specs=specs,
            can_subset=True,
        )
    ]
