"""Topics in turn: when each is due, what is reported at once, and which topics take part."""

from __future__ import annotations

from dataclasses import dataclass, field

from lineage_bridge_dagster.confluent.api.errors import TopicNotFoundError
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.topic_to_iceberg.loading.model import LoadStep
from lineage_bridge_dagster.topic_to_iceberg.reports import LoadReport
from lineage_bridge_dagster.topic_to_iceberg.rotation import Rotation
from lineage_bridge_dagster.topic_to_iceberg.settings.topic_load import TopicLoad
from lineage_bridge_dagster_tests.topic_to_iceberg.yaml import FakeCluster, FakeTopic, step


def load(topic: str, table: str = "") -> TopicLoad:
    return TopicLoad(topic=topic, catalog="glue", database="lkc-abc123", table=table or topic)


@dataclass
class Running:
    """A continuous rotation, a commit a minute and a report an hour, with a clock that stands still."""

    cluster: FakeCluster
    now: float = 1000.0
    rotation: Rotation = field(init=False)

    def __post_init__(self) -> None:
        self.rotation = Rotation(
            [], self.cluster, commit_seconds=60, report_seconds=3600, clock=lambda: self.now
        )

    def turn(self, seconds: float = 0.0) -> list[LoadReport]:
        self.now += seconds
        return list(self.rotation.turn(lambda: False))


def outcomes(reports: list[LoadReport]) -> list[tuple[str, str]]:
    return [(report.load.topic, report.error.message if report.error else "") for report in reports]


def test_a_failure_and_its_end_are_reported_at_once() -> None:
    down = LineageBridgeError("down")
    topic = FakeTopic([step(1, 1), down, down, step(2, 1), step(3, 1, last=True)], end=3)
    running = Running(FakeCluster(orders=topic))
    running.rotation.follow([load("orders")])
    assert outcomes(running.turn()) == [("orders", "")]
    assert outcomes(running.turn()) == [("orders", "down")]
    # The same failure again is no news.
    assert running.turn(300) == []
    (recovered,) = running.turn(300)
    assert (recovered.error, recovered.totals.rows) == (None, 1)
    assert running.turn() == []


def test_the_table_is_ensured_again_after_a_failure() -> None:
    """Somebody may have dropped it."""
    topic = FakeTopic([step(1, 1), LineageBridgeError("no table"), step(2, 1, last=True)], end=2)
    running = Running(FakeCluster(orders=topic))
    running.rotation.follow([load("orders")])
    for _ in range(3):
        running.turn(300)
    assert (topic.ensured, topic.opened, topic.batches) == (2, 1, [])


def test_a_topic_that_does_not_exist_yet_is_looked_for_as_often_as_its_records_would_be() -> None:
    missing: list[Exception] = [TopicNotFoundError("no topic orders") for _ in range(5)]
    topic = FakeTopic([*missing, step(1, 1, last=True)], end=1)
    running = Running(FakeCluster(orders=topic))
    running.rotation.follow([load("orders")])
    assert outcomes(running.turn()) == [("orders", "no topic orders")]
    for _ in range(4):
        assert running.turn(60) == []
    assert outcomes(running.turn(60)) == [("orders", "")]


def test_topics_come_and_go_while_the_others_go_on() -> None:
    orders = FakeTopic([step(1, 1), step(2, 1), step(3, 1), step(4, 1)], end=4)
    clicks = FakeTopic([step(1, 1), step(2, 1)], end=2)
    running = Running(FakeCluster(orders=orders, clicks=clicks))
    running.rotation.follow([load("orders"), load("clicks")])
    running.turn()
    running.rotation.follow([load("orders")])
    running.turn()
    assert (orders.opened, len(orders.batches)) == (1, 2)
    assert len(clicks.batches) == 1
    # Another table is another load of the same topic.
    running.rotation.follow([load("orders", "orders_v2")])
    assert [report.load.table for report in running.turn()] == ["orders_v2"]
    assert orders.opened == 2


def test_a_long_topic_takes_one_batch_a_turn() -> None:
    long = FakeTopic([step(number, 1) for number in range(1, 4)], end=3)
    short = FakeTopic([step(1, 1, last=True)], end=1)
    running = Running(FakeCluster(long=long, short=short))
    running.rotation.follow([load("long"), load("short")])
    running.turn()
    assert (len(long.batches), len(short.batches)) == (2, 0)
    # Not caught up, so it is due again at once.
    assert running.rotation.wait == 0


def test_the_first_commit_of_a_table_that_did_not_exist_is_reported_at_once() -> None:
    """A topic without records and a schema has no table, which is not a failure."""
    topic = FakeTopic([LoadStep({0: 0}, caught_up=True), step(1, 1, last=True)], end=1)
    running = Running(FakeCluster(orders=topic))
    running.rotation.follow([load("orders")])
    assert [report.totals.commits for report in running.turn()] == [0]
    assert [report.totals.commits for report in running.turn(60)] == [1]
