"""The jobs of Flink, and what the names in them refer to by the options that tables have by then. Pure.

A table of another connector stands for the dataset that it leads to, named as those of connectors, so that
both lead to one. Sources: Confluent's pages "External tables" and "CREATE CONNECTION", and the connectors'
pages of Apache Flink and Flink CDC.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple

from lineage_bridge_dagster.confluent.api.flink import FlinkStatement, MaterializedTable, RegionKey
from lineage_bridge_dagster.confluent.api.org import Environment
from lineage_bridge_dagster.confluent.connectors import naming
from lineage_bridge_dagster.confluent.connectors.addresses import host_and_port
from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.families.common import KeyedDataset, keyed
from lineage_bridge_dagster.confluent.connectors.naming import http_url, location
from lineage_bridge_dagster.confluent.connectors.relational import database_of, name_parts
from lineage_bridge_dagster.confluent.graph.builder import Builder
from lineage_bridge_dagster.confluent.graph.subjects import ROLES, Convention, Conventions
from lineage_bridge_dagster.lineage.coverage import Scope
from lineage_bridge_dagster.lineage.times import parse_iso
from lineage_bridge_dagster.sql.flink.names import NameIndex, TopicRef, quoted
from lineage_bridge_dagster.sql.statement import SqlStatement, TableChange, TablePath

Options = Mapping[str, str]

#: Connectors of topics.
_TOPICS = ("", "confluent")
#: Connectors of tables whose rows come from nothing or go nowhere.
_NOTHING = ("faker", "datagen", "print", "blackhole", "values")
#: The index and the project of a Pinecone address.
_PINECONE = re.compile(r"(.+)-([0-9a-z]+)\.svc\.[\w.-]+")


class External(NamedTuple):
    """The dataset of a table, or the reason why it is not known; neither if the table has no data outside."""

    dataset: str = ""
    reason: str = ""


def external_of(options: Options, connections: Mapping[str, Options]) -> External | None:
    """What a table with these options stands for; None for a topic.

    Args:
        connections: The options of connections, by name, qualified or not.
    """
    connector = options.get("connector", "").lower()
    if connector in _TOPICS:
        return None
    if connector in _NOTHING:
        return External()
    reader = _READERS.get(connector)
    if reader is None:
        return External(reason=f"what its connector {connector!r} leads to is not known")
    name = next((value for key, value in options.items() if key.endswith(".connection")), "")
    name = name.replace("`", "")
    name = name if name in connections else name.rpartition(".")[2]
    if name and name not in connections:
        return External(reason=f"no statement that is listed creates its connection {name!r}")
    # Confluent's options have the connector before them: `mongodb.collection`.
    plain = {key.removeprefix(f"{connector}."): value for key, value in options.items()}
    dataset = reader(Config({**plain, **connections.get(name, {})}))
    return External(dataset, "" if dataset else f"its options do not name what {connector!r} leads to")


def _pinecone(options: Config) -> str:
    found = _PINECONE.fullmatch(host_and_port(options.get("endpoint"))[0])
    return naming.PINECONE(project=found[2], index=found[1]) if found else ""


def _jdbc(options: Config) -> str:
    database = database_of(Config({"connection.url": options.get("endpoint", "url")}))
    parts = name_parts(options.get("table-name"))
    return database.table(*database.folded(parts)) if database is not None and database.host else ""


def _cdc(rule: naming.Rule) -> KeyedDataset:
    """A table of Flink CDC."""
    return keyed(
        rule,
        host="hostname | hosts",
        port="port",
        database="database-name | database",
        service="database-name",
        schema="schema-name",
        table="table-name",
        collection="collection",
    )


def _rest(options: Config) -> str:
    endpoint, path = options.get("endpoint", "url"), options.get("path")
    return http_url(f"{endpoint.rstrip('/')}/{path.lstrip('/')}" if path else endpoint)


_ELASTICSEARCH = keyed(naming.ELASTICSEARCH, host="endpoint | hosts", index="index")
_OPENSEARCH = keyed(naming.OPENSEARCH, host="endpoint | hosts", index="index")
_KAFKA_TABLE = keyed(naming.KAFKA, host="properties.bootstrap.servers", topic="topic")
_READERS: Mapping[str, Callable[[Config], str]] = {
    "mongodb": keyed(
        naming.MONGODB, host="endpoint | uri | hosts", database="database", collection="collection"
    ),
    "couchbase": keyed(
        naming.COUCHBASE, host="endpoint", bucket="bucket", scope="scope", collection="collection"
    ),
    "pinecone": _pinecone,
    "cosmosdb": keyed(
        naming.COSMOS, host="endpoint", database="database", container="container | collection"
    ),
    "elastic": _ELASTICSEARCH,
    "elasticsearch-6": _ELASTICSEARCH,
    "elasticsearch-7": _ELASTICSEARCH,
    "elasticsearch-8": _ELASTICSEARCH,
    "opensearch": _OPENSEARCH,
    "opensearch-2": _OPENSEARCH,
    "jdbc": _jdbc,
    "confluent-jdbc": _jdbc,
    "rest": _rest,
    "filesystem": lambda options: location(options.get("path")),
    "kafka": _KAFKA_TABLE,
    "upsert-kafka": _KAFKA_TABLE,
    "postgres-cdc": _cdc(naming.POSTGRES),
    "mysql-cdc": _cdc(naming.MYSQL),
    "sqlserver-cdc": _cdc(naming.MSSQL),
    "oracle-cdc": _cdc(naming.ORACLE),
    "db2-cdc": _cdc(naming.DB2),
    "mongodb-cdc": _cdc(naming.MONGODB),
}


_Options = dict[str, str]

_DONE = frozenset({"COMPLETED", "STOPPED"})
_NOT_DONE = frozenset({"FAILED", "FAILING", "PENDING"})


@dataclass(slots=True)
class FlinkTables:
    """The tables of all statements. Paths are canonical; a moment is a text's position by creation.

    Attributes:
        states: The options of each table since each moment.
        began: When each table was last created or dropped: what was written before is gone.
        existing: Tables that exist at the last moment.
        left: The moments of completed statements that found the table they would create.
    """

    states: dict[TablePath, list[tuple[int, _Options]]] = field(default_factory=dict)
    connections: dict[TablePath, _Options] = field(default_factory=dict)
    began: dict[TablePath, datetime] = field(default_factory=dict)
    existing: set[TablePath] = field(default_factory=set)
    left: set[int] = field(default_factory=set)

    def note(self, moment: int, created_at: datetime, phase: str, statements: Iterable[SqlStatement]) -> None:
        """Apply a text.

        Args:
            moment: Later than that of the text before.
            phase: The phase of its statement: one that failed has changed nothing.
        """
        for statement in statements:
            change = statement.table
            if change is None or phase in _NOT_DONE or (change.action == "drop" and phase not in _DONE):
                continue
            if change.action == "connect":
                self.connections.setdefault(change.path, {}).update(change.options)
                continue
            # A CREATE TABLE that succeeded proves that there was no such table.
            if change.action in ("drop", "replace") or (
                change.action == "create" and not change.if_not_exists
            ):
                self.began[change.path] = created_at
            if change.if_not_exists and change.path in self.existing:
                if phase == "COMPLETED" and change.path in statement.writes:
                    self.left.add(moment)
                continue
            self.states.setdefault(change.path, []).append((moment, self._changed(moment, change)))
            (self.existing.discard if change.action == "drop" else self.existing.add)(change.path)

    def external(self, path: TablePath, moment: int) -> External | None:
        """What a table stood for; None if it is a topic, as far as is known."""
        options = self._options(path, moment)
        return external_of(options, self._connections(path)) if options else None

    def error_log(self, path: TablePath, moment: int) -> str:
        """The table for records that cannot be read; empty if such records fail the statement."""
        options = self._options(path, moment)
        if options.get("error-handling.mode", "").lower() != "log":
            return ""
        return options.get("error-handling.log.target") or "error_log"

    def conventions(self) -> Iterator[tuple[TablePath, Conventions]]:
        """The contexts in which tables register their schemas, of those that set one."""
        for path, states in self.states.items():
            contexts = {
                role: [Convention(value)]
                for role in ROLES
                for key, value in states[-1][1].items()
                if key.startswith(f"{role}.") and key.endswith(".schema-context")
            }
            if contexts:
                yield path, contexts

    def is_gone(self, path: TablePath, created_at: datetime) -> bool:
        """Whether a table was created again after a statement, so that nothing it wrote is left there."""
        began = self.began.get(path)
        return began is not None and began > created_at

    def _connections(self, table: TablePath) -> Mapping[str, _Options]:
        """Those that a table may use, by name: of its own database, or the only one of that name."""
        count = Counter(path[-1] for path in self.connections)
        return {
            name: options
            for path, options in self.connections.items()
            for name in (".".join(path), path[-1])
            if name != path[-1] or path[:-1] == table[:-1] or count[name] == 1
        }

    def _options(self, path: TablePath, moment: int) -> _Options:
        """A table's options; of one that is created later, its first."""
        states = self.states.get(path)
        if not states:
            return {}
        return states[max(0, bisect_right(states, moment, key=lambda state: state[0]) - 1)][1]

    def _changed(self, moment: int, change: TableChange) -> _Options:
        inherited = change.path if change.action == "set" else change.base
        options = {**(self._options(inherited, moment) if inherited else {}), **dict(change.options)}
        return {key: value for key, value in options.items() if value}


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
        # One that wrote nothing has read nothing, either.
        wrote = bool(self.job.read_topics) or self.moment not in self.tables.left
        return not wrote or self.tables.is_gone(path, self.job.created_at)

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
