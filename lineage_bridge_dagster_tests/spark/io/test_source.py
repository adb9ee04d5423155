"""The topic, table or chain that an asset's metadata identifies."""

from __future__ import annotations

import pytest

from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.spark.io.source import AssetSource


def test_our_own_keys_take_precedence_over_the_table_name() -> None:
    source = AssetSource.from_metadata(
        {
            "lineage_bridge/node_type": "catalog_table",
            "lineage_bridge/database": "lkc-1",
            "lineage_bridge/table": "o.v1",
            "dagster/table_name": "elsewhere.x",
        }
    )
    assert (source.database, source.table) == ("lkc-1", "o.v1")


def test_table_name_takes_precedence_over_the_asset_key() -> None:
    source = AssetSource.from_metadata({"dagster/table_name": "lkc-1.o.v1"}, ("glue", "x", "y"))
    assert (source.database, source.table) == ("lkc-1", "o.v1")


def test_metadata_without_the_topic_is_refused() -> None:
    with pytest.raises(LineageBridgeError, match="does not identify its topic"):
        AssetSource.from_metadata({"lineage_bridge/node_type": "kafka_topic"})


def test_a_placeholder_has_no_rows_whatever_its_key_looks_like() -> None:
    metadata = {
        "lineage_bridge/not_discovered": "No discovery has it",
        "lineage_bridge/next_step": "Run refresh",
    }
    with pytest.raises(LineageBridgeError, match=r"placeholder\. No discovery has it") as raised:
        AssetSource.from_metadata(metadata, ("upstream_chain", "lkc-1", "o.v1"))
    assert raised.value.hint == "Run refresh."
