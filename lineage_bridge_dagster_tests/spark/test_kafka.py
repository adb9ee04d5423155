"""Options of Spark's Kafka source, without a Spark session."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, Self
from unittest.mock import MagicMock

import pytest
from pydantic import SecretStr

from lineage_bridge_dagster.config.credentials import Credential
from lineage_bridge_dagster.confluent.api.bootstrap import Bootstrap
from lineage_bridge_dagster.spark.kafka import SparkTopic

TOPIC = SparkTopic("orders.v1", Bootstrap.parse("127.0.0.1:9092"))


class Reader:
    """Records the options of a DataFrameReader; `load` returns them."""

    def __init__(self) -> None:
        self.recorded: dict[str, str] = {}

    def format(self, name: str) -> Self:
        assert name == "kafka"
        return self

    def option(self, name: str, value: str) -> Self:
        return self.options(**{name: value})

    def options(self, **options: str) -> Self:
        self.recorded |= options
        return self

    def load(self) -> dict[str, str]:
        return self.recorded


def options(*arguments: Any) -> dict[str, str]:
    session: Any = SimpleNamespace(read=Reader())
    found: Any = TOPIC.read(session, *arguments)
    return dict(found)


def test_entire_topic_is_read_committed_with_headers_and_without_a_key() -> None:
    assert options() == {
        "kafka.bootstrap.servers": "127.0.0.1:9092",
        "kafka.security.protocol": "PLAINTEXT",
        "kafka.isolation.level": "read_committed",
        "includeHeaders": "true",
        "kafka.fetch.min.bytes": "0",
        "kafka.max.poll.records": "10000",
        "subscribe": "orders.v1",
        "startingOffsets": "earliest",
        "endingOffsets": "latest",
    }


@pytest.mark.parametrize(
    ("end", "ending"), [(None, "latest"), ({1: 9, 0: 5}, '{"orders.v1": {"0": 5, "1": 9}}')]
)
def test_range_assigns_its_partitions(end: dict[int, int] | None, ending: str) -> None:
    found = options({1: 7, 0: 3}, end)
    assert json.loads(found["assign"]) == {"orders.v1": [0, 1]}
    assert found["startingOffsets"] == '{"orders.v1": {"0": 3, "1": 7}}'
    assert found["endingOffsets"] == ending
    assert "subscribe" not in found


def test_given_options_are_passed_on() -> None:
    given = {"startingTimestamp": "5", "kafka.fetch.min.bytes": "1"}
    assert given.items() <= options(None, None, given).items()


def group(topic: SparkTopic, topic_id: str) -> str | None:
    session: Any = SimpleNamespace(read=Reader(), _jvm=MagicMock())
    found: Any = topic.read(session, {0: 1}, {0: 2}, topic_id=topic_id)
    return dict(found).get("kafka.group.id")


def test_reads_of_a_topic_share_consumers_and_nobody_else_does() -> None:
    def bootstrap(secret: str) -> Bootstrap:
        return replace(TOPIC.bootstrap, credential=Credential(key="key", secret=SecretStr(secret)))

    assert group(TOPIC, "") is None
    others = [
        SparkTopic("orders.v1", Bootstrap.parse("127.0.0.1:9093")),
        SparkTopic("orders.v1", bootstrap("first-secret")),
        SparkTopic("orders.v1", bootstrap("second-secret")),
    ]
    groups = [group(TOPIC, "created-first"), group(TOPIC, "created-again")]
    groups += [group(topic, "created-first") for topic in others]
    assert len(set(groups)) == len(groups)
    assert None not in groups
    assert group(TOPIC, "created-first") == groups[0]
    assert not any("secret" in str(name) for name in groups)
