"""The cluster that topics are loaded from: its ids, how to connect to its brokers, its Schema Registry.

A cluster in Confluent Cloud is looked up by its name or id; a self-managed one is what the settings say.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property

from pydantic import SecretStr

from lineage_bridge_dagster.config.addresses import is_in_clear
from lineage_bridge_dagster.config.credentials import Credential
from lineage_bridge_dagster.confluent.api.access import Access
from lineage_bridge_dagster.confluent.api.bootstrap import Bootstrap
from lineage_bridge_dagster.confluent.api.org import Environment, KafkaCluster
from lineage_bridge_dagster.confluent.api.paging import list_control
from lineage_bridge_dagster.confluent.api.schema_registry import Registry, SchemaRegistryClient
from lineage_bridge_dagster.confluent.api.session import ConfluentSession
from lineage_bridge_dagster.confluent.cluster_settings import KafkaConfig
from lineage_bridge_dagster.confluent.filters import require_known, select
from lineage_bridge_dagster.confluent.settings import ConfluentSettings
from lineage_bridge_dagster.errors import ConfigurationError


@dataclass(frozen=True)
class ClusterConnection:
    """A resolved cluster.

    Attributes:
        environment_id: empty for a self-managed cluster.
        cluster_id: for a self-managed cluster, its name in the settings.
        registry_url: empty if there is no Schema Registry.
        registry_id: of Confluent Cloud's registry, else the cluster's name; its key may be named after it.
        registry_settings: with which the registry is asked.
        renew: reads these settings again if the registry refuses the key.
    """

    environment_id: str
    cluster_id: str
    bootstrap: Bootstrap
    registry_url: str
    registry_id: str
    registry_settings: ConfluentSettings
    renew: Callable[[], ConfluentSettings] | None = None

    @contextmanager
    def registry(self) -> Iterator[SchemaRegistryClient]:
        """The client of the Schema Registry, whose connections last as long as this object."""
        yield SchemaRegistryClient(
            self._session, self.environment_id, self.registry_id, self_managed=not self.environment_id
        )

    @cached_property
    def _session(self) -> ConfluentSession:
        # A client of its own for each topic and batch would take longer than what it asks for: it loads
        # certificates, and connects.
        session = ConfluentSession(self.registry_settings, renew=self.renew)
        weakref.finalize(self, session.close)
        return session


def connect(
    settings: ConfluentSettings,
    kafka: KafkaConfig,
    renew: Callable[[], ConfluentSettings] | None = None,
) -> ClusterConnection:
    """Resolve a cluster.

    Raises:
        ConfigurationError: there is no such environment or cluster, or its name is that of several.
        ConfluentError: the control plane did not answer, or a key is missing.
        BrokerError: the bootstrap servers are malformed.
    """
    if kafka.is_self_managed:
        return _self_managed(settings, kafka, renew)
    return _in_the_cloud(settings, kafka, renew)


def _in_the_cloud(
    settings: ConfluentSettings, kafka: KafkaConfig, renew: Callable[[], ConfluentSettings] | None
) -> ClusterConnection:
    with ConfluentSession(settings, renew=renew) as session:
        environments = list_control(session, Environment)
        wanted = [kafka.environment] if kafka.environment else []
        require_known("environment", "kafka.environment", environments, wanted)
        found: list[tuple[Environment, KafkaCluster]] = []
        seen: list[KafkaCluster] = []
        for environment in select(environments, wanted):
            clusters = list_control(session, KafkaCluster, environment.id)
            seen += clusters
            found += [(environment, cluster) for cluster in select(clusters, [kafka.cluster])]
        if not found:
            require_known("Kafka cluster", "kafka.cluster", seen, [kafka.cluster])
        if len(found) > 1:
            ids = ", ".join(f"{cluster.id} in {environment.id}" for environment, cluster in found)
            raise ConfigurationError(
                f"{len(found)} Kafka clusters have the name {kafka.cluster!r}: {ids}.",
                hint="Write the cluster's id in kafka.cluster, or its environment in kafka.environment.",
            )
        environment, cluster = found[0]
        registries = list_control(session, Registry, environment.id)
        # With the keys that were not refused.
        settings = session.settings
    registry = next((each for each in registries if each.http_endpoint), None)
    bootstrap = Bootstrap.of_cluster(settings, cluster.bootstrap_endpoint, environment.id, cluster.id)
    return ClusterConnection(
        environment.id,
        cluster.id,
        bootstrap,
        registry.http_endpoint if registry else "",
        registry.id if registry else "",
        settings,
        renew,
    )


def _self_managed(
    settings: ConfluentSettings, kafka: KafkaConfig, renew: Callable[[], ConfluentSettings] | None
) -> ClusterConnection:
    bootstrap = Bootstrap.parse(kafka.bootstrap_servers)
    if bootstrap.protocol == "SASL_SSL":
        # The user wrote the addresses: they may receive the key, whatever their domain.
        credential = Access("kafka", (kafka.cluster,)).credential(settings)
        bootstrap = replace(bootstrap, credential=credential)

    def of_registry(settings: ConfluentSettings) -> ConfluentSettings:
        return settings.model_copy(
            update={
                "api_url": kafka.schema_registry_url or settings.api_url,
                "credentials": {"schema_registry": _ANONYMOUS, **settings.credentials},
            }
        )

    key = settings.credential("schema_registry", kafka.cluster)
    if key is not None and is_in_clear(kafka.schema_registry_url):
        raise ConfigurationError(
            f"The Schema Registry of {kafka.cluster} is not encrypted, and {key.variable} is its key: "
            f"{kafka.schema_registry_url}",
            hint="Write kafka.schema_registry_url with https, or unset the key if the registry needs none.",
        )
    # Keys may be named after the cluster, as those of its brokers.
    return ClusterConnection(
        "",
        kafka.cluster,
        bootstrap,
        kafka.schema_registry_url,
        kafka.cluster,
        of_registry(settings),
        (lambda: of_registry(renew())) if renew else None,
    )


#: A registry of one's own may need no key, and ignores one.
_ANONYMOUS = Credential(key="anonymous", secret=SecretStr(""))
