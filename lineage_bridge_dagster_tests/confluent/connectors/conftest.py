"""A connector's lineage from its configuration, and the JVM that tells what Java makes of a text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from lineage_bridge_dagster.confluent.connectors import ConnectorLineage, ConnectorRecord, resolve
from lineage_bridge_dagster_tests.confluent.connectors.java_oracle import JavaOracle, java_oracle

POSTGRES = {
    "database.hostname": "PG1.example",
    "database.port": "5432",
    "database.dbname": "shop",
    "topic.prefix": "cdc",
}


@pytest.fixture(scope="module")
def oracle() -> Iterator[JavaOracle]:
    with java_oracle() as running:
        yield running


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
