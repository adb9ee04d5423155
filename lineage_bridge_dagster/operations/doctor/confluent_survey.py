"""What in Confluent needs a key: clusters, registries, Flink regions, ksqlDB clusters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from lineage_bridge_dagster.config.credentials import Credential, Plane
from lineage_bridge_dagster.confluent.api.access import Access
from lineage_bridge_dagster.confluent.api.errors import ConfluentError
from lineage_bridge_dagster.confluent.api.flink import FlinkClient, FlinkRegion, RegionKey, regions_of
from lineage_bridge_dagster.confluent.api.kafka_rest import KafkaRestClient
from lineage_bridge_dagster.confluent.api.ksqldb import KsqlCluster, KsqldbClient
from lineage_bridge_dagster.confluent.api.org import ClusterClient, Environment, KafkaCluster, OrgClient
from lineage_bridge_dagster.confluent.api.schema_registry import Registry, SchemaRegistryClient
from lineage_bridge_dagster.confluent.api.session import ConfluentSession
from lineage_bridge_dagster.confluent.api.tableflow import TableflowClient
from lineage_bridge_dagster.confluent.filters import select
from lineage_bridge_dagster.confluent.settings import ConfluentSettings

T = TypeVar("T")

#: A subject that no registry has; requesting it is the cheapest possible read.
_NO_SUBJECT = "lineage-bridge-doctor"


@dataclass(frozen=True, slots=True)
class Door:
    """A place of a plane that asks for a key.

    Attributes:
        access: the plane, and the names that its key may have.
        place: what it is, as a phrase.
        request: the harmless call that is tried, as a phrase.
        call: makes that call with the keys of a session.
    """

    access: Access
    place: str
    request: str
    call: Callable[[ConfluentSession], Any]

    @property
    def plane(self) -> Plane:
        return self.access.plane


@dataclass(slots=True)
class Survey:
    """Every door that the Cloud key shows, and what it could not list."""

    doors: list[Door] = field(default_factory=list)
    unlisted: list[ConfluentError] = field(default_factory=list)

    def of(self, plane: Plane) -> list[Door]:
        return [door for door in self.doors if door.plane == plane]


def cloud_door() -> Door:
    """The control plane's own."""
    return Door(
        Access("confluent_cloud"),
        "Confluent Cloud's control plane",
        "GET /org/v2/environments",
        lambda session: OrgClient(session).environments(),
    )


def survey(session: ConfluentSession) -> Survey:
    """List what needs a key in the environments and clusters of the settings.

    Raises:
        ConfluentError: the environments could not be listed.
    """
    found = Survey([cloud_door()])
    settings = session.settings
    organizations = _listed(found, OrgClient(session).organizations)
    flink, ksqldb = FlinkClient(session), KsqldbClient(session)
    for environment in select(OrgClient(session).environments(), settings.environments):
        one = environment.id
        clusters = _listed(found, partial(ClusterClient(session).clusters, one))
        for cluster in select(clusters, settings.clusters):
            found.doors += [_kafka(environment, cluster), _tableflow(environment, cluster)]
        registries = _listed(found, SchemaRegistryClient(session, one).registries)
        found.doors += [_registry(environment, registry) for registry in registries]
        found.doors += [_ksqldb(environment, each) for each in _listed(found, partial(ksqldb.clusters, one))]
        pools = _listed(found, partial(flink.compute_pools, one))
        regions = _listed(found, flink.regions) if pools else []
        for organization in organizations[:1]:
            found.doors += [_flink(organization.id, environment, key, regions) for key in regions_of(pools)]
    return found


def with_key(settings: ConfluentSettings, plane: Plane, credential: Credential) -> ConfluentSettings:
    """The settings with a single key, for one plane."""
    return settings.model_copy(update={"credentials": {plane: credential}})


def _listed(found: Survey, call: Callable[[], Sequence[T]]) -> Sequence[T]:
    try:
        return call()
    except ConfluentError as error:
        found.unlisted.append(error)
        return ()


def _kafka(environment: Environment, cluster: KafkaCluster) -> Door:
    return Door(
        Access("kafka", (cluster.id, environment.id)),
        f"Kafka cluster {cluster.label} ({cluster.id})",
        f"GET /kafka/v3/clusters/{cluster.id}/topics",
        lambda session: KafkaRestClient(session, environment.id, cluster).topics(),
    )


def _tableflow(environment: Environment, cluster: KafkaCluster) -> Door:
    return Door(
        Access("tableflow", (cluster.id, environment.id)),
        f"Tableflow of {cluster.label} ({cluster.id})",
        "GET /tableflow/v1/tableflow-topics",
        lambda session: TableflowClient(session).topics(environment.id, cluster.id),
    )


def _registry(environment: Environment, registry: Registry) -> Door:
    client = SchemaRegistryClient
    return Door(
        Access("schema_registry", (registry.id, environment.id)),
        f"Schema Registry {registry.id} of {environment.label}",
        "GET /schemas",
        lambda session: client(session, environment.id, registry.id).versions(
            registry.http_endpoint, _NO_SUBJECT
        ),
    )


def _ksqldb(environment: Environment, cluster: KsqlCluster) -> Door:
    return Door(
        Access("ksqldb", (cluster.id, environment.id)),
        f"ksqlDB cluster {cluster.id} of {environment.label}",
        "POST /ksql (LIST STREAMS, TABLES, QUERIES)",
        lambda session: KsqldbClient(session).contents(environment.id, cluster),
    )


def _flink(
    organization: str, environment: Environment, key: RegionKey, regions: Iterable[FlinkRegion]
) -> Door:
    def call(session: ConfluentSession) -> Any:
        client = FlinkClient(session)
        return client.statements(client.endpoint(key, regions), organization, environment.id, key)

    name = f"{key.cloud}_{key.region}"
    return Door(
        Access("flink", (name, f"{environment.id}_{name}", environment.id)),
        f"Flink in {key} of {environment.label}",
        "GET /sql/v1/.../statements",
        call,
    )
