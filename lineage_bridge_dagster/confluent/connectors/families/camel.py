"""Connectors of Apache Camel: each is made from a kamelet, whose properties name one thing outside Kafka.

Source: the properties of each connector in apache/camel-kafka-connector.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from lineage_bridge_dagster.confluent.connectors import naming
from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.family import Family, SinkContext, SourceContext, Written
from lineage_bridge_dagster.confluent.connectors.naming import Rule

#: The table of a CQL statement.
_TABLE = re.compile(r"\b(?:INTO|FROM|UPDATE)\s+([\w.]+)", re.IGNORECASE)


def kamelet(name: str, rule: Rule, fixed: dict[str, str] | None = None, /, **parts: str) -> Family:
    """The family of the connector made from a kamelet.

    Args:
        name: The kamelet's, such as `aws-ddb-sink`; it ends with the direction.
        rule: Names what it reads or writes.
        fixed: Parts of the rule that no property tells.
        parts: Parts of the rule, by the property of each.
    """

    def dataset(config: Config) -> str:
        given = {part: config.get(f"camel.kamelet.{name}.{key}") for part, key in parts.items()}
        if "table" in given and parts["table"] == "query":
            found = _TABLE.search(given["table"])
            given["table"] = found[1].rpartition(".")[2] if found else ""
        return rule(**(fixed or {}), **given)

    return _family(name, dataset)


def _family(name: str, dataset: Callable[[Config], str]) -> Family:
    package = name.replace("-", "")
    direction = "Sink" if name.endswith("-sink") else "Source"
    java = f"org.apache.camel.kafkaconnector.{package}.Camel{package.capitalize()}{direction}Connector"

    def source(context: SourceContext) -> Iterator[Written]:
        for topic in context.config.items("topics") or [""]:
            yield Written(topic, dataset(context.config))

    def sink(context: SinkContext, _topic: str) -> str:
        return dataset(context.config)

    if direction == "Source":
        return Family(f"camel-{name}", (), (java,), source)
    return Family(f"camel-{name}", (), (java,), sink=sink)


_MONGODB = {"host": "hosts", "database": "database", "collection": "collection"}
_CASSANDRA = {"host": "connectionHost", "port": "connectionPort", "keyspace": "keyspace", "table": "query"}
_COSMOS = {"host": "databaseEndpoint", "database": "databaseName", "container": "containerName"}
_INDEX = {"host": "hostAddresses", "index": "indexName"}
_REDIS = {"host": "redisHost", "port": "redisPort"}
_FIRST = {"database": "0"}

SOURCES = (
    kamelet("aws-ddb-streams-source", naming.DYNAMODB, region="region", table="table"),
    kamelet("azure-cosmosdb-source", naming.COSMOS, **_COSMOS),
    kamelet("cassandra-source", naming.CASSANDRA, **_CASSANDRA),
    kamelet("elasticsearch-search-source", naming.ELASTICSEARCH, **_INDEX),
    kamelet("mongodb-changes-stream-source", naming.MONGODB, **_MONGODB),
    kamelet("mongodb-source", naming.MONGODB, **_MONGODB),
    kamelet("opensearch-search-source", naming.OPENSEARCH, **_INDEX),
    kamelet("redis-source", naming.REDIS, _FIRST, **_REDIS),
)


SINKS = (
    kamelet("aws-cloudwatch-sink", naming.CLOUDWATCH_METRICS, namespace="cwNamespace"),
    kamelet("aws-ddb-sink", naming.DYNAMODB, region="region", table="table"),
    kamelet("azure-cosmosdb-sink", naming.COSMOS, **_COSMOS),
    kamelet("cassandra-sink", naming.CASSANDRA, **_CASSANDRA),
    kamelet("couchbase-sink", naming.COUCHBASE, host="couchbaseHostname", bucket="bucket"),
    kamelet("elasticsearch-index-sink", naming.ELASTICSEARCH, **_INDEX),
    kamelet("mongodb-sink", naming.MONGODB, **_MONGODB),
    kamelet("opensearch-index-sink", naming.OPENSEARCH, **_INDEX),
    kamelet("redis-sink", naming.REDIS, _FIRST, **_REDIS),
    kamelet("splunk-hec-sink", naming.SPLUNK, host="splunkUrl", index="index"),
    kamelet("splunk-sink", naming.SPLUNK, host="serverHostname", index="index"),
)
