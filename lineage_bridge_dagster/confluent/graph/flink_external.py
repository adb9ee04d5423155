"""What a Flink table stands for outside its topic: the dataset that its connector leads to.

Sources: Confluent's pages "External tables" and "CREATE CONNECTION", and the connectors' pages of Apache
Flink and Flink CDC. Datasets are named as those of connectors, so that both lead to one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from lineage_bridge_dagster.confluent.connectors import naming
from lineage_bridge_dagster.confluent.connectors.addresses import host_and_port
from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.naming import http_url, location
from lineage_bridge_dagster.confluent.connectors.relational import database_of, name_parts

Options = Mapping[str, str]

#: Connectors of topics.
_TOPICS = ("", "confluent")
#: Connectors of tables whose rows come from nothing or go nowhere.
_NOTHING = ("faker", "datagen", "print", "blackhole", "values")
#: The index and the project of a Pinecone address.
_PINECONE = re.compile(r"(.+)-([0-9a-z]+)\.svc\.[\w.-]+")


class External(NamedTuple):
    """What a table stands for: a dataset, or the reason why it is not known; neither for nothing at all."""

    dataset: str = ""
    reason: str = ""


def external_of(options: Options, connections: Mapping[str, Options]) -> External | None:
    """What a table with these options stands for; None for a topic.

    Args:
        options: Of its statements.
        connections: The options of connections, by name.
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
    name = name if name in connections else name.replace("`", "").rpartition(".")[2]
    if name and name not in connections:
        return External(reason=f"no statement that is listed creates its connection {name!r}")
    # Confluent's options have the connector before them: `mongodb.collection`.
    plain = {key.removeprefix(f"{connector}."): value for key, value in options.items()}
    dataset = reader({**plain, **connections.get(name, {})})
    return External(dataset, "" if dataset else f"its options do not name what {connector!r} leads to")


def _get(options: Options, *names: str) -> str:
    return next((value for name in names if (value := options.get(name, ""))), "")


def _mongodb(options: Options) -> str:
    return naming.MONGODB(
        host=_get(options, "endpoint", "uri", "hosts"),
        database=_get(options, "database"),
        collection=_get(options, "collection"),
    )


def _couchbase(options: Options) -> str:
    return naming.COUCHBASE(
        host=_get(options, "endpoint"),
        bucket=_get(options, "bucket"),
        scope=_get(options, "scope"),
        collection=_get(options, "collection"),
    )


def _pinecone(options: Options) -> str:
    found = _PINECONE.fullmatch(host_and_port(_get(options, "endpoint"))[0])
    return naming.PINECONE(project=found[2], index=found[1]) if found else ""


def _cosmosdb(options: Options) -> str:
    return naming.COSMOS(
        host=_get(options, "endpoint"),
        database=_get(options, "database"),
        container=_get(options, "container", "collection"),
    )


def _search(rule: naming.Rule) -> Callable[[Options], str]:
    return lambda options: rule(host=_get(options, "endpoint", "hosts"), index=_get(options, "index"))


def _jdbc(options: Options) -> str:
    database = database_of(Config({"connection.url": _get(options, "endpoint", "url")}))
    parts = name_parts(_get(options, "table-name"))
    return database.table(*database.folded(parts)) if database is not None and database.host else ""


def _cdc(rule: naming.Rule) -> Callable[[Options], str]:
    """A table of Flink CDC."""
    return lambda options: rule(
        host=_get(options, "hostname", "hosts"),
        port=_get(options, "port"),
        database=_get(options, "database-name", "database"),
        service=_get(options, "database-name"),
        schema=_get(options, "schema-name"),
        table=_get(options, "table-name"),
        collection=_get(options, "collection"),
    )


def _rest(options: Options) -> str:
    endpoint, path = _get(options, "endpoint", "url"), _get(options, "path")
    return http_url(f"{endpoint.rstrip('/')}/{path.lstrip('/')}" if path else endpoint)


def _kafka(options: Options) -> str:
    return naming.KAFKA(host=_get(options, "properties.bootstrap.servers"), topic=_get(options, "topic"))


_READERS: Mapping[str, Callable[[Options], str]] = {
    "mongodb": _mongodb,
    "couchbase": _couchbase,
    "pinecone": _pinecone,
    "cosmosdb": _cosmosdb,
    "elastic": _search(naming.ELASTICSEARCH),
    "elasticsearch-6": _search(naming.ELASTICSEARCH),
    "elasticsearch-7": _search(naming.ELASTICSEARCH),
    "elasticsearch-8": _search(naming.ELASTICSEARCH),
    "opensearch": _search(naming.OPENSEARCH),
    "opensearch-2": _search(naming.OPENSEARCH),
    "jdbc": _jdbc,
    "confluent-jdbc": _jdbc,
    "rest": _rest,
    "filesystem": lambda options: location(_get(options, "path")),
    "kafka": _kafka,
    "upsert-kafka": _kafka,
    "postgres-cdc": _cdc(naming.POSTGRES),
    "mysql-cdc": _cdc(naming.MYSQL),
    "sqlserver-cdc": _cdc(naming.MSSQL),
    "oracle-cdc": _cdc(naming.ORACLE),
    "db2-cdc": _cdc(naming.DB2),
    "mongodb-cdc": _cdc(naming.MONGODB),
}
