"""Kafka clusters (`cmk/v2`)."""

from __future__ import annotations

from pydantic import AliasPath, Field

from lineage_bridge_dagster.confluent.api.paging import list_control
from lineage_bridge_dagster.confluent.api.records import ApiRecord
from lineage_bridge_dagster.confluent.api.session import ConfluentSession


class Endpoint(ApiRecord):
    """`cmk.v2.Endpoints`: one access point of a privately networked cluster."""

    http_endpoint: str = ""
    kafka_bootstrap_endpoint: str = ""


class ClusterSpec(ApiRecord):
    display_name: str = ""
    cloud: str = ""
    region: str = ""
    kind: str = Field("", validation_alias=AliasPath("config", "kind"))
    http_endpoint: str = ""
    kafka_bootstrap_endpoint: str = ""
    endpoints: dict[str, Endpoint] = Field(default_factory=dict)


class KafkaCluster(ApiRecord):
    """`cmk/v2` Cluster. Its two endpoints are deprecated in favor of access points; both are read."""

    id: str
    spec: ClusterSpec = Field(default_factory=ClusterSpec)
    phase: str = Field("", validation_alias=AliasPath("status", "phase"))

    @property
    def label(self) -> str:
        return self.spec.display_name or self.id

    @property
    def http_endpoint(self) -> str:
        points = (point.http_endpoint for _, point in sorted(self.spec.endpoints.items()))
        return self.spec.http_endpoint or next(filter(None, points), "")

    @property
    def bootstrap_endpoint(self) -> str:
        points = (point.kafka_bootstrap_endpoint for _, point in sorted(self.spec.endpoints.items()))
        return self.spec.kafka_bootstrap_endpoint or next(filter(None, points), "")

    @property
    def is_dedicated(self) -> bool:
        return self.spec.kind.lower() == "dedicated"


class ClusterClient:
    """Lists Kafka clusters; raises `ConfluentError`."""

    def __init__(self, session: ConfluentSession) -> None:
        self._session = session

    def clusters(self, environment: str) -> list[KafkaCluster]:
        return list_control(self._session, KafkaCluster, "/cmk/v2/clusters", environment)
