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
from lineage_bridge_dagster.catalogs.glue.client import glue_client
from lineage_bridge_dagster.catalogs.glue.reader import GlueReader
from lineage_bridge_dagster.config.aws_settings import AwsKeys, AwsSettings
from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster.lineage.coverage import Status
from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog, GlueClient
from lineage_bridge_dagster_tests.catalogs.glue.graphs import CLUSTER, REGION, tableflow_node
from lineage_bridge_dagster_tests.catalogs.glue.light_glue import LightGlue
from lineage_bridge_dagster_tests.catalogs.glue.runs import (
    SCOPE,
    created,
    enriched,
    glue_nodes,
    graph_of,
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


TABLE = {"Name": "orders", "StorageDescriptor": {"Columns": [{"Name": "id", "Type": "bigint"}]}}
#: Values of a member of a list answer that are no list; botocore itself reads the first two as an empty one.
NO_LISTS = ("{}", '""', '"none"', '{"Name": "orders"}', "0", "false", "7")
#: Values of a page token that are no text, which do not end a list.
NO_TOKENS = ('["a"]', "0", "false", "{}", "[]", "1")
#: Values of a name that are no name.
NO_NAMES = ("null", '""', "[]", "{}", "0", "7", "true")


class Answering(LightGlue):
    """A Glue in memory with a table, which answers some operations with given bodies."""

    def __init__(self) -> None:
        super().__init__()
        self.add_table(CLUSTER, TABLE)
        self.bodies: dict[str, str] = {}

    def answer(self, operation: str, body: Any) -> tuple[int, bytes]:
        if operation in self.bodies:
            return 200, self.bodies[operation].encode()
        return super().answer(operation, body)


@pytest.fixture(scope="module")
def attached() -> tuple[GlueClient, Answering]:
    glue, client = Answering(), glue_client(AwsSettings(region=REGION), keys=AwsKeys("test", "test"))
    glue.attach(client)
    return client, glue


@pytest.fixture
def light(attached: tuple[GlueClient, Answering]) -> GlueClient:
    return attached[0]


@pytest.fixture
def bodies(attached: tuple[GlueClient, Answering]) -> dict[str, str]:
    """What `light` answers, by operation."""
    attached[1].bodies.clear()
    return attached[1].bodies


@pytest.mark.parametrize(
    ("operation", "body"),
    [
        (operation, body)
        for operation, member in (("GetTables", "TableList"), ("GetDatabases", "DatabaseList"))
        for body in (
            "<html>a proxy's page</html>",
            "{}",
            "null",
            *(f'{{"{member}": {value}}}' for value in NO_LISTS),
            *(f'{{"{member}": [], "NextToken": {value}}}' for value in NO_TOKENS),
            *(f'{{"{member}": [{{"Name": {value}}}]}}' for value in NO_NAMES),
            *(f'{{"{member}": [{value}]}}' for value in ("{}", "null", "[]", '"orders"', "7")),
        )
    ],
)
def test_malformed_response_is_not_an_empty_list(
    light: GlueClient, bodies: dict[str, str], operation: str, body: str
) -> None:
    bodies[operation] = body
    report = report_of(enriched(light, tableflow_node("orders")))
    # Without the list of databases, the expected ones are read all the same.
    assert report.status is (Status.FAILED if operation == "GetTables" else Status.PARTIAL)
    assert "malformed" in report.reason.lower()


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ({"Name": "customers"}, "returned customers"),
        ({"Name": "orders", "DatabaseName": "lkc-other"}, "a table of lkc-other"),
    ],
)
def test_another_table_than_was_asked_for_is_not_taken(
    light: GlueClient, bodies: dict[str, str], table: dict[str, str], told: str
) -> None:
    bodies["GetTable"] = json.dumps({"Table": table})
    with pytest.raises(AmbiguousError, match=told):
        GlueReader(light).table(CLUSTER, "orders")


def test_the_page_of_another_database_is_not_taken(light: GlueClient, bodies: dict[str, str]) -> None:
    tables = [{"Name": "customers", "DatabaseName": "lkc-other"}]
    bodies["GetTables"] = json.dumps({"TableList": tables})
    report = report_of(enriched(light, tableflow_node("orders")))
    assert report.status is Status.FAILED
    assert f"for the database {CLUSTER} with a table of lkc-other" in report.reason
    assert "resource link" in report.reason


@pytest.mark.parametrize(
    "table",
    [
        {"Name": "orders", "DatabaseName": CLUSTER.upper()},
        {"Name": "orders"},
        # A table that is a resource link may come with the properties of its target.
        {"Name": "orders", "DatabaseName": "lkc-other", "TargetTable": {"DatabaseName": "lkc-other"}},
    ],
)
def test_a_table_of_the_database_is_taken(
    light: GlueClient, bodies: dict[str, str], table: dict[str, Any]
) -> None:
    bodies["GetTables"] = json.dumps({"TableList": [table]})
    assert [each.name for each in GlueReader(light).page(CLUSTER, None)[0]] == ["orders"]


@pytest.mark.parametrize("columns", [{}, "", "none", {"Name": "id"}])
def test_columns_that_are_no_list_are_not_written_back_as_none(
    light: GlueClient, bodies: dict[str, str], columns: Any
) -> None:
    bodies["GetTable"] = json.dumps(
        {"Table": {**TABLE, "VersionId": "0", "StorageDescriptor": {"Columns": columns}}}
    )
    report = push(light, graph_of("orders"))
    assert report.counts["failed"] == 1
    assert "malformed" in report.results[0].hint


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
    monkeypatch.setattr("lineage_bridge_dagster.catalogs.glue.page_tokens.MAX_PAGES", 3)
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
