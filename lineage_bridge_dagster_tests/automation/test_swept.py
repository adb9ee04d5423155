"""What a sweep reads of a REST catalog: some of our tables at a time, each with a call of its own."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from dagster import AssetKey

from lineage_bridge_dagster.automation.loaded import IcebergPlace, LoadedTable
from lineage_bridge_dagster.automation.swept import TABLES_A_PAGE, SweptCatalog, SweptDatabase, sources_of
from lineage_bridge_dagster.catalogs.drift import Comparison, LineageState
from lineage_bridge_dagster.catalogs.errors import CallError, NotFoundError, ThrottledError
from lineage_bridge_dagster.catalogs.iceberg.table_reading import IcebergTable, Identifier
from lineage_bridge_dagster.lineage.glue_names import GluePlace

SEEN = Comparison(LineageState.IN_SYNC)


class Lake:
    """A catalog, in which some tables cannot be loaded."""

    def __init__(self, **errors: CallError) -> None:
        self.errors = errors
        self.asked: list[int] = []

    def __call__(
        self, catalog: str, names: Sequence[Identifier]
    ) -> list[tuple[Identifier, IcebergTable | CallError]]:
        assert catalog == "lake"
        self.asked.append(len(names))
        return [(name, self.errors.get(name[-1]) or _table(name)) for name in names]


def _table(name: Identifier) -> IcebergTable:
    return IcebergTable(name[:-1], name[-1], "uuid", (), "s3://b", {})


def loaded(name: Identifier) -> LoadedTable:
    return LoadedTable(
        ".".join(name),
        AssetKey(["glue", "lake", *name]),
        AssetKey(["upstream_chain", "lake", *name]),
        lambda: "v",
        lambda _: SEEN,
        None,
        IcebergPlace("lake", name),
    )


def ours(count: int) -> dict[Identifier, LoadedTable]:
    return {name: loaded(name) for number in range(count) if (name := ("sales", f"t{number:03d}"))}


def test_every_table_is_loaded_once_some_at_a_time() -> None:
    lake, tables = Lake(), ours(2 * TABLES_A_PAGE + 1)
    source = SweptCatalog("lake", tables, lake)
    token, seen = "", []
    while True:
        page = source.read(token)
        seen += [table.name for table, _ in page.compared]
        token = page.token
        if not token:
            break
    assert seen == sorted(".".join(name) for name in tables)
    assert lake.asked == [TABLES_A_PAGE, TABLES_A_PAGE, 1]


def test_a_table_that_could_not_be_loaded_is_not_looked_at_and_noted() -> None:
    lake = Lake(t001=ThrottledError("Slow down"), t002=NotFoundError("It is gone"))
    page = SweptCatalog("lake", ours(4), lake).read("")
    assert [table.name for table, _ in page.compared] == ["sales.t000", "sales.t003"]
    assert page.note == "1 table of catalog lake not read: Slow down"


def test_a_catalog_that_answers_for_no_table_could_not_be_read() -> None:
    lake = Lake(t000=ThrottledError("Slow down"), t001=ThrottledError("Slow down"))
    with pytest.raises(ThrottledError):
        SweptCatalog("lake", ours(2), lake).read("")


def test_tables_that_are_gone_are_no_error() -> None:
    page = SweptCatalog("lake", ours(1), Lake(t000=NotFoundError("It is gone"))).read("")
    assert page == ([], "", "")


def test_databases_and_catalogs_have_a_stable_order() -> None:
    in_glue = LoadedTable(
        "db.t", AssetKey("t"), AssetKey("c"), lambda: "v", lambda _: SEEN, GluePlace("db", "t")
    )
    tables = [*ours(1).values(), in_glue]
    found = sources_of(tables, lambda *_: ([], None), Lake())
    assert [(type(each), each.name) for each in found] == [
        (SweptCatalog, "catalog:lake"),
        (SweptDatabase, "db"),
    ]
    assert [each.name for each in sources_of(tables, None, Lake())] == ["catalog:lake"]
