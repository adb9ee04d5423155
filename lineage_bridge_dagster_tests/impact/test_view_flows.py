"""The columns of views in Athena's SQL."""

from __future__ import annotations

import pytest

from lineage_bridge_dagster.impact.view_flows import view_jobs
from lineage_bridge_dagster.impact.world import AthenaView, NodeKind, NodeRef

TABLES = {
    NodeRef(NodeKind.GLUE, "d.orders"): ("id", "customer", "amount", "items"),
    NodeRef(NodeKind.GLUE, "d.rates"): ("k", "rate", "validFrom"),
}


@pytest.mark.parametrize(
    ("sql", "columns"),
    [
        (
            "WITH c (who, total) AS (SELECT customer, SUM(amount) FROM orders GROUP BY 1)"
            " SELECT who, total / 2 AS half FROM c",
            {"who": {"customer"}, "half": {"amount"}},
        ),
        ("SELECT a, b FROM (SELECT id, amount FROM orders) AS t (a, b)", {"a": {"id"}, "b": {"amount"}}),
        (
            "WITH RECURSIVE r (n) AS (SELECT id FROM orders UNION ALL"
            " SELECT o.id FROM orders o JOIN r ON o.customer = r.n) SELECT n FROM r",
            {"n": {"id"}},
        ),
        (
            "SELECT id, item, place FROM orders, UNNEST(items) WITH ORDINALITY AS u (item, place)",
            {"id": {"id"}, "item": {"items"}},
        ),
        ("SELECT items FROM orders CROSS JOIN UNNEST(orders.items) AS u (items)", {"items": {"items"}}),
        (
            "SELECT R.ValidFrom AS Since, k FROM (SELECT * FROM Rates) r",
            {"since": {"validFrom"}, "k": {"k"}},
        ),
        (
            "SELECT o.id, x.top FROM orders o CROSS JOIN LATERAL"
            " (SELECT MAX(rate) AS top FROM rates WHERE rates.k = o.id) x",
            {"id": {"id"}, "top": {"rate"}},
        ),
    ],
)
def test_columns_of_a_view_come_from_those_of_its_tables(sql: str, columns: dict[str, set[str]]) -> None:
    (job,) = view_jobs([AthenaView("d", "v", sql)], TABLES)
    assert job.error == ""
    found = {each.name: {source.column for source in each.sources} for each in job.outputs[0].columns}
    assert {name: found[name] for name in columns} == columns
