"""Reading Glue in pages."""

from __future__ import annotations

import itertools
import json
from typing import Any
from unittest.mock import Mock

import pytest
from botocore.exceptions import ClientError

from lineage_bridge_dagster.catalogs.errors import AmbiguousError
from lineage_bridge_dagster.catalogs.glue.aws_errors import translate
from lineage_bridge_dagster.catalogs.glue.reader import GlueReader
from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster.lineage.coverage import Status
from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog, GlueClient
from lineage_bridge_dagster_tests.catalogs.glue.graphs import CLUSTER, tableflow_node
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
    "body",
    [
        b"<html>a proxy's page</html>",
        b"{}",
        b"null",
        b'{"TableList": "none"}',
        b'{"TableList": [{}]}',
        b'{"TableList": [null]}',
        b'{"TableList": [{"Name": []}]}',
        b'{"TableList": [], "NextToken": ["a"]}',
    ],
)
def test_malformed_response_is_not_an_empty_list(client: GlueClient, catalog: Catalog, body: bytes) -> None:
    catalog.create("orders")

    def replace_body(response_dict: dict[str, Any], **_: Any) -> None:
        response_dict["body"] = body

    client.meta.events.register_first("before-parse.glue.GetTables", replace_body)
    report = report_of(enriched(client, tableflow_node("orders")))
    assert report.status is Status.FAILED
    assert "malformed" in report.reason.lower()


def test_another_table_than_was_asked_for_is_not_taken(client: GlueClient, catalog: Catalog) -> None:
    catalog.create("orders")

    def replace_body(response_dict: dict[str, Any], **_: Any) -> None:
        response_dict["body"] = b'{"Table": {"Name": "customers"}}'

    client.meta.events.register_first("before-parse.glue.GetTable", replace_body)
    with pytest.raises(AmbiguousError, match="returned customers"):
        GlueReader(client).table(CLUSTER, "orders")


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
    with pytest.raises(AmbiguousError, match="same page token twice"):
        GlueReader(client).page(CLUSTER, "again")


def test_list_that_never_ends_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Mock()
    client.get_tables.side_effect = ({"TableList": [], "NextToken": str(n)} for n in itertools.count())
    monkeypatch.setattr("lineage_bridge_dagster.catalogs.glue.reader.MAX_PAGES", 3)
    with pytest.raises(AmbiguousError, match="more than 3 pages"):
        list(GlueReader(client).pages("db"))


def test_answer_of_a_proxy_names_the_endpoint() -> None:
    error = ClientError({"Error": {"Code": "302"}, "ResponseMetadata": {"HTTPStatusCode": 302}}, "GetTables")  # type: ignore[typeddict-item]
    assert "AWS_ENDPOINT_URL_GLUE" in translate(error, action="glue:GetTables", where="the database db").hint


def test_tables_are_read_one_by_one_when_pages_are_denied(
    aws: StrictAws, client: GlueClient, catalog: Catalog
) -> None:
    graph = created(catalog, ("a", "b"))
    aws.fail("GetTables", "AccessDeniedException", times=None)
    assert push(client, graph).counts["updated"] == 2
