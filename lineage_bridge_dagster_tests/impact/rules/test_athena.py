"""Athena views over tables that change."""

from __future__ import annotations

import pytest

from lineage_bridge_dagster.impact.change import DropColumn, DropNode
from lineage_bridge_dagster.impact.world import NodeKind, NodeRef
from lineage_bridge_dagster_tests.impact.conftest import Judge, avro, register, world

TABLE = NodeRef(NodeKind.GLUE, "lake.orders")


def over(**views: str) -> dict[str, object]:
    schemas = {"orders": avro(id="string", qty="int", note="string?"), "c": avro(id="string", name="string?")}
    return world(schemas, tableflow={"orders": "APPEND", "c": "APPEND"}, views=views)


@pytest.mark.parametrize(
    ("query", "stale"),
    [
        ("SELECT * FROM lake.orders", True),
        ("SELECT o.* FROM lake.orders o", True),
        ("SELECT c.* FROM lake.orders o JOIN lake.c ON o.id = c.id", False),
        ("SELECT id FROM (SELECT * FROM lake.orders)", False),
        ("WITH x AS (SELECT * FROM lake.orders) SELECT * FROM x", True),
        ("SELECT COUNT(*) AS n FROM lake.orders", False),
        ("SELECT id, qty, note FROM lake.orders", False),
        ("SELECT * FROM lake.orders WHERE qty > 1 UNION ALL SELECT id, qty, note FROM lake.orders", True),
    ],
)
def test_a_star_is_stale_over_a_table_that_gained_a_column(judge: Judge, query: str, stale: bool) -> None:
    found = judge(over(v=query), register("orders", id="string", qty="int", note="string?", new="string?"))
    assert found.get("view : lake.v") == (("breaks", "new") if stale else None)


@pytest.mark.parametrize(
    ("query", "stale"),
    [
        ("SELECT qty FROM lake.orders", True),
        ("SELECT id, qty AS n FROM lake.orders", True),
        ("SELECT qty * 2 AS n FROM lake.orders", True),
        ("SELECT MAX(qty) AS n FROM lake.orders", True),
        ("SELECT COALESCE(qty, 0) AS n FROM lake.orders", True),
        ("SELECT SUM(qty) AS n FROM lake.orders", False),
        ("SELECT CAST(qty AS bigint) AS n FROM lake.orders", False),
        ("SELECT id FROM lake.orders WHERE qty > 3", False),
        ("SELECT COUNT(qty) AS n FROM lake.orders GROUP BY qty", False),
        ("SELECT id, ROW_NUMBER() OVER (PARTITION BY qty ORDER BY qty) AS n FROM lake.orders", False),
        ("SELECT CASE WHEN qty > 3 THEN 'many' ELSE 'few' END AS n FROM lake.orders", False),
    ],
)
def test_a_view_that_shows_a_widened_column_is_stale(judge: Judge, query: str, stale: bool) -> None:
    found = judge(over(v=query), register("orders", id="string", qty="long", note="string?"))
    assert found.get("view : lake.v", ("", None))[0] == ("breaks" if stale else "")


def test_a_view_over_a_stale_view_fails_with_it(judge: Judge) -> None:
    before = over(v="SELECT * FROM lake.orders", w="SELECT id FROM lake.v", x="SELECT id FROM v JOIN lake.c")
    found = judge(before, register("orders", id="string", qty="int", note="string?", new="string?"))
    assert found["view : lake.w"][0] == found["view : lake.x"][0] == "breaks"


@pytest.mark.parametrize(
    ("query", "verdict"),
    [
        ("SELECT id, note FROM lake.orders", "breaks"),
        ("SELECT id FROM lake.orders WHERE note = 'x'", "breaks"),
        ("SELECT * FROM lake.orders", "breaks"),
        ("SELECT id FROM lake.orders", ""),
        ("SELECT ID, Note FROM Lake.Orders", "breaks"),
        ("SELECT id FROM lake.orders ORDER BY note", "breaks"),
        ("SELECT id AS note FROM lake.orders ORDER BY note", ""),
        ("WITH x AS (SELECT id, note FROM lake.orders) SELECT id FROM x", "breaks"),
    ],
)
def test_a_column_that_is_dropped_breaks_the_views_that_name_it(
    judge: Judge, query: str, verdict: str
) -> None:
    found = judge(over(v=query), DropColumn(TABLE, "note"))
    assert found.get("view : lake.v", ("", None))[0] == verdict


def test_a_table_that_is_dropped_breaks_its_views(judge: Judge) -> None:
    found = judge(over(v="SELECT id FROM lake.orders", w="SELECT id FROM lake.c"), DropNode(TABLE))
    assert found == {"view : lake.v": ("breaks", None)}


def test_a_column_that_is_null_reaches_the_views_that_show_or_use_it(judge: Judge) -> None:
    before = world(
        {"src": avro(id="string", note="string?"), "t": avro(id="string", note="string?")},
        statements={"s": "INSERT INTO t SELECT id, note FROM src"},
        tableflow={"t": "APPEND"},
        views={
            "shows": "SELECT Note AS N FROM lake.t",
            "over": "SELECT N AS m FROM lake.shows",
            "filters": "SELECT id FROM lake.t WHERE note = 'x'",
            "neither": "SELECT id FROM lake.t ORDER BY note",
        },
    )
    found = judge(before, register("src", id="string"))
    assert found["view : lake.shows"] == ("loses_data", "n")
    assert found["view : lake.over"] == ("loses_data", "m")
    assert found["view : lake.filters"] == ("loses_data", None)
    assert "view : lake.neither" not in found


def test_a_view_that_is_not_understood_is_a_gap(judge: Judge) -> None:
    from lineage_bridge_dagster.impact.analysis import impact
    from lineage_bridge_dagster.impact.world import World

    found = impact(World.of_json(over(v="SELECT FROM WHERE")), [DropNode(TABLE)])
    assert [str(gap.node) for gap in found.gaps] == ["view : lake.v"]
    assert found.is_incomplete
