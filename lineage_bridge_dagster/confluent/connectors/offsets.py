"""How the offsets of source connectors are read: one reader for each way of naming their partitions. Pure.

A source keeps a position for each partition of what it reads, and names the partitions itself: a table, a
collection, a folder. Only partitions whose names are known from a connector's source are read:

- JDBC and Snowflake: `{"protocol": "1", "table": "db.schema.table"}`, and from old versions `{"table"}`.
  With `mode: bulk` it keeps no offsets, and with `query` they name no table (`OffsetProtocols`).
- Debezium: `{"server"}`, for SQL Server with a `database`, for MongoDB `{"server_id"}`. It names no table,
  but during an incremental snapshot the offset lists what it reads (`AbstractIncrementalSnapshotContext`).
- MongoDB: `{"ns": "mongodb+srv://host/db.collection"}` (`MongoSourceTask.createPartitionMap`).
- S3, GCS and Azure Blob Storage, restoring a backup: `{"folder": "topics/orders/partition=0/"}`
  (`StorageObjectSourceReader`).

The partitions of other sources name what their configuration names too (a repository, a shard of the one
stream), or nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from lineage_bridge_dagster.confluent.connectors.addresses import host_and_port
from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.families import family_of
from lineage_bridge_dagster.confluent.connectors.java_regex import (
    BadRegexError,
    full_matches,
    is_literal,
    literal,
)
from lineage_bridge_dagster.confluent.connectors.record import (
    ConnectorLineage,
    ConnectorOffset,
    ConnectorRecord,
    ExistingTopics,
)
from lineage_bridge_dagster.confluent.connectors.resolve import resolve
from lineage_bridge_dagster.confluent.connectors.transforms import routing_of
from lineage_bridge_dagster.json_text import json_of


@dataclass(frozen=True, slots=True)
class OffsetReader:
    """How the offsets of a kind of source are read.

    Attributes:
        is_open: Whether a configuration leaves open what is read, and the offsets may tell.
        names: What the offsets name, as they spell it.
        covers: Whether a configuration covers a name. Offsets outlive changes of the configuration.
        lineage: The lineage of just these names, by the configuration's own rules, in a cluster with these
            topics.
        others: The connector with only what its configuration names literally besides these names, None if
            that is nothing. A reader has it if whatever else the offsets do not name was not read.
    """

    is_open: Callable[[Config], bool]
    names: Callable[[Iterable[ConnectorOffset]], Iterator[str]]
    covers: Callable[[Config, str], bool]
    lineage: Callable[[ConnectorRecord, list[str], Collection[str]], list[ConnectorLineage]]
    others: Callable[[ConnectorRecord, list[str]], ConnectorRecord | None] | None = None


def reader_of(family: str) -> OffsetReader | None:
    """The reader for a family of sources; None if their offsets tell nothing."""
    return _READERS.get(family)


def configured(
    connector: ConnectorRecord, changes: Mapping[str, str], without: Collection[str] = ()
) -> ConnectorRecord:
    """The connector with a changed configuration."""
    kept = {key: value for key, value in connector.config.items() if key not in without}
    return replace(connector, config={**kept, **changes})


def texts(values: Iterable[object]) -> Iterator[str]:
    """The values that are texts and not blank."""
    return (value for value in values if isinstance(value, str) and value.strip())


# Tables: JDBC and Debezium.

#: The key of a list of tables, and its name in old versions.
_TABLES = ("table.include.list", "table.whitelist")
_COLLECTIONS = ("collection.include.list", "collection.whitelist")


def _names_its_tables(config: Config, lists: tuple[str, ...] = _TABLES) -> bool:
    items = config.items(*lists)
    return bool(items) and all(map(is_literal, items))


def _covers_table(config: Config, name: str, fewest_parts: int, lists: tuple[str, ...] = _TABLES) -> bool:
    """Whether the table list, if there is one, has an entry for a table, qualified to any degree."""
    items = config.items(*lists)
    spellings = [suffix for suffix in _suffixes(name) if suffix.count(".") >= fewest_parts - 1] or [name]
    try:
        return not items or any(_matches(item, spellings) for item in items)
    except BadRegexError:
        return True


def _matches(item: str, spellings: list[str]) -> bool:
    if is_literal(item):
        return literal(item).casefold() in map(str.casefold, spellings)
    return bool(full_matches(item, spellings))


def _suffixes(name: str) -> list[str]:
    """`db.public.t`, `public.t`, `t`."""
    parts = name.split(".")
    return [".".join(parts[start:]) for start in range(len(parts))]


def _with_tables(
    connector: ConnectorRecord, tables: Iterable[str], lists: tuple[str, ...] = _TABLES
) -> ConnectorRecord:
    return configured(connector, {lists[0]: ",".join(map(_entry, tables))}, without=lists)


def _entry(table: str) -> str:
    """An entry of a table list that means this table alone."""
    if is_literal(table):
        return table
    return re.sub(
        r"[^\w.\s-]", lambda match: f"\\{match[0]}" if match[0] in "^\\" else f"[{match[0]}]", table
    )


def _jdbc_is_open(config: Config) -> bool:
    return not (config.get("query") or config.get("mode").lower() == "bulk" or _names_its_tables(config))


def _jdbc_names(offsets: Iterable[ConnectorOffset]) -> Iterator[str]:
    found = list(texts(offset.partition.get("table") for offset in offsets))
    for name in found:
        # Older versions named the table alone, and that offset stays beside the one with the whole name.
        if "." in name or not any(other.endswith(f".{name}") for other in found):
            yield name


def _jdbc_lineage(
    connector: ConnectorRecord, names: list[str], topics: Collection[str]
) -> list[ConnectorLineage]:
    return [resolve(_with_tables(connector, names), topics)]


def _jdbc_others(connector: ConnectorRecord, names: list[str]) -> ConnectorRecord | None:
    items = [
        item
        for item in Config(connector.config).items(*_TABLES)
        if is_literal(item) and not any(_matches(item, _suffixes(name)) for name in names)
    ]
    return _with_tables(connector, items) if items else None


#: Key of a Debezium offset during an incremental snapshot: a JSON list of objects, each with an id.
_SNAPSHOT = "incremental_snapshot_collections"


def _debezium_names(offsets: Iterable[ConnectorOffset]) -> Iterator[str]:
    for offset in offsets:
        entries = json_of(offset.offset.get(_SNAPSHOT), list) or []
        yield from texts(entry.get(f"{_SNAPSHOT}_id") for entry in entries if isinstance(entry, dict))


def _debezium_lineage(
    connector: ConnectorRecord, names: list[str], topics: Collection[str]
) -> list[ConnectorLineage]:
    """Table lists name `schema.table` or `db.table`; an id may have the database before it."""
    databases = Config(connector.config).items("database.names")
    tables: dict[str, list[str]] = {}
    for name in names:
        above, _, table = name.rpartition(".")
        database, _, head = above.rpartition(".")
        tables.setdefault(database if database in databases else "", []).append(f"{head}.{table}")
    return [
        resolve(
            configured(_with_tables(connector, listed), {"database.names": database} if database else {}),
            topics,
        )
        for database, listed in sorted(tables.items())
    ]


def _debezium_mongodb_lineage(
    connector: ConnectorRecord, names: list[str], topics: Collection[str]
) -> list[ConnectorLineage]:
    return [resolve(_with_tables(connector, names, _COLLECTIONS), topics)]


# Collections: MongoDB.

_NAMESPACE = re.compile(r"mongodb(?:\+srv)?://(?P<hosts>[^/@]+)/(?P<database>[^.]+)\.(?P<collection>.+)")


def _covers_collection(config: Config, name: str) -> bool:
    match = _NAMESPACE.fullmatch(name)
    if match is None:
        return False
    host, _ = host_and_port(config.get("connection.host", "connection.uri"))
    return (
        host in {host_and_port(one)[0] for one in match["hosts"].split(",")}
        and config.get("database", default=match["database"]) == match["database"]
        and config.get("collection", default=match["collection"]) == match["collection"]
    )


def _mongodb_lineage(
    connector: ConnectorRecord, names: list[str], topics: Collection[str]
) -> list[ConnectorLineage]:
    paths = [match.groupdict() for name in names if (match := _NAMESPACE.fullmatch(name))]
    return [
        resolve(configured(connector, {key: path[key] for key in ("database", "collection")}), topics)
        for path in paths
    ]


# Folders: object stores that restore a backup, the layout of which is the sink's.

#: Family of a source -> plugin id of the sink whose layout it reads.
_SINKS = {"s3": "S3_SINK", "gcs": "GcsSink", "azure-blob": "AzureBlobSink"}


def _folder_topic(config: Config, folder: str) -> str:
    """The topic of a folder `{topics.dir}/{topic}/...`; empty for a folder elsewhere."""
    root = f"{config.given('topics.dir', 'topics').strip('/')}/"
    path = f"{folder.strip('/')}/"
    return path.removeprefix(root).partition("/")[0] if path.startswith(root) else ""


def _backup_lineage(
    connector: ConnectorRecord, names: list[str], topics: Collection[str]
) -> list[ConnectorLineage]:
    config = Config(connector.config)
    family = family_of(config.get("connector.class"))
    sink = _SINKS.get(family.name) if family else None
    if sink is None:
        return []
    backed_up = ",".join(sorted({_folder_topic(config, name) for name in names}))
    layout = configured(connector, {"connector.class": sink, "topics": backed_up}, without=("transforms",))
    routing = routing_of(config, ExistingTopics.of(topics))
    try:
        pairs = tuple(
            (dataset, routed)
            for topic, dataset in resolve(layout, ()).pairs
            for routed in routing.route(topic)
        )
    except BadRegexError:
        return []
    return [
        ConnectorLineage(
            direction="source",
            topics_written=tuple(dict.fromkeys(topic for _, topic in pairs)),
            datasets_read=tuple(dict.fromkeys(dataset for dataset, _ in pairs)),
            pairs=pairs,
            warnings=tuple(routing.warnings),
        )
    ]


_JDBC = OffsetReader(
    is_open=_jdbc_is_open,
    names=_jdbc_names,
    covers=lambda config, name: _covers_table(config, name, fewest_parts=1),
    lineage=_jdbc_lineage,
    others=_jdbc_others,
)
_DEBEZIUM = OffsetReader(
    is_open=lambda config: not _names_its_tables(config),
    names=_debezium_names,
    covers=lambda config, name: "." in name and _covers_table(config, name, fewest_parts=2),
    lineage=_debezium_lineage,
)
_DEBEZIUM_MONGODB = OffsetReader(
    is_open=lambda config: not _names_its_tables(config, _COLLECTIONS),
    names=_debezium_names,
    covers=lambda config, name: "." in name and _covers_table(config, name, 2, _COLLECTIONS),
    lineage=_debezium_mongodb_lineage,
)
_MONGODB = OffsetReader(
    is_open=lambda config: not (config.get("database") and config.get("collection")),
    names=lambda offsets: texts(offset.partition.get("ns") for offset in offsets),
    covers=_covers_collection,
    lineage=_mongodb_lineage,
)
_BACKUP = OffsetReader(
    is_open=lambda config: not config.get("topic.regex.list"),
    names=lambda offsets: texts(offset.partition.get("folder") for offset in offsets),
    covers=lambda config, name: bool(_folder_topic(config, name)),
    lineage=_backup_lineage,
    others=lambda _connector, _names: None,
)
#: By family of sources.
_READERS = {
    **dict.fromkeys(("jdbc", "jdbc-postgres", "jdbc-mysql", "jdbc-sqlserver", "jdbc-oracle"), _JDBC),
    **dict.fromkeys(("jdbc-db2", "snowflake"), _JDBC),
    **dict.fromkeys(("debezium-postgres", "debezium-mysql", "debezium-sqlserver"), _DEBEZIUM),
    "oracle-xstream": _DEBEZIUM,
    "debezium-mongodb": _DEBEZIUM_MONGODB,
    "mongodb": _MONGODB,
    **dict.fromkeys(_SINKS, _BACKUP),
}
