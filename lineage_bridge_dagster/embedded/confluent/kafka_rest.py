"""Kafka REST v3: the topics, configs and consumer groups of each cluster's broker."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from lineage_bridge_dagster.embedded import world
from lineage_bridge_dagster.embedded.confluent.answers import (
    ApiError,
    EmulatorContext,
    Json,
    base_url,
    find_cluster,
)
from lineage_bridge_dagster.embedded.kafka.broker import (
    Broker,
    ConfigEntry,
    GroupInfo,
    GroupOffset,
    TopicInfo,
)

_ROOT = "/kafka/{prefix}/kafka/v3/clusters/{cluster_id}"


class KafkaRest:
    """`{http_endpoint}/kafka/v3/...` of every cluster. Its lists are not paginated."""

    def __init__(self, context: EmulatorContext) -> None:
        self.context = context

    @property
    def routes(self) -> list[Route]:
        return [
            Route(f"{_ROOT}/topics", self.topics),
            Route(f"{_ROOT}/topics/-/configs", self.all_configs),
            Route(f"{_ROOT}/consumer-groups", self.groups),
            Route(f"{_ROOT}/consumer-groups/{{group:path}}/lags", self.lags),
            Route(f"{_ROOT}/links", self.links),
            Route(f"{_ROOT}/links/-/mirrors", self.mirrors),
        ]

    def _cluster(self, request: Request) -> tuple[world.Cluster, Broker, str]:
        """Return the cluster in the path, its broker, and its URL.

        Raises:
            ApiError: 404 if the cluster is not the endpoint's.
        """
        cluster = find_cluster(request.path_params["cluster_id"])
        if request.path_params["prefix"] != cluster.id:
            raise ApiError(404, f"Kafka cluster {cluster.id} is not served by this endpoint.", code=404)
        url = f"{base_url(request)}/kafka/{cluster.id}/kafka/v3/clusters/{cluster.id}"
        return cluster, self.context.brokers[cluster.id], url

    def topics(self, request: Request) -> Response:
        cluster, broker, url = self._cluster(request)
        return _list(
            "KafkaTopicList",
            f"{url}/topics",
            (_topic(cluster.id, url, info) for _, info in sorted(broker.topics().items())),
        )

    def all_configs(self, request: Request) -> Response:
        cluster, broker, url = self._cluster(request)
        configs = broker.configs(sorted(broker.topics()))
        items = (
            _config(cluster.id, url, topic, entry)
            for topic, entries in sorted(configs.items())
            for entry in entries
        )
        return _list("KafkaTopicConfigList", f"{url}/topics/-/configs", items)

    def groups(self, request: Request) -> Response:
        cluster, broker, url = self._cluster(request)
        return _list(
            "KafkaConsumerGroupList",
            f"{url}/consumer-groups",
            (_group(cluster.id, url, info) for _, info in sorted(broker.groups().items())),
        )

    def _find_group(self, request: Request, broker: Broker) -> GroupInfo:
        name = request.path_params["group"]
        info = broker.groups().get(name)
        if info is None:
            raise ApiError(404, f"Consumer group {name} not found.", code=404)
        return info

    def lags(self, request: Request) -> Response:
        cluster, broker, url = self._cluster(request)
        if cluster != world.ORDERS_PLATFORM:
            # According to the OpenAPI document "available in dedicated clusters only".
            raise ApiError(404, "HTTP 404 Not Found", code=404)
        info = self._find_group(request, broker)
        self_url = f"{url}/consumer-groups/{quote(info.name, safe='')}/lags"
        items = (_lag(cluster.id, self_url, info.name, o) for o in broker.group_offsets(info.name))
        return _list("KafkaConsumerLagList", self_url, items)

    def links(self, request: Request) -> Response:
        _, _, url = self._cluster(request)
        return _list("KafkaLinkDataList", f"{url}/links", ())

    def mirrors(self, request: Request) -> Response:
        _, _, url = self._cluster(request)
        return _list("KafkaMirrorDataList", f"{url}/links/-/mirrors", ())


def _list(kind: str, url: str, items: Iterable[Json]) -> Response:
    return JSONResponse({"kind": kind, "metadata": {"self": url, "next": None}, "data": list(items)})


def _item(kind: str, url: str, cluster_id: str, path: list[str], **fields: object) -> Json:
    resource = "/".join((f"crn:///kafka={cluster_id}", *path))
    own = {"self": url, "resource_name": resource}
    return {"kind": kind, "metadata": own, "cluster_id": cluster_id, **fields}


def _topic(cluster_id: str, root: str, info: TopicInfo) -> Json:
    url = f"{root}/topics/{quote(info.name)}"
    return _item(
        "KafkaTopic",
        url,
        cluster_id,
        [f"topic={info.name}"],
        topic_name=info.name,
        is_internal=info.internal,
        replication_factor=info.replication,
        partitions_count=info.partitions,
        partitions={"related": f"{url}/partitions"},
        configs={"related": f"{url}/configs"},
        partition_reassignments={"related": f"{url}/partitions/-/reassignment"},
    )


def _config(cluster_id: str, root: str, topic: str, entry: ConfigEntry) -> Json:
    value = None if entry.sensitive else entry.value
    return _item(
        "KafkaTopicConfig",
        f"{root}/topics/{quote(topic)}/configs/{entry.name}",
        cluster_id,
        [f"topic={topic}", f"config={entry.name}"],
        topic_name=topic,
        name=entry.name,
        value=value,
        is_default=entry.default,
        is_read_only=entry.read_only,
        is_sensitive=entry.sensitive,
        source=entry.source,
        synonyms=[{"name": entry.name, "value": value, "source": entry.source}],
    )


def _group(cluster_id: str, root: str, info: GroupInfo) -> Json:
    url = f"{root}/consumer-groups/{quote(info.name, safe='')}"
    return _item(
        "KafkaConsumerGroup",
        url,
        cluster_id,
        [f"consumer-group={info.name}"],
        consumer_group_id=info.name,
        is_simple=info.simple,
        partition_assignor="",
        state=info.state,
        type=info.type,
        is_mixed_consumer_group=False,
        coordinator={"related": f"{root}/brokers/1"},
        consumers={"related": f"{url}/consumers"},
        lag_summary={"related": f"{url}/lag-summary"},
    )


def _lag(cluster_id: str, root: str, group: str, offset: GroupOffset) -> Json:
    return _item(
        "KafkaConsumerLag",
        f"{root}/{quote(offset.topic)}/partitions/{offset.partition}",
        cluster_id,
        [f"consumer-group={group}", f"lag={offset.topic}", f"partition={offset.partition}"],
        consumer_group_id=group,
        topic_name=offset.topic,
        partition_id=offset.partition,
        current_offset=offset.current,
        log_end_offset=offset.end,
        lag=max(0, offset.end - offset.current),
        consumer_id="",
        instance_id=None,
        client_id="",
    )
