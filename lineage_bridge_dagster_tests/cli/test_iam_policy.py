"""`lineage-bridge iam-policy`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import Result

from lineage_bridge_dagster.embedded import world
from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster.lineage import graph_json
from lineage_bridge_dagster.lineage.model import Graph
from lineage_bridge_dagster.operations.iam.purposes import Purpose
from lineage_bridge_dagster_tests.catalogs.glue.graphs import discovery, tableflow_node
from lineage_bridge_dagster_tests.cli.conftest import run
from lineage_bridge_dagster_tests.embedded.confluent.emulator import ConfluentEmulator

PLACE = ("--account", "111122223333", "--region", "us-east-1", "--database", "lkc-1", "--bucket", "tables")


@pytest.fixture(autouse=True)
def _no_identity(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))


def policy(*arguments: str | Path) -> dict[str, Any]:
    result = run("iam-policy", *arguments)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)  # type: ignore[no-any-return]


def sids(document: dict[str, Any]) -> list[str]:
    return [statement["Sid"] for statement in document["Statement"]]


def write_graph(folder: Path, *nodes: Any) -> Path:
    path = folder / "lineage_graph.json"
    graph_json.dump(discovery(Graph(nodes)), path)
    return path


def notes(result: Result) -> list[str]:
    return [line for line in result.stderr.splitlines() if line.startswith("Note: ")]


@pytest.mark.parametrize("purpose", Purpose)
def test_each_purpose_is_an_option(purpose: Purpose) -> None:
    assert policy(f"--{purpose}", *PLACE)["Statement"]


def test_known_places_leave_no_note() -> None:
    result = run("iam-policy", "--push", *PLACE)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "<" not in result.stdout


def test_unknown_places_are_placeholders_with_what_sets_them() -> None:
    result = run("iam-policy", "--push")
    assert "arn:aws:glue:<REGION>:<ACCOUNT>:database/<DATABASE>" in result.stdout
    told = " ".join(notes(result))
    assert len(notes(result)) == 4
    for option in ("--account", "--region", "--database", "--bucket"):
        assert option in told


def test_graph_names_databases_and_buckets(tmp_path: Path) -> None:
    graph = write_graph(tmp_path, tableflow_node("orders", bucket_name="tables", storage_kind="ByobAws"))
    document = policy("--push", "--graph", graph, "--account", "111122223333")
    assert "arn:aws:glue:us-east-1:111122223333:table/lkc-abc123/*" in document["Statement"][1]["Resource"]
    assert document["Statement"][2]["Resource"] == ["arn:aws:s3:::tables/*/metadata/*"]


def test_several_purposes_hold_each_permission_once() -> None:
    found = sids(policy("--read-only", "--push", *PLACE))
    assert sorted(found) == ["ListGlueDatabases", "PushLineage", "ReadTableMetadata"]


def test_without_a_purpose_the_policy_is_for_what_is_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "PushLineage" in sids(policy(*PLACE))
    assert "WriteLineageTables" not in sids(policy(*PLACE))
    monkeypatch.setenv("LINEAGE_BRIDGE_CATALOG_WAREHOUSE", "s3://lake/lineage")
    monkeypatch.setenv("LINEAGE_BRIDGE_AWS_REGION", "us-east-1")
    monkeypatch.setenv("ICEBERG_WAREHOUSE", "111122223333:s3tablescatalog/metrics")
    found = sids(policy(*PLACE))
    assert {"PushLineage", "WriteLineageTables", "S3TablesThroughGlue"} <= set(found)


def test_secrets_are_named_and_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEAGE_BRIDGE_SECRETS", "prod/confluent")
    assert sids(policy("--push", *PLACE))[0] == "ReadKeys"


def test_policy_beyond_the_quota_is_split_and_can_be_grouped() -> None:
    databases = [word for number in range(60) for word in ("--database", f"lkc-abc{number:03d}")]
    place = (*PLACE[:4], "--bucket", "tables")
    result = run("iam-policy", "--push", *place, *databases)
    assert len(json.loads(result.stdout)) == 2
    assert "6,144 characters in a managed policy, so these are 2 as an array" in " ".join(notes(result))
    assert "--group" in result.stderr
    assert len(notes(result)) == 1
    grouped = run("iam-policy", "--push", *place, *databases, "--group")
    assert grouped.stderr == ""
    assert "arn:aws:glue:us-east-1:111122223333:database/lkc-*" in grouped.stdout


def test_what_even_several_policies_exceed_is_said(tmp_path: Path) -> None:
    tables = [tableflow_node(f"t{number}", cluster=f"lkc-{number:04d}") for number in range(1_000)]
    graph = write_graph(tmp_path, *tables)
    result = run("iam-policy", "--push", "--graph", graph, *PLACE[:4], "--format", "cloudformation")
    told = " ".join(notes(result))
    assert "10 managed policies to a role" in told
    assert "51,200 bytes only from S3" in told


def test_doctors_policy_names_the_identity_that_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    role = "arn:aws:iam::111122223333:role/lineage"

    def simulated(*arguments: str) -> str:
        document = policy("--push", "--doctor", *PLACE, *arguments)
        (found,) = [one for one in document["Statement"] if one["Sid"] == "DoctorSimulation"]
        return str(found["Resource"][0])

    assert simulated("--identity", role) == role
    assert simulated() == "<IDENTITY_ARN>"
    assert "--identity" in " ".join(notes(run("iam-policy", "--doctor", *PLACE)))
    monkeypatch.setenv("LINEAGE_BRIDGE_AWS_ROLE_ARN", role)
    assert simulated() == role
    monkeypatch.delenv("LINEAGE_BRIDGE_AWS_ROLE_ARN")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE00001")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "any")
    with StrictAws() as aws:
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", aws.endpoint_url)
        assert simulated().startswith(f"arn:aws:sts::{aws.account_id}:")


def test_roles_of_confluent_and_of_this_project_are_not_mixed() -> None:
    result = run("iam-policy", "--push", "--tableflow-glue", *PLACE)
    assert result.exit_code == 2
    assert "different roles" in result.stderr


def test_trust_is_for_the_role_of_confluent_only() -> None:
    result = run("iam-policy", "--push", "--trust", *PLACE)
    assert result.exit_code == 2
    assert "--tableflow-storage" in result.stderr


def test_location_that_is_not_in_s3_is_refused() -> None:
    result = run("iam-policy", "--athena", "--results", "results", *PLACE)
    assert result.exit_code == 2
    assert "--results s3://bucket/prefix" in result.stderr


def test_trust_from_options_without_a_key() -> None:
    role = ("--principal", "arn:aws:iam::999999999999:role/c", "--external-id", "e-1")
    document = policy("--tableflow-storage", "--trust", *role, *PLACE)
    assert document["Statement"][0]["Condition"]["StringEquals"]["sts:ExternalId"] == "e-1"


def test_trust_without_a_key_is_left_open() -> None:
    result = run("iam-policy", "--tableflow-storage", "--trust", *PLACE)
    assert "<CONFLUENT_ROLE_ARN>" in result.stdout
    assert "LINEAGE_BRIDGE_CONFLUENT_CLOUD_API_KEY" in result.stderr
    assert "--external-id" in result.stderr


def test_output_goes_to_a_file(tmp_path: Path) -> None:
    result = run("iam-policy", "--push", *PLACE, "--format", "terraform", "-o", tmp_path / "policy.tf")
    assert (result.exit_code, result.stdout) == (0, "")
    assert (tmp_path / "policy.tf").read_text().startswith('resource "aws_iam_policy"')


@pytest.fixture
def confluent(monkeypatch: pytest.MonkeyPatch) -> Iterator[ConfluentEmulator]:
    with ConfluentEmulator() as emulator:
        key = world.api_key("confluent_cloud")
        monkeypatch.setenv("LINEAGE_BRIDGE_CONFLUENT_API_URL", emulator.url)
        monkeypatch.setenv("LINEAGE_BRIDGE_CONFLUENT_CLOUD_API_KEY", key.key)
        monkeypatch.setenv("LINEAGE_BRIDGE_CONFLUENT_CLOUD_API_SECRET", key.secret)
        yield emulator


def test_trust_comes_from_the_integration_that_tableflow_uses(
    confluent: ConfluentEmulator, tmp_path: Path
) -> None:
    cluster = world.CLUSTERS[0]
    table = tableflow_node(
        "orders", environment=world.ENVIRONMENT_ID, provider_integration_id=cluster.provider_integration_id
    )
    graph = write_graph(tmp_path, table)
    result = run("iam-policy", "--tableflow-storage", "--graph", graph, *PLACE, "--format", "cloudformation")
    assert result.exit_code == 0, result.output
    role = yaml.safe_load(result.stdout)["Resources"]["Role"]["Properties"]
    assert role["RoleName"] == f"tableflow-{cluster.name}"
    principal = role["AssumeRolePolicyDocument"]["Statement"][0]["Principal"]["AWS"]
    assert principal == f"arn:aws:iam::000000000000:role/confluent-{cluster.id}"
    assert "<" not in result.stdout


def test_several_integrations_are_named_to_choose_from(confluent: ConfluentEmulator) -> None:
    arguments = ("iam-policy", "--tableflow-glue", "--trust", "--environment", world.ENVIRONMENT_ID, *PLACE)
    result = run(*arguments)
    assert result.exit_code == 2
    chosen = world.CLUSTERS[1].provider_integration_id
    assert chosen in result.stderr
    assert run(*arguments, "--provider-integration", chosen).exit_code == 0
