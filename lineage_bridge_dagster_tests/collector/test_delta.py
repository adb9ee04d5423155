"""What counts as changed and as dropped: the edges of the range, and what Glue may list."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, cast

import pytest

from lineage_bridge_dagster.catalogs.errors import CallError
from lineage_bridge_dagster.catalogs.glue.reader import GlueDatabase
from lineage_bridge_dagster.collector.delta import Delta, SeenFile
from lineage_bridge_dagster.collector.files import ExtractFiles
from lineage_bridge_dagster.collector.layout import Kind
from lineage_bridge_dagster.collector.marks import Identifier, MarkState, time_of
from lineage_bridge_dagster.collector.reading import Page, Region
from lineage_bridge_dagster.collector.rows import Source
from lineage_bridge_dagster_tests.catalogs.glue.catalog import glue_table

MARK, END = "2026-11-22 10:00:00", "2026-11-22 11:00:00"
OVERLAP = timedelta(minutes=5)
REGION = "us-east-1"
LONG_AGO = time_of("2020-01-01 00:00:00")


class Rows:
    """Takes the rows of an extract, by kind."""

    def __init__(self) -> None:
        self.by_kind: dict[str, list[dict[str, Any]]] = defaultdict(list)

    def write(self, kind: Kind, row: tuple[Any, ...]) -> None:
        self.by_kind[kind.name].append(dict(zip(kind.header, row, strict=True)))

    def names(self, kind: str) -> list[str]:
        return [f"{row['database']}.{row['table']}".rstrip(".") for row in self.by_kind[kind]]


@pytest.fixture
def seen() -> Iterator[SeenFile]:
    with SeenFile() as file:
        yield file


def extract(
    seen: SeenFile,
    *tables: tuple[str, datetime | None],
    previous: MarkState | None = None,
    catalog: str = "123456789012",
    start: str = MARK,
    error: CallError | None = None,
) -> tuple[Rows, MarkState]:
    """The rows of an extract of one database, `sales`, with tables by name and time of change."""
    rows = Rows()
    delta = Delta(cast(ExtractFiles, cast(Any, rows)), seen, previous, MARK, start, END, OVERLAP)
    source = Source("acme", REGION, "")
    sales = GlueDatabase("sales", raw={"Name": "sales", "CatalogId": catalog})
    delta.add_region(Region(source, None, (sales,)))
    listed = [glue_table(name, "sales", UpdateTime=time, CatalogId=catalog) for name, time in tables]
    delta.add_page(Page(source, sales, tuple(listed)))
    delta.add_page(Page(source, sales, last=True, error=error))
    return rows, delta.finish([REGION])


def test_range_takes_in_its_ends_and_the_overlap_beyond_them(seen: SeenFile) -> None:
    start, end, instant = time_of(MARK) - OVERLAP, time_of(END) + OVERLAP, timedelta(milliseconds=1)
    times = {
        "too_early": start - instant,
        "first": start,
        "mark": time_of(MARK),
        "last": end,
        "too_late": end + instant,
    }
    rows, _ = extract(seen, *times.items())
    assert rows.names("tables") == ["sales.first", "sales.mark", "sales.last"]
    assert len(rows.by_kind["identifiers"]) == 1 + len(times)


def test_table_after_one_range_is_in_the_next(seen: SeenFile) -> None:
    late = time_of(END) + OVERLAP + timedelta(seconds=1)
    rows, state = extract(seen, ("late", late))
    assert rows.names("tables") == []
    with SeenFile() as again:
        delta = Delta(cast(Any, Rows()), again, state, END, END, "2026-11-22 12:00:00", OVERLAP)
        source, sales = Source("acme", REGION, ""), GlueDatabase("sales")
        delta.add_region(Region(source, None, (sales,)))
        delta.add_page(Page(source, sales, (glue_table("late", "sales", UpdateTime=late),)))
        assert delta.changed == 1


def test_table_without_a_time_of_change_is_in_each_extract(seen: SeenFile) -> None:
    raw = {"UpdateTime": None, "CreateTime": None}
    rows = Rows()
    delta = Delta(cast(Any, rows), seen, MarkState(), MARK, MARK, END, OVERLAP)
    sales = GlueDatabase("sales")
    delta.add_page(Page(Source("acme", REGION, ""), sales, (glue_table("orders", "sales", **raw),)))
    assert rows.names("tables") == ["sales.orders"]
    assert rows.by_kind["identifiers"][0]["update_time"] is None


def test_mark_without_a_state_leaves_old_tables_out(seen: SeenFile) -> None:
    rows, _ = extract(seen, ("old", LONG_AGO), previous=None)
    assert rows.names("tables") == []


def test_start_after_the_mark_leaves_out_what_is_new_and_old(seen: SeenFile) -> None:
    rows, _ = extract(seen, ("old", LONG_AGO), previous=MarkState(), start="2026-11-22 10:30:00")
    assert rows.names("tables") == []


def test_table_that_is_listed_twice_has_its_rows_once(seen: SeenFile) -> None:
    rows, state = extract(seen, ("orders", time_of(MARK)), ("orders", time_of(END)))
    assert rows.names("tables") == ["sales.orders"]
    assert rows.names("identifiers") == ["sales", "sales.orders"]
    assert [each.table for each in state.identifiers] == ["", "orders"]


def test_another_catalog_comes_whole_and_nothing_of_the_last_one_counts_as_dropped(seen: SeenFile) -> None:
    known = (Identifier(REGION, "sales", "orders"), Identifier(REGION, "sales", "gone"))
    previous = MarkState(identifiers=known, catalogs={REGION: "999999999999"})
    rows, state = extract(seen, ("orders", LONG_AGO), previous=previous)
    assert rows.names("tables") == ["sales.orders"]
    assert rows.names("deletions") == []
    assert state.catalogs[REGION] not in ("123456789012", "999999999999")
    again, _ = extract(seen, previous=replace(state, identifiers=known))
    assert again.names("deletions") == ["sales.orders", "sales.gone"]


@pytest.mark.parametrize("error", [None, CallError("page 2 failed")])
def test_only_a_listing_that_came_to_its_end_tells_what_was_dropped(
    seen: SeenFile, error: CallError | None
) -> None:
    known = tuple(Identifier(REGION, "sales", name, "table", "2020-01-01T00:00:00.000Z") for name in "ab")
    rows, state = extract(seen, ("a", LONG_AGO), previous=MarkState(identifiers=known), error=error)
    assert rows.names("deletions") == ([] if error else ["sales.b"])
    assert [each.table for each in state.identifiers] == (["", "a", "b"] if error else ["", "a"])
    assert state.behind == ({f"{REGION}/sales": MARK} if error else {})
    assert [row["status"] for row in rows.by_kind["coverage"]] == [
        "complete",
        "partial" if error else "complete",
    ]
