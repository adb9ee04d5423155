"""The Flink statements of both regions, and the ksqlDB cluster over `orders-platform`.

Catalogs are environments and databases are clusters, each by name or by id, as Confluent Cloud resolves them.
The European statements also read the American cluster, to cover name resolution across clusters (Confluent
Cloud itself requires the clusters of a statement to be in one region). ksqlDB converts unquoted names to
upper case.
"""

from __future__ import annotations

from dataclasses import dataclass

from lineage_bridge_dagster.embedded.world.model import Cluster, Statement
from lineage_bridge_dagster.embedded.world.places import (
    ANALYTICS_EU,
    ENVIRONMENT_ID,
    ENVIRONMENT_NAME,
    KSQLDB_CLUSTER_ID,
    ORDERS_PLATFORM,
    POOL_EU,
    POOL_US,
)

_US_PRINCIPAL, _EU_PRINCIPAL = "sa-4r7k1p", "sa-9w3n2d"


def _us(name: str, sql_kind: str, sql: str, phase: str = "RUNNING") -> Statement:
    return Statement(
        name, POOL_US.id, sql, sql_kind, ENVIRONMENT_NAME, ORDERS_PLATFORM.name, phase, _US_PRINCIPAL
    )


def _eu(name: str, sql_kind: str, sql: str, phase: str = "RUNNING") -> Statement:
    """Return a European statement, whose catalog and database are set by id."""
    return Statement(name, POOL_EU.id, sql, sql_kind, ENVIRONMENT_ID, ANALYTICS_EU.id, phase, _EU_PRINCIPAL)


STATEMENTS = (
    _us(
        "enrich-orders",
        "INSERT_INTO",
        """INSERT INTO `orders.v1`
SELECT o.`id` AS order_id, o.`customer_id`, c.`name` AS customer_name, c.`country`, o.`status`,
       CAST(COALESCE(i.`lines`, 0) AS INT) AS `lines`, o.`total`, o.`currency`, o.`ordered_at`
FROM `shop.public.orders` AS o
JOIN `shop.public.customers` AS c ON o.`customer_id` = c.`id`
LEFT JOIN (
  SELECT `order_id`, COUNT(*) AS `lines` FROM `shop.public.order_items` GROUP BY `order_id`
) AS i ON i.`order_id` = o.`id`;""",
    ),
    _us(
        "create-paid-orders",
        "CREATE_VIEW",
        """CREATE VIEW `paid_orders` AS
SELECT `order_id`, `country`, `total`, `ordered_at` FROM `orders.v1` WHERE `status` = 'PAID';""",
        phase="COMPLETED",
    ),
    _us(
        "orders-fanout",
        "STATEMENT_SET",
        """EXECUTE STATEMENT SET
BEGIN
  -- the first generation of consumers
  INSERT INTO `orders-v1` SELECT `order_id`, `total` AS amount, `ordered_at` AS paid_at FROM `paid_orders`;
  INSERT INTO `revenue.by-country`
  SELECT `window_start`, `window_end`, `country`, COUNT(*) AS `orders`, SUM(`total`) AS `revenue`
  FROM TABLE(TUMBLE(TABLE `orders.v1`, DESCRIPTOR(`ordered_at`), INTERVAL '1' HOUR))
  GROUP BY `window_start`, `window_end`, `country`;
END;""",
    ),
    _us(
        "sessionize-clicks",
        "INSERT_INTO",
        """INSERT INTO `Sessions.Enriched`
WITH hits AS (
  SELECT `user_id`, `page`.`path` AS `path`, `duration_ms`, `occurred_at`
  FROM `clickstream` WHERE `user_id` <> 0
), visits AS (
  SELECT `user_id`, MIN(`occurred_at`) AS started_at, SUM(`duration_ms`) AS duration_ms
  FROM hits GROUP BY `user_id`
)
SELECT UUID() AS session_id, v.`user_id`, c.`country`, CAST(NULL AS ARRAY<ROW<`path` STRING, `views` INT>>),
       v.`started_at`, v.`duration_ms`
FROM visits AS v LEFT JOIN `shop.public.customers` AS c ON c.`id` = v.`user_id`;""",
    ),
    _us(
        "latest-order-status",
        "INSERT_INTO",
        """INSERT INTO `orders.status`
SELECT o.`id` AS order_id, o.`status`, COALESCE(s.`changes`, 0) + 1 AS changes, o.`ordered_at` AS changed_at
FROM `shop.public.orders` AS o
LEFT JOIN `orders.status` AS s ON s.`order_id` = o.`id`
WHERE s.`status` IS DISTINCT FROM o.`status`;""",
    ),
    _us(
        "workspace-2026-01-05-look-around",
        "SELECT",
        "SELECT * FROM `orders.v1` WHERE `country` = 'CA' LIMIT 10;",
        phase="STOPPED",
    ),
    _eu(
        "dedupe-payments",
        "INSERT_INTO",
        """INSERT INTO payments_v1
SELECT `payment_id`, `order_id`, `amount`, `method`, `paid_at` FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY `payment_id` ORDER BY `paid_at` ASC) AS n FROM `payments-v1`
) WHERE n = 1;""",
    ),
    _eu(
        "build-customer-profiles",
        "INSERT_INTO",
        f"""INSERT INTO `Customer.Profiles-EU`
SELECT c.`id` AS customer_id, c.`name`, ROW('', c.`country`) AS address, ARRAY[''] AS consents,
       COUNT(o.`order_id`) AS orders, SUM(o.`total`) AS lifetime_value, MAX(o.`ordered_at`) AS updated_at
FROM `{ENVIRONMENT_NAME}`.`{ORDERS_PLATFORM.name}`.`shop.public.customers` AS c
LEFT JOIN `orders.v1` AS o ON o.`customer_id` = c.`id`
WHERE c.`country` NOT IN ('US', 'CA', 'MX', 'BR')
GROUP BY c.`id`, c.`name`, c.`country`;""",  # noqa: S608 - constants of this package
    ),
    _eu(
        "revenue-global",
        "INSERT_INTO",
        f"""INSERT INTO `Revenue.Global`
WITH everywhere AS (
  SELECT `country`, `total`, `ordered_at` FROM `{ENVIRONMENT_ID}`.`{ORDERS_PLATFORM.id}`.`orders.v1`
  UNION ALL
  SELECT `country`, `total`, `ordered_at` FROM `{ANALYTICS_EU.name}`.`orders.v1`
)
SELECT FLOOR(`ordered_at` TO HOUR), FLOOR(`ordered_at` TO HOUR) + INTERVAL '1' HOUR, `country`,
       COUNT(*), SUM(`total`)
FROM everywhere GROUP BY FLOOR(`ordered_at` TO HOUR), `country`;""",  # noqa: S608 - constants of this package
        phase="DEGRADED",
    ),
)


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
