"""What pushes write under the settings, and what they keep."""

from __future__ import annotations

import pytest

from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster.lineage.model import Graph
from lineage_bridge_dagster.operations.doctor import glue_tables
from lineage_bridge_dagster.operations.doctor.finding import CheckStatus
from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog
from lineage_bridge_dagster_tests.catalogs.glue.graphs import add_table
from lineage_bridge_dagster_tests.operations.doctor.examined import aws_clients, context_of, examine


@pytest.mark.parametrize(
    ("field", "what"), [("DESCRIPTION", "the description"), ("PARAMETERS", "exclude parameters")]
)
def test_what_the_settings_leave_out_of_pushes_is_named(field: str, what: str) -> None:
    variable = f"LINEAGE_BRIDGE_PUSH_SET_{field}"
    found = examine(glue_tables.pushes, context_of({variable: "false"}))[0]
    assert found.status is CheckStatus.OK
    assert what in found.result
    assert variable in found.remedy
    assert "write parameters and the description" in examine(glue_tables.pushes, context_of())[0].result


def test_parameters_of_others_are_counted_as_kept() -> None:
    graph = Graph()
    add_table(graph, "orders.v1")
    with StrictAws() as aws:
        Catalog(aws).create("orders.v1")
        glue = aws_clients(aws, "glue")
        _, found = examine(glue_tables.pushes, context_of(graph=graph, **glue))
    assert found.status is CheckStatus.OK
    assert "0 of them ours" in found.result
    assert "changes no others" in found.result
    assert "push --dry-run" in found.remedy
