"""The topics of both clusters.

The names provoke collisions: `orders.v1` is in both clusters; `orders.v1` and `orders-v1`, `payments-v1` and
`payments_v1` differ only in a character that other systems normalize; and some combine dots, hyphens and
upper case. (`orders.v1` and `orders_v1` cannot be in one cluster: Kafka rejects names that are equal after
replacing dots with underscores.)
"""

from __future__ import annotations

from lineage_bridge_dagster.embedded.world import records as r
from lineage_bridge_dagster.embedded.world.model import DAY_MS, SampleConsumerGroup, Topic
from lineage_bridge_dagster.embedded.world.places import ANALYTICS_EU, ORDERS_PLATFORM

US, EU = ORDERS_PLATFORM.id, ANALYTICS_EU.id

_FOREVER = {"cleanup.policy": "delete", "retention.ms": "-1"}
_COMPACTED = {"cleanup.policy": "compact"}


def _days(days: int) -> dict[str, str]:
    return {"cleanup.policy": "delete", "retention.ms": str(days * DAY_MS)}


#: Topic to which Tableflow logs the records of `clickstream` that it cannot write.
TABLEFLOW_ERRORS = "tableflow-errors"

TOPICS = (
    Topic(US, "shop.public.customers", 3, 600, r.CUSTOMER_ROWS, _COMPACTED),
    Topic(US, "shop.public.orders", 6, 2500, r.ORDER_ROWS, _FOREVER, tableflow=True),
    Topic(US, "shop.public.order_items", 6, 3000, r.ITEM_ROWS, _FOREVER),
    Topic(US, "inventory-products", 1, 300, r.PRODUCTS, _COMPACTED, tableflow=True, managed=True),
    Topic(US, "clickstream", 6, 2000, r.CLICKS, _days(7), tableflow=True),
    Topic(US, "orders.v1", 3, 2500, r.US_ORDERS, _days(90), tableflow=True),
    Topic(US, "orders-v1", 3, 800, r.PAID_ORDERS, _days(30), tableflow=True),
    Topic(US, "revenue.by-country", 1, 400, r.REVENUE_BY_COUNTRY, _FOREVER, tableflow=True),
    Topic(US, "Sessions.Enriched", 3, 800, r.SESSIONS, _days(30)),
    Topic(US, "orders.status", 3, 900, r.ORDER_STATUS, _COMPACTED),
    Topic(US, "checkout-clicks", 6, 400, r.CHECKOUT_CLICKS, _days(7)),
    Topic(US, "orders.open", 3, 300, r.OPEN_ORDERS, _COMPACTED),
    Topic(US, "dlq-lcc-8v2s3k", 1, configs=_days(30)),
    Topic(US, "dlq-clcc-7t5ib3", 1, configs=_days(30)),
    Topic(US, TABLEFLOW_ERRORS, 1, configs=_days(30)),
    Topic(EU, "orders.v1", 3, 1200, r.EU_ORDERS, _days(90), tableflow=True),
    Topic(EU, "payments-v1", 3, 900, r.PAYMENTS, _days(14)),
    Topic(EU, "payments_v1", 3, 800, r.PAYMENTS, _days(90), tableflow=True, managed=True),
    Topic(EU, "Customer.Profiles-EU", 2, 500, r.PROFILES, _COMPACTED, tableflow=True),
    Topic(EU, "Revenue.Global", 1, 450, r.REVENUE_GLOBAL, _FOREVER, tableflow=True),
    Topic(EU, "dlq-lcc-4s6sf0", 1, configs=_days(30)),
)

#: The Datagen topic that keeps growing while the stack is running.
TRICKLE_TOPIC = (US, "clickstream")


def topic(cluster: str, name: str) -> Topic:
    """Return a topic by cluster id and name.

    Raises:
        KeyError: there is no such sample topic.
    """
    for candidate in TOPICS:
        if (candidate.cluster, candidate.name) == (cluster, name):
            return candidate
    raise KeyError((cluster, name))


#: Consumer groups: those of the sink connectors, and a dashboard that lags behind.
GROUPS = (
    SampleConsumerGroup(US, "connect-lcc-8v2s3k", "orders.v1", 1.0),
    SampleConsumerGroup(US, "orders-dashboard", "orders.v1", 0.8),
    SampleConsumerGroup(EU, "connect-lcc-4s6sf0", "Revenue.Global", 1.0),
)
