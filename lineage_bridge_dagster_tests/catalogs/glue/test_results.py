"""The report of a push."""

from __future__ import annotations

import json

from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog, GlueClient
from lineage_bridge_dagster_tests.catalogs.glue.runs import graph_of, push


def test_report_is_json_without_the_parameters_of_others(client: GlueClient, catalog: Catalog) -> None:
    catalog.create("orders.v1", parameters={"secret_of_others": "hidden"})
    text = json.dumps(push(client, graph_of()).to_json())
    assert json.loads(text)["counts"]["updated"] == 1
    assert "hidden" not in text
