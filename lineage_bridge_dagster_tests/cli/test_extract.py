"""`lineage-bridge extract` on a graph with tables that Glue does not have."""

from __future__ import annotations

import pytest

from lineage_bridge_dagster.cli.output import print_glue_tables
from lineage_bridge_dagster.lineage.model import Graph
from lineage_bridge_dagster_tests.catalogs.glue.graphs import CLUSTER, glue_node


def test_tables_that_glue_lacks_are_named_and_counted(capsys: pytest.CaptureFixture[str]) -> None:
    told = {
        "glue_status": "missing",
        "glue_absence": "sync_failed",
        "glue_reason": "its sync to Glue failed",
        "glue_next_step": "Grant [everything].",
    }
    names = [f"missing{number:02d}" for number in range(22)]
    print_glue_tables(Graph([glue_node("orders"), *(glue_node(name, **told) for name in names)]))
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == (
        f"missing  {CLUSTER}.missing00  Tableflow is enabled, but Glue has no such table in us-east-1, "
        "because its sync to Glue failed. Grant [everything]."
    )
    assert lines[-2:] == [
        "... and 2 more tables",
        "Glue tables: 1 found, 22 missing (22 sync failed), 0 unknown",
    ]
