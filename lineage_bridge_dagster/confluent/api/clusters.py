"""Kafka clusters (`cmk/v2`)."""

from __future__ import annotations

from lineage_bridge_dagster.confluent.api.http_errors import Access
from lineage_bridge_dagster.confluent.api.listing import list_records
from lineage_bridge_dagster.confluent.api.records import KafkaCluster
from lineage_bridge_dagster.confluent.api.session import ConfluentSession


class ClusterClient:
    """Lists Kafka clusters; raises `ConfluentError`."""

    def __init__(self, session: ConfluentSession) -> None:
        self._session = session

    def clusters(self, environment: str) -> list[KafkaCluster]:
        url = self._session.control_url("/cmk/v2/clusters")
        access = Access("confluent_cloud", (environment,))
        return list_records(self._session, KafkaCluster, url, access, {"environment": environment})
