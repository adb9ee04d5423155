"""Couchbase.

Source: `SourceBehaviorConfig`, `SinkBehaviorConfig` and `Keyspace` of couchbase/kafka-connect-couchbase.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lineage_bridge_dagster.confluent.connectors import naming
from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.family import (
    SinkContext,
    SourceContext,
    WrittenTopic,
    named_for,
    sink_family,
    source_family,
)

#: Keys of version 3 and before, when a bucket had no collections.
_OLD_NODES, _OLD_BUCKET = "connection.cluster_address", "connection.bucket"

_VARIABLE = re.compile(r"\$\{(bucket|scope|collection)\}")
_DEFAULT_TOPIC = "${bucket}.${scope}.${collection}"
#: A part of a qualified name, in backticks if it has a dot.
_PART = re.compile(r"`([^`]*)`|([^.`]+)")


def _dataset(config: Config, *path: str) -> str:
    """A collection by its path: bucket, scope and name; or a whole bucket."""
    bucket, scope, collection = (*path, "", "")[:3]
    host = config.get("couchbase.seed.nodes", _OLD_NODES)
    return naming.COUCHBASE(host=host, bucket=bucket, scope=scope, collection=collection)


@source_family("couchbase", "CouchbaseSource", "com.couchbase.connect.kafka.CouchbaseSourceConnector")
def couchbase_source(context: SourceContext) -> Iterator[WrittenTopic]:
    """Topics by collection: `couchbase.topic[scope.collection]`, else the map, else `couchbase.topic`.

    Without `couchbase.collections`, the collections are those that a topic of the cluster is named for.
    """
    config = context.config
    context.internal += [
        name
        for key in ("couchbase.black.hole.topic", "couchbase.initial.offset.topic")
        if (name := config.get(key))
    ]
    bucket = config.get("couchbase.bucket", _OLD_BUCKET)
    template = config.get("couchbase.topic", "topic.name", default=_DEFAULT_TOPIC)
    mapped = {**config.pairs("couchbase.collection.to.topic", "="), **config.overrides("couchbase.topic")}

    def written(collection: str) -> WrittenTopic:
        scope, _, name = collection.partition(".")
        values = {"bucket": bucket, "scope": scope, "collection": name}
        topic = _VARIABLE.sub(lambda key: values[key[1]], mapped.get(collection, template))
        return WrittenTopic(topic, _dataset(config, bucket, scope, name) if name else "")

    if listed := config.items("couchbase.collections"):
        for name in listed:
            if "." in name:
                yield written(name)
            else:
                context.warnings.append(f"couchbase.collections: {name} lacks its scope; write scope.{name}")
        return
    only = config.get("couchbase.scope")
    known = [name for name in mapped if not only or name.startswith(f"{only}.")]
    yield from map(written, known)
    values = {"bucket": bucket, **({"scope": only} if only else {})}
    text = _VARIABLE.sub(lambda key: values.get(key[1], key[0]), template)
    start = text.partition("${")[0]
    if text == start:
        # One topic for the whole bucket or scope, whose collections are not known.
        yield WrittenTopic(text, "" if only else _dataset(config, bucket))
        return
    pattern = _rest_pattern(text[len(start) :])
    for rest in context.named_like(start):
        match = pattern.fullmatch(rest)
        if match is None:
            continue
        found = match.groupdict()
        scope, name = found.get("scope") or only, found.get("collection", "")
        if f"{scope}.{name}" not in mapped:
            yield named_for(start + rest, _dataset(config, bucket, scope, name) if scope and name else "")


def _rest_pattern(text: str) -> re.Pattern[str]:
    """What a topic's name may have for the variables; names of scopes and collections have no dot."""
    pattern = re.escape(text)
    for name in ("scope", "collection"):
        variable = re.escape(f"${{{name}}}")
        pattern = pattern.replace(variable, f"(?P<{name}>[A-Za-z0-9_%-]+)", 1).replace(
            variable, f"(?P={name})"
        )
    return re.compile(pattern)


@sink_family("couchbase", "CouchbaseSink", "com.couchbase.connect.kafka.CouchbaseSinkConnector")
def couchbase_sink(context: SinkContext, topic: str) -> str:
    """The collection of a topic: its override, the map's, else `couchbase.default.collection`."""
    config = context.config
    name = (
        config.overrides("couchbase.default.collection").get(topic)
        or config.pairs("couchbase.topic.to.collection", "=").get(topic)
        or config.get("couchbase.default.collection", default="_default._default")
    )
    path = [quoted or plain for quoted, plain in _PART.findall(name)]
    if len(path) == 2:
        path = [config.get("couchbase.bucket", _OLD_BUCKET), *path]
    return _dataset(config, *path) if len(path) == 3 else ""
