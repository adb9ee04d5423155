"""Pages of several regions at the same time: how many are in memory, and what a failure or a stop leaves."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any, cast

import pytest

from lineage_bridge_dagster.catalogs.errors import CallError, NotFoundError
from lineage_bridge_dagster.catalogs.glue.glue_table import GlueTable
from lineage_bridge_dagster.catalogs.glue.reader import GlueDatabase, GlueReader
from lineage_bridge_dagster.collector.reading import Region, pages
from lineage_bridge_dagster.collector.rows import Source


class Pages:
    """Pages of one table each, of which the last one may fail; `asked` counts them."""

    def __init__(self, count: int, error: BaseException | None = None) -> None:
        self.count, self.error = count, error
        self.asked = 0
        self._lock = threading.Lock()

    def pages(self, database: str) -> Iterator[list[GlueTable]]:
        for number in range(self.count):
            with self._lock:
                self.asked += 1
            yield [GlueTable.from_raw({"Name": f"t{number}"}, database)]
        if self.error:
            raise self.error


def region(name: str, listed: Pages, databases: int = 1) -> Region:
    return Region(
        Source("acme", name, "123456789012"),
        cast(GlueReader, cast(Any, listed)),
        tuple(GlueDatabase(f"db{number}") for number in range(databases)),
    )


def test_pages_are_asked_for_only_as_fast_as_they_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lineage_bridge_dagster.collector.reading._PAGES_IN_MEMORY", 8)
    regions = {name: Pages(50) for name in ("us-east-1", "eu-west-1")}
    written = 0
    for page in pages([region(name, listed, databases=10) for name, listed in regions.items()], 10):
        if not page.last:
            assert sum(listed.asked for listed in regions.values()) <= written + 8
            written += 1
    assert written == 2 * 10 * 50


def test_region_that_does_not_answer_does_not_hold_up_the_others() -> None:
    answered = threading.Event()

    class Stuck(Pages):
        def pages(self, database: str) -> Iterator[list[GlueTable]]:
            assert answered.wait(30)
            yield from super().pages(database)

    found = []
    for page in pages([region("us-east-1", Stuck(1), 40), region("eu-west-1", Pages(5), 40)], 4):
        found.append(page.source.region)
        if found.count("eu-west-1") == 40 * 6:
            answered.set()
    assert found.count("us-east-1") == 40 * 2


def test_readers_stop_when_the_caller_does() -> None:
    listed = Pages(1_000)
    reading = cast(Any, pages([region("us-east-1", listed, databases=20)], 8))
    next(reading)
    reading.close()
    assert not [each for each in threading.enumerate() if each.name.startswith("glue-extract")]
    assert listed.asked < 100


@pytest.mark.parametrize(
    ("error", "told"), [(CallError("throttled"), True), (NotFoundError("dropped"), False), (None, False)]
)
def test_last_page_of_a_database_tells_why_tables_may_be_missing(error: CallError | None, told: bool) -> None:
    found = list(pages([region("us-east-1", Pages(2, error))], 1))
    assert [page.last for page in found] == [False, False, True]
    assert (found[-1].error is error) is (told or error is None)


def test_bug_in_a_reader_reaches_the_caller() -> None:
    with pytest.raises(ZeroDivisionError):
        list(pages([region("us-east-1", Pages(2, ZeroDivisionError()), databases=20)], 4))
