"""The jobs of Flink: statements and materialized tables, as the graph needs them. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from lineage_bridge_dagster.confluent.api.flink import FlinkStatement, MaterializedTable, RegionKey
from lineage_bridge_dagster.confluent.api.org import Environment
from lineage_bridge_dagster.lineage.coverage import Scope
from lineage_bridge_dagster.lineage.times import parse_iso
from lineage_bridge_dagster.sql.flink.names import TopicRef

_CATALOG, _DATABASE = "sql.current-catalog", "sql.current-database"
#: Puts a job without a time before all others.
_UNKNOWN_TIME = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Job:
    """A statement or materialized table of one region."""

    environment: Environment
    region: RegionKey
    name: str
    sql: str
    phase: str
    catalog: str
    database: str
    compute_pool_id: str = ""
    principal: str = ""
    created_at: datetime = _UNKNOWN_TIME
    sql_kind: str = ""
    read_topics: tuple[str, ...] = ()
    #: A materialized table's topic.
    table: TopicRef | None = None

    @property
    def scope(self) -> Scope:
        return Scope("flink", self.environment.id, str(self.region))


def statement_job(environment: Environment, region: RegionKey, statement: FlinkStatement) -> Job:
    spec, status = statement.spec, statement.status
    return Job(
        environment=environment,
        region=region,
        name=statement.name,
        sql=spec.statement,
        phase=status.phase.upper(),
        catalog=spec.properties.get(_CATALOG, ""),
        database=spec.properties.get(_DATABASE, ""),
        compute_pool_id=spec.compute_pool_id,
        principal=spec.principal,
        created_at=parse_iso(statement.created_at) or _UNKNOWN_TIME,
        sql_kind=status.traits.sql_kind,
        read_topics=tuple(status.latest_offsets),
    )


def table_job(environment: Environment, region: RegionKey, table: MaterializedTable) -> Job:
    spec = table.spec
    return Job(
        environment=environment,
        region=region,
        name=table.name,
        sql=spec.query,
        phase=table.phase.upper(),
        catalog=spec.session_options.get(_CATALOG, environment.id),
        database=spec.session_options.get(_DATABASE, spec.kafka_cluster_id),
        compute_pool_id=spec.compute_pool_id,
        principal=spec.principal,
        created_at=parse_iso(table.created_at) or _UNKNOWN_TIME,
        sql_kind="MATERIALIZED_TABLE",
        table=TopicRef(environment.id, spec.kafka_cluster_id, table.name),
    )


def is_table_statement(statement: FlinkStatement, tables: Iterable[MaterializedTable]) -> bool:
    """Whether a statement created a materialized table that is listed, and so is the job itself."""
    resource = statement.status.affected_resource
    return resource.kind == "MATERIALIZED_TABLE" and any(
        table.name == resource.resource_name and resource.database_id in ("", table.spec.kafka_cluster_id)
        for table in tables
    )
