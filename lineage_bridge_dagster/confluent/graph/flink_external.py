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
    """The dataset of a table, or the reason why it is not known; neither if the table has no data outside."""

    dataset: str = ""
    reason: str = ""


def external_of(options: Options, connections: Mapping[str, Options]) -> External | None:
    """What a table with these options stands for; None for a topic.

    Args:
        options: The options in its statements.
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


def _mongodb(options: Config) -> str:
    return naming.MONGODB(
        host=options.get("endpoint", "uri", "hosts"),
        database=options.get("database"),
        collection=options.get("collection"),
    )


def _couchbase(options: Config) -> str:
    return naming.COUCHBASE(
        host=options.get("endpoint"),
        bucket=options.get("bucket"),
        scope=options.get("scope"),
        collection=options.get("collection"),
    )


def _pinecone(options: Config) -> str:
    found = _PINECONE.fullmatch(host_and_port(options.get("endpoint"))[0])
    return naming.PINECONE(project=found[2], index=found[1]) if found else ""


def _cosmosdb(options: Config) -> str:
    return naming.COSMOS(
        host=options.get("endpoint"),
        database=options.get("database"),
        container=options.get("container", "collection"),
    )


def _search(rule: naming.Rule) -> Callable[[Config], str]:
    return lambda options: rule(host=options.get("endpoint", "hosts"), index=options.get("index"))


def _jdbc(options: Config) -> str:
    database = database_of(Config({"connection.url": options.get("endpoint", "url")}))
    parts = name_parts(options.get("table-name"))
    return database.table(*database.folded(parts)) if database is not None and database.host else ""


def _cdc(rule: naming.Rule) -> Callable[[Config], str]:
    """A table of Flink CDC."""
    return lambda options: rule(
        host=options.get("hostname", "hosts"),
        port=options.get("port"),
        database=options.get("database-name", "database"),
        service=options.get("database-name"),
        schema=options.get("schema-name"),
        table=options.get("table-name"),
        collection=options.get("collection"),
    )


def _rest(options: Config) -> str:
    endpoint, path = options.get("endpoint", "url"), options.get("path")
    return http_url(f"{endpoint.rstrip('/')}/{path.lstrip('/')}" if path else endpoint)


def _kafka(options: Config) -> str:
    return naming.KAFKA(host=options.get("properties.bootstrap.servers"), topic=options.get("topic"))


_READERS: Mapping[str, Callable[[Config], str]] = {
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
    "filesystem": lambda options: location(options.get("path")),
    "kafka": _kafka,
    "upsert-kafka": _kafka,
    "postgres-cdc": _cdc(naming.POSTGRES),
    "mysql-cdc": _cdc(naming.MYSQL),
    "sqlserver-cdc": _cdc(naming.MSSQL),
    "oracle-cdc": _cdc(naming.ORACLE),
    "db2-cdc": _cdc(naming.DB2),
    "mongodb-cdc": _cdc(naming.MONGODB),
}
