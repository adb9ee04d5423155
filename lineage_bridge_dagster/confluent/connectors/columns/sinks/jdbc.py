"""Tables of relational databases, by JDBC sinks and by sinks with the same settings.

Sources: `FieldsMetadata` and `DbStructure` of confluentinc/kafka-connect-jdbc, which Aiven's connector, the
managed connectors and those of Spanner, Redshift and Synapse share; `KafkaDebeziumSinkRecord`,
`JdbcKafkaSinkRecord`, `FieldFilterFactory` and `GeneralDatabaseDialect` of debezium/debezium.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from lineage_bridge_dagster.confluent.connectors.columns.records import RecordNode
from lineage_bridge_dagster.confluent.connectors.columns.sinks.table import (
    ANY,
    NO_COLUMN,
    SinkDataset,
    WrittenColumn,
    column,
    generated,
    unknown,
    unnamed,
    writes,
)
from lineage_bridge_dagster.confluent.connectors.config import split_list
from lineage_bridge_dagster.confluent.connectors.relational import DIALECTS

#: Names of the coordinates' columns if `pk.fields` gives no other ones.
_COORDINATES = ("__connect_topic", "__connect_partition", "__connect_offset")
#: What names of converters, and of managed connectors' formats, say of keys that are structures.
_STRUCTURED = ("avro", "json", "protobuf")
_NOT_A_COLUMN = "the connector refuses a field that is itself a structure"
#: How databases spell a name without quotes, by the scheme of their datasets.
_FOLDS = {dialect.rule.template.partition(":")[0]: dialect.fold for dialect in DIALECTS.values()}


@writes(
    """jdbc jdbc-postgres jdbc-mysql jdbc-sqlserver jdbc-oracle redshift azure-sql-dw spanner vertica
    netezza heavyai kudu sap-hana"""
)
def jdbc(table: SinkDataset) -> Iterator[WrittenColumn]:
    """The columns of the primary key by `pk.mode` and `pk.fields`, and the other fields of the value."""
    config, value = table.config, table.record.value
    chosen = _primary_key(table)
    keys: dict[str, WrittenColumn] = {item.path: item for item in chosen}
    yield from (_placed(table, item) for item in keys.values())
    if value is None:
        return
    if not value.is_struct:
        name = config.get("string.output.value.column.name", default="record_value")
        yield _placed(table, column(name, value))
        return
    allowed = {*config.items("fields.whitelist", "fields.included")}
    for name, node in value.known.items():
        if name not in keys and (not allowed or name in allowed):
            yield _placed(table, _field(name, node))
    yield from unnamed(value)


def _field(name: str, node: RecordNode) -> WrittenColumn:
    return WrittenColumn(name, unknown=_NOT_A_COLUMN) if node.is_struct else column(name, node)


def _primary_key(table: SinkDataset) -> Iterator[WrittenColumn]:
    config, key, value = table.config, _key(table), table.record.value
    # SAP HANA's sink has a setting for each topic.
    names = config.items(f"{table.topic}.pk.fields", "pk.fields")
    mode = config.get(f"{table.topic}.pk.mode", "pk.mode", default="none").lower()
    if mode == "kafka":
        yield from generated(*(names if len(names) == len(_COORDINATES) else _COORDINATES))
    elif mode == "record_key":
        yield from _named(key, names, "the record's key")
    elif mode == "record_value" and value is not None and value.is_struct:
        yield from _named(value, names, "the record's value")


def _key(table: SinkDataset) -> RecordNode | None:
    """The record's key. Without any schema, a sink of tables can only take a primitive one."""
    key, written = table.record.key, table.config.get("key.converter", "input.key.format").lower()
    if key is None or not key.open or key.known or key.unknown:
        return key
    return key if any(name in written for name in _STRUCTURED) else RecordNode(key.sources)


def _named(node: RecordNode | None, names: list[str], what: str) -> Iterator[WrittenColumn]:
    """The listed fields of a structure, or all; one that has none is a column with the only listed name."""
    if node is None:
        for name in names:
            yield WrittenColumn(name, unknown=f"{what} is null")
    elif node.is_struct:
        for name in names or node.known:
            child = node.known.get(name)
            reason = f"{what} has no {'schema that names a' if node.open else ''} field {name}"
            yield WrittenColumn(name, unknown=reason) if child is None else _field(name, child)
        if not names:
            yield from unnamed(node)
    elif len(names) == 1:
        yield column(names[0], node)
    else:
        yield from unknown(f"pk.fields must name one column for a primitive key, and names {len(names)}")


def _placed(table: SinkDataset, item: WrittenColumn) -> WrittenColumn:
    """A column as the table spells it; a reason for one that the table lacks and does not get."""
    config = table.config
    path = _spelled(table, item.path)
    if table.columns:
        # The connector compares names without case if they differ in nothing else.
        existing = table.existing(path, any_case=True)
        if not existing and not config.flag("auto.evolve"):
            return WrittenColumn(path, unknown=item.unknown or NO_COLUMN)
        path = existing or path
    return WrittenColumn(path, item.sources, item.unknown)


def _spelled(table: SinkDataset, name: str) -> str:
    """A name that the connector does not quote is as the database folds it."""
    config = table.config
    unquoted = config.get("quote.sql.identifiers").lower() == "never"
    if not unquoted and config.flag("sql.quote.identifiers", True):
        return name
    return _FOLDS.get(_scheme(table), str)(name)


def _scheme(table: SinkDataset) -> str:
    return table.dataset.partition(":")[0]


@writes("debezium-jdbc")
def debezium(table: SinkDataset) -> Iterator[WrittenColumn]:
    """Columns by `primary.key.mode` and of the row, which an envelope of a change holds in `after`."""
    config = table.config
    strategy = config.get("column.naming.strategy").rpartition(".")[2]
    if strategy not in ("", "DefaultColumnNamingStrategy"):
        yield from unknown(f"column.naming.strategy {strategy} is not known")
        return
    payload, is_listed = _payload(table.record.value), _listed(table)
    mode = config.get("primary.key.mode", default="none").lower()
    # A list of the key's own fields is not filtered.
    filtered = mode in ("record_key", "record_value") and not config.items("primary.key.fields")
    keys = {
        item.path: item
        for item in _debezium_key(table, payload, mode)
        if not filtered or is_listed(item.path)
    }
    found = dict(keys)
    if payload is not None:
        for name, node in payload.known.items():
            if name not in keys and is_listed(name):
                found[name] = column(name, node)
        found |= {item.path: item for item in unnamed(payload)}
    quoted = config.flag("quote.identifiers")
    fold = str.upper if _FOLDS.get(_scheme(table)) is str.upper else str.lower
    for item in found.values():
        # Names without quotes are in one case, whatever the database itself would make of them.
        path = item.path if quoted or item.path == ANY else fold(item.path)
        if table.columns:
            path = table.existing(path, any_case=not quoted) or path
        yield WrittenColumn(path, item.sources, item.unknown)


def _payload(value: RecordNode | None) -> RecordNode | None:
    """The row of an envelope, which has a name for the operation."""
    return value.known["after"] if value is not None and {"op", "after"} <= value.known.keys() else value


def _debezium_key(table: SinkDataset, payload: RecordNode | None, mode: str) -> Iterable[WrittenColumn]:
    """The columns of the primary key by `primary.key.mode` and `primary.key.fields`."""
    names = table.config.items("primary.key.fields")
    if mode == "kafka":
        return generated(*_COORDINATES)
    if mode == "record_key":
        return _named(_key(table), names, "the record's key")
    if mode == "record_value":
        return _named(payload, names, "the record's value")
    if mode == "record_header":
        return (column(name, node) for name, node in table.record.headers.items())
    return ()


def _listed(table: SinkDataset) -> Callable[[str], bool]:
    """Which fields the list leaves in; its items are `field` or `topic:field`."""
    for key, kept in (("field.exclude.list", False), ("field.include.list", True)):
        if value := table.config.get(key):
            items = {tuple(part.strip() for part in item.split(":")) for item in split_list(value)}
            names = {item[-1] for item in items if item[:-1] in ((), (table.topic,))}
            return lambda name: (name in names) == kept
    return lambda _name: True
