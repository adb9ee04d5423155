from __future__ import annotations

import pytest

from lineage_bridge_dagster.catalogs.glue.glue_table import GlueTable
from lineage_bridge_dagster.catalogs.glue.reader import GlueDatabase
from lineage_bridge_dagster.collector import reading
from lineage_bridge_dagster.collector.reading import ExtractProgress, Page, Region
from lineage_bridge_dagster.collector.rows import Source
from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog
from lineage_bridge_dagster_tests.collector.conftest import MakeExtractor


@pytest.fixture
def lines(extractor: MakeExtractor, aws: StrictAws, catalog: Catalog) -> list[str]:
    """The lines of an extract of two regions, of which a third one cannot be listed."""
    for name in ("a", "b", "c"):
        catalog.create(name, "sales")
    catalog.create("people", "hr")
    Catalog(aws, "eu-west-1").create("orders", "lager")
    aws.fail("GetDatabases", "AccessDeniedException", times=None, region="ap-east-1")
    told: list[str] = []
    made = extractor(regions=["us-east-1", "eu-west-1", "ap-east-1"], max_concurrency=1)
    made._progress = told.append
    made.run()
    return told


def test_each_region_says_what_it_has_and_when_it_is_done(lines: list[str]) -> None:
    assert {
        "us-east-1: 2 databases",
        "eu-west-1: 1 database",
        "ap-east-1: its databases could not be listed",
        "us-east-1: read all, 4 tables",
        "eu-west-1: read all, 1 table",
    } <= set(lines)
    assert lines[-1] == "Read 5 tables, 5 of them changed"


def test_long_run_says_how_far_each_region_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "EVERY", 3)
    us, eu = (Source("glue", region, "") for region in ("us-east-1", "eu-west-1"))
    sales, people, lager = (GlueDatabase(name) for name in ("sales", "hr", "lager"))
    tables = tuple(GlueTable.from_raw({"Name": name}, "sales") for name in ("a", "b"))
    told: list[str] = []
    read = ExtractProgress(told.append)
    read.listed([Region(us, None, (sales, people)), Region(eu, None, (lager,))])
    del told[:]
    for page in (Page(us, sales, tables), Page(eu, lager, tables), Page(us, sales, tables[:1], last=True)):
        read.add(page)
    assert told == ["4 tables so far: us-east-1 2 in 0 of 2 databases, eu-west-1 2 in 0 of 1 database"]
    read.add(Page(us, people, tables, last=True))
    read.add(Page(eu, lager, tables, last=True))
    assert told[1:] == ["us-east-1: read all, 5 tables", "eu-west-1: read all, 4 tables"]
