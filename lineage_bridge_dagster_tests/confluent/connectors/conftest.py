"""A connector's lineage from its configuration."""

from __future__ import annotations

from collections.abc import Mapping

from lineage_bridge_dagster.confluent.connectors import ConnectorLineage, ConnectorRecord, resolve

POSTGRES = {
    "database.hostname": "PG1.example",
    "database.port": "5432",
    "database.dbname": "shop",
    "topic.prefix": "cdc",
}


def read(
    class_name: str,
    config: Mapping[str, str],
    topics: tuple[str, ...] = (),
    *,
    kind: str = "",
    connector_id: str | None = "lcc-1",
) -> ConnectorLineage:
    """The lineage of a connector of a class, in a cluster with these topics."""
    record = ConnectorRecord("c1", kind, connector_id, {"connector.class": class_name, **config})
    return resolve(record, topics)
