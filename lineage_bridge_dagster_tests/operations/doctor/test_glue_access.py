"""Permissions by harmless calls against a strict Glue, and by IAM's simulator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from lineage_bridge_dagster.lineage.glue_names import GluePlace
from lineage_bridge_dagster.lineage.model import Graph
from lineage_bridge_dagster.operations.doctor import glue_access
from lineage_bridge_dagster.operations.doctor.context import Context
from lineage_bridge_dagster.operations.doctor.finding import CheckStatus
from lineage_bridge_dagster_tests.aws.extended import ExtendedAws
from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog
from lineage_bridge_dagster_tests.catalogs.glue.graphs import CLUSTER, REGION, add_table
from lineage_bridge_dagster_tests.operations.doctor.examined import (
    ACCOUNT,
    ROLE,
    aws_clients,
    caller,
    context_of,
    examine,
    stubbed,
    table_policy,
    worst,
)

PREFIX = f"arn:aws:glue:{REGION}:{ACCOUNT}:"
RESOURCES = [f"{PREFIX}catalog", f"{PREFIX}database/{CLUSTER}", f"{PREFIX}table/{CLUSTER}/orders.v1"]


@pytest.fixture
def catalog() -> Iterator[Catalog]:
    with ExtendedAws() as aws:
        catalog = Catalog(aws)
        catalog.create("orders.v1")
        yield catalog


def _context(catalog: Catalog) -> Context:
    graph = Graph()
    add_table(graph, "orders.v1")
    return context_of(graph=graph, **aws_clients(catalog.aws, "glue", "sts"))


def test_every_read_that_is_allowed_is_named(catalog: Catalog) -> None:
    results = examine(glue_access.read, _context(catalog))
    assert [one.status for one in results] == [CheckStatus.OK] * 3
    assert [one.tried.split()[0].rstrip(".") for one in results] == [
        "glue:GetDatabases",
        "glue:GetTables",
        "glue:GetTable",
    ]


def test_a_policy_on_the_wrong_resources_is_told_by_the_resource(catalog: Catalog) -> None:
    catalog.aws.restrict(table_policy(catalog.aws.account_id, CLUSTER, catalog=False))
    refused = worst(examine(glue_access.read, _context(catalog)))
    assert f"glue:{REGION}:{catalog.aws.account_id}:catalog" in refused.remedy
    assert "must list all three ARNs" in refused.remedy


def test_a_denied_list_does_not_stop_the_reads_of_tables(catalog: Catalog) -> None:
    catalog.aws.restrict(table_policy(catalog.aws.account_id, CLUSTER))
    results = examine(glue_access.read, _context(catalog))
    assert [one.status for one in results] == [CheckStatus.FAILED, CheckStatus.OK, CheckStatus.OK]
    assert "glue:GetDatabases" in results[0].result


def test_a_table_that_is_gone_points_at_region_account_and_lake_formation(catalog: Catalog) -> None:
    catalog.glue.delete_table(DatabaseName=CLUSTER, Name="orders.v1")
    gone = worst(examine(glue_access.read, _context(catalog)))
    assert "EntityNotFoundException" in gone.result
    for hint in ("region", "account", "dropped", "Lake Formation"):
        assert hint in gone.remedy


def _simulated(*decisions: str) -> Context:
    graph = Graph()
    add_table(graph, "orders.v1")
    iam, stubber = stubbed("iam")
    specific = [
        {"EvalResourceName": name, "EvalResourceDecision": decision}
        for name, decision in zip(RESOURCES, decisions, strict=True)
    ]
    result: dict[str, Any] = {
        "EvalActionName": "glue:UpdateTable",
        "EvalDecision": decisions[0],
        "ResourceSpecificResults": specific,
    }
    stubber.add_response(
        "simulate_principal_policy",
        {"EvaluationResults": [result]},
        {"PolicySourceArn": ROLE, "ActionNames": ["glue:UpdateTable"], "ResourceArns": RESOURCES},
    )
    return context_of(graph=graph, sts=caller(), iam=iam)


def test_the_simulator_is_asked_for_the_role_behind_the_session() -> None:
    (found,) = examine(glue_access.update, _simulated("allowed", "allowed", "allowed"))
    assert found.status is CheckStatus.OK
    assert ROLE in found.tried


def test_a_write_that_is_allowed_on_some_resources_only_is_on_the_wrong_ones() -> None:
    (found,) = examine(glue_access.update, _simulated("implicitDeny", "allowed", "allowed"))
    assert found.status is CheckStatus.FAILED
    assert f"{PREFIX}catalog (implicitDeny)" in found.result
    assert "on the wrong resources" in found.remedy
    (found,) = examine(glue_access.update, _simulated("implicitDeny", "implicitDeny", "implicitDeny"))
    assert "on the wrong resources" not in found.remedy
    (found,) = examine(glue_access.update, _simulated("allowed", "allowed", "explicitDeny"))
    assert "Deny statement" in found.remedy


def test_resources_of_china_have_its_partition() -> None:
    first, *_ = glue_access.update_resources("cn-north-1", ACCOUNT, [GluePlace("db", "t")])
    assert first == f"arn:aws-cn:glue:cn-north-1:{ACCOUNT}:catalog"
