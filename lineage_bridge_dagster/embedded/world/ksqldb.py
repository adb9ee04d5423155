"""The ksqlDB cluster over `orders-platform`: its streams, tables and persistent queries.

ksqlDB converts unquoted names to upper case.
"""

from __future__ import annotations

from dataclasses import dataclass

from lineage_bridge_dagster.embedded.world.model import Cluster
from lineage_bridge_dagster.embedded.world.places import KSQLDB_CLUSTER_ID, ORDERS_PLATFORM


@dataclass(frozen=True, slots=True)
class SampleKsqlSource:
    """A stream or a table, and its topic. `key` is its key column; the others are those of the topic."""

    kind: str
    name: str
    topic: str
    value_format: str = "AVRO"
    key: str = ""


@dataclass(frozen=True, slots=True)
class SampleKsqlQuery:
    """A persistent query, with the sources and the sink that the engine reports."""

    id: str
    sql: str
    sources: tuple[str, ...]
    sink: str
    state: str = "RUNNING"


@dataclass(frozen=True, slots=True)
class KsqldbCluster:
    """A ksqlDB cluster; `topic_prefix` is the prefix of its internal topics."""

    id: str
    name: str
    kafka: Cluster
    topic_prefix: str
    principal: str
    sources: tuple[SampleKsqlSource, ...]
    queries: tuple[SampleKsqlQuery, ...]


_CHECKOUT = """CREATE STREAM CHECKOUT_CLICKS WITH (KAFKA_TOPIC='checkout-clicks', VALUE_FORMAT='AVRO') AS
SELECT *
FROM CLICKSTREAM C
WHERE C.PAGE->PATH = '/checkout'
EMIT CHANGES;"""

_OPEN_ORDERS = """CREATE TABLE OPEN_ORDERS WITH (KAFKA_TOPIC='orders.open', VALUE_FORMAT='AVRO') AS
SELECT *
FROM ORDER_STATUS S
WHERE S.STATUS <> 'DELIVERED' AND S.STATUS <> 'CANCELLED'
EMIT CHANGES;"""

KSQLDB_CLUSTERS = (
    KsqldbCluster(
        id=KSQLDB_CLUSTER_ID,
        name="clicks",
        kafka=ORDERS_PLATFORM,
        topic_prefix="pksqlc-5j9x2",
        principal="sa-6d2h8t",
        sources=(
            SampleKsqlSource("STREAM", "CLICKSTREAM", "clickstream"),
            SampleKsqlSource("STREAM", "CHECKOUT_CLICKS", "checkout-clicks"),
            SampleKsqlSource("TABLE", "ORDER_STATUS", "orders.status", key="ID"),
            SampleKsqlSource("TABLE", "OPEN_ORDERS", "orders.open", key="ID"),
        ),
        queries=(
            SampleKsqlQuery("CSAS_CHECKOUT_CLICKS_3", _CHECKOUT, ("CLICKSTREAM",), "CHECKOUT_CLICKS"),
            SampleKsqlQuery("CTAS_OPEN_ORDERS_5", _OPEN_ORDERS, ("ORDER_STATUS",), "OPEN_ORDERS"),
        ),
    ),
)
