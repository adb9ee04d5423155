"""Kafka clusters (`cmk/v2`)."""

from __future__ import annotations

from lineage_bridge_dagster.confluent.failures import Access
from lineage_bridge_dagster.confluent.listing import list_records
from lineage_bridge_dagster.confluent.records import KafkaCluster
from lineage_bridge_dagster.confluent.session import ConfluentSession


class ClusterClient:
    """Lists Kafka clusters; raises `ConfluentError`."""

    def __init__(self, session: ConfluentSession) -> None:
        self._session = session

    def clusters(self, environment: str) -> list[KafkaCluster]:
        url = self._session.control_url("/cmk/v2/clusters")
        access = Access("confluent_cloud", (environment,))
        return list_records(self._session, KafkaCluster, url, access, {"environment": environment})
