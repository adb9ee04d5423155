"""Hosts and ports of addresses, as people write them in configurations."""

from __future__ import annotations

import pytest

from lineage_bridge_dagster.confluent.connectors.addresses import authority, host_and_port


@pytest.mark.parametrize(
    ("address", "host", "port"),
    [
        ("DB.Example:5432", "db.example", "5432"),
        ("db.example", "db.example", ""),
        ("db.example:", "db.example", ""),
        ("https://bob:secret@api.example:8443/v1?key=secret#top", "api.example", "8443"),
        ("https://bob:p@ss@api.example/v1", "api.example", ""),
        ("a.example:1, b.example:2", "a.example", "1"),
        ("[2001:DB8::1]:9042", "[2001:db8::1]", "9042"),
        ("2001:db8::1", "[2001:db8::1]", ""),
        (r"sql.example\SALES:1433", "sql.example", "1433"),
        ("db.example.", "db.example", ""),
    ],
)
def test_first_host_in_lower_case_with_its_port(address: str, host: str, port: str) -> None:
    assert host_and_port(address) == (host, port)


@pytest.mark.parametrize(
    "address",
    ["", "[", "https://[", "http://[::1", "[1]", "https://[not-an-address]/x", "db:port", "https:///path"],
)
def test_malformed_address_has_no_host(address: str) -> None:
    assert host_and_port(address) == ("", "")
    assert authority(address) == ""
