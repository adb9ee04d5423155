"""Topics, mirrors and consumer groups of a Kafka cluster, by its REST API (`kafka/v3`).

These lists have no paging parameters; none are sent.
"""

from __future__ import annotations

from typing import TypeVar
from urllib.parse import quote

from lineage_bridge_dagster.confluent.api.access import Access
from lineage_bridge_dagster.confluent.api.errors import Unreachable
from lineage_bridge_dagster.confluent.api.org import KafkaCluster
from lineage_bridge_dagster.confluent.api.paging import list_records
from lineage_bridge_dagster.confluent.api.records import ApiRecord
from lineage_bridge_dagster.confluent.api.session import ConfluentSession

R = TypeVar("R", bound=ApiRecord)


class KafkaTopic(ApiRecord):
    """`kafka/v3` TopicData."""

    topic_name: str
    is_internal: bool = False
    replication_factor: int | None = None
    partitions_count: int | None = None


class TopicSetting(ApiRecord):
    """`kafka/v3` TopicConfigData: one setting of one topic."""

    topic_name: str
    name: str
    value: str = ""
    is_default: bool = False
    is_sensitive: bool = False


class Mirror(ApiRecord):
    """`kafka/v3` ListMirrorTopicsResponseData: a topic that a cluster link replicates."""

    link_name: str
    mirror_topic_name: str
    source_topic_name: str
    mirror_status: str = ""


class ClusterLink(ApiRecord):
    """`kafka/v3` ListLinksResponseData, as the listing cluster sees the link.

    A destination's link has `source_cluster_id`, a bidirectional one `remote_cluster_id`.
    """

    link_name: str
    source_cluster_id: str = ""
    remote_cluster_id: str = ""

    @property
    def source(self) -> str:
        return self.source_cluster_id or self.remote_cluster_id


class ConsumerGroup(ApiRecord):
    """`kafka/v3` ConsumerGroupData."""

    consumer_group_id: str
    is_simple: bool = False
    state: str = ""
    type: str = ""


class ConsumerLag(ApiRecord):
    """`kafka/v3` ConsumerLagData, on dedicated clusters only."""

    topic_name: str


class KafkaRestClient:
    """Lists the resources of one cluster; raises `ConfluentError`."""

    def __init__(self, session: ConfluentSession, environment: str, cluster: KafkaCluster) -> None:
        self._session = session
        self._cluster = cluster
        self._access = Access("kafka", (cluster.id, environment))

    def topics(self) -> list[KafkaTopic]:
        """Topics that the key's owner may describe."""
        return self._list(KafkaTopic, "/topics")

    def topic_configs(self) -> list[TopicSetting]:
        """All settings of all topics, in one request."""
        return self._list(TopicSetting, "/topics/-/configs")

    def links(self) -> list[ClusterLink]:
        return self._list(ClusterLink, "/links")

    def mirrors(self) -> list[Mirror]:
        """Mirror topics of all cluster links that end here."""
        return self._list(Mirror, "/links/-/mirrors")

    def consumer_groups(self) -> list[ConsumerGroup]:
        return self._list(ConsumerGroup, "/consumer-groups")

    def consumer_lags(self, group: str) -> list[ConsumerLag]:
        """The partitions that a group reads; only dedicated clusters offer this."""
        return self._list(ConsumerLag, f"/consumer-groups/{quote(group, safe='')}/lags")

    def _list(self, record: type[R], path: str) -> list[R]:
        if not self._cluster.http_endpoint:
            raise Unreachable(
                f"Kafka cluster {self._cluster.id} names no http_endpoint.",
                hint="It may still be provisioning, or be reachable only from a private network.",
            )
        self._access.credential(self._session.settings)
        url = self._session.data_url(
            self._cluster.http_endpoint,
            f"/kafka/v3/clusters/{quote(self._cluster.id, safe='')}{path}",
            field=f"http_endpoint of cluster {self._cluster.id}",
        )
        return list_records(self._session, record, url, self._access, page_size=None)
