"""Reading Glue in pages."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster.lineage.coverage import Status
from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog, GlueClient
from lineage_bridge_dagster_tests.catalogs.glue.graphs import tableflow_node
from lineage_bridge_dagster_tests.catalogs.glue.runs import (
    SCOPE,
    created,
    enriched,
    glue_nodes,
    push,
    report_of,
)


def test_all_pages_are_read(aws: StrictAws, client: GlueClient, catalog: Catalog) -> None:
    for number in range(101):
        catalog.create(f"t{number:03d}")
    aws.clear_faults()
    found = enriched(client, tableflow_node("t100"))
    assert len(glue_nodes(found)) == 1
    assert aws.calls["GetTables"] == 2
    assert found.coverage.get(SCOPE).count == 101  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "body", [b"<html>a proxy's page</html>", b"{}", b'{"TableList": "none"}', b'{"TableList": [{}]}']
)
def test_malformed_response_is_not_an_empty_list(client: GlueClient, catalog: Catalog, body: bytes) -> None:
    catalog.create("orders")

    def replace_body(response_dict: dict[str, Any], **_: Any) -> None:
        response_dict["body"] = body

    client.meta.events.register_first("before-parse.glue.GetTables", replace_body)
    report = report_of(enriched(client, tableflow_node("orders")))
    assert report.status is Status.FAILED
    assert "malformed" in report.reason.lower()


def test_repeated_page_token_is_an_error(client: GlueClient, catalog: Catalog) -> None:
    catalog.create("orders")

    def add_token(response_dict: dict[str, Any], **_: Any) -> None:
        body = json.loads(response_dict["body"])
        response_dict["body"] = json.dumps({**body, "NextToken": "again"}).encode()

    client.meta.events.register_first("before-parse.glue.GetTables", add_token)
    # The server must not see a token that it never issued.
    client.meta.events.register_first(
        "provide-client-params.glue.GetTables", lambda params, **_: params.pop("NextToken", None) and None
    )
    report = report_of(enriched(client, tableflow_node("orders")))
    assert "same page token twice" in report.reason


def test_tables_are_read_one_by_one_when_pages_are_denied(
    aws: StrictAws, client: GlueClient, catalog: Catalog
) -> None:
    graph = created(catalog, ("a", "b"))
    aws.fail("GetTables", "AccessDeniedException", times=None)
    assert push(client, graph).counts["updated"] == 2
