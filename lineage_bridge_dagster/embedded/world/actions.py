"""What a user does to the sample world: enable and disable Tableflow, produce records."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote

import httpx

from lineage_bridge_dagster.embedded.kafka.broker import Broker, BrokerError
from lineage_bridge_dagster.embedded.world import filling
from lineage_bridge_dagster.embedded.world.filling import Encoder, Home, StackFile, WorldError
from lineage_bridge_dagster.embedded.world.model import Cluster, Topic
from lineage_bridge_dagster.embedded.world.places import CLUSTERS, ENVIRONMENT_ID, api_key
from lineage_bridge_dagster.embedded.world.places import cluster as find_cluster
from lineage_bridge_dagster.embedded.world.topics import topic as find_topic
from lineage_bridge_dagster.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Place:
    """A topic of one cluster."""

    cluster: Cluster
    topic: str

    def __str__(self) -> str:
        return f"{self.topic} in {self.cluster.name} ({self.cluster.id})"


def enable_tableflow(home: Home, topic: str, cluster: str | None = None) -> str:
    """Enable Tableflow on a topic; returns one line that says what will happen.

    Enabling it again changes nothing.

    Raises:
        ConfigurationError: no stack, no such topic, or one in several clusters.
        WorldError: the emulator refused or could not be asked.
    """
    with _Client(StackFile.read(home)) as client:
        place = client.find(topic, cluster)
        body = {
            "spec": {
                "display_name": place.topic,
                "storage": {
                    "kind": "ByobAws",
                    "bucket_name": place.cluster.bucket,
                    "provider_integration_id": place.cluster.provider_integration_id,
                },
                "environment": {"id": ENVIRONMENT_ID},
                "kafka_cluster": {"id": place.cluster.id},
            }
        }
        answer = client.tableflow("POST", "/tableflow/v1/tableflow-topics", json=body)
        table = f"{place.cluster.database}.{place.topic.lower()}"
        if answer.status_code == 409:
            return f"Tableflow is enabled on {place} already; its Glue table is {table}."
        client.check(answer, f"enable Tableflow on {place}")
    return f"Tableflow is enabled on {place}; its Glue table will be {table}."


def disable_tableflow(home: Home, topic: str, cluster: str | None = None) -> str:
    """Disable Tableflow on a topic; returns one line that says what was done.

    Raises:
        ConfigurationError: no stack, no such topic, or one in several clusters.
        WorldError: the emulator refused or could not be asked.
    """
    with _Client(StackFile.read(home)) as client:
        place = client.find(topic, cluster)
        answer = client.tableflow(
            "DELETE",
            f"/tableflow/v1/tableflow-topics/{quote(place.topic, safe='')}",
            params={"environment": ENVIRONMENT_ID, "spec.kafka_cluster": place.cluster.id},
        )
        if answer.status_code == 404:
            return f"Tableflow was not enabled on {place}."
        client.check(answer, f"disable Tableflow on {place}")
    return f"Tableflow is disabled on {place}."


def produce(home: Home, topic: str, count: int, cluster: str | None = None) -> str:
    """Produce the next `count` sample records of a topic; returns one line that says how many there are.

    Raises:
        ConfigurationError: no stack, no such topic, one in several clusters, or one without sample records.
        WorldError: the broker or the registry could not be asked.
    """
    if count < 1:
        raise ConfigurationError(f"{count} records can't be produced.", hint="Give a number from 1 up.")
    stack = StackFile.read(home)
    with _Client(stack) as client:
        place = client.find(topic, cluster)
    known = _sample(place)
    assert known.schema is not None  # noqa: S101 - _sample answers only those with a schema
    with filling.registry_client(stack.confluent_url) as registry:
        encoder = Encoder(known.schema, filling.register(registry, known))
    broker: Broker = stack.open_brokers()[place.cluster.id]
    try:
        total = filling.append(broker, known, encoder, count)
    except BrokerError as error:
        raise WorldError(str(error), hint="See its log with: lineage-bridge local logs") from error
    return f"Produced {count} records to {place}; it has had {total} so far."


def _sample(place: Place) -> Topic:
    try:
        known = find_topic(place.cluster.id, place.topic)
    except KeyError:
        known = None
    if known is None or known.schema is None:
        raise ConfigurationError(
            f"There are no sample records for {place}.", hint="Produce to one of the topics with a schema."
        )
    return known


def choose(topics: Mapping[str, list[str]], topic: str, cluster: str | None) -> Place:
    """The topic that is meant, among the topics of each cluster by its id.

    Raises:
        ConfigurationError: there is no such cluster or topic, or it is in several clusters.
    """
    if cluster is None:
        wanted = list(CLUSTERS)
    else:
        try:
            wanted = [find_cluster(cluster)]
        except KeyError as error:
            listed = ", ".join(f"{c.id} ({c.name})" for c in CLUSTERS)
            raise ConfigurationError(
                f"There is no cluster {cluster}.", hint=f"There are: {listed}."
            ) from error
    found = [c for c in wanted if topic in topics.get(c.id, ())]
    if len(found) == 1:
        return Place(found[0], topic)
    if found:
        options = " or ".join(f"--cluster {c.id} ({c.name})" for c in found)
        raise ConfigurationError(f"Topic {topic} is in {len(found)} clusters.", hint=f"Say which: {options}.")
    names = sorted({name for c in wanted for name in topics.get(c.id, ()) if not name.startswith("__")})
    folded = {name.lower(): name for name in names}
    near = [folded[n] for n in difflib.get_close_matches(topic.lower(), folded, n=3, cutoff=0.5)]
    where = f" in {wanted[0].name}" if cluster else ""
    hint = f"Did you mean {' or '.join(near)}?" if near else f"There are: {', '.join(names)}."
    raise ConfigurationError(f"There is no topic {topic}{where}.", hint=hint)


class _Client:
    """The emulator, asked as a user's own tools would ask Confluent Cloud."""

    def __init__(self, stack: StackFile) -> None:
        self._http = httpx.Client(base_url=stack.confluent_url, timeout=30, trust_env=False)

    def __enter__(self) -> _Client:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def find(self, topic: str, cluster: str | None) -> Place:
        return choose({c.id: self._topics(c) for c in CLUSTERS}, topic, cluster)

    def _topics(self, cluster: Cluster) -> list[str]:
        key = api_key("kafka", cluster.id)
        path = f"/kafka/{cluster.id}/kafka/v3/clusters/{cluster.id}/topics"
        answer = self._send("GET", path, auth=(key.key, key.secret))
        self.check(answer, f"list the topics of {cluster.name}")
        return [item["topic_name"] for item in answer.json()["data"]]

    def tableflow(self, method: str, path: str, **more: object) -> httpx.Response:
        key = api_key("tableflow")
        return self._send(method, path, auth=(key.key, key.secret), **more)

    def _send(self, method: str, path: str, **more: object) -> httpx.Response:
        try:
            return self._http.request(method, path, **more)  # type: ignore[arg-type]
        except httpx.HTTPError as error:
            raise WorldError(
                f"The Confluent emulator at {self._http.base_url} does not answer: {error}",
                hint="Start it with: lineage-bridge local up",
            ) from error

    @staticmethod
    def check(answer: httpx.Response, doing: str) -> None:
        if answer.is_success:
            return
        raise WorldError(
            f"The Confluent emulator did not {doing}: {answer.status_code} {answer.text[:300]}",
            hint="See its log with: lineage-bridge local logs",
        )
