"""The policy of an inventory collector allows what it calls, and a collector with that policy alone works."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from lineage_bridge_dagster.operations.iam.purposes import Purpose, statements
from lineage_bridge_dagster.operations.iam.render import to_cloudformation, to_terraform
from lineage_bridge_dagster.operations.iam.scope import CollectorScope, placeholders
from lineage_bridge_dagster.operations.iam.statements import policy
from lineage_bridge_dagster.operations.iam.trust import Trust
from lineage_bridge_dagster_tests.aws.extended import ExtendedAws
from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog
from lineage_bridge_dagster_tests.cli.conftest import run
from lineage_bridge_dagster_tests.collector.lake_formation import LakeFormation, serving
from lineage_bridge_dagster_tests.operations.iam import hcl
from lineage_bridge_dagster_tests.operations.iam.scopes import SCOPE
from lineage_bridge_dagster_tests.operations.iam.templates import problems

ALL = CollectorScope(
    regions=("us-east-1", "eu-west-1"),
    landing="landing/glue",
    mark="marks/glue",
    kms_key="arn:aws:kms:us-east-1:123456789012:key/1234",
    secrets=("team/collector",),
    tags=True,
)
ROLE = "arn:aws:iam::111122223333:role/kada/KadaGlueRole"
#: The permission that an operation needs, where it has another name.
PERMISSIONS = {
    "CreateMultipartUpload": "PutObject",
    "UploadPart": "PutObject",
    "CompleteMultipartUpload": "PutObject",
    "HeadObject": "GetObject",
    "ListObjects": "ListBucket",
    "ListObjectsV2": "ListBucket",
}


def document(collector: CollectorScope) -> dict[str, Any]:
    return policy(statements([Purpose.COLLECTOR], replace(SCOPE, collector=collector)))


def sids(found: dict[str, Any]) -> list[str]:
    return [each["Sid"] for each in found["Statement"]]


def test_only_what_the_collector_uses_is_allowed() -> None:
    assert sids(document(CollectorScope())) == ["ReadGlueCatalog"]
    assert sids(document(ALL)) == [
        "ReadGlueCatalog",
        "ReadLakeFormationTags",
        "LandCollectorFiles",
        "KeepCollectorMark",
        "ListCollectorMarks",
        "EncryptCollectorFiles",
        "ReadCollectorKeys",
    ]
    assert sids(document(replace(ALL, landing="", mark="", tags=False, secrets=()))) == ["ReadGlueCatalog"]


def test_each_region_is_read_and_no_other() -> None:
    (glue,) = [each for each in document(ALL)["Statement"] if each["Sid"] == "ReadGlueCatalog"]
    assert {arn.split(":")[3] for arn in glue["Resource"]} == {"us-east-1", "eu-west-1"}
    assert glue["Action"] == ["glue:GetDatabases", "glue:GetTables"]


@pytest.mark.parametrize("key", ["alias/glue", "arn:aws:kms:us-east-1:123456789012:alias/glue"])
def test_alias_of_a_kms_key_is_left_open(key: str) -> None:
    text = json.dumps(document(replace(ALL, kms_key=key)))
    assert "alias" not in text
    assert any("--kms-key" in how for how in placeholders(text))
    named = json.dumps(document(replace(ALL, kms_key="1234")))
    assert "arn:aws:kms:us-east-1:123456789012:key/1234" in named


@pytest.mark.parametrize("external_id", ["", "e-1"])
def test_role_is_valid_in_cloudformation_and_terraform(external_id: str) -> None:
    trust = Trust("arn:aws:iam::111122223333:root", external_id, ROLE, for_collector=True)
    template = to_cloudformation([document(ALL)], trust)
    assert problems(template) == []
    role = yaml.safe_load(template)["Resources"]["Role"]["Properties"]
    assert (role["RoleName"], role["Path"]) == ("KadaGlueRole", "/kada/")
    (assume,) = role["AssumeRolePolicyDocument"]["Statement"]
    assert assume["Action"] == "sts:AssumeRole"
    assert assume.get("Condition") == ({"StringEquals": {"sts:ExternalId": "e-1"}} if external_id else None)
    policy_, role_, attachment = hcl.read(to_terraform([document(ALL)], trust))
    assert policy_.attributes["policy"] == document(ALL)
    assert (role_.name, role_.attributes["assume_role_policy"]) == ("collector", trust.document())
    assert attachment.attributes["role"] == hcl.Reference("aws_iam_role.collector.name")


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "config.json"
    path.write_text(
        json.dumps(
            {
                "key": "",
                "secret": "",
                "server": "acme-glue",
                "regions": ["us-east-1", "eu-west-1"],
                "catalogId": "111122223333",
                "role": ROLE,
                "output_path": "files",
                "secrets": ["team/collector"],
                "landing": {"url": "s3://landing/glue", "kms_key": "1234"},
                "lake_formation_tags": "auto",
            }
        )
    )
    return path


def test_configuration_of_the_collector_says_what_it_needs(config: Path) -> None:
    result = run("iam-policy", "--collector", "-c", config, "--mark", "s3://landing/marks")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert sids(found) == sids(document(ALL))
    assert "<" not in result.stdout
    assert "arn:aws:glue:eu-west-1:111122223333:table/*/*" in result.stdout
    assert "arn:aws:s3:::landing/marks/*" in result.stdout
    assert f"needs sts:AssumeRole on {ROLE}" in result.stderr


def test_options_say_it_without_a_configuration() -> None:
    place = ("--account", "111122223333", "--region", "us-east-1,eu-west-1")
    more = ("--landing", "s3://b/p", "--kms-key", "1234", "--secret", "s", "--lake-formation-tags")
    result = run("iam-policy", "--collector", *place, *more)
    assert sids(json.loads(result.stdout)) == [
        "ReadGlueCatalog",
        "ReadLakeFormationTags",
        "LandCollectorFiles",
        "EncryptCollectorFiles",
        "ReadCollectorKeys",
    ]
    assert (result.stderr, "eu-west-1" in result.stdout) == ("", True)
    wrong = run("iam-policy", "--collector", *place, "--mark", "folder")
    assert (wrong.exit_code, "--mark s3://bucket/prefix" in wrong.stderr) == (2, True)


@pytest.mark.parametrize("form", ["cloudformation", "terraform"])
def test_template_has_the_role_that_the_configuration_names(config: Path, form: str) -> None:
    result = run("iam-policy", "--collector", "-c", config, "--format", form)
    assert "KadaGlueRole" in result.stdout
    assert "arn:aws:iam::111122223333:root" in result.stdout
    assert "Name one with --principal" in result.stderr


def test_trust_policy_of_another_accounts_principal_asks_for_an_external_id(config: Path) -> None:
    principal = "arn:aws:iam::999988887777:role/runner"
    arguments = ("iam-policy", "--collector", "-c", config, "--trust", "--principal", principal)
    result = run(*arguments)
    assert json.loads(result.stdout)["Statement"][0]["Principal"] == {"AWS": principal}
    assert "--external-id" in result.stderr
    asked = run(*arguments, "--external-id", "e-1")
    assert json.loads(asked.stdout)["Statement"][0]["Condition"]["StringEquals"] == {"sts:ExternalId": "e-1"}
    assert asked.stderr == ""


def allowed(found: dict[str, Any]) -> set[str]:
    return {action for each in found["Statement"] for action in each["Action"]}


def test_collector_with_exactly_this_policy_does_all_of_its_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lake = LakeFormation()
    lake.tags = {"domain": ["sales"]}
    lake.assigned = {("sales", "", ""): {"domain": "sales"}}
    with ExtendedAws() as aws, serving(lake) as lake_url:
        for name, value in {
            "AWS_ENDPOINT_URL": aws.endpoint_url,
            "AWS_ENDPOINT_URL_LAKEFORMATION": lake_url,
            "AWS_ACCESS_KEY_ID": "collector",
            "AWS_SECRET_ACCESS_KEY": "any",
        }.items():
            monkeypatch.setenv(name, value)
        for region in ("us-east-1", "eu-west-1"):
            Catalog(aws, region).create("orders", "sales")
        aws.client("s3").create_bucket(Bucket="landing")
        aws.client("secretsmanager").create_secret(
            Name="team/collector", SecretString='{"LINEAGE_BRIDGE_COLLECTOR_MASK_KEY": "key"}'
        )
        config = tmp_path / "config.json"
        values = {
            "regions": ["us-east-1", "eu-west-1"],
            "catalogId": aws.account_id,
            "output_path": "files",
            "mask": True,
            "landing": "s3://landing/glue",
            "secrets": "team/collector",
            "lake_formation_tags": True,
        }
        config.write_text(
            json.dumps({**values, "landing": {"url": "s3://landing/glue", "region": "us-east-1"}})
        )
        mark = ("s3://landing/marks",)
        printed = run("iam-policy", "--collector", "-c", config, "--mark", *mark)
        found = json.loads(printed.stdout)
        aws.restrict(found, "collector")
        aws.clear_faults()
        for _ in range(2):
            result = run("collect", "-c", config, "--hwm-path", *mark)
            assert result.exit_code == 0, result.output
        services = {"glue": ("GetDatabases", "GetTables"), "secretsmanager": ("GetSecretValue",)}
        names = {name: service for service, each in services.items() for name in each}
        called = {
            f"{names.get(operation, 's3')}:{PERMISSIONS.get(operation, operation)}" for operation in aws.calls
        } | {f"lakeformation:{operation}" for operation in lake.calls}
        assert called <= allowed(found)
        # Uploads in parts that fail are aborted, and marks that are older are removed.
        assert allowed(found) - called <= {"s3:AbortMultipartUpload", "s3:DeleteObject"}
        found["Statement"] = [each for each in found["Statement"] if each["Sid"] != "ReadGlueCatalog"]
        aws.restrict(found, "collector")
        assert run("collect", "-c", config, "--hwm-path", *mark).exit_code == 1
