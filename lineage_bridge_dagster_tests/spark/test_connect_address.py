"""Where a Spark Connect server is, as users write it."""

from __future__ import annotations

import pytest

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.spark.connect_address import SparkRemote, remote_of


@pytest.mark.parametrize(
    ("url", "server", "tls"),
    [
        ("sc://spark.internal:15999", "sc://spark.internal:15999", False),
        ("sc://spark.internal", "sc://spark.internal:15002", False),
        ("sc://10.0.0.1:443/;use_ssl=true;user_id=dagster", "sc://10.0.0.1:443", True),
    ],
)
def test_address_of_a_server(url: str, server: str, tls: bool) -> None:
    found = SparkRemote.parse(url)
    assert (found.server, found.uses_tls, found.url) == (server, tls, url)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("spark://host:7077", "does not begin with sc://"),
        ("sc://host:port", "host or its port"),
        ("sc://:15002", "with a host"),
        ("sc://host:15002/path", "with a host, a port and parameters"),
        ("sc://host:15002/;use_ssl", "not name=value"),
    ],
)
def test_anything_else_is_refused_with_an_example(url: str, why: str) -> None:
    with pytest.raises(ConfigurationError, match=why) as raised:
        SparkRemote.parse(url)
    assert "sc://spark.internal:15002" in raised.value.hint


@pytest.mark.parametrize(
    "url",
    [
        "sc://host/;token=hunter2",
        "sc://host/;use_ssl=true;x-api-key=hunter2",
        "sc://me:hunter2@host",
        "sc://host/;use_ssl=true;hunter2",
    ],
)
def test_secrets_are_refused_and_not_shown(url: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        SparkRemote.parse(url)
    assert "hunter2" not in str(raised.value)


def test_server_and_master_together_are_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"Both spark.remote \(sc://a:15002\) and spark.master"):
        remote_of({"spark.remote": "sc://a", "spark.master": "local[2]"})


def test_sparks_own_variable_counts_where_nothing_else_is_set() -> None:
    variables = {"SPARK_REMOTE": "sc://ambient"}
    ambient = remote_of({}, variables)
    assert ambient is not None
    assert ambient.host == "ambient"
    assert remote_of({"spark.master": "local[2]"}, variables) is None
    named = remote_of({"spark.remote": "sc://named"}, variables)
    assert named is not None
    assert named.host == "named"
    assert remote_of({}) is None
