"""Processes: connectors, Flink statements, ksqlDB queries and jobs outside Confluent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lineage_bridge_dagster.lineage.nodes.attribute import Api, Holds, attribute, declares_fields
from lineage_bridge_dagster.lineage.nodes.node import Node, NodeType, kind


@declares_fields
class ProcessNode(Node):
    """What reads and writes topics, or outside datasets."""

    __slots__ = ()

    #: As its API names it, such as `RUNNING`.
    state: str = attribute(Api.CONNECT, Api.KSQLDB)
    #: How its edges are known, `Evidence` joined by `+`.
    evidence: str = attribute(Api.CONNECT, Api.FLINK, Api.KSQLDB)
    #: See `columns`, which reads and writes it.
    column_lineage: Mapping[str, Any] = attribute(
        Api.CONNECT, Api.FLINK, Api.KSQLDB, holds=Holds.COLUMN_NAMES, in_details=False
    )


@kind(NodeType.CONNECTOR)
class ConnectorNode(ProcessNode):
    """A connector."""

    __slots__ = ()

    #: `source` or `sink`.
    connector_type: str = attribute(Api.CONNECT)
    connector_id: str = attribute(Api.CONNECT)
    #: The family of connector classes whose rules gave its lineage.
    family: str = attribute(Api.CONNECT)
    #: Its configuration, without secrets.
    config: Mapping[str, Any] = attribute(Api.CONNECT)
    dlq_topics: Sequence[str] = attribute(Api.CONNECT)
    internal_topics: Sequence[str] = attribute(Api.CONNECT)
    #: Topics that it should write and that do not exist; without those created only when they are needed.
    absent_topics: Sequence[str] = attribute(Api.CONNECT)


@declares_fields
class StatementNode(ProcessNode):
    """What may be written in SQL: a Flink statement, a materialized table, a ksqlDB query, an outside job."""

    __slots__ = ()

    formatted_sql: str = attribute(
        Api.FLINK,
        Api.KSQLDB,
        holds=Holds.FORMATTED_STATEMENT,
        in_details=False,
        otherwise=lambda statement: statement.sql,
    )


@kind(NodeType.FLINK_JOB)
class FlinkNode(StatementNode):
    """A Flink statement or a materialized table."""

    __slots__ = ()

    #: Such as `INSERT`.
    statement_kind: str = attribute(Api.FLINK)
    materialized_table: bool | None = attribute(Api.FLINK)
    #: Such as `RUNNING`.
    phase: str = attribute(Api.FLINK)
    compute_pool_id: str = attribute(Api.FLINK)
    #: The account that it runs as.
    principal: str = attribute(Api.FLINK)


@kind(NodeType.KSQLDB_QUERY)
class KsqlNode(StatementNode):
    """A persistent ksqlDB query."""

    __slots__ = ()

    query_type: str = attribute(Api.KSQLDB)
    consumer_group: str = attribute(Api.KSQLDB)
    kafka_cluster_id: str = attribute(Api.KSQLDB)


@kind(NodeType.EXTERNAL_JOB, system="external")
class ExternalJobNode(StatementNode):
    """A job outside Confluent, such as one of Spark, that events of OpenLineage tell of."""

    __slots__ = ()

    #: What runs it, such as `SPARK`.
    integration: str = attribute(Api.OPENLINEAGE)
    #: `BATCH` or `STREAMING`.
    processing_type: str = attribute(Api.OPENLINEAGE)
    #: Such as `SQL_JOB` or `TASK`.
    job_type: str = attribute(Api.OPENLINEAGE)
    #: `namespace/name` of the job that starts it.
    parent_job: str = attribute(Api.OPENLINEAGE)
    #: The URI of the program that sends its events.
    producer: str = attribute(Api.OPENLINEAGE)
    description: str = attribute(Api.OPENLINEAGE)
    #: The id of the last run that showed any of its edges; edges have it too.
    last_run: str = attribute(Api.OPENLINEAGE, volatile=True)
    #: The day of that run, ISO 8601. It changes at most once a day, so that the state is kept meanwhile.
    last_run_on: str = attribute(Api.OPENLINEAGE)
