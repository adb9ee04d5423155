"""What in Confluent needs a key: clusters, registries, Flink regions, ksqlDB clusters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from lineage_bridge_dagster.config.credentials import Credential, Plane
from lineage_bridge_dagster.confluent.api.access import Access
from lineage_bridge_dagster.confluent.api.errors import ConfluentError
from lineage_bridge_dagster.confluent.api.flink import (
    ComputePool,
    FlinkRegion,
    FlinkStatement,
    RegionKey,
    endpoint_of,
    list_flink,
    regions_of,
)
from lineage_bridge_dagster.confluent.api.kafka_rest import KafkaTopic, list_kafka
from lineage_bridge_dagster.confluent.api.ksqldb import KsqlCluster, ksqldb_contents
from lineage_bridge_dagster.confluent.api.org import Environment, KafkaCluster, Organization
from lineage_bridge_dagster.confluent.api.paging import list_control
from lineage_bridge_dagster.confluent.api.records import ApiRecord
from lineage_bridge_dagster.confluent.api.schema_registry import Registry, SchemaRegistryClient
from lineage_bridge_dagster.confluent.api.session import ConfluentSession
from lineage_bridge_dagster.confluent.api.tableflow import TableflowTopic, list_tableflow
from lineage_bridge_dagster.confluent.filters import select
from lineage_bridge_dagster.confluent.settings import ConfluentSettings

R = TypeVar("R", bound=ApiRecord)

#: A subject that no registry has; requesting it is the cheapest possible read.
_NO_SUBJECT = "lineage-bridge-doctor"
#: Attempts and seconds of a request; the doctor gives up sooner than a discovery.
_ATTEMPTS, _TIMEOUT_SECONDS = 2, 10.0


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
        lambda session: list_control(session, Environment),
    )


def survey(session: ConfluentSession) -> Survey:
    """List what needs a key in the environments and clusters of the settings.

    Raises:
        ConfluentError: the environments could not be listed.
    """
    found = Survey([cloud_door()])
    settings = session.settings

    def listed(record: type[R], environment: str = "") -> Sequence[R]:
        try:
            return list_control(session, record, environment)
        except ConfluentError as error:
            found.unlisted.append(error)
            return ()

    organizations = listed(Organization)
    for environment in select(list_control(session, Environment), settings.environments):
        clusters = listed(KafkaCluster, environment.id)
        for cluster in select(clusters, settings.clusters):
            found.doors += [_kafka(environment, cluster), _tableflow(environment, cluster)]
        registries = listed(Registry, environment.id)
        found.doors += [_registry(environment, registry) for registry in registries]
        found.doors += [_ksqldb(environment, each) for each in listed(KsqlCluster, environment.id)]
        pools = listed(ComputePool, environment.id)
        regions = listed(FlinkRegion) if pools else []
        for organization in organizations[:1]:
            found.doors += [_flink(organization.id, environment, key, regions) for key in regions_of(pools)]
    return found


def bounded(settings: ConfluentSettings) -> ConfluentSettings:
    """The settings with the doctor's patience."""
    return settings.model_copy(
        update={
            "max_attempts": min(settings.max_attempts, _ATTEMPTS),
            "timeout_seconds": min(settings.timeout_seconds, _TIMEOUT_SECONDS),
        }
    )


def with_key(settings: ConfluentSettings, plane: Plane, credential: Credential) -> ConfluentSettings:
    """The settings with a single key, for one plane."""
    return settings.model_copy(update={"credentials": {plane: credential}})


def _kafka(environment: Environment, cluster: KafkaCluster) -> Door:
    return Door(
        Access("kafka", (cluster.id, environment.id)),
        f"Kafka cluster {cluster.label} ({cluster.id})",
        f"GET /kafka/v3/clusters/{cluster.id}/topics",
        lambda session: list_kafka(session, KafkaTopic, environment.id, cluster),
    )


def _tableflow(environment: Environment, cluster: KafkaCluster) -> Door:
    return Door(
        Access("tableflow", (cluster.id, environment.id)),
        f"Tableflow of {cluster.label} ({cluster.id})",
        "GET /tableflow/v1/tableflow-topics",
        lambda session: list_tableflow(session, TableflowTopic, environment.id, cluster.id),
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
        lambda session: ksqldb_contents(session, environment.id, cluster),
    )


def _flink(
    organization: str, environment: Environment, key: RegionKey, regions: Iterable[FlinkRegion]
) -> Door:
    def call(session: ConfluentSession) -> Any:
        endpoint = endpoint_of(session, key, regions)
        return list_flink(session, FlinkStatement, endpoint, organization, environment.id, key)

    name = f"{key.cloud}_{key.region}"
    return Door(
        Access("flink", (name, f"{environment.id}_{name}", environment.id)),
        f"Flink in {key} of {environment.label}",
        "GET /sql/v1/.../statements",
        call,
    )
