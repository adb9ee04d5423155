"""Tableflow: topics that are tables, and the catalogs they are in (`tableflow/v1`).

Both lists are one cheap call a cluster: a sensor's tick can make them.
"""

from __future__ import annotations

from typing import TypeVar

from lineage_bridge_dagster.confluent.api.http_errors import Access
from lineage_bridge_dagster.confluent.api.listing import list_records
from lineage_bridge_dagster.confluent.api.records import CatalogIntegration, Record, TableflowTopic
from lineage_bridge_dagster.confluent.api.session import ConfluentSession

R = TypeVar("R", bound=Record)


class TableflowClient:
    """Asks Tableflow; each method raises `ConfluentError`."""

    def __init__(self, session: ConfluentSession) -> None:
        self._session = session

    def topics(self, environment: str, cluster: str) -> list[TableflowTopic]:
        return self._list(TableflowTopic, "tableflow-topics", environment, cluster)

    def integrations(self, environment: str, cluster: str) -> list[CatalogIntegration]:
        return self._list(CatalogIntegration, "catalog-integrations", environment, cluster)

    def _list(self, record: type[R], what: str, environment: str, cluster: str) -> list[R]:
        url = self._session.control_url(f"/tableflow/v1/{what}")
        # Both are required: with one alone the API answers 400.
        params = {"environment": environment, "spec.kafka_cluster": cluster}
        return list_records(self._session, record, url, Access("tableflow", (cluster, environment)), params)
