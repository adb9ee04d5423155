"""A context of given variables, tables and clients, and what a check finds in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

import boto3
from botocore.stub import Stubber

from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster.lineage.model import Graph
from lineage_bridge_dagster.operations.doctor.context import Context, StoredDiscovery
from lineage_bridge_dagster.operations.doctor.finding import CheckStatus, Finding
from lineage_bridge_dagster_tests.catalogs.glue.graphs import REGION, discovery

ACCOUNT = "111122223333"
ROLE = f"arn:aws:iam::{ACCOUNT}:role/lineage"


def context_of(
    variables: Mapping[str, str] | None = None,
    graph: Graph | None = None,
    **clients: Any,
) -> Context:
    """A context that reads nothing of this machine's environment; without a graph, there is no discovery."""
    stored = StoredDiscovery(discovery(graph), "a test") if graph is not None else None
    given = {"LINEAGE_BRIDGE_AWS_REGION": REGION, **(variables or {})}
    return Context(lambda: stored, variables=given, clients=clients)


@cache
def _session(access_key: str) -> Any:
    return boto3.Session(access_key, "test", region_name=REGION)


def aws_clients(aws: StrictAws, *services: str, access_key: str = "test") -> dict[str, Any]:
    """Clients of a strict Glue, of the caller whose policy a test restricts."""
    session = _session(access_key)
    return {name: session.client(name, endpoint_url=aws.endpoint_url) for name in services}


def table_policy(account: str, database: str, *, catalog: bool = True) -> dict[str, Any]:
    """An IAM policy that allows reads of a database's tables, but no list of databases.

    Args:
        account: of the catalog.
        database: whose tables may be read.
        catalog: whether the catalog is among the resources, without which Glue refuses all of it.
    """
    arn = f"arn:aws:glue:{REGION}:{account}:"
    resources = [f"{arn}catalog"] * catalog + [f"{arn}database/{database}", f"{arn}table/{database}/*"]
    return {
        "Version": "2012-10-17",
        "Statement": [
            {"Effect": "Allow", "Action": ["glue:GetTable", "glue:GetTables"], "Resource": resources}
        ],
    }


def stubbed(service: str) -> tuple[Any, Stubber]:
    """A client whose requests and answers botocore checks against the service's own model."""
    client: Any = _session("test").client(service)
    stubber = Stubber(client)
    stubber.activate()
    return client, stubber


def caller(arn: str = f"arn:aws:sts::{ACCOUNT}:assumed-role/lineage/session") -> Any:
    """An STS client that answers, as often as it is asked, who the caller is."""
    client, stubber = stubbed("sts")
    for _ in range(5):
        stubber.add_response("get_caller_identity", {"Arn": arn, "Account": ACCOUNT, "UserId": "AROAX"})
    return client


def examine(run: Callable[[Context], Iterable[Finding]], context: Context) -> list[Finding]:
    return list(run(context))


def with_status(results: Iterable[Finding], status: CheckStatus) -> list[Finding]:
    return [result for result in results if result.status is status]


def worst(results: Iterable[Finding]) -> Finding:
    """The first failure, else the first warning.

    Raises:
        AssertionError: all is well.
    """
    found = list(results)
    bad = with_status(found, CheckStatus.FAILED) or with_status(found, CheckStatus.WARNING)
    assert bad, found
    return bad[0]
