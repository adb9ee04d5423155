"""Keys and values of Redis, which has no names for them: `_key`, `_value`, and `member` and `score` of a set.

Sources: `RedisSinkTask` and the sink's guide of redis-field-engineering/redis-kafka-connect;
`RedisSinkTask` of jcustenborder/kafka-connect-redis, of which the managed "Redis Sink" is made.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from lineage_bridge_dagster.confluent.connectors.columns.sinks import kcql
from lineage_bridge_dagster.confluent.connectors.columns.sinks.table import (
    NO_SCHEMA,
    SinkDataset,
    WrittenColumn,
    column,
    row,
    tree,
    unknown,
    writes,
)

_NULL_KEY = "the record's key is null"
#: Classes that set a key to a value, whatever the type of either.
_PLAIN = ("RedisSink", "com.github.jcustenborder.kafka.connect.redis.RedisSinkConnector")


@writes("redis", "redis-community")
def redis(table: SinkDataset) -> Iterator[WrittenColumn]:
    """What is written by `redis.type`, a stream by default."""
    config, record = table.config, table.record
    class_name = config.get("connector.class")
    if ".streamreactor." in class_name:
        yield from kcql.redis(table)
        return
    if class_name.startswith("io.github.jaredpetersen."):
        yield from unknown("the record's value is itself a command of Redis")
        return
    plain = class_name in _PLAIN
    kind = "STRING" if plain else config.get("redis.type", "redis.command", default="STREAM").upper()
    if kind in ("STRING", "SET") and (plain or kind == "STRING"):
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
