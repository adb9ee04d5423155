"""Names of external datasets."""

from __future__ import annotations

import pytest

from lineage_bridge_dagster.confluent.connectors.datasets import host_of


@pytest.mark.parametrize("address", ["[", "https://[", "http://[::1", "[1]", "https://[not-an-address]/x"])
def test_malformed_address_has_no_host(address: str) -> None:
    assert host_of(address) == ""
