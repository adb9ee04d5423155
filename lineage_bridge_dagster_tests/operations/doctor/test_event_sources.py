"""The check of the sources of OpenLineage events."""

from __future__ import annotations

from pathlib import Path

from lineage_bridge_dagster.operations.doctor import openlineage
from lineage_bridge_dagster.operations.doctor.finding import CheckStatus
from lineage_bridge_dagster_tests.operations.doctor.examined import context_of, examine


def test_a_source_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    paths = f"{tmp_path / 'there'},{tmp_path / 'gone'}"
    there, gone = examine(openlineage.readable, context_of({"LINEAGE_BRIDGE_OPENLINEAGE_PATHS": paths}))
    assert there.status is CheckStatus.OK, there
    assert (gone.status, "gone" in gone.result) == (CheckStatus.FAILED, True), gone


def test_nothing_is_examined_without_a_source() -> None:
    (found,) = examine(openlineage.readable, context_of({}))
    assert found.status is CheckStatus.SKIPPED
