"""What a Kafka cluster says over REST (`kafka/v3`).

These lists have no paging parameters: none are sent.
"""

from __future__ import annotations

from typing import TypeVar
from urllib.parse import quote

from lineage_bridge_dagster.confluent.api.errors import Unreachable
from lineage_bridge_dagster.confluent.api.http_errors import Access
from lineage_bridge_dagster.confluent.api.listing import list_records
from lineage_bridge_dagster.confluent.api.records import (
    ConsumerGroup,
    ConsumerLag,
    KafkaCluster,
    Link,
    Mirror,
    Record,
    Topic,
    TopicConfig,
)
from lineage_bridge_dagster.confluent.api.session import ConfluentSession

R = TypeVar("R", bound=Record)


class KafkaRestClient:
    """Asks one cluster; each method raises `ConfluentError`."""

    def __init__(self, session: ConfluentSession, environment: str, cluster: KafkaCluster) -> None:
        self._session = session
        self._cluster = cluster
        self._access = Access("kafka", (cluster.id, environment))

    def topics(self) -> list[Topic]:
        """Topics that the key's owner may describe."""
        return self._list(Topic, "/topics")

    def topic_configs(self) -> list[TopicConfig]:
        """Every setting of every topic, in one call."""
        return self._list(TopicConfig, "/topics/-/configs")

    def links(self) -> list[Link]:
        return self._list(Link, "/links")

    def mirrors(self) -> list[Mirror]:
        """Mirror topics of all cluster links that end here."""
        return self._list(Mirror, "/links/-/mirrors")

    def consumer_groups(self) -> list[ConsumerGroup]:
        return self._list(ConsumerGroup, "/consumer-groups")

    def consumer_lags(self, group: str) -> list[ConsumerLag]:
        """What a group reads. Dedicated clusters alone tell."""
        return self._list(ConsumerLag, f"/consumer-groups/{quote(group, safe='')}/lags")

    def _list(self, record: type[R], path: str) -> list[R]:
        if not self._cluster.http_endpoint:
            raise Unreachable(
                f"Kafka cluster {self._cluster.id} names no http_endpoint.",
                hint="It may still be provisioning, or be reachable from a private network alone.",
            )
        self._session.credential(self._access)
        url = self._session.data_url(
            self._cluster.http_endpoint,
            f"/kafka/v3/clusters/{quote(self._cluster.id, safe='')}{path}",
            field=f"http_endpoint of cluster {self._cluster.id}",
        )
        return list_records(self._session, record, url, self._access, page_size=None)
