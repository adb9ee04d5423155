"""A clean takes our forms and our form types away, and nothing else."""

from __future__ import annotations

import json
from typing import Any

from lineage_bridge_dagster.catalogs.business_context.forms import COLUMN_FORM, FORM_TYPES, TABLE_FORM
from lineage_bridge_dagster.catalogs.clean import clean_forms
from lineage_bridge_dagster.lineage.push_results import PushReport, PushStatus
from lineage_bridge_dagster_tests.catalogs.business_context.shop import SETTINGS, Shop
from lineage_bridge_dagster_tests.catalogs.glue.graphs import CLUSTER, REGION
from lineage_bridge_dagster_tests.catalogs.glue.runs import no_sleep


def clean(shop: Shop, *names: str, **options: Any) -> PushReport:
    return clean_forms(shop.client, SETTINGS, names or None, sleep=no_sleep, **options)


def form_types(shop: Shop) -> set[str]:
    return {kind.name for kind in FORM_TYPES} & set(shop.aws.assets.form_types(REGION))


def test_all_of_ours_goes_and_what_others_attached_stays(shop: Shop) -> None:
    shop.add("payments")
    shop.catalog.create("theirs")
    shop.push()
    shop.catalog.glue.put_form_type(Name="Residency", Schema="structure Residency { region: String }")
    for asset in (shop.arn(), shop.arn("theirs")):
        shop.catalog.glue.put_attachment(
            AssetIdentifier=asset,
            AttachmentName="residency",
            FormTypeId="Residency",
            Content='{"region": "eu"}',
        )
    item = {"AssetIdentifier": shop.arn(), "IterableFormName": "columns", "ItemIdentifier": "$$topic"}
    shop.catalog.glue.put_attachment(
        **item, AttachmentName=COLUMN_FORM.name, FormTypeId="Residency", Content="{}"
    )
    planned = clean(shop, dry_run=True)
    assert planned.counts["updated"] == 2
    assert form_types(shop) == {TABLE_FORM.name, COLUMN_FORM.name}
    report = clean(shop)
    assert {each.reason for each in report.results} == {"lineage removed"}
    assert shop.forms() == shop.forms(name="theirs") == {"residency": {"region": "eu"}}
    assert shop.forms("id") == shop.forms(name="payments") == {}
    assert shop.forms("$$topic") == {COLUMN_FORM.name: {}}
    assert form_types(shop) == set()
    assert clean(shop).results == ()


def test_a_named_table_alone_is_cleaned_and_the_form_types_stay(shop: Shop) -> None:
    shop.add("payments")
    shop.push()
    report = clean(shop, f"{CLUSTER}.payments", f"{CLUSTER}.none", "nonsense")
    assert {each.table_name: str(each.status) for each in report.results} == {
        "payments": "updated",
        "none": "unchanged",
        "nonsense": "failed",
    }
    assert TABLE_FORM.name in shop.forms()
    assert form_types(shop) == {TABLE_FORM.name, COLUMN_FORM.name}


def test_form_types_stay_while_a_form_is_left(shop: Shop) -> None:
    shop.push()
    shop.aws.fail("DeleteAttachment", "AccessDeniedException", times=None)
    report = clean(shop)
    assert [each.status for each in report.failed] == [PushStatus.FAILED]
    assert "DeleteAttachment" in report.failed[0].reason
    assert form_types(shop) == {TABLE_FORM.name, COLUMN_FORM.name}


def test_a_form_type_that_glue_keeps_is_told(shop: Shop) -> None:
    shop.push()
    shop.aws.fail("DeleteFormType", "ConflictException", times=None)
    report = clean(shop)
    assert [(each.name, each.status) for each in report.results] == [
        (f"{CLUSTER}.orders.v1", PushStatus.UPDATED),
        ("*.*", PushStatus.FAILED),
    ]
    assert "DeleteFormType" in report.results[1].reason


def test_what_could_not_be_read_is_told(shop: Shop) -> None:
    shop.push()
    for operation in ("GetFormType", "GetDatabases", "GetTables", "GetAsset"):
        shop.aws.clear_faults()
        shop.aws.fail(operation, "AccessDeniedException", times=None)
        assert operation in clean(shop).failed[0].reason, operation
    shop.aws.clear_faults()
    assert json.loads(json.dumps(shop.forms()))
    assert clean(shop).counts["updated"] == 1
