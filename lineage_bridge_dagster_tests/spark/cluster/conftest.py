"""The broker and the tables of tests of topics."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lineage_bridge_dagster.embedded.broker import BrokerProcess
from lineage_bridge_dagster_tests.kafka_broker import running_broker
from lineage_bridge_dagster_tests.spark.cluster.topic import OrdersTopic


@pytest.fixture(scope="package")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """A broker for all tests of the cluster."""
    with running_broker(tmp_path_factory.mktemp("cluster-broker")) as broker:
        yield broker


@pytest.fixture
def orders(broker: BrokerProcess, database: str) -> OrdersTopic:
    """A topic of the test's own."""
    return OrdersTopic(broker.address, database)
