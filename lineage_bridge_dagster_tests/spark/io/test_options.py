"""What metadata may ask of the IO manager, and what is refused before anything runs."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from dagster import MetadataValue

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.spark.io.options import ReadOptions, WriteOptions, milliseconds


def resolve(
    definition: dict[str, Any], output: dict[str, Any] | None = None, *, partitioned: bool = False
) -> WriteOptions:
    return WriteOptions.resolve(
        definition, output or {}, WriteOptions(), partitioned=partitioned, shown="sales/orders"
    )


def test_an_output_s_own_metadata_wins_over_its_definition_s_and_that_over_the_default() -> None:
    assert resolve({}).write_mode == "overwrite"
    assert resolve({"write_mode": "append"}).write_mode == "append"
    assert resolve({"write_mode": MetadataValue.text("append")}, {"preview_rows": 0}).preview_rows == 0
    # What the definition says for its own mode is no error in another one, once.
    merging = {"write_mode": "merge", "join_cols": ["id"], "delete_column": "gone"}
    once = resolve(merging, {"lineage_bridge/write_mode": MetadataValue.text("append")})
    assert (once.write_mode, once.join_cols, once.delete_column) == ("append", (), "")


def test_the_prefix_is_optional_and_other_metadata_is_no_matter() -> None:
    found = resolve(
        {
            "lineage_bridge/write_mode": "merge",
            "join_cols": MetadataValue.json(["a", "b"]),
            "dagster/table_name": "db.t",
            "lineage_bridge/node_type": "catalog_table",
            "team": "sales",
            "other/write_mode": "upsert",
        }
    )
    assert (found.write_mode, found.join_cols) == ("merge", ("a", "b"))


@pytest.mark.parametrize("key", ["wite_mode", "write-mode", "lineage_bridge/writemode", "join_columns"])
def test_a_typo_is_refused_with_the_name_it_is_near(key: str) -> None:
    near = "join_cols" if key.startswith("join") else "write_mode"
    with pytest.raises(ConfigurationError, match=rf"{key} on sales/orders is no option[^>]*> .*{near}"):
        resolve({key: "append"})


@pytest.mark.parametrize(
    ("definition", "message"),
    [
        ({"write_mode": "upsert"}, "one of append, overwrite, overwrite_slice, merge"),
        ({"write_mode": "merge"}, "does not say on which columns"),
        ({"write_mode": "append", "join_cols": ["id"]}, "join_cols of sales/orders does nothing"),
        (
            {"write_mode": "overwrite", "overwrite_filter": "a = 1"},
            "overwrite_filter of sales/orders does noth",
        ),
        ({"write_mode": "overwrite_slice"}, "replaces a slice, and does not say which"),
        ({"write_mode": "merge", "join_cols": ["id"], "delete_column": "id"}, "is one of its join_cols"),
        ({"preview_rows": 1000}, "0 to 100"),
        ({"schema_update_mode": "yes"}, "one of error, update"),
        ({"join_cols": []}, "a list of texts"),
        ({"write_mode": "append", "lineage_bridge/write_mode": "merge"}, "says write_mode twice"),
    ],
)
def test_what_can_not_be_meant_is_refused(definition: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        resolve(definition)


def test_an_asset_with_partitions_replaces_its_slice_and_never_the_table() -> None:
    assert resolve({"partition_expr": "day"}, partitioned=True).write_mode == "overwrite_slice"
    with pytest.raises(ConfigurationError, match="would drop all but this run's"):
        resolve({"partition_expr": "day", "write_mode": "overwrite"}, partitioned=True)
    with pytest.raises(ConfigurationError, match="does not say where its rows hold them"):
        resolve({}, partitioned=True)
    with pytest.raises(ConfigurationError, match="overwrite_filter is not used"):
        resolve(
            {"write_mode": "overwrite_slice", "partition_expr": "d", "overwrite_filter": "a"},
            partitioned=True,
        )
    assert resolve({"write_mode": "append"}, partitioned=True).write_mode == "append"


def test_read_options_are_for_the_kinds_of_assets_that_have_them() -> None:
    table = ReadOptions.from_metadata(
        {"columns": ["a"], "filter": "a > 1", "as_of": "2026-04-30T12:00:00+02:00"}, "table", "glue/db/t"
    )
    assert table.columns == ("a",)
    assert table.as_of == 1_777_543_200_000
    topic = ReadOptions.from_metadata({"starting_offsets": {"0": 5}}, "topic", "kafka/lkc/t")
    assert topic.starting_offsets == {0: 5}
    with pytest.raises(ConfigurationError, match="snapshot_id does not apply to kafka/lkc/t, a topic"):
        ReadOptions.from_metadata({"snapshot_id": "1"}, "topic", "kafka/lkc/t")
    with pytest.raises(ConfigurationError, match="incremental does not apply to c, a chain"):
        ReadOptions.from_metadata({"incremental": True}, "chain", "c")


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"colums": ["a"]}, "Did you mean columns"),
        ({"limit": 3}, "The options are columns, filter"),
        ({"snapshot_id": 1, "as_of": "2026-01-01"}, "says both snapshot_id and as_of"),
        ({"end_snapshot_id": 2}, "without a start_snapshot_id"),
        ({"as_of": 1_700_000_000}, "look like seconds"),
        ({"as_of": "yesterday"}, "as_of on t is 'yesterday'"),
        ({"incremental": "maybe"}, "true or false"),
        ({"snapshot_id": True}, "whole number"),
    ],
)
def test_what_an_input_can_not_mean_is_refused(metadata: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        ReadOptions.from_metadata(metadata, "table", "t")


def test_moments_are_read_in_every_spelling() -> None:
    noon = 1_777_550_400_000
    for value in (
        "2026-04-30T12:00:00Z",
        "2026-04-30 12:00",
        noon,
        str(noon),
        datetime(2026, 4, 30, 12, tzinfo=UTC),
    ):
        assert milliseconds(value) == noon
