"""A policy as JSON, CloudFormation and Terraform says the same."""

from __future__ import annotations

import json
import re
from typing import Any

import yaml

from lineage_bridge_dagster.iam.purposes import Purpose, statements
from lineage_bridge_dagster.iam.render import to_cloudformation, to_json, to_terraform
from lineage_bridge_dagster.iam.statements import allow, policy
from lineage_bridge_dagster.iam.trust import Trust
from lineage_bridge_dagster_tests.iam.scopes import SCOPE

DOCUMENT = policy(statements([Purpose.TABLEFLOW_STORAGE, Purpose.LINEAGE_TABLES], SCOPE))
TRUST = Trust("arn:aws:iam::999999999999:role/c", "external", "arn:aws:iam::111122223333:role/data/tableflow")


def from_terraform(text: str) -> list[Any]:
    """The values of `jsonencode(...)`, read back as JSON."""
    values = []
    for body in re.findall(r"jsonencode\((.*?)\)\n\}", text, re.DOTALL):
        quoted = re.sub(r"^(\s*)(\w+) =", r'\1"\2" =', body, flags=re.MULTILINE)
        as_json = re.sub(r'^(\s*"[^"]*") =', r"\1:", quoted, flags=re.MULTILINE)
        as_json = re.sub(r"(?<=[\"\]}])\n(?=\s*\")", ",\n", as_json)
        as_json = re.sub(r",(\s*[\]}])", r"\1", as_json)
        values.append(json.loads(as_json.replace("$${", "${").replace("%%{", "%{")))
    return values


def test_json_is_the_document() -> None:
    assert json.loads(to_json(DOCUMENT)) == DOCUMENT


def test_cloudformation_has_the_policy_and_the_role_it_is_attached_to() -> None:
    template = yaml.safe_load(to_cloudformation(DOCUMENT, TRUST))
    policy_, role = template["Resources"]["Policy"], template["Resources"]["Role"]
    assert template["AWSTemplateFormatVersion"] == "2010-09-09"
    assert policy_["Type"] == "AWS::IAM::ManagedPolicy"
    assert policy_["Properties"]["PolicyDocument"] == DOCUMENT
    assert role["Properties"]["AssumeRolePolicyDocument"] == TRUST.document()
    assert (role["Properties"]["RoleName"], role["Properties"]["Path"]) == ("tableflow", "/data/")
    assert role["Properties"]["ManagedPolicyArns"] == [{"Ref": "Policy"}]


def test_cloudformation_without_trust_creates_no_role() -> None:
    assert list(yaml.safe_load(to_cloudformation(DOCUMENT))["Resources"]) == ["Policy"]


def test_terraform_has_the_same_documents() -> None:
    text = to_terraform(DOCUMENT, TRUST)
    assert from_terraform(text) == [DOCUMENT, TRUST.document()]
    assert re.findall(r'^resource "(\w+)"', text, re.MULTILINE) == [
        "aws_iam_policy",
        "aws_iam_role",
        "aws_iam_role_policy_attachment",
    ]


def test_terraform_does_not_interpolate_names() -> None:
    document = policy([allow("A", ["s3:GetObject"], ["arn:aws:s3:::b/${aws:username}/%{x}"])])
    text = to_terraform(document)
    assert "$${aws:username}/%%{x}" in text
    assert from_terraform(text) == [document]
