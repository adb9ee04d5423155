"""What the doctor tells of Glue's business context: the preview, the region, the encryption, the rights."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lineage_bridge_dagster.lineage.model import Graph
from lineage_bridge_dagster.operations.doctor import business_context
from lineage_bridge_dagster.operations.doctor.finding import CheckStatus, Finding
from lineage_bridge_dagster_tests.aws.extended import ExtendedAws
from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog
from lineage_bridge_dagster_tests.catalogs.glue.graphs import CLUSTER, REGION, add_table
from lineage_bridge_dagster_tests.operations.doctor.examined import (
    ROLE,
    aws_clients,
    caller,
    context_of,
    examine,
    stubbed,
    worst,
)

ON = {"LINEAGE_BRIDGE_PUSH_BUSINESS_CONTEXT": "true"}
WRITES = ("glue:DeleteAttachment", "glue:PutAttachment", "glue:PutFormType")


@pytest.fixture
def aws() -> Iterator[ExtendedAws]:
    with ExtendedAws() as aws:
        Catalog(aws).create("orders.v1")
        yield aws


def examined(aws: ExtendedAws, *, refused: str = "", region: str = REGION) -> list[Finding]:
    graph = Graph()
    add_table(graph, "orders.v1")
    iam, stub = stubbed("iam")
    stub.add_response(
        "simulate_principal_policy",
        {
            "EvaluationResults": [
                {"EvalActionName": each, "EvalDecision": "implicitDeny" if each == refused else "allowed"}
                for each in WRITES
            ]
        },
        {"PolicySourceArn": ROLE, "ActionNames": list(WRITES), "ResourceArns": ["*"]},
    )
    variables = {**ON, "LINEAGE_BRIDGE_AWS_CATALOG_ID": aws.account_id, "LINEAGE_BRIDGE_AWS_REGION": region}
    clients = {**aws_clients(aws, "glue"), "iam": iam, "sts": caller()}
    with stub:
        return examine(business_context.available, context_of(variables, graph, **clients))


def test_where_all_is_well_the_asset_is_named_and_nothing_is_written(aws: ExtendedAws) -> None:
    found = examined(aws)
    assert [each.status for each in found] == [CheckStatus.OK] * 4, found
    assert aws.assets.arn(REGION, CLUSTER, "orders.v1") in found[2].result
    assert not [name for name in aws.calls if name.startswith(("Put", "Delete"))]


@pytest.mark.parametrize(
    ("operation", "code", "status", "told"),
    [
        ("GetFormType", "UnknownOperationException", CheckStatus.FAILED, "in preview, in eu-west-1"),
        ("GetFormType", "AccessDeniedException", CheckStatus.FAILED, "Allow glue:GetFormType"),
        ("GetAsset", "AccessDeniedException", CheckStatus.FAILED, "Allow glue:GetAsset"),
        ("GetDataCatalogEncryptionSettings", "AccessDeniedException", CheckStatus.WARNING, "--doctor"),
    ],
)
def test_a_call_that_is_refused_is_named(
    aws: ExtendedAws, operation: str, code: str, status: CheckStatus, told: str
) -> None:
    aws.fail(operation, code, times=None)
    found = worst(examined(aws))
    assert (found.status, told in found.remedy) == (status, True), found


def test_a_write_that_iam_refuses_is_named(aws: ExtendedAws) -> None:
    assert "glue:PutAttachment" in worst(examined(aws, refused="glue:PutAttachment")).result


def test_a_table_that_is_no_asset_yet_is_a_warning(aws: ExtendedAws) -> None:
    aws.assets.hidden.add(aws.assets.arn(REGION, CLUSTER, "orders.v1"))
    assert worst(examined(aws)).status is CheckStatus.WARNING


@pytest.mark.parametrize(("key", "told"), [("alias/aws/glue", False), ("alias/ours", True)])
def test_a_key_of_ones_own_is_a_warning(aws: ExtendedAws, key: str, told: bool) -> None:
    at_rest = {"CatalogEncryptionMode": "SSE-KMS", "SseAwsKmsKeyId": key}
    aws.client("glue", REGION).put_data_catalog_encryption_settings(
        DataCatalogEncryptionSettings={"EncryptionAtRest": at_rest}
    )
    assert (examined(aws)[0].status is CheckStatus.WARNING) == told


def test_another_region_than_those_of_the_preview_is_a_warning(aws: ExtendedAws) -> None:
    assert "eu-west-1, us-east-1" in examined(aws, region="eu-central-1")[0].result


def test_nothing_is_asked_where_it_is_off() -> None:
    (found,) = examine(business_context.available, context_of({}))
    assert found.status is CheckStatus.SKIPPED
