"""The policies allow exactly what each purpose calls, on the resources of the scope."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import botocore.session
import pytest

import lineage_bridge_dagster.catalogs.glue as glue_package
from lineage_bridge_dagster.operations.iam.purposes import Purpose, statements
from lineage_bridge_dagster.operations.iam.scope import HOW_TO_SET, PolicyScope
from lineage_bridge_dagster.operations.iam.statements import PolicyStatement
from lineage_bridge_dagster_tests.operations.iam.scopes import SCOPE

GLUE = "arn:aws:glue:us-east-1:123456789012:"

#: Permissions of S3 that are named otherwise than the operation that needs them.
S3_OPERATIONS = {
    "ListBucket": "ListObjectsV2",
    "ListBucketMultipartUploads": "ListMultipartUploads",
    "ListMultipartUploadParts": "ListParts",
}


def by_sid(*purposes: Purpose, scope: PolicyScope = SCOPE) -> dict[str, PolicyStatement]:
    return {statement.sid: statement for statement in statements(purposes, scope)}


def actions(*purposes: Purpose) -> set[str]:
    return {action for statement in statements(purposes, SCOPE) for action in statement.actions}


@pytest.mark.parametrize("purpose", Purpose)
def test_every_action_exists(purpose: Purpose) -> None:
    session = botocore.session.get_session()
    for action in actions(purpose):
        service, _, name = action.partition(":")
        if (service, name) == ("lakeformation", "GetDataAccess"):
            continue  # a permission without an operation: engines act on it
        operation = S3_OPERATIONS.get(name, name) if service == "s3" else name
        assert operation in session.get_service_model(service).operation_names, action


@pytest.mark.parametrize("purpose", Purpose)
def test_every_resource_is_of_the_services_of_its_actions(purpose: Purpose) -> None:
    for statement in statements([purpose], SCOPE):
        assert re.fullmatch(r"[A-Za-z0-9]+", statement.sid)
        services = {action.partition(":")[0] for action in statement.actions}
        assert len(services) == 1
        for resource in statement.resources - {"*"}:
            assert resource.split(":")[2] in services, resource


def test_only_actions_without_resources_are_for_all_resources() -> None:
    for statement in statements(Purpose, SCOPE):
        services = {action.partition(":")[0] for action in statement.actions}
        assert ("*" in statement.resources) == bool(
            services & {"lakeformation", "cloudtrail"} or statement.sid == "AttachLineageForms"
        )


def test_read_only_writes_nothing() -> None:
    assert actions(Purpose.READ_ONLY) == {
        "glue:GetDatabases",
        "glue:GetTable",
        "glue:GetTables",
        "s3:GetObject",
        "secretsmanager:GetSecretValue",
    }
    assert actions(Purpose.COLLECTOR) == {"glue:GetDatabases", "glue:GetTables"}


def test_push_adds_updates_of_tables_alone() -> None:
    assert actions(Purpose.PUSH) - actions(Purpose.READ_ONLY) == {"glue:UpdateTable"}


def test_doctor_reads_and_changes_nothing() -> None:
    reads = ("BatchGet", "Describe", "Get", "List", "Lookup", "Simulate")
    for action in actions(Purpose.DOCTOR):
        assert action.partition(":")[2].startswith(reads), action
    found = by_sid(Purpose.DOCTOR)
    assert found["DoctorSimulation"].resources == {SCOPE.identity}
    without = by_sid(Purpose.DOCTOR, scope=replace(SCOPE, table_bucket=PolicyScope().table_bucket))
    assert found.keys() - without.keys() == {"DoctorFederation", "DoctorTableBucket"}
    assert without["DoctorGrants"].actions == {"lakeformation:ListPermissions"}


def test_databases_of_tableflow_can_be_deleted_with_their_functions() -> None:
    assert by_sid(Purpose.TABLEFLOW_GLUE)["TableflowDatabaseFunctions"].resources == {
        GLUE + "userDefinedFunction/lkc-1/*",
        GLUE + "userDefinedFunction/shop/*",
    }


def test_push_policy_allows_exactly_the_calls_of_the_package() -> None:
    calls = set()
    for file in Path(glue_package.__file__).parent.glob("*.py"):
        for name in re.findall(r"_client\.((?:get|update|create|delete|batch)_\w+)", file.read_text()):
            calls.add("glue:" + name.title().replace("_", ""))
    assert calls == {action for action in actions(Purpose.PUSH) if action.startswith("glue:")}


def test_resources_name_the_databases_and_the_partition() -> None:
    scope = replace(SCOPE, region="cn-north-1")
    arn = "arn:aws-cn:glue:cn-north-1:123456789012:"
    assert by_sid(Purpose.PUSH, scope=scope)["PushLineage"].resources == {
        arn + "catalog",
        arn + "database/lkc-1",
        arn + "database/shop",
        arn + "table/lkc-1/*",
        arn + "table/shop/*",
    }


def test_metadata_files_are_readable_and_data_is_not() -> None:
    scope = replace(SCOPE, region="us-gov-west-1")
    (resource,) = by_sid(Purpose.READ_ONLY, scope=scope)["ReadTableMetadata"].resources
    pattern = re.escape(resource).replace(r"\*", ".*")
    metadata = "arn:aws-us-gov:s3:::tables/10110100/110101/abc/v1/metadata/00007-9b.gz.metadata.json"
    assert re.fullmatch(pattern, metadata)
    assert not re.fullmatch(pattern, metadata.replace("/metadata/", "/data/"))


def test_secrets_are_named_with_the_suffix_of_their_arns() -> None:
    arn = "arn:aws:secretsmanager:eu-west-1:1:secret:other-AbCdEf"
    scope = replace(SCOPE, secrets=("prod/confluent", arn))
    assert by_sid(Purpose.PUSH, scope=scope)["ReadKeys"].resources == {
        "arn:aws:secretsmanager:us-east-1:123456789012:secret:prod/confluent-??????",
        arn,
    }


def test_lineage_tables_are_listed_and_written_under_their_prefix_only() -> None:
    found = by_sid(Purpose.LINEAGE_TABLES)
    assert found["WriteLineageFiles"].resources == {"arn:aws:s3:::lake/lineage/*"}
    assert found["ListLineageFiles"].resources == {"arn:aws:s3:::lake"}
    assert found["ListLineageFiles"].condition == {"StringLike": {"s3:prefix": ["lineage/*"]}}
    assert found["WriteLineageTables"].resources == {
        GLUE + "catalog",
        GLUE + "database/lineage_bridge",
        GLUE + "table/lineage_bridge/*",
    }
    bare = by_sid(Purpose.LINEAGE_TABLES, scope=replace(SCOPE, warehouse="lake"))
    assert not bare["ListLineageFiles"].condition


def test_tables_of_a_table_bucket_are_below_its_catalog() -> None:
    statement = by_sid(Purpose.S3_TABLES)["S3TablesThroughGlue"]
    assert statement.resources == {
        GLUE + "catalog",
        GLUE + "catalog/s3tablescatalog",
        GLUE + "catalog/s3tablescatalog/metrics",
        GLUE + "database/s3tablescatalog/metrics/sales",
        GLUE + "table/s3tablescatalog/metrics/sales/*",
    }
    assert "glue:UpdateTable" in statement.actions


def test_a_read_only_table_bucket_is_not_written_to() -> None:
    scope = replace(SCOPE, writes_table_bucket=False)
    found = by_sid(Purpose.S3_TABLES, scope=scope)["S3TablesThroughGlue"].actions
    assert not {action for action in found if not action.startswith("glue:Get")}


@pytest.mark.parametrize("topic_assets", [False, True])
def test_a_domain_takes_lineage_and_assets_only_if_topics_become_assets(topic_assets: bool) -> None:
    scope = replace(SCOPE, topic_assets=topic_assets)
    statement = by_sid(Purpose.DATAZONE, scope=scope)["PostDataZoneLineage"]
    assert statement.resources == {"arn:aws:datazone:us-east-1:123456789012:domain/dzd_4abc1defgh2ijk"}
    reads = ("GetLineageEvent", "GetLineageNode", "ListLineageEvents")
    lineage = {f"datazone:{each}" for each in (*reads, "PostLineageEvent")}
    assets = {"datazone:CreateAsset", "datazone:Search"} if topic_assets else set()
    assert statement.actions == lineage | assets


def test_athena_reads_the_lineage_tables_if_there_are_any() -> None:
    files = by_sid(Purpose.ATHENA)["ReadTableFiles"].resources
    assert files == {"arn:aws:s3:::tables/*", "arn:aws:s3:::lake/lineage/*"}
    without = replace(SCOPE, warehouse=PolicyScope().warehouse)
    assert by_sid(Purpose.ATHENA, scope=without)["ReadTableFiles"].resources == {"arn:aws:s3:::tables/*"}
    found = statements([Purpose.ATHENA], without)
    assert not any("lineage_bridge" in arn for statement in found for arn in statement.resources)


def test_each_placeholder_of_a_bare_scope_says_what_sets_it() -> None:
    resources = {arn for statement in statements(Purpose, PolicyScope()) for arn in statement.resources}
    left = {name for arn in resources for name in re.findall(r"<\w+>", arn)}
    assert left
    assert all(any(name in placeholder for placeholder in HOW_TO_SET) for name in left)
