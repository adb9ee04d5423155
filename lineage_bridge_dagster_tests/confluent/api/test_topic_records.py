"""Reading ranges of offsets, without a broker. The tests of dead letters read from one."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from lineage_bridge_dagster.confluent.api.bootstrap import Bootstrap
from lineage_bridge_dagster.confluent.api.topic_records import RecordRanges

COUNT = 1200


def message(offset: int) -> SimpleNamespace:
    fields = {"error": None, "partition": 0, "offset": offset, "key": b"k", "value": b"%d" % offset}
    return SimpleNamespace(headers=lambda: None, **{n: lambda v=v: v for n, v in fields.items()})


@dataclass
class FakeConsumer:
    """Has fetched all records, and waits as librdkafka does for as many as it may return.

    Attributes:
        waited: seconds for which it would have waited.
    """

    fetched: list[SimpleNamespace] = field(default_factory=lambda: [message(at) for at in range(COUNT)])
    waited: float = 0.0

    def assign(self, _partitions: Any) -> None: ...

    def close(self) -> None: ...

    def consume(self, most: int, timeout: float) -> list[SimpleNamespace]:
        found, self.fetched = self.fetched[:most], self.fetched[most:]
        if len(found) < most:
            self.waited += timeout
        return found


def test_what_was_fetched_is_read_without_a_wait_for_more(monkeypatch: pytest.MonkeyPatch) -> None:
    source, consumer = RecordRanges(Bootstrap.parse("127.0.0.1:9092")), FakeConsumer()
    monkeypatch.setattr(source, "_consumer", lambda committed: consumer)
    read = source.read("orders.errors", {0: 0}, {0: COUNT})
    assert [record.offset for record in read] == list(range(COUNT))
    assert consumer.waited == 0
