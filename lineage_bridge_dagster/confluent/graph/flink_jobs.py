"""The jobs of Flink, statements and materialized tables, and what the names in them refer to. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from lineage_bridge_dagster.confluent.api.flink import FlinkStatement, MaterializedTable, RegionKey
from lineage_bridge_dagster.confluent.api.org import Environment
from lineage_bridge_dagster.confluent.graph.builder import Builder
from lineage_bridge_dagster.confluent.graph.flink_history import FlinkTables
from lineage_bridge_dagster.lineage.coverage import Scope
from lineage_bridge_dagster.lineage.times import parse_iso
from lineage_bridge_dagster.sql.flink.names import NameIndex, TopicRef, quoted
from lineage_bridge_dagster.sql.statement import TablePath

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


Output = TopicRef | str
"""A topic, or an outside dataset by its name."""


@dataclass(slots=True)
class Names:
    """What the names in a statement refer to: topics, outside datasets, and what is in doubt.

    Attributes:
        refs: Topics.
        datasets: Those of tables of other connectors.
        unknown: Names that refer to no topic, with the reason.
        outside: Tables of other connectors whose dataset is not known, with the reason.
    """

    refs: list[TopicRef] = field(default_factory=list)
    datasets: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)

    @property
    def outputs(self) -> list[Output]:
        """The topics and the datasets."""
        return [*self.refs, *self.datasets]

    @property
    def any(self) -> bool:
        return bool(self.refs or self.datasets or self.unknown or self.outside)


@dataclass(frozen=True, slots=True)
class Resolver:
    """Resolves the names in one job's statements."""

    builder: Builder
    index: NameIndex
    job: Job
    tables: FlinkTables
    moment: int
    searched: Collection[TablePath]

    def names(self, paths: Iterable[TablePath]) -> Names:
        found = Names()
        for path in paths:
            external = self.tables.external(path, self.moment)
            resolution = self.index.explain(path, self.job.catalog, self.job.database)
            ref = resolution.ref
            if external is not None:
                if external.dataset:
                    found.datasets.append(external.dataset)
                elif external.reason:
                    found.outside.append(f"{quoted(path)} is an external table: {external.reason}")
            elif path in self.searched and (ref is None or not self.builder.has_topic(ref.key, ref.topic)):
                reason = "no statement that is listed creates it"
                found.outside.append(f"{quoted(path)} is an external table: {reason}")
            elif ref is None:
                found.unknown.append(f"{quoted(path)} is not a known topic: {resolution.reason}")
            else:
                found.refs.append(ref)
        found.refs = list(dict.fromkeys(found.refs))
        found.datasets = list(dict.fromkeys(found.datasets))
        return found

    def is_gone(self, path: TablePath) -> bool:
        return self.tables.is_gone(path, self.job.created_at)

    def error_logs(self, paths: Iterable[TablePath]) -> dict[TopicRef, list[TopicRef]]:
        """The topics for dead letters, each with the topics whose unreadable records go there."""
        logs: dict[TopicRef, list[TopicRef]] = {}
        for path in paths:
            target = self.tables.error_log(path, self.moment)
            source = self.index.resolve(path, self.job.catalog, self.job.database)
            if not target or source is None:
                continue
            log = source._replace(topic=target)
            if not self.builder.has_topic(log.key, target) and "." in target:
                parts = tuple(part.strip("`") for part in target.split("."))
                log = self.index.resolve(parts, *source.key) or log
            logs.setdefault(log, []).append(source)
        return logs
