"""Where the credentials come from, stray keys in the environment, and whose catalog it is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster.lineage.model import Graph
from lineage_bridge_dagster.operations.doctor import aws_identity
from lineage_bridge_dagster.operations.doctor.finding import CheckStatus, Finding
from lineage_bridge_dagster_tests.catalogs.glue.graphs import add_table
from lineage_bridge_dagster_tests.operations.doctor.examined import (
    ACCOUNT,
    aws_clients,
    caller,
    context_of,
    examine,
    stubbed,
    with_status,
    worst,
)

LONG_TERM = {"AWS_ACCESS_KEY_ID": "AKIAEXAMPLE00001", "AWS_SECRET_ACCESS_KEY": "a-secret-of-a-key"}


def _credentials(monkeypatch: pytest.MonkeyPatch, variables: Mapping[str, str]) -> list[Finding]:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return examine(aws_identity.credentials, context_of(variables))


def test_the_source_of_the_credentials_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    results = _credentials(monkeypatch, LONG_TERM)
    assert {result.status for result in results} == {CheckStatus.OK}
    assert "the keys in AWS_ACCESS_KEY_ID" in results[0].result
    assert "ends in ...0001" in results[0].result
    assert LONG_TERM["AWS_SECRET_ACCESS_KEY"] not in str(results)

    config = tmp_path / "credentials"
    config.write_text("[lineage]\naws_access_key_id = AKIAEXAMPLE00002\naws_secret_access_key = hidden\n")
    profile = {"AWS_SHARED_CREDENTIALS_FILE": str(config), "LINEAGE_BRIDGE_AWS_PROFILE": "lineage"}
    results = _credentials(monkeypatch, {**LONG_TERM, **profile})
    assert "the keys of profile lineage in the credentials file; the access key ends in ...0002" in str(
        results
    )
    stray = worst(results)
    assert stray.status is CheckStatus.WARNING
    assert "AWS_ACCESS_KEY_ID: profile lineage comes first" in stray.result
    assert "one identity" in stray.remedy


def test_a_key_that_overrides_a_profile_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text("[profile lineage]\nregion = us-east-1\n")
    profile = {"AWS_CONFIG_FILE": str(config), "AWS_PROFILE": "lineage"}
    stray = worst(_credentials(monkeypatch, {**LONG_TERM, **profile}))
    assert stray.status is CheckStatus.WARNING
    assert "AWS_PROFILE: keys in the environment come first" in stray.result


@pytest.mark.parametrize(
    ("variables", "named"),
    [
        ({"AWS_ACCESS_KEY_ID": "AKIAX"}, "missing: AWS_SECRET_ACCESS_KEY"),
        ({**LONG_TERM, "AWS_SESSION_TOKEN": "left"}, "left over from another session"),
    ],
)
def test_keys_that_do_not_belong_together_fail(
    variables: Mapping[str, str], named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = worst(_credentials(monkeypatch, variables))
    assert found.status is CheckStatus.FAILED
    assert named in found.result
    assert found.remedy


def test_no_credentials_and_an_unknown_profile_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    assert "There are no AWS credentials" in worst(examine(aws_identity.credentials, context_of())).result
    unknown = context_of({"LINEAGE_BRIDGE_AWS_PROFILE": "nowhere"})
    assert "'nowhere' is not configured" in worst(examine(aws_identity.credentials, unknown)).result


def test_the_caller_is_named() -> None:
    with StrictAws() as aws:
        (found,) = examine(aws_identity.identity, context_of(**aws_clients(aws, "sts")))
    assert found.status is CheckStatus.OK
    assert f"in account {aws.account_id}" in found.result


def test_an_expired_session_says_to_sign_in_again() -> None:
    sts, stubber = stubbed("sts")
    stubber.add_client_error("get_caller_identity", "ExpiredToken", "The security token is expired", 403)
    found = worst(examine(aws_identity.identity, context_of(sts=sts)))
    assert "aws sso login" in found.remedy


def test_another_accounts_catalog_is_wrong_unless_it_answers() -> None:
    glue, stubber = stubbed("glue")
    request = {"CatalogId": "999988887777", "MaxResults": 1}
    stubber.add_client_error(
        "get_databases", "AccessDeniedException", "not authorized", 400, expected_params=request
    )
    stubber.add_response("get_databases", {"DatabaseList": []}, request)
    context = context_of({"LINEAGE_BRIDGE_AWS_CATALOG_ID": "999988887777"}, sts=caller(), glue=glue)
    refused = worst(examine(aws_identity.account, context))
    assert "belongs to another account, and the call failed" in refused.result
    assert "LINEAGE_BRIDGE_AWS_CATALOG_ID" in refused.remedy
    assert f"arn:aws:iam::{ACCOUNT}:root" in refused.remedy
    allowed = examine(aws_identity.account, context)
    assert with_status(allowed, CheckStatus.FAILED) == []


def test_credentials_of_another_account_than_the_discoverys_fail() -> None:
    graph = Graph()
    table = add_table(graph, "orders")
    table.attributes["catalog_id"] = "999988887777"
    found = worst(examine(aws_identity.account, context_of(graph=graph, sts=caller())))
    assert "tables of account 999988887777" in found.result


def test_a_catalog_id_that_is_no_account_fails_without_a_call() -> None:
    context = context_of({"LINEAGE_BRIDGE_AWS_CATALOG_ID": "s3tablescatalog"}, sts=caller())
    assert "12 digits" in worst(examine(aws_identity.account, context)).remedy
