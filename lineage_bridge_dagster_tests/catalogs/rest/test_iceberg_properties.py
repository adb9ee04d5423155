"""Lineage as properties of Iceberg tables, beside other writers of the same tables."""

from __future__ import annotations

import pytest
from pyiceberg.catalog.rest import RestCatalog

from lineage_bridge_dagster.lineage.documents import KEY_SOURCE_TOPICS, KEY_UPSTREAM_CHAIN
from lineage_bridge_dagster.lineage.push_results import PushStatus
from lineage_bridge_dagster_tests.catalogs.rest.tables import (
    FOREIGN,
    Bucket,
    Fault,
    Name,
    chain,
    push,
    with_faults,
)

pytestmark = pytest.mark.xdist_group("rest")


def test_lineage_becomes_properties_in_one_commit(bucket: Bucket, catalog: RestCatalog, name: Name) -> None:
    sent = with_faults(catalog).sent
    result = push(catalog, name, chain())
    assert result.status is PushStatus.UPDATED, result.reason
    assert sent == ["GET", "POST"]
    assert bucket.lineage(name)[KEY_SOURCE_TOPICS] == "orders.v1"
    assert FOREIGN.items() <= bucket.properties(name).items()
    assert result.after == bucket.properties(name)
    assert result.version_after == bucket.open().load_table(name).metadata_location != result.version_before
    assert any(line.startswith(f"+ {KEY_SOURCE_TOPICS}") for line in result.diff)


def test_a_dry_run_shows_the_diff_and_commits_nothing(
    bucket: Bucket, catalog: RestCatalog, name: Name
) -> None:
    result = push(catalog, name, chain(), dry_run=True)
    assert result.status is PushStatus.UPDATED
    assert result.diff
    assert bucket.lineage(name) == {}


def test_two_writers_of_lineage_leave_one_whole_document(
    bucket: Bucket, catalog: RestCatalog, name: Name
) -> None:
    """The other one commits between our load and our commit, with a key that ours does not have."""

    def other() -> None:
        with bucket.open().load_table(name).transaction() as transaction:
            transaction.set_properties(
                {"lineage_bridge.newer": "1", KEY_UPSTREAM_CHAIN: "[]", "theirs": "kept"}
            )

    with_faults(catalog, Fault("POST", first=other))
    result = push(catalog, name, chain())
    assert (result.status, result.attempts, result.conflicts) == (PushStatus.UPDATED, 2, 1)
    expected = push(bucket.open(), name, chain())
    assert expected.status is PushStatus.UNCHANGED
    assert "lineage_bridge.newer" not in bucket.lineage(name)
    assert bucket.properties(name)["theirs"] == "kept"


def test_a_dropped_table_fails_unless_its_lineage_was_to_go(
    bucket: Bucket, catalog: RestCatalog, name: Name
) -> None:
    bucket.open().drop_table(name)
    result = push(catalog, name, chain())
    assert result.status is PushStatus.FAILED
    assert "s3tables." + ".".join(name) in result.reason
    assert "discovery" in result.hint
    assert push(catalog, name, None).status is PushStatus.UNCHANGED
