"""Where IAM's simulator does not answer, each check that asks it says that it does not know."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster.lineage.model import Graph
from lineage_bridge_dagster.operations.doctor import business_context, glue_access
from lineage_bridge_dagster.operations.doctor.context import Context
from lineage_bridge_dagster.operations.doctor.finding import CheckStatus, Finding
from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog
from lineage_bridge_dagster_tests.catalogs.glue.graphs import add_table
from lineage_bridge_dagster_tests.operations.doctor.examined import (
    ACCOUNT,
    aws_clients,
    caller,
    context_of,
    examine,
    stubbed,
)


@pytest.mark.parametrize("check", [glue_access.update, business_context.available])
@pytest.mark.parametrize(
    ("code", "told", "remedy"),
    [
        ("AccessDenied", "cannot be tried without writing", "Allow iam:SimulatePrincipalPolicy"),
        ("Throttling", "cannot be tried without writing", "push one table and see"),
        ("NoSuchEntity", "does not find the caller's role", "--policy-source-arn ROLE_ARN"),
        ("", "the account's root user", "least-privilege policy"),
    ],
)
def test_no_answer_is_a_warning_that_says_what_to_do(
    check: Callable[[Context], Iterable[Finding]], code: str, told: str, remedy: str
) -> None:
    graph = Graph()
    add_table(graph, "orders.v1")
    iam, stub = stubbed("iam")
    sts = caller() if code else caller(f"arn:aws:iam::{ACCOUNT}:root")
    if code:
        stub.add_client_error(
            "simulate_principal_policy", code, "no answer", 403 if code.startswith("A") else 400
        )
    with StrictAws() as aws:
        Catalog(aws).create("orders.v1")
        variables = {"LINEAGE_BRIDGE_PUSH_BUSINESS_CONTEXT": "true"}
        context = context_of(variables, graph, **{**aws_clients(aws, "glue"), "iam": iam, "sts": sts})
        *_, found = examine(check, context)
    assert found.status is CheckStatus.WARNING
    assert (told in found.result, remedy in found.remedy) == (True, True), found
