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
from lineage_bridge_dagster.confluent.connectors.families.common import KeyedDataset, keyed
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
_KAFKA = keyed(naming.KAFKA, host="properties.bootstrap.servers", topic="topic")
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
    "kafka": _KAFKA,
    "upsert-kafka": _KAFKA,
    "postgres-cdc": _cdc(naming.POSTGRES),
    "mysql-cdc": _cdc(naming.MYSQL),
    "sqlserver-cdc": _cdc(naming.MSSQL),
    "oracle-cdc": _cdc(naming.ORACLE),
    "db2-cdc": _cdc(naming.DB2),
    "mongodb-cdc": _cdc(naming.MONGODB),
}
