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

    list_path = "/topics"

    topic_name: str
    is_internal: bool = False
    replication_factor: int | None = None
    partitions_count: int | None = None


class TopicSetting(ApiRecord):
    """`kafka/v3` TopicConfigData: one setting of one topic."""

    list_path = "/topics/-/configs"

    topic_name: str
    name: str
    value: str = ""
    is_default: bool = False
    is_sensitive: bool = False


class Mirror(ApiRecord):
    """`kafka/v3` ListMirrorTopicsResponseData: a topic that a cluster link replicates."""

    list_path = "/links/-/mirrors"

    link_name: str
    mirror_topic_name: str
    source_topic_name: str
    mirror_status: str = ""


class ClusterLink(ApiRecord):
    """`kafka/v3` ListLinksResponseData, as the listing cluster sees the link.

    A destination's link has `source_cluster_id`, a bidirectional one `remote_cluster_id`.
    """

    list_path = "/links"

    link_name: str
    source_cluster_id: str = ""
    remote_cluster_id: str = ""

    @property
    def source(self) -> str:
        return self.source_cluster_id or self.remote_cluster_id


class ConsumerGroup(ApiRecord):
    """`kafka/v3` ConsumerGroupData."""

    list_path = "/consumer-groups"

    consumer_group_id: str
    is_simple: bool = False
    state: str = ""
    type: str = ""


class ConsumerLag(ApiRecord):
    """`kafka/v3` ConsumerLagData, on dedicated clusters only."""

    list_path = "/consumer-groups/{group}/lags"

    topic_name: str


def list_kafka(
    session: ConfluentSession, record: type[R], environment: str, cluster: KafkaCluster, **parts: str
) -> list[R]:
    """Read a list of one cluster, with all that the key's owner may describe.

    Args:
        parts: what the record's path leaves open: the `group` of lags.

    Raises:
        ConfluentError: as `list_records`; the cluster has no address yet.
    """
    access = Access("kafka", (cluster.id, environment))
    if not cluster.http_endpoint:
        raise Unreachable(
            f"Kafka cluster {cluster.id} names no http_endpoint.",
            hint="It may still be provisioning, or be reachable only from a private network.",
        )
    access.credential(session.settings)
    path = record.list_path.format(**{name: quote(part, safe="") for name, part in parts.items()})
    url = session.data_url(
        cluster.http_endpoint,
        f"/kafka/v3/clusters/{quote(cluster.id, safe='')}{path}",
        field=f"http_endpoint of cluster {cluster.id}",
    )
    return list_records(session, record, url, access, page_size=None)
