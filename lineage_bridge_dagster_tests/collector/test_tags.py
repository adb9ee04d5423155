"""Lake Formation tags: all of them in few calls, and never a reason for an extract to fail."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from lineage_bridge_dagster.collector import Extract
from lineage_bridge_dagster.collector.layout import LF_TAGS
from lineage_bridge_dagster.collector.marks import time_of
from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.lineage.times import iso
from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog
from lineage_bridge_dagster_tests.collector.conftest import MakeExtractor, rows
from lineage_bridge_dagster_tests.collector.lake_formation import ACCOUNT, LakeFormation, serving

SEARCHES = ("SearchDatabasesByLFTags", "SearchTablesByLFTags")


@pytest.fixture
def lake(monkeypatch: pytest.MonkeyPatch, catalog: Catalog) -> Iterator[LakeFormation]:
    monkeypatch.setattr("lineage_bridge_dagster.collector.lake_formation._ATTEMPTS", 2)
    catalog.create("orders", "sales")
    found = LakeFormation()
    found.tags = {"confidentiality": ["public", "pii"], "domain": ["sales", "hr"]}
    found.assigned = {
        ("sales", "", ""): {"domain": "sales"},
        ("sales", "orders", ""): {"domain": "sales", "confidentiality": "public"},
        ("sales", "orders", "id"): {"domain": "sales", "confidentiality": "pii"},
    }
    with serving(found) as url:
        monkeypatch.setenv("AWS_ENDPOINT_URL_LAKEFORMATION", url)
        yield found


def tags(extract: Extract) -> set[tuple[str, str, str]]:
    return {
        (
            ".".join(filter(None, (row["database"], row["table"], row["column"]))),
            row["tag_key"],
            ",".join(json.loads(row["tag_values"])),
        )
        for row in rows(extract, "lf_tags")
    }


def coverage(extract: Extract) -> list[tuple[str, str]]:
    return [(row["status"], row["tables"]) for row in rows(extract, "coverage") if row["part"] == "lf_tags"]


def test_tags_of_databases_tables_and_columns_are_rows(extractor: MakeExtractor, lake: LakeFormation) -> None:
    extract = extractor(lake_formation_tags=True).run()
    assert tags(extract) == {
        ("sales", "domain", "sales"),
        ("sales.orders", "domain", "sales"),
        ("sales.orders", "confidentiality", "public"),
        ("sales.orders.id", "domain", "sales"),
        ("sales.orders.id", "confidentiality", "pii"),
    }
    assert len(rows(extract, "lf_tags")) == 5
    assert {row["object_type"] for row in rows(extract, "lf_tags")} == {"database", "table", "column"}
    assert {row["catalog_id"] for row in rows(extract, "lf_tags")} == {ACCOUNT}
    assert coverage(extract) == [("complete", "5")]
    assert extract.incomplete == []


def test_by_default_there_is_no_call_and_no_file(extractor: MakeExtractor, lake: LakeFormation) -> None:
    extract = extractor().run()
    assert extractor().test_connection()
    assert not lake.calls
    assert LF_TAGS.name not in extract.rows
    assert extract.calls == {"GetDatabases": 1, "GetTables": 1}
    assert coverage(extract) == []


def test_calls_grow_with_keys_and_pages_not_with_tables(
    extractor: MakeExtractor, lake: LakeFormation
) -> None:
    lake.assigned |= {("sales", f"t{number:03d}", ""): {"domain": "hr"} for number in range(249)}
    extract = extractor(lake_formation_tags=True).run()
    assert lake.calls == {"ListLFTags": 1, "SearchDatabasesByLFTags": 2, "SearchTablesByLFTags": 1 + 3}
    assert extract.calls == {"GetDatabases": 1, "GetTables": 1, **lake.calls}
    assert len(tags(extract)) == len(rows(extract, "lf_tags")) == 5 + 249


def test_every_list_is_read_to_its_last_page(extractor: MakeExtractor, lake: LakeFormation) -> None:
    lake.page_size = 1
    lake.assigned[("hr", "", "")] = {"domain": "hr"}
    lake.assigned[("sales", "people", "")] = {"domain": "hr"}
    found = tags(extractor(lake_formation_tags=True).run())
    assert {("hr", "domain", "hr"), ("sales.people", "domain", "hr"), ("sales", "domain", "sales")} <= found
    assert len(found) == 7


def test_tag_with_more_values_than_an_expression_takes_has_each_object_once(
    extractor: MakeExtractor, lake: LakeFormation
) -> None:
    lake.tags = {"owner": [f"team-{number:03d}" for number in range(120)]}
    orders = ("sales", "orders")
    lake.assigned = {(*orders, ""): {"owner": "team-119"}, (*orders, "id"): {"owner": "team-000"}}
    extract = extractor(lake_formation_tags=True).run()
    assert [row["tag_values"] for row in rows(extract, "lf_tags")] == ['["team-000"]', '["team-119"]']
    searches = [request["Expression"][0] for name, request in lake.requests if name in SEARCHES]
    assert [len(each["TagValues"]) for each in searches] == [50, 50, 50, 50, 20, 20]


def test_catalog_of_another_account_is_asked_for(extractor: MakeExtractor, lake: LakeFormation) -> None:
    extractor(lake_formation_tags=True, catalogId="444455556666").run()
    assert {request["CatalogId"] for _, request in lake.requests} == {"444455556666"}


@pytest.mark.parametrize("operation", ["ListLFTags", *SEARCHES])
def test_denied_tags_are_coverage_and_the_rest_of_the_extract_is_whole(
    extractor: MakeExtractor, lake: LakeFormation, operation: str
) -> None:
    lake.fail(operation, "AccessDeniedException")
    extract = extractor(lake_formation_tags=True).run()
    assert [row["table"] for row in rows(extract, "tables")] == ["orders"]
    (scope,) = extract.incomplete
    assert scope.name == "us-east-1 (lf_tags)"
    assert scope.status in ("denied", "partial")
    assert f"lakeformation:{operation}" in scope.reason
    assert "DESCRIBE on the tags" in scope.reason
    assert json.loads(extract.manifest.read_text())["coverage"]["complete"] is False


def test_auto_takes_a_denial_for_an_answer_and_says_so_in_coverage(
    extractor: MakeExtractor, lake: LakeFormation
) -> None:
    lake.fail("ListLFTags", "AccessDeniedException")
    extract = extractor(lake_formation_tags="auto").run()
    assert extract.incomplete == []
    assert coverage(extract) == [("denied", "0")]
    lake.fails.clear()
    assert len(tags(extractor(lake_formation_tags="auto").run())) == 5


def test_denied_tags_drop_nothing_and_hold_back_no_mark(
    extractor: MakeExtractor, lake: LakeFormation, catalog: Catalog
) -> None:
    lake.fail("ListLFTags", "AccessDeniedException")
    first = extractor(lake_formation_tags=True).run()
    extractor().marks.publish(first.end)
    catalog.glue.delete_table(DatabaseName="sales", Name="orders")
    second = extractor(lake_formation_tags=True).run()
    assert [row["table"] for row in rows(second, "deletions")] == ["orders"]
    since = {row["since"] for row in rows(second, "coverage") if row["part"] == "glue"}
    assert since == {iso(time_of(first.end))}


@pytest.mark.parametrize("code", ["ThrottledException", "TooManyRequestsException"])
def test_throttled_call_is_made_again(extractor: MakeExtractor, lake: LakeFormation, code: str) -> None:
    lake.fail("SearchTablesByLFTags", code, status=429, times=1)
    assert len(tags(extractor(lake_formation_tags=True).run())) == 5


def test_calls_that_stay_throttled_are_coverage(extractor: MakeExtractor, lake: LakeFormation) -> None:
    lake.fail("SearchTablesByLFTags", "ThrottledException", status=429)
    (scope,) = extractor(lake_formation_tags=True).run().incomplete
    assert scope.status == "failed"
    assert "ThrottledException" in scope.reason


@pytest.mark.parametrize(
    "body",
    [
        b"<html>sign in</html>",
        b"[]",
        b'{"LFTags": "x"}',
        b'{"LFTags": [1]}',
        b'{"LFTags": [{"TagValues": ["a"]}]}',
        b'{"LFTags": [{"TagKey": "k", "TagValues": [{}]}]}',
        b'{"LFTags": [{"TagKey": "k"}]}',
    ],
)
def test_answer_that_is_not_lake_formations_is_coverage(
    extractor: MakeExtractor, lake: LakeFormation, body: bytes
) -> None:
    kind = "text/html" if body.startswith(b"<") else "application/json"
    lake.fails["ListLFTags"] = [(200, {"Content-Type": kind}, body)] * 10
    extract = extractor(lake_formation_tags=True).run()
    assert coverage(extract) == [("failed", "0")]
    assert [row["table"] for row in rows(extract, "tables")] == ["orders"]


def test_page_token_that_comes_twice_ends_the_reading(extractor: MakeExtractor, lake: LakeFormation) -> None:
    lake.fails["SearchTablesByLFTags"] = [(200, {}, b'{"NextToken": "again"}')] * 10
    extract = extractor(lake_formation_tags=True).run()
    assert "page token twice" in extract.incomplete[0].reason
    assert lake.calls["SearchTablesByLFTags"] == 2


def test_tag_that_was_removed_since_it_was_listed_has_no_objects(
    extractor: MakeExtractor, lake: LakeFormation
) -> None:
    for operation in SEARCHES:
        lake.fail(operation, "EntityNotFoundException", times=1)
    extract = extractor(lake_formation_tags=True).run()
    assert coverage(extract) == [("complete", "3")]
    assert {key for _, key, _ in tags(extract)} == {"domain"}


def test_values_of_tags_are_masked_as_a_class_of_their_own(
    extractor: MakeExtractor, lake: LakeFormation
) -> None:
    masked = extractor(lake_formation_tags=True, mask=True, mask_key="key").run()
    assert {value[:7] for _, _, value in tags(masked)} == {"masked_"}
    assert ACCOUNT not in str(rows(masked, "lf_tags"))
    shown = extractor(lake_formation_tags=True, mask=True, mask_classes=["comments"]).run()
    assert ("sales.orders.id", "confidentiality", "pii") in tags(shown)


def test_regions_are_told_apart(extractor: MakeExtractor, lake: LakeFormation, aws: StrictAws) -> None:
    Catalog(aws, "eu-west-1").create("orders", "sales")
    extract = extractor(lake_formation_tags=True, regions=["us-east-1", "eu-west-1"]).run()
    assert {row["region"] for row in rows(extract, "lf_tags")} == {"us-east-1", "eu-west-1"}
    assert coverage(extract) == [("complete", "5")] * 2


def test_connection_tries_the_tags_that_are_wanted(extractor: MakeExtractor, lake: LakeFormation) -> None:
    assert extractor(lake_formation_tags=True).test_connection()
    assert lake.calls == {"ListLFTags": 1}
    lake.fail("ListLFTags", "AccessDeniedException")
    assert extractor(lake_formation_tags="auto").test_connection()
    with pytest.raises(LineageBridgeError, match=r"us-east-1: lakeformation:ListLFTags") as caught:
        extractor(lake_formation_tags=True).test_connection()
    assert "Allow lakeformation:ListLFTags" in caught.value.hint
