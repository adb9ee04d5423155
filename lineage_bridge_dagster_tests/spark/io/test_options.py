"""Options in metadata: how they are read, and what is refused before anything runs."""

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
        definition, output or {}, WriteOptions(), partitioned=partitioned, asset="sales/orders"
    )


def test_run_time_metadata_wins_over_the_definition_and_that_over_the_default() -> None:
    assert resolve({}).write_mode == "overwrite"
    assert resolve({"write_mode": "append"}).write_mode == "append"
    assert resolve({"write_mode": MetadataValue.text("append")}, {"preview_rows": 0}).preview_rows == 0
    # Options that the definition sets for its own mode are not an error in another mode at run time.
    merging = {"write_mode": "merge", "join_cols": ["id"], "delete_column": "gone"}
    once = resolve(merging, {"lineage_bridge/write_mode": MetadataValue.text("append")})
    assert (once.write_mode, once.join_cols, once.delete_column) == ("append", (), "")


def test_prefix_is_optional_and_other_metadata_is_ignored() -> None:
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
def test_typo_is_refused_with_the_nearest_name(key: str) -> None:
    near = "join_cols" if key.startswith("join") else "write_mode"
    with pytest.raises(ConfigurationError, match=rf"{key} on sales/orders is not an option[^>]*> .*{near}"):
        resolve({key: "append"})


@pytest.mark.parametrize(
    ("definition", "message"),
    [
        (
            {"write_mode": "upsert"},
            "write_mode on sales/orders is 'upsert': Input should be 'append', 'overwrite', "
            "'overwrite_slice' or 'merge'",
        ),
        ({"write_mode": "merge"}, "merges without join_cols"),
        ({"write_mode": "append", "join_cols": ["id"]}, "join_cols of sales/orders has no effect"),
        (
            {"write_mode": "overwrite", "overwrite_filter": "a = 1"},
            "overwrite_filter of sales/orders has no effect",
        ),
        ({"write_mode": "overwrite_slice"}, "replaces a slice without an overwrite_filter"),
        ({"write_mode": "merge", "join_cols": ["id"], "delete_column": "id"}, "is one of its join_cols"),
        ({"preview_rows": 1000}, "less than or equal to 100"),
        ({"preview_rows": 1.5}, "valid integer"),
        ({"schema_update_mode": "yes"}, "'error' or 'update'"),
        ({"join_cols": []}, "join_cols on sales/orders is .*: a value is required"),
        ({"join_cols": ["id", " "]}, "at least 1 character"),
        ({"partition_expr": " "}, "a value is required"),
        ({"write_mode": "append", "lineage_bridge/write_mode": "merge"}, "sets write_mode twice"),
    ],
)
def test_malformed_and_contradicting_write_options_are_refused(
    definition: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        resolve(definition)


def test_asset_with_partitions_replaces_its_slice_and_never_the_table() -> None:
    assert resolve({"partition_expr": "day"}, partitioned=True).write_mode == "overwrite_slice"
    with pytest.raises(ConfigurationError, match="would drop all but this run's"):
        resolve({"partition_expr": "day", "write_mode": "overwrite"}, partitioned=True)
    with pytest.raises(ConfigurationError, match="has partitions and no partition_expr"):
        resolve({}, partitioned=True)
    with pytest.raises(ConfigurationError, match="overwrite_filter is not used"):
        resolve(
            {"write_mode": "overwrite_slice", "partition_expr": "d", "overwrite_filter": "a"},
            partitioned=True,
        )
    assert resolve({"write_mode": "append"}, partitioned=True).write_mode == "append"


def test_read_options_apply_only_to_some_kinds_of_assets() -> None:
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
        ({"snapshot_id": 1, "as_of": "2026-01-01"}, "sets both snapshot_id and as_of"),
        ({"end_snapshot_id": 2}, "without a start_snapshot_id"),
        ({"as_of": 1_700_000_000}, "look like seconds"),
        ({"as_of": "yesterday"}, "as_of on t is 'yesterday'"),
        ({"incremental": "maybe"}, "valid boolean"),
        ({"snapshot_id": True}, "whole number"),
        ({"starting_offsets": "middle"}, "'earliest' or 'latest'; Input should be a valid dictionary"),
    ],
)
def test_malformed_and_contradicting_read_options_are_refused(metadata: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        ReadOptions.from_metadata(metadata, "table", "t")


def test_times_are_read_in_every_notation() -> None:
    noon = 1_777_550_400_000
    for value in (
        "2026-04-30T12:00:00Z",
        "2026-04-30 12:00",
        noon,
        str(noon),
        datetime(2026, 4, 30, 12, tzinfo=UTC),
    ):
        assert milliseconds(value) == noon
