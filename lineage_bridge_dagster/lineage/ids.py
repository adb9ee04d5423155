"""Node ids: `{system}:{kind}:{environment}:{local name}`.

Ids in a graph that a user supplies are opaque: nothing parses one.
"""

from __future__ import annotations

from lineage_bridge_dagster.lineage.glue_names import GluePlace


def topic_id(environment: str, cluster: str, topic: str) -> str:
    return f"confluent:kafka_topic:{environment}:{cluster}/{topic}"


def connector_id(environment: str, cluster: str, name: str) -> str:
    return f"confluent:connector:{environment}:{cluster}/{name}"


def consumer_group_id(environment: str, cluster: str, group: str) -> str:
    return f"confluent:consumer_group:{environment}:{cluster}/{group}"


def ksqldb_query_id(environment: str, cluster: str, query: str) -> str:
    return f"confluent:ksqldb_query:{environment}:{cluster}/{query}"


def flink_job_id(environment: str, cloud: str, region: str, name: str) -> str:
    """The id of a Flink statement or materialized table, with the cloud in lower case as in Flink's hosts."""
    return f"confluent:flink_job:{environment}:{cloud.lower()}.{region}/{name}"


def schema_id(environment: str, subject: str) -> str:
    return f"confluent:schema:{environment}:{subject}"


def external_dataset_id(dataset: str) -> str:
    """The id of a dataset outside Confluent, named as in the OpenLineage specification.

    Without an environment, so that connectors of different environments share the node of one table.
    """
    return f"external:external_dataset:{dataset}"


def external_job_id(namespace: str, name: str) -> str:
    """The id of a job outside Confluent, by its names in events of OpenLineage."""
    return f"external:external_job:{namespace}/{name}"


def tableflow_table_id(environment: str, cluster: str, topic: str) -> str:
    return f"confluent:tableflow_table:{environment}:{cluster}.{topic}"


def iceberg_table_id(environment: str, catalog: str, namespace: str, table: str) -> str:
    """The id of a table of a configured catalog, whose namespace has dots between its levels."""
    return f"iceberg:table:{environment}:{catalog}/{namespace}/{table}"


def glue_table_id(environment: str, place: GluePlace) -> str:
    return f"aws:glue_table:{environment}:{place.qualified_name}"
