"""Tableflow: topics that are tables, and the catalogs they are in (`tableflow/v1`).

Both lists are one cheap call a cluster: a sensor's tick can make them.
"""

from __future__ import annotations

from lineage_bridge_dagster.confluent.failures import Access
from lineage_bridge_dagster.confluent.listing import list_records
from lineage_bridge_dagster.confluent.records import CatalogIntegration, TableflowTopic
from lineage_bridge_dagster.confluent.session import ConfluentSession


class TableflowClient:
    """Asks Tableflow; each method raises `ConfluentError`."""

    def __init__(self, session: ConfluentSession) -> None:
        self._session = session

    def topics(self, environment: str, cluster: str) -> list[TableflowTopic]:
        url = self._session.control_url("/tableflow/v1/tableflow-topics")
        return list_records(
            self._session, TableflowTopic, url, _access(environment, cluster), _params(environment, cluster)
        )

    def integrations(self, environment: str, cluster: str) -> list[CatalogIntegration]:
        url = self._session.control_url("/tableflow/v1/catalog-integrations")
        return list_records(
            self._session,
            CatalogIntegration,
            url,
            _access(environment, cluster),
            _params(environment, cluster),
        )


def _access(environment: str, cluster: str) -> Access:
    return Access("tableflow", (cluster, environment))


def _params(environment: str, cluster: str) -> dict[str, str | int]:
    """Both are required; with the environment alone the API answers 400."""
    return {"environment": environment, "spec.kafka_cluster": cluster}
