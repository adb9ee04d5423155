"""A push to Glue's business context: what it attaches, what it leaves alone, and what it makes of errors."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from lineage_bridge_dagster.catalogs.business_context.forms import COLUMN_FORM, TABLE_FORM
from lineage_bridge_dagster.catalogs.clean import clean_forms
from lineage_bridge_dagster.lineage.coverage import Scope, ScopeReport, Status
from lineage_bridge_dagster.lineage.model import NodeType
from lineage_bridge_dagster.lineage.push_results import PushStatus
from lineage_bridge_dagster_tests.catalogs.business_context.shop import DATASET, SETTINGS, Shop
from lineage_bridge_dagster_tests.catalogs.glue.graphs import (
    CLUSTER,
    ENVIRONMENT,
    REGION,
    complete_coverage,
    discovery,
)
from lineage_bridge_dagster_tests.catalogs.glue.runs import no_sleep

TABLE, COLUMN = TABLE_FORM.name, COLUMN_FORM.name


def test_a_table_and_each_of_its_columns_have_a_form_with_their_origin(shop: Shop) -> None:
    report = shop.push_all()
    assert report.business_context is not None
    assert report.business_context.counts["updated"] == report.counts["updated"] == 1
    form = shop.forms()[TABLE]
    parameters = shop.catalog.parameters("orders.v1")
    for member, key in (
        ("sourceTopics", "source_topics"),
        ("sourceConnectors", "source_connectors"),
        ("upstreamChain", "upstream_chain"),
        ("owner", "owner"),
    ):
        assert form[member] == parameters[f"lineage_bridge.{key}"]
    assert form["managedBy"] == "lineage_bridge_dagster"
    origin = {"managedBy": "lineage_bridge_dagster", "sourceTopic": "orders.v1"}
    upstream = json.dumps([{"column": "order_id", "dataset": DATASET}], separators=(",", ":"))
    assert shop.forms("id") == {COLUMN: {**origin, "sourceField": "id", "upstreamColumns": upstream}}
    assert shop.forms("note") == {COLUMN: {**origin, "sourceField": "note"}}
    assert shop.forms("$$topic") == {}


def test_a_second_push_writes_nothing_and_reads_a_hundred_columns_a_call(shop: Shop) -> None:
    shop.add("wide", [f"c{number}" for number in range(250)])
    shop.push_all()
    shop.aws.clear_faults()
    report = shop.push()
    assert report.counts["unchanged"] == 2
    assert report.calls == {"GetFormType": 2, "GetAsset": 2, "BatchGetIterableForms": 4}
    assert shop.writes == 0


def test_only_what_differs_is_written(shop: Shop) -> None:
    shop.push_all()
    note = {"AssetIdentifier": shop.arn(), "IterableFormName": "columns", "ItemIdentifier": "note"}
    shop.catalog.glue.delete_attachment(**note, AttachmentName=COLUMN)
    shop.aws.clear_faults()
    assert shop.only().status is PushStatus.UPDATED
    # The column, and the table's form with the time.
    assert shop.aws.calls["PutAttachment"] == 2
    assert COLUMN in shop.forms("note")


def test_a_catalog_sync_that_wipes_the_parameters_leaves_the_forms(shop: Shop) -> None:
    shop.push_all()
    before = shop.forms()
    shop.catalog.edit("orders.v1", Parameters={"table_type": "ICEBERG"}, Description="")
    assert shop.forms() == before
    assert shop.only().status is PushStatus.UNCHANGED


def test_a_form_that_somebody_changed_is_found_and_written_again(shop: Shop) -> None:
    shop.push_all()
    wanted = shop.forms()[TABLE]["sourceTopics"]
    _attach(shop, TABLE, TABLE, {**shop.forms()[TABLE], "sourceTopics": "other"})
    compared = shop.push_all(dry_run=True)
    assert compared.business_context is not None
    (result,) = compared.business_context.results
    assert result.status is PushStatus.UPDATED
    assert "- lineage_bridge.source_topics: other" in result.diff
    assert shop.forms()[TABLE]["sourceTopics"] == "other"
    assert shop.only().status is PushStatus.UPDATED
    assert shop.forms()[TABLE]["sourceTopics"] == wanted


@pytest.mark.parametrize("column", ["", "note"])
@pytest.mark.parametrize("theirs", ["OtherType", TABLE, COLUMN])
def test_a_form_of_our_name_that_is_not_ours_is_never_overwritten(
    shop: Shop, column: str, theirs: str
) -> None:
    shop.context().assets.ensure_form_types()
    shop.catalog.glue.put_form_type(Name="OtherType", Schema="structure OtherType { owner: String }")
    name, content = (
        COLUMN if column else TABLE,
        {"owner": "them"} if theirs != COLUMN else {"sourceTopic": "x"},
    )
    _attach(shop, name, theirs, content, column)
    result = shop.only()
    assert (result.status, "not ours" in result.reason) == (PushStatus.REFUSED, True)
    assert shop.forms(column) == {name: content}
    assert shop.forms("id") == {}


def test_a_form_type_of_our_name_that_is_not_ours_is_never_overwritten(shop: Shop) -> None:
    schema = f"structure {TABLE} {{ owner: String }}"
    shop.catalog.glue.put_form_type(Name=TABLE, Schema=schema)
    result = shop.only()
    assert (result.status, "not ours" in result.reason) == (PushStatus.FAILED, True)
    assert shop.catalog.glue.get_form_type(Identifier=TABLE)["Schema"] == schema


def test_a_form_type_of_an_earlier_release_gets_the_members_that_it_lacks(shop: Shop) -> None:
    old = f"structure {TABLE} {{ managedBy: String, digest: String }}"
    shop.catalog.glue.put_form_type(Name=TABLE, Schema=old)
    assert shop.only().status is PushStatus.UPDATED
    assert "upstreamChain" in shop.catalog.glue.get_form_type(Identifier=TABLE)["Schema"]


def test_lineage_of_another_installation_is_left_alone(shop: Shop) -> None:
    shop.push()
    before = shop.forms()
    result = shop.only(owner="another")
    assert (result.status, "belongs to another instance, shop" in result.reason) == (PushStatus.REFUSED, True)
    assert shop.forms() == before
    assert shop.only(owner="another", take_over=True).status is PushStatus.UPDATED


def _attach(shop: Shop, name: str, kind: str, content: dict[str, Any], column: str = "") -> None:
    item = {"IterableFormName": "columns", "ItemIdentifier": column} if column else {}
    shop.catalog.glue.put_attachment(
        AssetIdentifier=shop.arn(), AttachmentName=name, FormTypeId=kind, Content=json.dumps(content), **item
    )


def test_the_asset_of_a_table_is_found_by_search_where_its_id_is_not_its_arn(shop: Shop) -> None:
    shop.aws.assets.ids[shop.arn()] = "c9vq7sh2fk4t2h"
    for number in range(120):
        shop.aws.assets.extra[f"other{number}"] = _asset(f"other{number}", "orders.v1", "elsewhere")
    report = shop.push()
    assert report.counts["updated"] == 1
    assert report.calls["SearchAssets"] == 2
    assert shop.forms()[TABLE]["sourceTopics"] == "orders.v1"


def test_two_assets_that_claim_to_be_the_table_are_told_and_get_nothing(shop: Shop) -> None:
    shop.aws.assets.hidden.add(shop.arn())
    for name in ("one", "two"):
        shop.aws.assets.extra[name] = _asset(name, "orders.v1", "lkc-abc123")
    result = shop.only()
    assert result.status is PushStatus.FAILED
    assert "2 assets are lkc-abc123.orders.v1: one, two" in result.reason
    assert shop.aws.calls["PutAttachment"] == 0


def test_a_table_that_is_no_asset_yet_is_skipped_and_gets_its_forms_with_a_later_push(shop: Shop) -> None:
    shop.aws.assets.hidden.add(shop.arn())
    shop.aws.assets.extra["other"] = _asset("other", "orders.v1", "elsewhere")
    result = shop.only()
    assert (result.status, result.reason) == (PushStatus.SKIPPED, "not an asset yet")
    assert shop.aws.calls["PutFormType"] == 0
    shop.aws.assets.hidden.clear()
    assert shop.only().status is PushStatus.UPDATED


def _asset(identifier: str, table: str, database: str) -> dict[str, Any]:
    content = json.dumps({"databaseName": database, "tableName": table})
    forms = {"amazon.glue::GlueTable": {"FormTypeId": "amazon.glue::GlueTable", "Content": content}}
    return {"Id": identifier, "Name": table, "AssetTypeId": "Table", "Forms": forms}


READS = ("GetFormType", "GetAsset", "SearchAssets", "BatchGetIterableForms")
WRITES = ("PutFormType", "PutAttachment")
FAULTS: dict[str, dict[str, Any]] = {
    "denied": {"code": "AccessDeniedException"},
    "throttled": {"code": "ThrottlingException"},
    "broken": {"code": "InternalServiceException", "status": 500},
    "unknown operation": {"code": "UnknownOperationException"},
    "encrypted": {"code": "InvalidInputException", "message": "The catalog is encrypted with a CMK."},
    "hung up": {"drop": True},
}


@pytest.mark.parametrize("operation", [*READS, *WRITES])
def test_what_could_not_be_asked_or_written_is_told_and_never_taken_for_nothing_there(
    shop: Shop, operation: str
) -> None:
    if operation == "SearchAssets":
        shop.aws.assets.ids[shop.arn()] = "c9vq7sh2fk4t2h"
    for name, fault in FAULTS.items():
        shop.aws.fail(operation, times=None, **fault)
        result = shop.only(max_attempts=2)
        assert result.status is PushStatus.FAILED, (name, result)
        assert operation in result.reason, name
        assert result.hint, name
        assert shop.forms() == {}, name
        shop.aws.clear_faults()
    assert shop.only().status is PushStatus.UPDATED
    assert shop.only().status is PushStatus.UNCHANGED


@pytest.mark.parametrize("operation", ["GetFormType", "GetAsset", "BatchGetIterableForms", *WRITES])
def test_a_fault_that_passes_is_survived_within_the_push(shop: Shop, operation: str) -> None:
    for name in ("throttled", "broken", "hung up"):
        shop.aws.fail(operation, **FAULTS[name])
        assert shop.only().status is PushStatus.UPDATED, name
        assert {TABLE} == shop.forms().keys(), name
        assert {COLUMN} == shop.forms("note").keys() == shop.forms("id").keys(), name
        clean_forms(shop.client, SETTINGS, sleep=no_sleep)


def test_a_write_that_stops_half_way_goes_on_where_it_stopped(shop: Shop) -> None:
    shop.aws.fail("PutAttachment", "ThrottlingException", matching='"note"')
    assert shop.only().status is PushStatus.UPDATED
    # Two columns and the table, and the one that was refused.
    assert shop.aws.calls["PutAttachment"] == 4


def test_a_failure_there_neither_fails_nor_stops_the_push_to_glue(shop: Shop) -> None:
    shop.add("payments")
    shop.aws.fail("GetAsset", "AccessDeniedException", times=None)
    report = shop.push_all()
    assert report.counts["updated"] == 2
    assert report.failed == ()
    assert report.business_context is not None
    assert [each.outcome.partition(":")[0] for each in report.business_context.results] == ["failed"] * 2
    assert "iam-policy --business-context" in report.business_context.results[0].hint


def test_a_business_context_that_fails_all_calls_is_left_alone_after_a_few(shop: Shop) -> None:
    for number in range(30):
        shop.add(f"t{number}")
    shop.aws.fail("GetAsset", "InternalServiceException", status=500, times=None)
    report = shop.push(max_concurrency=1)
    assert report.counts["failed"] == 31
    assert shop.aws.calls["GetAsset"] == 8
    assert "Not asked" in report.results[-1].reason


def test_where_there_is_no_preview_the_region_is_named(shop: Shop) -> None:
    shop.aws.assets.regions = {"eu-west-1"}
    result = shop.only()
    assert f"this is {REGION}" in result.hint


def test_an_incomplete_discovery_takes_nothing_away_from_what_is_known_of_a_column(shop: Shop) -> None:
    shop.push()
    before = shop.forms("id")
    (connector,) = shop.graph.of_type(NodeType.CONNECTOR)
    shop.graph.add_node(replace(connector, attributes={**connector.attributes, "column_lineage": None}))
    denied = ScopeReport(Scope("connect", ENVIRONMENT, CLUSTER), Status.DENIED, "403")
    report = shop.push(discovery(shop.discovery.graph, complete_coverage(denied)))
    assert report.counts["unchanged"] == 1
    assert shop.forms("id") == before
    assert shop.only().status is PushStatus.UPDATED
    assert "upstreamColumns" not in shop.forms("id")[COLUMN]


def test_a_table_that_lost_its_upstream_loses_its_forms(shop: Shop) -> None:
    shop.push_all()
    found = shop.discovery
    graph = type(found.graph)([*found.graph.nodes.values()], [])
    assert shop.push(type(found)(graph, found.coverage), max_removal_share=1).counts["updated"] == 1
    assert shop.forms() == shop.forms("id") == {}


def test_a_reader_finds_a_table_by_the_name_of_its_topic(shop: Shop) -> None:
    shop.add("payments")
    shop.push_all()
    tables = {
        "AttributeFilter": {"Attribute": "type", "Operator": "equals", "Value": {"StringValue": "Table"}}
    }
    found = shop.catalog.glue.search_assets(SearchText="debezium-pg", FilterClause=tables)["Items"]
    assert {each["AssetName"] for each in found} == {"orders.v1", "payments"}
    asset = shop.catalog.glue.get_asset(Identifier=found[0]["Id"])
    assert json.loads(asset["Attachments"][TABLE]["Content"])["sourceConnectors"] == "debezium-pg"


def test_a_push_takes_a_limited_time_there_and_looks_first_at_tables_that_it_wrote(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(9):
        shop.add(f"t{number}")
    shop.push_all()
    shop.catalog.edit("t5", Description="", Parameters={"table_type": "ICEBERG"})
    report = shop.push_all(max_concurrency=1)
    assert report.business_context is not None
    assert report.business_context.results[0].table_name == "t5"
    monkeypatch.setattr("lineage_bridge_dagster.catalogs.push.FORMS_SECONDS", -1.0)
    shop.aws.clear_faults()
    report = shop.push_all()
    assert report.failed == ()
    assert report.business_context is not None
    assert {each.status for each in report.business_context.results} == {PushStatus.FAILED}
    assert "Not asked in the time" in report.business_context.results[0].reason
    assert not set(shop.aws.calls) & {*READS, *WRITES}


def test_columns_that_the_asset_lacks_are_told_and_get_their_form_later(shop: Shop) -> None:
    found = shop.discovery
    table = shop.catalog.table("orders.v1")["StorageDescriptor"]
    shop.catalog.edit("orders.v1", StorageDescriptor={**table, "Columns": table["Columns"][:1]})
    report = shop.push_all(found)
    assert report.business_context is not None
    assert report.business_context.results[0].outcome == (
        "updated: without 1 column that the asset does not have"
    )
    shop.catalog.edit("orders.v1", StorageDescriptor=table)
    assert shop.only().status is PushStatus.UPDATED
    assert COLUMN in shop.forms("note")


def test_nothing_is_asked_where_it_is_off(shop: Shop) -> None:
    found = shop.discovery
    shop.aws.clear_faults()
    report = shop.push_all(found, business_context=False)
    assert report.business_context is None
    assert "business_context" not in report.to_json()
    assert not set(shop.aws.calls) & {*READS, *WRITES}
