"""Where IAM's simulator does not answer, each check that asks it says that it does not know."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from lineage_bridge_dagster.lineage.model import Graph
from lineage_bridge_dagster.operations.doctor import business_context, glue_access
from lineage_bridge_dagster.operations.doctor.context import Context
from lineage_bridge_dagster.operations.doctor.finding import CheckStatus, Finding
from lineage_bridge_dagster_tests.aws.extended import ExtendedAws
from lineage_bridge_dagster_tests.catalogs.glue.graphs import add_table
from lineage_bridge_dagster_tests.operations.doctor.examined import (
    ACCOUNT,
    aws_clients,
    caller,
    context_of,
    examine,
    stubbed,
)


@pytest.mark.parametrize(
    ("check", "code", "told", "remedy"),
    [
        (glue_access.update, "AccessDenied", "cannot be tried without", "Allow iam:SimulatePrincipalPolicy"),
        (glue_access.update, "Throttling", "cannot be tried without writing", "push one table and see"),
        (glue_access.update, "NoSuchEntity", "does not find the caller's role", "-arn ROLE_ARN"),
        (glue_access.update, "", "the account's root user", "least-privilege policy"),
        (business_context.available, "Throttling", "cannot be tried without", "push one table and see"),
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
    with ExtendedAws() as aws:
        variables = {"LINEAGE_BRIDGE_PUSH_BUSINESS_CONTEXT": "true"}
        context = context_of(variables, graph, **{**aws_clients(aws, "glue"), "iam": iam, "sts": sts})
        *_, found = examine(check, context)
    assert found.status is CheckStatus.WARNING
    assert (told in found.result, remedy in found.remedy) == (True, True), found
