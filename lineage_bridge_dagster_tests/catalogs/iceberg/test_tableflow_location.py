"""Where Tableflow keeps the files of a table."""

from __future__ import annotations

import pytest

from lineage_bridge_dagster.catalogs.iceberg.own_folders import is_tableflow_location


@pytest.mark.parametrize(
    ("location", "tableflows"),
    [
        ("s3://bucket/10011010/11101100/org-1/env-2/lkc-3/v1/tableId", True),
        ("s3://bucket/10011010/11101100/org-1/env-2/lkc-3/v1/tableId/", True),
        ("abfss://c@account.dfs.core.windows.net/00/11/org-1/env-2/lkc-3/v1/tableId", True),
        ("s3://bucket/warehouse/lkc-3.db/orders", False),
        ("s3://bucket/env-2/orders", False),
        ("s3://bucket/10011010/11101100/org-1/env-2/lkc-3/v1", False),
        ("", False),
    ],
)
def test_location_of_a_topics_table(location: str, tableflows: bool) -> None:
    assert is_tableflow_location(location) is tableflows
