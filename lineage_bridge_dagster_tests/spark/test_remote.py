"""How a client presents itself to a Spark Connect server."""

from __future__ import annotations

import pytest

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.spark.connect_address import SparkRemote
from lineage_bridge_dagster.spark.remote import channel_builder

TOKEN = {"LINEAGE_BRIDGE_SPARK_TOKEN": "hush"}
IN_HEADER = {**TOKEN, "LINEAGE_BRIDGE_SPARK_TOKEN_HEADER": "X-Aws-Proxy-Auth"}


def test_token_is_a_bearer_unless_a_header_is_named() -> None:
    bearer = channel_builder(SparkRemote.parse("sc://spark.internal"), TOKEN)
    assert (bearer.token, list(bearer.metadata()), bearer.secure) == ("hush", [], True)
    header = channel_builder(SparkRemote.parse("sc://emr.internal:443/;use_ssl=true"), IN_HEADER)
    assert header.secure
    assert (header.token, list(header.metadata())) == (None, [("x-aws-proxy-auth", "hush")])


def test_token_in_a_header_is_never_sent_without_tls() -> None:
    with pytest.raises(ConfigurationError, match="without TLS"):
        channel_builder(SparkRemote.parse("sc://emr.internal:443"), IN_HEADER)
