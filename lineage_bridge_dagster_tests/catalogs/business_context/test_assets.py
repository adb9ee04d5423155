"""What answers mean that the stand-in never gives: half a page, two pages alike, a proxy's page."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from lineage_bridge_dagster.catalogs.business_context.assets import Assets, ContextAsset
from lineage_bridge_dagster.catalogs.errors import AmbiguousError, CallError, NotFoundError
from lineage_bridge_dagster.lineage.glue_names import GluePlace

PLACE = GluePlace("db", "orders")
ARN = "arn:aws:glue:us-east-1:123456789012:table/db/orders"
ASSET = ContextAsset("a", "orders", {}, {}, True)
Answer = Callable[..., dict[str, Any]]


def assets(**answers: Answer) -> Assets:
    """A client with these methods, whose answers have a request id unless they have metadata."""

    def method(answer: Answer) -> Answer:
        return lambda **request: {"ResponseMetadata": {"RequestId": "1"}, **answer(**request)}

    client = SimpleNamespace(
        meta=SimpleNamespace(region_name="us-east-1"),
        **{name: method(each) for name, each in answers.items()},
    )
    return Assets(client)  # type: ignore[arg-type]


def refuse(code: str) -> Answer:
    def answer(**_: Any) -> dict[str, Any]:
        raise ClientError({"Error": {"Code": code, "Message": "m"}}, "GetAsset")

    return answer


def asset(identifier: str, **content: str) -> dict[str, Any]:
    return {"Id": identifier, "Name": "orders", "Forms": {"f": {"Content": json.dumps(content)}}}


def found(*ids: str, **page: str) -> dict[str, Any]:
    return {"Items": [{"Id": each, "AssetName": "orders"} for each in ids], **page}


def test_an_arn_that_glue_rejects_as_an_id_is_searched_for() -> None:
    def get(Identifier: str) -> dict[str, Any]:
        if Identifier == ARN:
            return refuse("InvalidInputException")()
        return asset(Identifier, databaseName="DB", catalogId="123456789012")

    assert (
        assets(get_asset=get, search_assets=lambda **_: found("x")).of_table(PLACE, "123456789012").id == "x"
    )
    # Nothing is found, but the first call could not be answered either.
    with pytest.raises(CallError, match="InvalidInputException"):
        assets(get_asset=get, search_assets=lambda **_: found()).of_table(PLACE, "123456789012")


@pytest.mark.parametrize(
    "claims",
    [
        {"Id": "arn:aws:glue:us-east-1:123456789012:table/db/other"},
        {"Id": "arn:aws:glue:us-east-1:999999999999:table/db/orders"},
        {"Id": "arn:aws:glue:eu-west-1:123456789012:table/db/orders"},
        {"databaseName": "elsewhere"},
        {"databaseName": "db", "tableName": "other"},
        {"databaseName": "db", "catalogId": "999999999999"},
        {},
    ],
    ids=str,
)
def test_an_asset_that_names_another_table_or_none_is_not_the_table(claims: dict[str, str]) -> None:
    given = dict(claims)
    identifier = given.pop("Id", "x")
    searched = assets(
        get_asset=lambda Identifier: asset(identifier, **given),
        search_assets=lambda **_: found(identifier),
    )
    with pytest.raises(NotFoundError, match="not an asset yet"):
        searched.of_table(PLACE, "" if not claims else "123456789012")


def test_an_index_that_is_behind_names_an_asset_that_is_gone() -> None:
    with pytest.raises(NotFoundError, match="not an asset yet"):
        assets(get_asset=refuse("EntityNotFoundException"), search_assets=lambda **_: found("gone")).of_table(
            PLACE, "1"
        )


def test_a_search_that_does_not_end_is_not_nothing_there() -> None:
    pages = iter(range(100))
    endless = assets(
        get_asset=refuse("EntityNotFoundException"),
        search_assets=lambda **_: found(NextToken=str(next(pages))),
    )
    with pytest.raises(CallError, match="over 1,000 results") as error:
        endless.of_table(PLACE, "1")
    assert not isinstance(error.value, NotFoundError)
    assert next(pages) == 10


@pytest.mark.parametrize(
    ("page", "told"),
    [
        ({"Items": [], "NextToken": "same"}, "same page token twice"),
        ({}, "returned no Items"),
        ({"ResponseMetadata": {}, "Items": []}, "no request id"),
    ],
)
def test_half_a_search_is_malformed(page: dict[str, Any], told: str) -> None:
    with pytest.raises(AmbiguousError, match=told):
        assets(get_asset=refuse("EntityNotFoundException"), search_assets=lambda **_: page).of_table(
            PLACE, "1"
        )


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({"Items": [{"ItemName": "id"}]}, "left out note"),
        (
            {"Items": [{"ItemName": "id"}], "Errors": [{"ItemIdentifier": "note", "Code": "Internal"}]},
            "Internal",
        ),
    ],
)
def test_a_column_that_could_not_be_read_is_told(answer: dict[str, Any], told: str) -> None:
    with pytest.raises(CallError, match=told):
        assets(batch_get_iterable_forms=lambda **_: answer).column_attachments(ASSET, ["id", "note"])


def test_a_column_that_the_asset_lacks_is_left_out() -> None:
    gone = {"ItemIdentifier": "note", "Code": "EntityNotFoundException"}
    answer = {"Items": [{"ItemName": "ID"}], "Errors": [gone]}
    reading = assets(batch_get_iterable_forms=lambda **_: answer)
    assert reading.column_attachments(ASSET, ["id", "note"]) == {"id": {}}
    assert assets().column_attachments(ASSET._replace(has_columns=False), ["id"]) == {}


def test_a_boto3_without_the_preview_is_named() -> None:
    with pytest.raises(CallError, match=r"botocore .* has no glue:GetFormType") as error:
        assets().form_types()
    assert "Install boto3" in error.value.hint


def test_the_asset_of_an_arn_has_an_id() -> None:
    with pytest.raises(AmbiguousError, match="returned no id"):
        assets(get_asset=lambda **_: {}).of_table(PLACE, "1")
