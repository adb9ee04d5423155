from __future__ import annotations

import pytest

from lineage_bridge_dagster.lineage.glue_names import GluePlace, glue_table_name


@pytest.mark.parametrize(
    ("qualified_name", "place"),
    [
        ("glue://lkc-abc123/orders.v1", GluePlace("lkc-abc123", "orders.v1")),
        ("glue://123456789012.eu-west-1/db/t", GluePlace("db", "t", "123456789012.eu-west-1")),
        ("db/t", GluePlace("db", "t")),
    ],
)
def test_qualified_name_parses_to_a_place(qualified_name: str, place: GluePlace) -> None:
    assert GluePlace.parse(qualified_name) == place
    assert place.qualified_name == "glue://" + qualified_name.removeprefix("glue://")
    assert place.is_home == (place.away == "")


@pytest.mark.parametrize("name", ["", "glue://", "orders", "glue://db", "glue://db/", "glue:///t", "a/b/c/d"])
def test_name_without_database_and_table_is_no_place(name: str) -> None:
    assert GluePlace.parse(name) is None


def test_names_fold_to_lower_case_and_keep_their_dots() -> None:
    assert glue_table_name("Shop.Orders-V1") == "shop.orders-v1"
    assert GluePlace("DB", "Orders.V1", "1.eu").folded == GluePlace("db", "orders.v1", "1.eu")
    assert GluePlace("DB", "Orders.V1").dotted == "DB.Orders.V1"
