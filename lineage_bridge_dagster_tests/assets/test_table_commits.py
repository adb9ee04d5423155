"""What the tables of a run last committed: many tables in a few calls, each failure its own."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from botocore.client import BaseClient

from lineage_bridge_dagster.assets.table_commits import commit_metadata, read_commits
from lineage_bridge_dagster.catalogs.errors import CallError
from lineage_bridge_dagster.catalogs.glue.reader import GlueReader
from lineage_bridge_dagster.catalogs.iceberg.snapshots import SnapshotError, SnapshotReader, SnapshotState
from lineage_bridge_dagster.lineage.model import Node
from lineage_bridge_dagster_tests.assets.location import create_tables
from lineage_bridge_dagster_tests.assets.world import EAST, REGION, World, many

SNAPSHOT = {"snapshot-id": 5, "timestamp-ms": 1_000, "summary": {"operation": "append", "total-records": "3"}}
METADATA = {
    "format-version": 2,
    "last-updated-ms": 1_000,
    "current-snapshot-id": 5,
    "snapshots": [SNAPSHOT],
}


class Store:
    """An S3 that has the same metadata everywhere."""

    def get_object(self, *, Bucket: str, Key: str) -> Any:
        assert Key.endswith("/metadata/1.json")
        return {"Body": io.BytesIO(json.dumps(METADATA).encode())}


def tables(w: World) -> list[Node]:
    return list(w.graph.of_type("catalog_table"))


def read(glue: Any, nodes: list[Node]) -> tuple[dict[str, Any], dict[str, int]]:
    reader = GlueReader(glue)
    return read_commits(nodes, reader, SnapshotReader(Store()), REGION), reader.calls


def test_a_page_of_glue_serves_a_hundred_tables(glue: BaseClient) -> None:
    w = many(250)
    create_tables(glue, w)
    found, calls = read(glue, tables(w))
    assert set(found) == {node.node_id for node in tables(w)}
    assert set(found.values()) == {SnapshotState(5, 1_000, 1_000, "append", 3, 3, 1_000)}
    assert calls == {"GetTables": 3}


def test_a_table_missing_in_glue_fails_alone(glue: BaseClient) -> None:
    w = many(3)
    create_tables(glue, w, skip=["topic.00001"])
    found, _ = read(glue, tables(w))
    by_name = {node.attributes["table_name"]: found[node.node_id] for node in tables(w)}
    assert isinstance(by_name["topic.00001"], CallError)
    assert isinstance(by_name["topic.00000"], SnapshotState)


def test_a_table_that_is_not_an_iceberg_table_is_an_error(glue: Any) -> None:
    w = many(1)
    glue.create_database(DatabaseInput={"Name": EAST})
    glue.create_table(DatabaseName=EAST, TableInput={"Name": "topic.00000", "Parameters": {}})
    (found,) = read(glue, tables(w))[0].values()
    assert isinstance(found, SnapshotError)
    assert "metadata_location" in found.message


def test_a_table_of_another_region_is_not_looked_up(glue: BaseClient) -> None:
    w = many(1)
    create_tables(glue, w)
    (table,) = tables(w)
    (found,) = read(glue, [table.with_attributes(aws_region="eu-west-1")])[0].values()
    assert isinstance(found, CallError)


def test_standard_keys_hold_the_time_and_rows_of_the_data() -> None:
    found = commit_metadata(SnapshotState(2**62, 2_000, 1_000, "replace", 3, 3, 2_000))
    assert found["dagster/last_updated_timestamp"].value == 1.0
    assert found["lineage_bridge/snapshot_time"].value == 2.0
    assert found["dagster/row_count"] == 3
    assert found["lineage_bridge/snapshot_id"] == str(2**62)


@pytest.mark.parametrize(
    ("commit", "word"),
    [(SnapshotState(updated_ms=1), "none yet"), (SnapshotError("denied", hint="Grant it."), "Grant it.")],
)
def test_no_commit_differs_from_an_unreadable_one(commit: SnapshotState | SnapshotError, word: str) -> None:
    found = commit_metadata(commit)
    assert list(found) == ["lineage_bridge/snapshot"]
    assert word in found["lineage_bridge/snapshot"]


def test_records_with_deletes_are_not_a_row_count() -> None:
    found = commit_metadata(SnapshotState(5, 1, 1, "overwrite", 3, None, 1))
    assert "dagster/row_count" not in found
    assert found["lineage_bridge/records_before_deletes"] == 3
