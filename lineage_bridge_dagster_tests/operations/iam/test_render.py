"""A policy as JSON, CloudFormation and Terraform says the same, and each is what its reader takes."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest
import yaml

from lineage_bridge_dagster.operations.iam.purposes import Purpose, statements
from lineage_bridge_dagster.operations.iam.render import to_cloudformation, to_json, to_terraform
from lineage_bridge_dagster.operations.iam.scope import PolicyScope
from lineage_bridge_dagster.operations.iam.statements import MANAGED_POLICY_LIMIT, allow, policy, size, split
from lineage_bridge_dagster.operations.iam.trust import Trust
from lineage_bridge_dagster_tests.operations.iam import hcl
from lineage_bridge_dagster_tests.operations.iam.scopes import SCOPE
from lineage_bridge_dagster_tests.operations.iam.templates import problems

DOCUMENT = policy(statements([Purpose.TABLEFLOW_STORAGE, Purpose.LINEAGE_TABLES], SCOPE))
TRUST = Trust("arn:aws:iam::999999999999:role/c", "external", "arn:aws:iam::111122223333:role/data/tableflow")
MANY = replace(SCOPE, databases=tuple(f"lkc-{number:05d}" for number in range(3_000)))


def documents_of(purpose: Purpose, scope: PolicyScope) -> list[dict[str, Any]]:
    return split(policy(statements([purpose], scope)))


def trust_of(purpose: Purpose) -> Trust | None:
    return TRUST if purpose.for_confluent else None


@pytest.mark.parametrize("purpose", Purpose)
def test_each_purpose_is_valid_in_each_format(purpose: Purpose) -> None:
    documents = documents_of(purpose, SCOPE)
    assert json.loads(to_json(documents)) == documents[0]
    trust = trust_of(purpose)
    assert problems(to_cloudformation(documents, trust)) == []
    resources = hcl.read(to_terraform(documents, trust))
    assert resources[0].attributes["policy"] == documents[0]
    kinds = ["aws_iam_policy", "aws_iam_role", "aws_iam_role_policy_attachment"]
    assert [resource.kind for resource in resources] == (kinds if trust else kinds[:1])


def test_the_linter_knows_actions_and_their_resources() -> None:
    catalog = ["arn:aws:glue:us-east-1:123456789012:catalog"]
    for action in ("glue:ReadTables", "s3:GetObject"):
        assert problems(to_cloudformation([policy([allow("A", [action], catalog)])])), action
    assert problems(to_cloudformation([policy([allow("A", ["glue:GetDatabases"], catalog)])])) == []


def test_cloudformation_has_the_policy_and_the_role_it_is_attached_to() -> None:
    template = yaml.safe_load(to_cloudformation([DOCUMENT], TRUST))
    policy_, role = template["Resources"]["Policy"], template["Resources"]["Role"]
    assert template["AWSTemplateFormatVersion"] == "2010-09-09"
    assert policy_["Type"] == "AWS::IAM::ManagedPolicy"
    assert policy_["Properties"]["PolicyDocument"] == DOCUMENT
    assert role["Properties"]["AssumeRolePolicyDocument"] == TRUST.document()
    assert (role["Properties"]["RoleName"], role["Properties"]["Path"]) == ("tableflow", "/data/")
    assert role["Properties"]["ManagedPolicyArns"] == [{"Ref": "Policy"}]


def test_cloudformation_without_trust_creates_no_role() -> None:
    assert list(yaml.safe_load(to_cloudformation([DOCUMENT]))["Resources"]) == ["Policy"]


def test_terraform_attaches_the_policy_to_the_role() -> None:
    _, role, attachment = hcl.read(to_terraform([DOCUMENT], TRUST))
    assert role.attributes["assume_role_policy"] == TRUST.document()
    assert attachment.attributes == {
        "role": hcl.Reference("aws_iam_role.confluent.name"),
        "policy_arn": hcl.Reference("aws_iam_policy.lineage_bridge.arn"),
    }


def test_terraform_does_not_interpolate_names() -> None:
    document = policy([allow("A", ["s3:GetObject"], ["arn:aws:s3:::b/${aws:username}/%{x}"])])
    text = to_terraform([document])
    assert "$${aws:username}/%%{x}" in text
    assert hcl.read(text)[0].attributes["policy"] == document


@pytest.mark.parametrize("purpose", [Purpose.PUSH, Purpose.DOCTOR, Purpose.TABLEFLOW_GLUE])
def test_a_policy_for_thousands_of_databases_is_several_that_allow_the_same(purpose: Purpose) -> None:
    documents = documents_of(purpose, MANY)
    assert len(documents) > 10
    assert max(map(size, documents)) <= MANAGED_POLICY_LIMIT
    # None is much shorter than it may be, apart from the last.
    assert min(map(size, documents[:-1])) > 0.9 * MANAGED_POLICY_LIMIT
    whole = {
        (action, resource)
        for each in statements([purpose], MANY)
        for action in each.actions
        for resource in each.resources
    }
    parts = [each for document in documents for each in document["Statement"]]
    assert whole == {
        (action, resource) for each in parts for action in each["Action"] for resource in each["Resource"]
    }
    for document in documents:
        names = [each["Sid"] for each in document["Statement"]]
        assert len(names) == len(set(names))
    assert json.loads(to_json(documents)) == documents


def test_several_policies_are_all_attached_to_the_role() -> None:
    documents = documents_of(Purpose.TABLEFLOW_GLUE, replace(MANY, databases=MANY.databases[:200]))
    assert len(documents) > 1
    template = to_cloudformation(documents, TRUST)
    assert problems(template) == []
    resources = yaml.safe_load(template)["Resources"]
    names = [f"Policy{number}" for number in range(1, len(documents) + 1)]
    assert list(resources) == [*names, "Role"]
    assert resources["Role"]["Properties"]["ManagedPolicyArns"] == [{"Ref": name} for name in names]
    assert len({resources[name]["Properties"]["ManagedPolicyName"] for name in names}) == len(names)
    terraform = hcl.read(to_terraform(documents, TRUST))
    policies = [each for each in terraform if each.kind == "aws_iam_policy"]
    assert [each.attributes["policy"] for each in policies] == documents
    attached = [each.attributes["policy_arn"] for each in terraform if each.kind.endswith("_attachment")]
    assert attached == [hcl.Reference(f"aws_iam_policy.{each.name}.arn") for each in policies]
    assert all(re.fullmatch(r"\w+", each.name) for each in terraform)


def test_a_condition_stays_with_every_part_of_its_statement() -> None:
    condition = {"StringLike": {"s3:prefix": ["lineage/*"]}}
    buckets = [f"arn:aws:s3:::bucket-{number:04d}" for number in range(400)]
    documents = split(policy([allow("List", ["s3:ListBucket"], buckets, condition)]))
    assert len(documents) > 1
    assert all(document["Statement"][0]["Condition"] == condition for document in documents)


def test_a_resource_that_fits_into_no_policy_is_an_error() -> None:
    with pytest.raises(ValueError, match="does not fit"):
        split(policy([allow("A", ["s3:GetObject"], ["arn:aws:s3:::" + "x" * 7_000])]))
