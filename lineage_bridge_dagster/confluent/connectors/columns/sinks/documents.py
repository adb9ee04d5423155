"""Documents and items of stores with a key of their own: of Cosmos DB, Couchbase, DynamoDB, Redis and others.

Redis has no names for its parts: here they are `_key`, `_value`, and `member` and `score` of a set. Sources:
the package `sink.id.strategy` of microsoft/kafka-connect-cosmosdb; `SinkBehaviorConfig` and the handlers of
couchbase/kafka-connect-couchbase; "Amazon DynamoDB Sink Connector", DynamoDB parameters; `RedisSinkTask` and
the sink's guide of redis-field-engineering/redis-kafka-connect; `RedisSinkTask` of
jcustenborder/kafka-connect-redis, of which the managed "Redis Sink" is made.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from lineage_bridge_dagster.confluent.connectors.columns.records import ConnectRecord, RecordNode
from lineage_bridge_dagster.confluent.connectors.columns.sinks import kcql
from lineage_bridge_dagster.confluent.connectors.columns.sinks.table import (
    NO_SCHEMA,
    SinkDataset,
    WrittenColumn,
    column,
    generated,
    joined,
    row,
    tree,
    unknown,
    writes,
)

_VARIABLE = re.compile(r"\$\{([^}]*)\}")
#: `$.id`, `$['id']`
_JSON_PATH = re.compile(r"\.([^.\[\]]+)|\['([^']*)'\]")
_KEY = "_key"


def keyed(name: str, identifier: WrittenColumn, value: RecordNode | None) -> Iterator[WrittenColumn]:
    """A document with an identifier, which replaces a field of its name."""
    yield identifier
    yield from (item for item in tree(value) if item.path.partition(".")[0] != name)


@writes("cosmosdb cosmosdb-v2")
def cosmosdb(table: SinkDataset) -> Iterator[WrittenColumn]:
    """The value's fields, and the `id` that a strategy sets."""
    config, record = table.config, table.record
    second = config.get("azure.cosmos.sink.id.strategy.type", "azure.cosmos.sink.id.strategy")
    latest = bool(config.get("azure.cosmos.account.endpoint"))
    strategy = second or config.get("id.strategy", "cosmos.id.strategy")
    strategy = strategy.rpartition(".")[2] or ("ProvidedInValueStrategy" if latest else "FullKeyStrategy")
    template = config.get("azure.cosmos.sink.id.strategy.template", "id.strategy.template", default="")
    path = config.get("azure.cosmos.sink.id.strategy.jsonPath", "id.strategy.jsonPath", default="$.id")
    return keyed("id", _cosmos_id(strategy, template, path, record), record.value)


def _cosmos_id(strategy: str, template: str, path: str, record: ConnectRecord) -> WrittenColumn:
    if strategy == "KafkaMetadataStrategy":
        return WrittenColumn("id")
    if strategy == "FullKeyStrategy":
        return column("id", record.key, "FullKeyStrategy: the record's key is null")
    if strategy == "TemplateStrategy":
        uses_key = "key" in _VARIABLE.findall(template)
        return column("id", record.key, "the record's key is null") if uses_key else WrittenColumn("id")
    if strategy in ("ProvidedInKeyStrategy", "ProvidedInValueStrategy"):
        part = record.key if strategy == "ProvidedInKeyStrategy" else record.value
        below = [dotted or quoted for dotted, quoted in _JSON_PATH.findall(path.removeprefix("$"))]
        node = part.at(*below) if part is not None else None
        return column("id", node, f"{strategy}: the record has no {path}")
    return WrittenColumn("id", unknown=f"the strategy of its identifier, {strategy}, is not known")


@writes("couchbase")
def couchbase(table: SinkDataset) -> Iterator[WrittenColumn]:
    """The document by its handler, and its identifier: the key, or made of fields by a template."""
    config, record = table.config, table.record
    template = (
        config.overrides("couchbase.document.id").get(table.topic)
        or config.pairs("couchbase.topic.to.document.id", "=").get(table.topic)
        or config.get("couchbase.document.id")
    )
    pointers = [pointer.strip("/").split("/") for pointer in _VARIABLE.findall(template)]
    handler = config.get("couchbase.sink.handler").rpartition(".")[2] or "UpsertSinkHandler"
    mode = config.get("couchbase.document.mode").upper()
    handler = {"N1QL": "N1qlSinkHandler", "SUBDOCUMENT": "SubDocumentSinkHandler"}.get(mode, handler)
    updates_many = config.get("couchbase.n1ql.operation").upper() == "UPDATE_WHERE"
    if not (handler == "N1qlSinkHandler" and updates_many):
        yield _couchbase_id(template, pointers, record)
    removes = config.overrides("couchbase.remove.document.id").get(table.topic, "")
    fields = tree(record.value)
    if (removes or config.get("couchbase.remove.document.id")).lower() == "true":
        dropped = [".".join(pointer) for pointer in pointers]
        fields = (item for item in fields if not _is_below(item.path, dropped))
    if handler in ("UpsertSinkHandler", "N1qlSinkHandler", "AnalyticsSinkHandler"):
        yield from fields
    elif handler == "SubDocumentSinkHandler":
        path = config.get("couchbase.subdocument.path")
        if path.startswith("/") or not path:
            yield from unknown(f"the record's field {path or '(none)'} names the path that it is written to")
        else:
            yield from (WrittenColumn(f"{path}.{item.path}", item.sources, item.unknown) for item in fields)
    else:
        yield from unknown(f"the sink handler {handler} is not known")


def _couchbase_id(template: str, pointers: list[list[str]], record: ConnectRecord) -> WrittenColumn:
    if not template:
        return column(_KEY, record.key, "the record's key is null")
    found: list[RecordNode] = []
    for pointer in pointers:
        node = record.value.at(*pointer) if record.value is not None else None
        if node is None:
            # Without one of the fields, the connector takes the key.
            return column(_KEY, record.key, f"the record has no {'/'.join(pointer)}")
        found.append(node)
    return joined(_KEY, found)


def _is_below(path: str, names: Iterable[str]) -> bool:
    return any(path == name or path.startswith(f"{name}.") for name in names)


@writes("dynamodb")
def dynamodb(table: SinkDataset) -> Iterator[WrittenColumn]:
    """The value's fields, and the attributes of the hash key and the sort key.

    A key is `partition`, `offset`, `topic`, `key[.path]` or `value.path`, with an alias after a colon.
    """
    config, record = table.config, table.record
    keys: dict[str, WrittenColumn] = {}
    for setting, default in (("aws.dynamodb.pk.hash", "partition"), ("aws.dynamodb.pk.sort", "offset")):
        # An empty sort key, unlike an absent one, means that there is no sort key.
        given = config.given(setting, default)
        reference, _, alias = given.partition(":")
        side, *path = reference.split(".")
        name = alias or reference.rpartition(".")[2]
        if side in ("key", "value"):
            part = record.key if side == "key" else record.value
            node = part.at(*path) if part is not None else None
            keys[name] = column(name, node, f"the record has no {reference}")
        elif reference:
            keys[name] = WrittenColumn(name)
    yield from keys.values()
    yield from (item for item in tree(record.value) if item.path.partition(".")[0] not in keys)


@writes("arangodb")
def arangodb(table: SinkDataset) -> Iterator[WrittenColumn]:
    """The value's fields, and the record's key as the document's; without one, the store generates it."""
    record = table.record
    identifier = WrittenColumn(_KEY) if record.key is None else column(_KEY, record.key)
    if record.key is None and record.value is not None and record.value.at(_KEY) is not None:
        identifier = column(_KEY, record.value.at(_KEY))
    return keyed(_KEY, identifier, record.value)


@writes("firebase")
def firebase(table: SinkDataset) -> Iterator[WrittenColumn]:
    """The value's fields, below a key of the database."""
    if table.record.key is None:
        yield from generated(_KEY)
    else:
        yield column(_KEY, table.record.key)
    yield from tree(table.record.value)


_NULL_KEY = "the record's key is null"
#: Classes that set a key to a value, whatever the type of either.
_PLAIN = ("RedisSink", "com.github.jcustenborder.kafka.connect.redis.RedisSinkConnector")


@writes("redis redis-community")
def redis(table: SinkDataset) -> Iterator[WrittenColumn]:
    """What is written by `redis.type`, in earlier versions by `redis.command`; a stream by default."""
    config, record = table.config, table.record
    class_name = config.get("connector.class")
    if ".streamreactor." in class_name:
        yield from kcql.redis(table)
        return
    if class_name.startswith("io.github.jaredpetersen."):
        yield from unknown("the record's value is itself a command of Redis")
        return
    kind, command = config.get("redis.type").upper(), config.get("redis.command").upper()
    kind = kind or command or "STREAM"
    # The type is a set, the command sets a text.
    if class_name in _PLAIN or kind == "STRING" or (kind, command) == ("SET", "SET"):
        yield column("_key", record.key, _NULL_KEY)
        if record.value is not None:
            yield column("_value", record.value)
    elif kind in ("HASH", "HSET", "JSON", "JSONSET"):
        yield column("_key", record.key, _NULL_KEY)
        if kind.startswith("JSON"):
            opaque = record.value is not None and not record.value.known
            yield from [column("_value", record.value)] if opaque else tree(record.value)
        else:
            yield from row(record.value)
    elif kind in ("STREAM", "XADD"):
        key = config.get("redis.keyspace", "redis.key", default="${topic}").replace("${topic}", table.topic)
        place = f"{table.dataset.rpartition('/')[0]}/{key}"
        yield from (replace(each, place=place) for each in row(record.value))
    elif kind in ("LIST", "SET", "ZSET", "LPUSH", "RPUSH", "SADD", "ZADD"):
        yield column("member", record.key, _NULL_KEY)
        if kind.startswith("Z") and record.value is not None:
            yield column("score", record.value)
    elif kind in ("TIMESERIES", "TSADD"):
        yield column("timestamp", record.key, _NULL_KEY)
        if record.value is not None:
            yield column("value", record.value)
    else:
        yield from unknown(f"redis.type {kind}: {NO_SCHEMA}")
