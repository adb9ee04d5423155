"""User actions on the sample platform: enable and disable Tableflow, produce records."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import httpx

from lineage_bridge_dagster.embedded.kafka.broker import Broker, LocalBrokerError
from lineage_bridge_dagster.embedded.ports import local_client
from lineage_bridge_dagster.embedded.world import filling
from lineage_bridge_dagster.embedded.world.filling import Encoder, StackFile, StackRequestError
from lineage_bridge_dagster.embedded.world.model import Cluster, Topic
from lineage_bridge_dagster.embedded.world.places import CLUSTERS, ENVIRONMENT_ID, api_key
from lineage_bridge_dagster.embedded.world.places import cluster as find_cluster
from lineage_bridge_dagster.embedded.world.topics import topic as find_topic
from lineage_bridge_dagster.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class ClusterTopic:
    """A topic and its cluster."""

    cluster: Cluster
    topic: str

    def __str__(self) -> str:
        return f"{self.topic} in {self.cluster.name} ({self.cluster.id})"


def enable_tableflow(home: Path, topic: str, cluster: str | None = None) -> str:
    """Enable Tableflow on a topic; return a line for the user.

    If it is already enabled, nothing changes.

    Raises:
        ConfigurationError: there is no stack, or the topic does not exist or is in several clusters.
        StackRequestError: the emulator rejected the request or does not respond.
    """
    with _Client(StackFile.read(home)) as client:
        target = client.find(topic, cluster)
        body = {
            "spec": {
                "display_name": target.topic,
                "storage": {
                    "kind": "ByobAws",
                    "bucket_name": target.cluster.bucket,
                    "provider_integration_id": target.cluster.provider_integration_id,
                },
                "environment": {"id": ENVIRONMENT_ID},
                "kafka_cluster": {"id": target.cluster.id},
            }
        }
        response = client.tableflow("POST", "/tableflow/v1/tableflow-topics", json=body)
        table = f"{target.cluster.database}.{target.topic.lower()}"
        if response.status_code == 409:
            return f"Tableflow is already enabled on {target}; its Glue table is {table}."
        client.check(response, f"enable Tableflow on {target}")
    return f"Tableflow is enabled on {target}; its Glue table will be {table}."


def disable_tableflow(home: Path, topic: str, cluster: str | None = None) -> str:
    """Disable Tableflow on a topic; return a line for the user.

    Raises:
        ConfigurationError: there is no stack, or the topic does not exist or is in several clusters.
        StackRequestError: the emulator rejected the request or does not respond.
    """
    with _Client(StackFile.read(home)) as client:
        target = client.find(topic, cluster)
        response = client.tableflow(
            "DELETE",
            f"/tableflow/v1/tableflow-topics/{quote(target.topic, safe='')}",
            params={"environment": ENVIRONMENT_ID, "spec.kafka_cluster": target.cluster.id},
        )
        if response.status_code == 404:
            return f"Tableflow was not enabled on {target}."
        client.check(response, f"disable Tableflow on {target}")
    return f"Tableflow is disabled on {target}."


def produce(home: Path, topic: str, count: int, cluster: str | None = None) -> str:
    """Produce the next `count` sample records of a topic; return a line for the user.

    Raises:
        ConfigurationError: there is no stack, the topic does not exist, is in several clusters or has no
            sample records, or the count is not positive.
        StackRequestError: a request to the broker or the registry failed.
    """
    if count < 1:
        raise ConfigurationError(f"{count} records cannot be produced.", hint="Use a number of at least 1.")
    stack = StackFile.read(home)
    with _Client(stack) as client:
        target = client.find(topic, cluster)
    sample = _sample_topic(target)
    assert sample.schema is not None  # noqa: S101 - ensured by _sample_topic
    with filling.registry_client(stack.confluent_url) as registry:
        encoder = Encoder(sample.schema, filling.register(registry, sample))
    broker: Broker = stack.open_brokers()[target.cluster.id]
    try:
        total = filling.produce_next(broker, sample, encoder, count)
    except LocalBrokerError as error:
        raise StackRequestError(str(error), hint="Show the logs with: lineage-bridge local logs") from error
    return f"Produced {count} records to {target}; its total is now {total}."


def _sample_topic(target: ClusterTopic) -> Topic:
    try:
        topic = find_topic(target.cluster.id, target.topic)
    except KeyError:
        topic = None
    if topic is None or topic.schema is None:
        raise ConfigurationError(
            f"There are no sample records for {target}.", hint="Produce to one of the topics with a schema."
        )
    return topic


def resolve_topic(topics: Mapping[str, list[str]], topic: str, cluster: str | None) -> ClusterTopic:
    """Find a topic by name, given the topic names of each cluster id.

    Raises:
        ConfigurationError: the cluster or topic does not exist, or the topic is in several clusters.
    """
    if cluster is None:
        clusters = list(CLUSTERS)
    else:
        try:
            clusters = [find_cluster(cluster)]
        except KeyError as error:
            known = ", ".join(f"{c.id} ({c.name})" for c in CLUSTERS)
            raise ConfigurationError(f"There is no cluster {cluster}.", hint=f"Clusters: {known}.") from error
    found = [c for c in clusters if topic in topics.get(c.id, ())]
    if len(found) == 1:
        return ClusterTopic(found[0], topic)
    if found:
        options = " or ".join(f"--cluster {c.id} ({c.name})" for c in found)
        raise ConfigurationError(
            f"Topic {topic} is in {len(found)} clusters.", hint=f"Specify one: {options}."
        )
    names = sorted({name for c in clusters for name in topics.get(c.id, ()) if not name.startswith("__")})
    folded = {name.lower(): name for name in names}
    similar = [folded[n] for n in difflib.get_close_matches(topic.lower(), folded, n=3, cutoff=0.5)]
    where = f" in {clusters[0].name}" if cluster else ""
    hint = f"Did you mean {' or '.join(similar)}?" if similar else f"Topics: {', '.join(names)}."
    raise ConfigurationError(f"There is no topic {topic}{where}.", hint=hint)


class _Client:
    def __init__(self, stack: StackFile) -> None:
        self._http = local_client(base_url=stack.confluent_url, timeout=30)

    def __enter__(self) -> _Client:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def find(self, topic: str, cluster: str | None) -> ClusterTopic:
        return resolve_topic({c.id: self._topics(c) for c in CLUSTERS}, topic, cluster)

    def _topics(self, cluster: Cluster) -> list[str]:
        key = api_key("kafka", cluster.id)
        path = f"/kafka/{cluster.id}/kafka/v3/clusters/{cluster.id}/topics"
        response = self._send("GET", path, auth=(key.key, key.secret))
        self.check(response, f"list the topics of {cluster.name}")
        return [item["topic_name"] for item in response.json()["data"]]

    def tableflow(self, method: str, path: str, **options: object) -> httpx.Response:
        key = api_key("tableflow")
        return self._send(method, path, auth=(key.key, key.secret), **options)

    def _send(self, method: str, path: str, **options: object) -> httpx.Response:
        try:
            return self._http.request(method, path, **options)  # type: ignore[arg-type]
        except httpx.HTTPError as error:
            raise StackRequestError(
                f"The Confluent emulator at {self._http.base_url} does not respond: {error}",
                hint="Start it with: lineage-bridge local up",
            ) from error

    @staticmethod
    def check(response: httpx.Response, action: str) -> None:
        if response.is_success:
            return
        raise StackRequestError(
            f"The Confluent emulator did not {action}: {response.status_code} {response.text[:300]}",
            hint="Show the logs with: lineage-bridge local logs",
        )
