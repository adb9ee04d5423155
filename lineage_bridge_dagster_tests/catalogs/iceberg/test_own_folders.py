"""Which locations and files are a table's own, by our own configuration."""

from __future__ import annotations

import pytest

from lineage_bridge_dagster.catalogs.iceberg.own_folders import (
    OwnFolders,
    given_paths,
    is_indirect,
    normalized,
)

UUID = "0f8c4b1e-5c07-4e55-9f4b-1f3a6a1d2c3b"
WAREHOUSE = {"warehouse": "s3://lake/warehouse"}
GLUE = {**WAREHOUSE, "namespace": "s3://other/sales-files"}
NAMED = {"warehouse": "prod"}


@pytest.mark.parametrize(
    ("known", "location", "is_own"),
    [
        # Glue's and Hive's layout, and that of JDBC and most REST servers.
        (WAREHOUSE, "s3://lake/warehouse/sales.db/orders", True),
        (WAREHOUSE, "s3://lake/warehouse/sales/orders/", True),
        (WAREHOUSE, "s3a://lake/warehouse/sales.db/orders", True),
        # `unique-table-location`, and Nessie's.
        (WAREHOUSE, f"s3://lake/warehouse/sales.db/orders-{UUID}", True),
        (WAREHOUSE, f"s3://lake/warehouse/sales.db/orders_{UUID}", True),
        (WAREHOUSE, f"s3://lake/warehouse/sales.db/orders-{UUID.replace('-', '')}", True),
        # Another table's folder, another database's, and folders above and below its own.
        (WAREHOUSE, "s3://lake/warehouse/sales.db/customers", False),
        (WAREHOUSE, f"s3://lake/warehouse/sales.db/customers-{UUID}", False),
        (WAREHOUSE, "s3://lake/warehouse/sales.db/orders_archive", False),
        (WAREHOUSE, "s3://lake/warehouse/hr.db/orders", False),
        (WAREHOUSE, "s3://lake/warehouse/sales.db", False),
        (WAREHOUSE, "s3://lake/warehouse", False),
        (WAREHOUSE, "s3://lake", False),
        (WAREHOUSE, "", False),
        (WAREHOUSE, "s3://lake/warehouse/sales.db/orders/customers", False),
        # Another place of the same names, and one that only begins alike.
        (WAREHOUSE, "s3://theirs/warehouse/sales.db/orders", False),
        (WAREHOUSE, "s3://lake/warehouse2/sales.db/orders", False),
        (WAREHOUSE, "gs://lake/warehouse/sales.db/orders", False),
        (WAREHOUSE, "s3://lake/Warehouse/sales.db/orders", False),
        (WAREHOUSE, "s3://lake/warehouse/hr.db/../sales.db/orders", False),
        (WAREHOUSE, "s3://lake/warehouse/sales.db/./orders", False),
        # A Glue database with a LocationUri.
        (GLUE, "s3://other/sales-files/orders", True),
        (GLUE, "s3://other/sales-files/customers", False),
        ({"namespace": "s3://other/sales-files"}, "s3://lake/warehouse/sales.db/orders", False),
        # The configured location, and nothing else for a table that is elsewhere.
        ({**WAREHOUSE, "location": "s3://fast/orders/"}, "s3://fast/orders", True),
        ({**WAREHOUSE, "location": "s3://fast/orders"}, "s3://fast/orders/more", False),
        ({**WAREHOUSE, "location": "s3://fast/orders"}, "s3://fast/customers", False),
        ({**WAREHOUSE, "paths": ("s3://fast/shared",)}, "s3://fast/shared", False),
        # A server that names folders by ids.
        ({"namespace": "s3://lake/0a1b", "uuid": UUID}, f"s3://lake/0a1b/{UUID}", True),
        ({"namespace": "s3://lake/0a1b", "uuid": UUID}, "s3://lake/0a1b/another-id", False),
        # A REST server whose warehouse has a name alone.
        (NAMED, "s3://lake/any/sales/orders", True),
        (NAMED, "s3://lake/any/sales.db/orders", True),
        (NAMED, "s3://lake/any/sales/customers", False),
        (NAMED, "s3://lake/any/hr/orders", False),
        ({}, "s3://lake/orders", False),
        # Local folders.
        ({"warehouse": "file:///srv/lake"}, "/srv/lake/sales.db/orders", True),
        ({"warehouse": "/srv/lake"}, "file:/srv/lake/sales.db/orders", True),
        ({"warehouse": "/srv/lake"}, "/srv/lake/sales.db/../sales.db/orders", False),
    ],
)
def test_location_is_the_one_that_the_configuration_gives(
    known: dict[str, str], location: str, is_own: bool
) -> None:
    assert OwnFolders("sales", "orders", **known).has_location(location) is is_own  # type: ignore[arg-type]


def test_tables_without_an_id_are_not_known_by_a_folder_without_a_name() -> None:
    assert not OwnFolders("sales", "orders", namespace="s3://lake/sales").has_location("s3://lake/sales//")


def test_files_are_in_the_tables_location_in_the_default_one_or_where_the_configuration_has_them() -> None:
    own = OwnFolders(
        "sales",
        "orders",
        location="s3a://fast/orders/",
        paths=given_paths({"write.data.path": "s3://bulk/orders", "write.format.default": "parquet"}),
        warehouse="s3://lake/warehouse/",
    )
    assert own.of_files("s3://fast/orders") == (
        "s3://fast/orders/",
        "s3://bulk/orders/",
        "s3://lake/warehouse/sales.db/orders/",
        "s3://lake/warehouse/sales/orders/",
    )
    assert OwnFolders("sales", "orders", warehouse="prod").of_files("") == ()


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("s3://lake/a/../b/x.parquet", True),
        ("../x", True),
        ("s3://lake/a/.", True),
        ("s3://lake/a/.hidden/..x", False),
        ("s3://lake/orders.v1/x.parquet", False),
    ],
)
def test_path_that_may_leave_its_folder(path: str, expected: bool) -> None:
    assert is_indirect(path) is expected


def test_schemes_of_one_store_are_one() -> None:
    assert len({normalized(f"{scheme}://b/p/") for scheme in ("s3", "S3", "s3a", "s3n")}) == 1
    assert normalized("s3://b/P") != normalized("s3://b/p")
    assert normalized("abfss://c@a.dfs.core.windows.net/t") == "abfss://c@a.dfs.core.windows.net/t"
