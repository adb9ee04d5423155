"""The statements of a world -> jobs, by Flink's own parser and one derivation of all texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from pyiceberg.types import IcebergType, ListType, MapType, StructType

from lineage_bridge_dagster.confluent.api.schema_registry import Schema
from lineage_bridge_dagster.confluent.graph.inferred_tables import inferred_table
from lineage_bridge_dagster.confluent.graph.subjects import Role, SubjectMatch
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.impact.flows import ColumnSource, ColumnUse, FlowJob, Output, OutputColumn
from lineage_bridge_dagster.impact.world import NodeKind, NodeRef, SqlJob, World
from lineage_bridge_dagster.schemas.columns import own_type
from lineage_bridge_dagster.schemas.protobuf_files import record_message
from lineage_bridge_dagster.schemas.schemas import RegisteredSchema, SubjectSchemas
from lineage_bridge_dagster.sql.columns.derivation import TextColumns, derive_columns
from lineage_bridge_dagster.sql.columns.origins import ColumnOrigin
from lineage_bridge_dagster.sql.columns.tables import RAW_KEY, Registered, TableColumn
from lineage_bridge_dagster.sql.columns.types import SqlType
from lineage_bridge_dagster.sql.flink.names import ClusterName, NameIndex
from lineage_bridge_dagster.sql.flink.parser import FlinkSqlParser
from lineage_bridge_dagster.sql.flink.tree import ParsedText
from lineage_bridge_dagster.sql.flink.views import ViewExpansion, expand_views
from lineage_bridge_dagster.sql.statement import TablePath

Parse = Callable[[Sequence[str]], Sequence[ParsedText]]

_SCALARS = {
    "boolean": "BOOLEAN",
    "int": "INT",
    "long": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "string": "STRING",
    "binary": "BYTES",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "timestamptz": "TIMESTAMP_LTZ",
}


_DECLARE_WATERMARKS = frozenset(
    {"SqlAlterTableAdd", "SqlAlterTableModify", "SqlCreateTable", "SqlCreateTableAs", "SqlCreateTableLike"}
)


def parse_in_jvm(texts: Sequence[str]) -> list[ParsedText]:
    """Parse texts in one batch, by a JVM that is started for the call.

    Raises:
        ConfigurationError: Java or a jar is missing.
    """
    with FlinkSqlParser() as parser:
        return list(parser.parse_trees(texts))


def statement_jobs(
    world: World, statements: Sequence[SqlJob], parsed: Mapping[str, ParsedText]
) -> dict[str, FlowJob]:
    """The jobs of statements, by name.

    Args:
        world: Its schemas are those under which the statements are created.
        statements: In the order of their creation; those that have completed only define tables and views.
        parsed: Their texts.
    """
    environment, cluster = world.environment or "environment", world.cluster or "cluster"
    index = NameIndex([ClusterName(environment, environment, cluster, cluster)])
    texts = [replace(parsed[each.sql], catalog=environment, database=cluster) for each in statements]
    tables = _Tables(world)
    derived = derive_columns(texts, index=index, registry=tables.registered, details=True, fields=True)
    expanded = expand_views(texts, index)
    return {
        each.name: _job(each, text, columns, expansion)
        for each, text, columns, expansion in zip(statements, texts, derived, expanded, strict=True)
    }


def rowtimes_of(statements: Iterable[SqlJob], parsed: Mapping[str, ParsedText]) -> dict[NodeRef, list[str]]:
    """The columns whose watermark statements have given to the tables of topics."""
    found: dict[NodeRef, list[str]] = {}
    for statement in statements:
        for tree in filter(None, parsed[statement.sql].trees):
            root = tree.statement
            at = 4 if tree.kind(root).startswith("SqlCreateTable") else 2
            column = tree.path(tree.child(root, at)) if tree.kind(root) in _DECLARE_WATERMARKS else ()
            if column:
                found[_topic(tree.path(tree.child(root, 0)))] = [".".join(column)]
    return found


def topic_columns(world: World, topic: str) -> dict[str, str] | None:
    """The columns of a topic's table in Flink, each with its type in SQL; None if they are unknown."""
    found = _Tables(world).registered((topic,), {})
    if found is None:
        return None
    return {
        column.name: column.type.name if column.type else "" for column in found.columns if not column.how
    }


def _job(statement: SqlJob, text: ParsedText, derived: TextColumns, expansion: ViewExpansion) -> FlowJob:
    writers: dict[TablePath, list[OutputColumn]] = {}
    further: dict[TablePath, str] = {}
    for writer in (writer for found in derived.statements for writer in found):
        columns = writers.setdefault(writer.table, [])
        if writer.open:
            further[writer.table] = writer.open
        for column in writer.columns:
            uses = tuple(
                ColumnUse(use.role, use.formula, _sources(use.sources), use.open) for use in column.uses
            )
            kind = column.type.name if column.type else ""
            sources = _sources(column.sources)
            columns.append(OutputColumn(column.column, sources, uses, column.formula, kind, column.open))
    outputs = tuple(
        Output(
            _topic(sink.path),
            frozenset(map(_topic, sink.reads)),
            tuple(writers.get(sink.path, ())),
            further.get(sink.path, ""),
        )
        for sink in expansion.sinks
    )
    inputs = frozenset(map(_topic, expansion.reads))
    return FlowJob(NodeRef(NodeKind.STATEMENT, statement.name), outputs, inputs, text.lineage.error or "")


def _sources(origins: Sequence[ColumnOrigin]) -> tuple[ColumnSource, ...]:
    return tuple(ColumnSource(_topic(origin.table), origin.column, origin.how) for origin in origins)


def _topic(path: TablePath) -> NodeRef:
    return NodeRef(NodeKind.TOPIC, path[-1])


class _Tables:
    """The tables that Flink infers from a world's registered schemas."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._known: dict[tuple[str, ...], Registered | None] = {}

    def registered(self, path: TablePath, options: Mapping[str, str]) -> Registered | None:
        """The columns of a topic's table; None if they are unknown."""
        if not path:
            return None
        key = (path[-1], *(text for option in sorted(options.items()) for text in option))
        if key not in self._known:
            self._known[key] = self._registered(path[-1], options)
        return self._known[key]

    def _registered(self, topic: str, options: Mapping[str, str]) -> Registered | None:
        roles: tuple[Role, ...] = ("key", "value")
        subjects = {role: self._world.subject(f"{topic}-{role}") for role in roles}
        matches = [
            SubjectMatch(schema, role)
            for role, subject in subjects.items()
            if (schema := _schema(subject)) is not None
        ]
        if not matches:
            names = self._world.columns.get(topic)
            return Registered([TableColumn(name) for name in names]) if names else None
        types = {name: kind for subject in subjects.values() for name, kind in _types(subject).items()}
        value = subjects["value"].latest
        if value is not None and _is_one_record(value):
            key = [] if subjects["key"].latest else [TableColumn("key", RAW_KEY)]
            return Registered([*key, *(TableColumn(name, type=_sql_type(of)) for name, of in types.items())])
        found = inferred_table(topic, matches, lambda name: _schema(self._world.subject(name)), options)
        if found is None:
            return None
        columns = [_typed(column, types) for column in found.columns]
        if not found.ordered:
            # A JSON schema without an index of its properties: those who write it list them in their order.
            order = {name: at for at, name in enumerate(types)}
            columns.sort(key=lambda column: order.get(column.name, -1))
        return Registered(columns)


def _schema(subject: SubjectSchemas) -> Schema | None:
    latest = subject.latest
    if latest is None:
        return None
    return Schema(
        subject=subject.subject,
        version=latest.version,
        id=latest.id,
        schemaType=latest.type,
        text=latest.text,
    )


def _is_one_record(schema: RegisteredSchema) -> bool:
    """Whether a Protobuf schema of several messages is of one record and of what it holds."""
    try:
        return bool(record_message(schema))
    except LineageBridgeError:
        return False


def _types(subject: SubjectSchemas) -> dict[str, IcebergType]:
    """The types of a record's fields; none if they are not understood."""
    try:
        latest = subject.latest
        kind = own_type(latest, message=record_message(latest)) if latest else None
    except LineageBridgeError:
        return {}
    return {each.name: each.field_type for each in kind.fields} if isinstance(kind, StructType) else {}


def _typed(column: TableColumn, types: Mapping[str, IcebergType]) -> TableColumn:
    kind = types.get(column.name)
    return column if kind is None else column._replace(type=_sql_type(kind))


def _sql_type(kind: IcebergType) -> SqlType:
    match kind:
        case StructType():
            return SqlType("ROW", tuple((each.name, _sql_type(each.field_type)) for each in kind.fields))
        case ListType():
            return SqlType("ARRAY", (("", _sql_type(kind.element_type)),))
        case MapType():
            parts = (("KEY", _sql_type(kind.key_type)), ("VALUE", _sql_type(kind.value_type)))
            return SqlType("MAP", parts)
    name = str(kind)
    return SqlType("SCALAR", name=_SCALARS.get(name, name.upper()))
