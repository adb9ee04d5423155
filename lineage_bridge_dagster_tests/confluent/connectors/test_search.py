"""Addresses of search engines, and of other systems that are reached by HTTP."""

from __future__ import annotations

import pytest

from lineage_bridge_dagster_tests.confluent.connectors.conftest import read

ELASTIC = "io.confluent.connect.elasticsearch.ElasticsearchSinkConnector"
AIVEN = "io.aiven.kafka.connect.opensearch.OpensearchSinkConnector"


@pytest.mark.parametrize(
    ("address", "authority"),
    [
        ("https://search-acme.eu-west-1.es.amazonaws.com", "search-acme.eu-west-1.es.amazonaws.com:443"),
        ("https://search-acme.eu-west-1.es.amazonaws.com/", "search-acme.eu-west-1.es.amazonaws.com:443"),
        ("http://es1.example", "es1.example:80"),
        ("HTTPS://es1.example", "es1.example:443"),
        ("https://es1.example,https://es2.example:9200", "es1.example:443"),
        ("https://es1.example:9243", "es1.example:9243"),
        ("es1.example", "es1.example:80"),
        ("es1.example:9200", "es1.example:9200"),
    ],
)
@pytest.mark.parametrize(("name", "engine"), [(ELASTIC, "elasticsearch"), (AIVEN, "opensearch")])
def test_address_without_a_port_has_that_of_its_scheme(
    name: str, engine: str, address: str, authority: str
) -> None:
    """The engines' clients know no other default: `HttpHost.create` of Apache HttpComponents."""
    found = read(name, {"topics": "orders", "connection.url": address}, ("orders",), kind="sink")
    assert found.datasets_written == (f"{engine}://{authority}/orders",)


@pytest.mark.parametrize(
    ("name", "config", "dataset"),
    [
        (
            "OpenSearchSink",
            {"instance.url": "https://search-acme.example/", "index1.name": "i", "index1.topic": "orders"},
            "opensearch://search-acme.example:443/i",
        ),
        (
            "InfluxDB2Sink",
            {"influxdb.url": "https://eu.influx.example", "influxdb.bucket": "b", "influxdb.org.id": "o"},
            "influxdb://eu.influx.example:443/b",
        ),
        (
            "SplunkSink",
            {"splunk.hec.uri": "https://hec.example", "splunk.indexes": "main"},
            "splunk://hec.example:443/main",
        ),
        (
            "ClickHouseSink",
            {"hostname": "ch.example", "database": "d"},
            "clickhouse://ch.example:8443/d.orders",
        ),
    ],
)
def test_default_port_of_a_system_is_for_addresses_that_name_no_scheme(
    name: str, config: dict[str, str], dataset: str
) -> None:
    assert read(name, {"topics": "orders", **config}, ("orders",), kind="sink").datasets_written == (dataset,)
