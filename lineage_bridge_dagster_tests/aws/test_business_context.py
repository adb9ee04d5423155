"""The stand-in for Glue's business context takes only what botocore's model allows, and answers by it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import botocore.session
import pytest
from botocore.exceptions import ClientError

from lineage_bridge_dagster_tests.aws.extended import ExtendedAws
from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog
from lineage_bridge_dagster_tests.catalogs.glue.graphs import CLUSTER, REGION

FORM = {"Name": "Residency", "Schema": "structure Residency {\n    region: String\n    days: Integer\n}"}


@pytest.fixture(scope="module")
def aws() -> Iterator[ExtendedAws]:
    with ExtendedAws() as server:
        catalog = Catalog(server)
        catalog.create("orders")
        catalog.glue.put_form_type(**FORM)
        yield server


def attachment(aws: ExtendedAws, **changes: Any) -> dict[str, Any]:
    return {
        "AssetIdentifier": aws.assets.arn(REGION, CLUSTER, "orders"),
        "AttachmentName": "residency",
        "FormTypeId": "Residency",
        "Content": '{"region": "eu", "days": 7}',
        **changes,
    }


def refused(aws: ExtendedAws, operation: str, request: dict[str, Any]) -> str:
    client = aws.client("glue", REGION)
    body = json.dumps(request).encode()
    # The client itself would reject some of these.
    client.meta.events.register("before-call.glue", lambda params, **_: params.update(body=body))
    with pytest.raises(ClientError) as error:
        getattr(client, operation)(**_VALID[operation])
    return str(error.value.response["Error"]["Code"])


_VALID: dict[str, dict[str, Any]] = {
    "put_form_type": {"Name": "A", "Schema": "x"},
    "put_attachment": {"AssetIdentifier": "a", "AttachmentName": "a", "FormTypeId": "a", "Content": "a"},
    "search_assets": {"SearchText": "a"},
    "batch_get_iterable_forms": {"AssetIdentifier": "a", "IterableFormName": "c", "ItemIdentifiers": ["a"]},
    "get_asset": {"Identifier": "a"},
}


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"AttachmentName": "has-hyphen"}, "InvalidInputException"),
        ({"AttachmentName": "a" * 257}, "InvalidInputException"),
        ({"AssetIdentifier": "has space"}, "InvalidInputException"),
        ({"FormTypeId": ""}, "SerializationException"),
        ({"FormTypeId": "NoSuchType"}, "EntityNotFoundException"),
        ({"AssetIdentifier": "no-such-asset"}, "EntityNotFoundException"),
        ({"Content": "{"}, "InvalidInputException"),
        ({"Content": '{"region": 1}'}, "InvalidInputException"),
        ({"Content": '{"unknown": "x"}'}, "InvalidInputException"),
        ({"Content": "[]"}, "InvalidInputException"),
        ({"Content": {"region": "eu"}}, "SerializationException"),
        ({"Contents": "x"}, "SerializationException"),
        ({"ItemIdentifier": "id"}, "InvalidInputException"),
        ({"ItemIdentifier": "id", "IterableFormName": "rows"}, "InvalidInputException"),
        ({"ItemIdentifier": "gone", "IterableFormName": "columns"}, "EntityNotFoundException"),
    ],
    ids=str,
)
def test_an_attachment_has_to_fit_the_model_the_schema_and_the_asset(
    aws: ExtendedAws, changes: dict[str, Any], code: str
) -> None:
    assert refused(aws, "put_attachment", attachment(aws, **changes)) == code


@pytest.mark.parametrize(
    ("operation", "request_", "code"),
    [
        ("put_form_type", {"Schema": FORM["Schema"]}, "SerializationException"),
        ("put_form_type", {"Name": "residency", "Schema": FORM["Schema"]}, "InvalidInputException"),
        ("put_form_type", {"Name": "Other", "Schema": FORM["Schema"]}, "InvalidInputException"),
        ("put_form_type", {"Name": "A", "Schema": "structure A { b: List }"}, "InvalidInputException"),
        ("put_form_type", {"Name": "A", "Schema": "structure A { b }"}, "InvalidInputException"),
        ("search_assets", {"SearchText": "", "MaxResults": 1}, "SerializationException"),
        ("search_assets", {"SearchText": "a", "MaxResults": 101}, "InvalidInputException"),
        (
            "search_assets",
            {"FilterClause": {"AttributeFilter": {"Attribute": "type", "Operator": "like"}}},
            "InvalidInputException",
        ),
        (
            "batch_get_iterable_forms",
            {"AssetIdentifier": "a", "IterableFormName": "columns", "ItemIdentifiers": ["c"] * 101},
            "InvalidInputException",
        ),
        ("get_asset", {"Identifier": "a" * 1088}, "InvalidInputException"),
    ],
    ids=str,
)
def test_a_request_has_to_fit_the_model(
    aws: ExtendedAws, operation: str, request_: dict[str, Any], code: str
) -> None:
    assert refused(aws, operation, request_) == code


def test_every_error_is_one_of_the_operations_of_the_model(aws: ExtendedAws) -> None:
    model = botocore.session.get_session().get_service_model("glue")
    for operation in ("PutAttachment", "GetAsset", "BatchGetIterableForms"):
        errors = {shape.name for shape in model.operation_model(operation).error_shapes}
        assert {"EntityNotFoundException", "InvalidInputException"} <= errors


def test_what_is_attached_is_read_back_and_found_by_its_content(aws: ExtendedAws) -> None:
    glue = aws.client("glue", REGION)
    glue.put_attachment(**attachment(aws))
    asset = glue.get_asset(Identifier=attachment(aws)["AssetIdentifier"])
    assert json.loads(asset["Attachments"]["residency"]["Content"]) == {"region": "eu", "days": 7}
    assert [each["Id"] for each in glue.search_assets(SearchText='"eu"')["Items"]] == [asset["Id"]]
    columns = glue.batch_get_iterable_forms(
        AssetIdentifier=asset["Id"], IterableFormName="columns", ItemIdentifiers=["id", "gone"]
    )
    assert [each["ItemName"] for each in columns["Items"]] == ["id"]
    assert [each["ItemIdentifier"] for each in columns["Errors"]] == ["gone"]
    with pytest.raises(ClientError, match="in use"):
        glue.delete_form_type(Identifier="Residency")
